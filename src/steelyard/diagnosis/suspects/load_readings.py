"""Readings of what torques contain: gravity from elsewhere, none, no model at all; another robot;
a joint whose zero is elsewhere.

Gravity and offsets are small at first: their torques at the file's parameters, or at the fitted
ones, are columns beside the model's. Then the model is made anew and the rest is looked for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import (
    Fit,
    Moments,
    Samples,
    fit_of,
    fitted,
    moments,
    plain_model,
    regressor,
)
from steelyard.diagnosis.suspects.intervals import Screen
from steelyard.diagnosis.suspects.reading import Reading, unchanged
from steelyard.diagnosis.suspects.torque_readings import LEAST_BETTER, lowest
from steelyard.model.kernels import rigid_torque
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array

Array = NDArray[np.float64]

LEAST_TILT_DEG, LEAST_OFFSET_DEG = 4.0, 2.5
"""Tilts of gravity and offsets of joints matter beyond these."""
REMOVED = 0.5
"""Gravity below this share of the file's counts as taken out."""
SIZES = np.log(2.4) * np.linspace(-1.0, 1.0, 9)
"""Logarithms of the sizes of other robots that are tried first: factors of every length."""
LEAST_SIZE = 1.12
"""Sizes within this factor are those of a poor file."""
OFFSET_BETTER = 2.5
"""By how much a score has to be better for an offset to be looked at closely."""
OFFSET_STEP = 1e-5
"""Angle (rad) by which torques are differentiated."""
PAYLOAD_KG = 3.0
"""Typical mass of a payload."""
UNLIKE = 12.0
"""How many times as far as usual the links of another robot may be from the resized file's."""


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
    return [Reading("gravity-direction", (), angle, "degrees", fit, mended, 20.0)]


def _gravity_columns(samples: Samples, theta: Array) -> Array:
    """Torques (n, n_joints, 3) of 1 m/s² of gravity along each axis, of these parameters."""
    still = np.zeros_like(samples.v)
    return np.stack(
        [rigid_torque(samples.model, theta, samples.q, still, still, axis) for axis in np.eye(3)],
        axis=2,
    )


def with_gravity(model: Model, gravity: Array) -> Model:
    """The model under another gravity (3,) m/s²."""
    return replace(model, robot=replace(model.robot, gravity=frozen_array(gravity, (3,))))


def external_readings(given: Moments) -> list[Reading]:
    """Torques from which the model of the file was taken out."""
    rows = np.arange(len(given.counts))
    fit = fitted(given, given.C[rows, rows], given.S[rows, rows], np.zeros(len(given.theta)))
    return [Reading("external-torque", (), 1.0, "share", fit, unchanged, 40.0)]


def payload_readings(given: Moments) -> list[Reading]:
    """A body at the last link that the file does not have."""
    last = given.model.first_column_of_body[-1]
    spread = given.spread.copy()
    spread[last : last + 10] += PAYLOAD_KG * np.array([1.0] + [0.2] * 3 + [0.04] * 6)
    fit = fit_of(replace(given, spread=spread))
    mass = float(fit.theta[last] - given.theta[last])
    return [Reading("payload", (), mass, "kg", fit, unchanged, 20.0)]


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


def offset_readings(samples: Samples, given: Fit, screen: Screen) -> list[Reading]:
    """The zero of one joint is elsewhere: for the joint for which it explains most."""
    names = samples.model.channels
    base = offset_torque(samples, given.theta)
    best: tuple[float, int, float] | None = None
    for k in range(len(names)):
        better, size = screen.gain(offset_column(samples, given.theta, k, base))
        if best is None or better > best[0]:
            best = better, k, size
    if best is None or best[0] < OFFSET_BETTER:
        return []
    _, k, offset = best
    offset = float(np.clip(offset, -0.6, 0.6))
    fit, offset = _refined_offset(samples, k, offset)
    if abs(np.degrees(offset)) < LEAST_OFFSET_DEG:
        return []

    def mended(one: Samples) -> Samples:
        return _offset(one, k, offset)

    return [
        Reading(
            "position-offset", (names[k],), -float(np.degrees(offset)), "degrees", fit, mended, 20.0
        )
    ]


def _offset(samples: Samples, joint: int, offset: float) -> Samples:
    """The samples with an angle (rad) added to one position."""
    q = samples.q.copy()
    q[:, joint] += offset
    return replace(samples, q=q)


def _refined_offset(samples: Samples, joint: int, start: float) -> tuple[Fit, float]:
    """The best offset near a first guess, by parabolas through the score."""

    def at(offset: float) -> Fit:
        return fit_of(moments(_offset(samples, joint, offset)))

    step = max(abs(start) / 3.0, 0.01)
    tried = {start: at(start)}
    for _ in range(4):
        best = min(tried, key=lambda one: tried[one].score)
        for one in (best - step, best + step):
            if one not in tried:
                tried[one] = at(one)
        best = min(tried, key=lambda one: tried[one].score)
        step *= 0.5
    return tried[best], best


def offset_torque(samples: Samples, theta: Array, joint: int = 0, offset: float = 0.0) -> Array:
    """Torque (n, n_joints) of the bodies with an angle (rad) added to one position."""
    q = _offset(samples, joint, offset).q
    gravity = samples.model.mechanism.gravity
    return np.asarray(rigid_torque(samples.model, theta, q, samples.v, samples.a, gravity))


def offset_column(samples: Samples, theta: Array, joint: int, base: Array | None = None) -> Array:
    """Torque (n, n_joints) of a radian in one position, linearised.

    base : torque without an offset, where it is known.
    """
    if base is None:
        base = offset_torque(samples, theta)
    return np.asarray((offset_torque(samples, theta, joint, OFFSET_STEP) - base) / OFFSET_STEP)
