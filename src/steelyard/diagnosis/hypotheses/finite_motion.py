"""Finite changes of motion, units and file that explain a log: signs and order of positions,
degrees, rate of the stamps, gravity, another robot.

Stamps that run f times too far make speeds f and accelerations f² times too small. Inertial and
centrifugal torques of the rigid bodies then are f² times too small beside gravity:

    W(f) = W_gravity + f² (W - W_gravity)

Friction and drive inertia have no size in the file, so that their columns stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.finite import LEAST_BETTER, Reading, lowest, unchanged
from steelyard.diagnosis.hypotheses.finite_torques import (
    current_readings,
    disturbances,
    drift_readings,
    external_readings,
    far_delay,
    filter_readings,
    pair,
    payload_readings,
    scale_readings,
    sign_readings,
    swap_readings,
)
from steelyard.diagnosis.hypotheses.fit import (
    Fit,
    fit_of,
    moments,
)
from steelyard.diagnosis.hypotheses.hypothesis import Kind, Scene
from steelyard.diagnosis.hypotheses.of_robots import with_gravity
from steelyard.diagnosis.hypotheses.samples import (
    Samples,
    every,
    plain_model,
    regressor,
    term_columns,
)
from steelyard.model.kernels import rigid_torque
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

UNRELATED_ERROR = 0.15
"""Unexplained share of torques (rms of all joints) beyond which far delays are tried."""
COARSE_SAMPLES = 800
LEAST_TILT_DEG = 4.0
"""A tilt of gravity matters beyond this."""
REMOVED = 0.5
"""Gravity below this share of the file's counts as taken out."""
SIZES = np.log(2.4) * np.linspace(-1.0, 1.0, 9)
"""Logarithms of the sizes of other robots that are tried first: factors of every length."""
LEAST_SIZE = 1.12
"""Sizes within this factor are those of a poor file."""
UNLIKE = 12.0
"""How many times as far as usual the links of another robot may be from the resized file's."""
LEAST_RATE = 1.25
"""A rate matters beyond this factor: inertias of a file are off by a third."""
RATES = np.log(1.37) * np.arange(-5, 6)
"""Logarithms of the factors of time stamps that are tried."""
DEGREE, TURN = float(np.pi / 180.0), float(2.0 * np.pi)
MOST_TURNS, LEAST_DEGREES = 1.1, 7.0
"""Spans (as recorded) up to which positions may be in turns, and from which on in degrees."""


def motion_readings(samples: Samples) -> list[Reading]:
    """Signs of single positions and axes, exchanged positions, exchanged joints, other orders."""
    names = samples.model.channels
    n = len(names)
    same, ones = np.arange(n), np.ones(n)
    out = []
    for k in range(n):
        sign = np.where(same == k, -1.0, 1.0)
        given = moments(samples.with_motion_of(same, sign))
        for code, gain in (("position-sign", ones), ("axis-sign", sign)):
            fit = fit_of(given, None, gain)
            mended = _reordered(same, sign, same, gain)
            out.append(Reading(code, (names[k],), -1.0, "times", fit, mended))
    for i, k in combinations(range(n), 2):
        order = same.copy()
        order[[i, k]] = order[[k, i]]
        given = moments(samples.with_motion_of(order, ones))
        cost = 0.0 if k == i + 1 else 20.0
        for code, of_torque in (("positions-swapped", same), ("joints-swapped", order)):
            fit = fit_of(given, of_torque)
            mended = _reordered(order, ones, of_torque, ones)
            out.append(Reading(code, (names[i], names[k]), 1.0, "", fit, mended, cost))
    for code, order, size in (
        ("joints-reversed", same[::-1].copy(), 1.0),
        ("joints-shifted", np.roll(same, -1), 1.0),
        ("joints-shifted", np.roll(same, 1), -1.0),
    ):
        fit = fit_of(moments(samples.with_motion_of(order, ones)), order)
        unit = "joints" if code == "joints-shifted" else ""
        out.append(Reading(code, (), size, unit, fit, _reordered(order, ones, order, ones)))
    return out


def _reordered(
    order: IntArray, sign: Array, of_torque: IntArray, gain: Array
) -> Callable[[Samples], Samples]:
    def mended(samples: Samples) -> Samples:
        turned = samples.with_motion_of(order, sign)
        return replace(turned, tau=gain * samples.tau[:, of_torque])

    return mended


def rate_readings(samples: Samples, W: Array) -> list[Reading]:
    """All time stamps are of a rate that is not the true one."""
    model = samples.model
    still = np.zeros_like(samples.v)
    weight = regressor(replace(samples, v=still, a=still))
    own = term_columns(model).ravel()
    weight[:, :, own] = W[:, :, own]
    moving = W - weight
    given = moments(samples, weight)
    n_joints = W.shape[1]
    parts = [(weight[:, i], moving[:, i]) for i in range(n_joints)]
    cross = np.array([a.T @ b for a, b in parts])
    cross = cross + cross.transpose(0, 2, 1)
    square = np.array([b.T @ b for _, b in parts])
    products = np.array([(b.T @ samples.tau).T for _, b in parts])

    def at(log_rate: float) -> Fit:
        s = float(np.exp(2.0 * log_rate))
        return fit_of(
            replace(given, G=given.G + s * cross + s**2 * square, C=given.C + s * products)
        )

    best = lowest(at, RATES)
    rate = float(np.exp(best))
    if max(rate, 1.0 / rate) < LEAST_RATE:
        return []

    def mended(one: Samples) -> Samples:
        return replace(one, time=one.time / rate, v=one.v * rate, a=one.a * rate**2)

    return [Reading("time-rate", (), rate, "times", at(best), mended, 20.0)]


def position_unit_readings(samples: Samples) -> list[Reading]:
    """Positions of all joints, or of one, in degrees or in turns."""
    names = samples.model.channels
    n = len(names)
    span = np.ptp(samples.q, axis=0)
    turning = np.array([kind != "prismatic" for kind in _kinds(samples)])
    out = []
    for unit, factor, possible in (
        ("degrees", DEGREE, span > LEAST_DEGREES),
        ("turns", TURN, span < MOST_TURNS),
    ):
        which: list[tuple[int, ...]] = [(k,) for k in np.flatnonzero(possible & turning).tolist()]
        if np.median(span[turning]) > LEAST_DEGREES if unit == "degrees" else possible.all():
            which.append(tuple(np.flatnonzero(turning).tolist()))
        for joints in dict.fromkeys(which):
            scale = np.where(np.isin(np.arange(n), joints), factor, 1.0)
            mended = _scaled(scale)
            fit = fit_of(moments(mended(samples)))
            named = () if len(joints) == turning.sum() else tuple(names[k] for k in joints)
            cost = 0.0 if not named else 10.0
            out.append(Reading("position-unit", named, 1.0 / factor, unit, fit, mended, cost))
    return out


def _kinds(samples: Samples) -> list[str]:
    """Kinds of the joints of all channels."""
    return [samples.model.robot.joint(name).kind for name in samples.model.channels]


def _scaled(scale: Array) -> Callable[[Samples], Samples]:
    """Multiplies each joint's motion (n_joints,)."""

    def mended(one: Samples) -> Samples:
        return replace(one, q=scale * one.q, v=scale * one.v, a=scale * one.a)

    return mended


def gravity_readings(samples: Samples, W: Array, given: Fit) -> list[Reading]:
    """Gravity freed in direction and size: tilted, turned over, or taken out."""
    model = samples.model
    was = np.array(model.mechanism.gravity)
    standard = float(np.linalg.norm(was))
    if standard == 0.0:
        return []
    gravity, theta = was, model.prior_theta()
    current, rows = samples, W
    for number in range(3):
        columns = _gravity_columns(current, theta)
        found = fit_of(moments(current, rows, columns, np.full(3, standard)))
        if number == 0 and found.score > given.score - LEAST_BETTER:
            return []
        gravity = gravity + found.theta[-3:]
        size = float(np.linalg.norm(gravity))
        if size > REMOVED * standard:
            gravity = gravity * (standard / size)
        current = replace(samples, model=with_gravity(samples.model, gravity))
        rows = regressor(current)
    fit = fit_of(moments(current, rows))
    final = current.model

    def mended(one: Samples) -> Samples:
        return replace(one, model=final)

    size = float(np.linalg.norm(gravity))
    if size <= REMOVED * standard:
        share = 1.0 - float(gravity @ was) / standard**2
        return [Reading("gravity-removed", (), share, "share", fit, mended, 20.0)]
    angle = float(np.degrees(np.arccos(np.clip(gravity @ was / (size * standard), -1.0, 1.0))))
    if angle < LEAST_TILT_DEG:
        return []
    option = "--gravity " + " ".join(f"{round(float(one), 3):g}" for one in gravity)
    return [Reading("gravity-direction", (), angle, "degrees", fit, mended, 20.0, option=option)]


def _gravity_columns(samples: Samples, theta: Array) -> Array:
    """Torques (n, n_joints, 3) of 1 m/s² of gravity along each axis, of these parameters."""
    still = np.zeros_like(samples.v)
    return np.stack(
        [rigid_torque(samples.model, theta, samples.q, still, still, axis) for axis in np.eye(3)],
        axis=2,
    )


def size_readings(samples: Samples) -> list[Reading]:
    """The robot is of the same shape as the file's, but larger or smaller.

    Its links may be as far from the resized ones as those of a poor file, or a few times that.
    """
    tried: dict[float, Reading] = {}

    def at(log_size: float) -> Fit:
        robot = resized(samples.model.robot, float(np.exp(log_size)))
        given = moments(replace(samples, model=plain_model(robot)))
        options = []
        for wider, cost in ((1.0, 30.0), (UNLIKE, 80.0)):
            fit = fit_of(replace(given, spread=wider * given.spread))
            options.append(
                Reading("other-robot", (), float(np.exp(log_size)), "times", fit, unchanged, cost)
            )
        best = min(options, key=lambda one: one.score)
        tried[log_size] = best
        return replace(best.fit, score=best.score)

    size = lowest(at, SIZES[np.abs(SIZES) > np.log(LEAST_SIZE)], rounds=2)
    return [tried[size]] if abs(size) > np.log(LEAST_SIZE) else []


def resized(robot: Robot, factor: float) -> Robot:
    """The robot built larger by a factor of every length, of the same materials.

    Mass grows with factor³, its first moment with factor⁴, its second with factor⁵.
    """
    powers = factor ** np.array([3.0] + [4.0] * 3 + [5.0] * 6)
    links = tuple(
        link
        if link.inertial is None
        else replace(link, inertial=frozen_array(link.inertial * powers, (10,)), inertia_com=None)
        for link in robot.links
    )
    joints = []
    for joint in robot.joints:
        placement = joint.placement.copy()
        placement[:3, 3] *= factor
        joints.append(replace(joint, placement=frozen_array(placement, (4, 4)), origin=None))
    return replace(robot, links=links, joints=tuple(joints), source=None, source_sha256=None)


def finite_readings(samples: Samples, scene: Scene) -> list[Reading]:
    """Finite changes of the log, best first. Their scores are comparable with that of ``scene``."""
    given = moments(scene.samples, scene.W)
    out = sign_readings(given) + swap_readings(given) + scale_readings(given)
    out += current_readings(given) + external_readings(given) + payload_readings(given)
    out += gravity_readings(scene.samples, scene.W, scene.fit)
    out += _shifted(_coarse(samples), scene)
    best = min(out, key=lambda one: one.score)
    if min(float(np.mean(one.error**2)) for one in (scene.fit, best.fit)) > UNRELATED_ERROR**2:
        out += _shifted(_in_time(samples, far=True), scene)
    else:
        out += _shifted(_in_time(samples, far=False), scene)
    return sorted(out, key=lambda one: one.score)


def _in_time(samples: Samples, *, far: bool) -> tuple[Fit, list[Reading]]:
    """Readings that interpolate torques, on all samples, and the fit of these."""
    W = regressor(samples)
    given = moments(samples, W)
    out = filter_readings(samples, W, given) + drift_readings(samples, W, given)
    return fit_of(given), out + far_delay(samples, W) if far else out


def _coarse(samples: Samples) -> tuple[Fit, list[Reading]]:
    """Readings that need a regressor each, on fewer samples, and the fit of these."""
    coarse = every(samples, max(1, len(samples.time) // COARSE_SAMPLES))
    rows = regressor(coarse)
    own = fit_of(moments(coarse, rows))
    found = motion_readings(coarse) + size_readings(coarse) + disturbances(coarse, rows, own)
    return own, found + rate_readings(coarse, rows) + position_unit_readings(coarse)


def _shifted(found: tuple[Fit, list[Reading]], scene: Scene) -> list[Reading]:
    """Readings with scores shifted by what the log as it is scores on other samples."""
    own, readings = found
    shift = scene.fit.score - own.score
    return [replace(one, cost=one.cost + shift) for one in readings]


KINDS = (
    Kind(
        "position-sign",
        "log",
        lambda one: f"positions {one.whose} have the wrong sign",
        to_do="multiply these positions by -1 in the log",
        could_be=("the axis of the joint in the robot file",),
    ),
    Kind(
        "axis-sign",
        "file",
        lambda one: f"the axis {one.whose} points the other way than the robot file says",
        to_do="turn the axis in the robot file the other way, or multiply position and torque of "
        "this joint by -1 in the log",
        could_be=("the signs of both position and torque in the log",),
    ),
    Kind(
        "positions-swapped",
        "log",
        lambda one: f"the positions of {pair(one)} are exchanged",
        to_do="name both columns after the joints that they belong to",
    ),
    Kind(
        "joints-swapped",
        "log",
        lambda one: f"the columns of {pair(one)} are exchanged",
        to_do="name their columns after the joints that they belong to",
    ),
    Kind(
        "joints-reversed",
        "log",
        lambda one: "the joints are in the order from tip to base",
        to_do="name the columns after the joints that they belong to",
        severity="always",
    ),
    Kind(
        "joints-shifted",
        "log",
        lambda one: f"the joints are counted from another one: shifted by {one.size:+.0f}",
        to_do="name the columns after the joints that they belong to",
        severity="always",
    ),
    Kind(
        "time-rate",
        "log",
        lambda one: (
            "the time stamps are of another sampling rate than the true one: they run "
            f"{one.size:.3g} times too far"
        ),
        to_do="make the time stamps from the true rate",
        could_be=("links whose inertias in the file are far from the robot's",),
        severity="always",
    ),
    Kind(
        "position-unit",
        "log",
        lambda one: f"positions {one.whose} are in {one.unit}, not in radians",
        to_do="state the unit in the names of the columns",
        could_be=("positions of motors before their gears",),
        severity="always",
    ),
    Kind(
        "gravity-removed",
        "log",
        lambda one: (
            f"{100 * one.size:.3g} % of gravity is missing in the torques {one.whose}: a "
            "controller took it out"
        ),
        to_do="record the torques of the drives, with gravity",
        could_be=("a robot whose links are balanced by springs or weights",),
        severity="always",
    ),
    Kind(
        "other-robot",
        "file",
        lambda one: f"the robot file is of another robot: one {one.size:.3g} times as large fits",
        to_do="give the file of the robot that was recorded",
        could_be=("torques in another unit, with a robot file that is far from the robot",),
    ),
)
