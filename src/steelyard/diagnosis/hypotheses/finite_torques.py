"""Finite changes of torques that explain a log: signs, exchanged columns, scales, no gravity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.finite import Reading, lowest, unchanged
from steelyard.diagnosis.hypotheses.fit import (
    FIRST_ERROR,
    INDEPENDENT,
    Fit,
    Moments,
    fit_of,
    fitted,
    moments,
    solver_of,
)
from steelyard.diagnosis.hypotheses.hypothesis import Kind, Suspect
from steelyard.diagnosis.hypotheses.of_torques import LONGEST_S
from steelyard.diagnosis.hypotheses.samples import Samples, rows_of
from steelyard.signals.cubic_spline import cubic_spline

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

LEAST_SCALE = 1.6
"""A scale of all torques matters beyond this factor: files may be poor."""
TYPICAL_SPREAD = 0.5
"""Typical spread of the logarithms of drives' gains."""
GAINS = np.log([1 / 2.5, 1 / 1.5, 1 / 1.15, 1.0, 1.15, 1.5, 2.5])
SCALES = np.log([1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0])
SCALES = np.concatenate([SCALES, -SCALES[-2::-1]])
"""Logarithms of gains of one joint, and of scales of all torques, that are tried."""
FAR_S, FAR_STEP_S = 6.0, 0.04
"""Delays up to this, in such steps, where torques and motion hardly fit."""
FAR_SHARE, FAR_SAMPLES = 0.3, 800
"""Far delays are at most this share of the log; samples of the motion that they are tried on."""
DRIFTS = (3e-4, 6e-4, 1e-3, 2e-3, 3e-3, 5e-3, 8e-3, 0.012)
"""Shares by which one clock may be faster."""
PAYLOAD_KG = 3.0
"""Typical mass of a payload."""
LONGEST_TOUCH = 0.35
"""A disturbance takes at most this share of the log."""
BLOCKS = 40


def sign_readings(given: Moments) -> list[Reading]:
    """The torque of one joint, or all torques, with the other sign."""
    names = given.model.channels
    n = len(names)
    out = []
    for k in range(n):
        gain = np.ones(n)
        gain[k] = -1.0
        out.append(_reading("torque-sign", (names[k],), -1.0, "times", given, None, gain))
    out.append(_reading("torque-sign", (), -1.0, "times", given, None, -np.ones(n)))
    return out


def swap_readings(given: Moments) -> list[Reading]:
    """Torques of two joints exchanged."""
    names = given.model.channels
    out = []
    for i, k in combinations(range(len(names)), 2):
        order = np.arange(len(names))
        order[[i, k]] = order[[k, i]]
        # neighbours are exchanged more often than others
        cost = 0.0 if k == i + 1 else 20.0
        out.append(
            _reading("torques-swapped", (names[i], names[k]), 1.0, "", given, order, None, cost)
        )
    return out


def scale_readings(given: Moments) -> list[Reading]:
    """All torques with the scale that suits the file best."""
    n = len(given.model.channels)

    def at(log_scale: float) -> Fit:
        return fit_of(given, None, np.full(n, np.exp(-log_scale)))

    best = lowest(at, SCALES, float(np.log(LEAST_SCALE)))
    scale = float(np.exp(best))
    if max(scale, 1.0 / scale) < LEAST_SCALE:
        return []
    gain = np.full(n, 1.0 / scale)
    return [_reading("torque-scale", (), scale, "times", given, None, gain, 20.0)]


def current_readings(given: Moments) -> list[Reading]:
    """All torques with a scale, and every joint with its own gain beside it.

    Each joint's gain is set in turn, twice; a gain that is far from the others' costs.
    """
    n = len(given.model.channels)
    ratios = _loads_ratios(given)
    if np.abs(ratios).max() < np.log(LEAST_SCALE):
        return []
    logs = np.full(n, np.median(ratios))
    for rounds in (1, 3):
        for k in range(n):

            def at(log_gain: float, k: int = k) -> Fit:
                tried = np.where(np.arange(n) == k, log_gain, logs)
                return fit_of(given, None, np.exp(-tried))

            logs[k] = lowest(at, logs[k] + GAINS, rounds=rounds)
    scale = float(np.exp(np.mean(logs)))
    if max(scale, 1.0 / scale) < LEAST_SCALE:
        return []
    apart = float(np.sum(((logs - logs.mean()) / TYPICAL_SPREAD) ** 2))
    cost = 30.0 + 5.0 * n + apart
    return [_reading("currents", (), scale, "times", given, None, np.exp(-logs), cost)]


def _loads_ratios(given: Moments) -> Array:
    """Logarithms (n_joints,) of the ratios of measured torques to those of the file."""
    own = (given.G @ given.theta) @ given.theta
    rows = np.arange(len(own))
    return np.asarray(0.5 * np.log((given.S[rows, rows] + 1e-24) / (own + 1e-24)))


def _reading(
    code: str,
    joints: tuple[str, ...],
    size: float,
    unit: str,
    given: Moments,
    order: IntArray | None,
    gain: Array | None,
    cost: float = 0.0,
) -> Reading:
    def mended(samples: Samples) -> Samples:
        tau = samples.tau if order is None else samples.tau[:, order]
        return replace(samples, tau=tau if gain is None else gain * tau)

    return Reading(code, joints, size, unit, fit_of(given, order, gain), mended, cost)


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


def filter_readings(samples: Samples, W: Array, given: Moments) -> list[Reading]:
    """All torques behind a first-order filter of time constant T: they read tau + T dtau/dt."""
    slope = cubic_spline(samples.time, samples.tau).slopes

    def at(log_constant: float) -> Fit:
        tau = samples.tau + np.exp(log_constant) * slope
        return fitted(given, *_products(samples, W, tau))

    best = lowest(at, np.log([0.003, 0.006, 0.012, 0.025, 0.05, 0.1, 0.2]))
    constant = float(np.exp(best))

    def mended(one: Samples) -> Samples:
        derivative = cubic_spline(one.time, one.tau).slopes
        return replace(one, tau=one.tau + constant * derivative)

    cutoff = 1.0 / (2.0 * np.pi * constant)
    return [Reading("torque-filtered", (), cutoff, "Hz", at(best), mended, 30.0)]


def _products(samples: Samples, W: Array, tau: Array) -> tuple[Array, Array]:
    """C (n_joints, p) and S (n_joints,) of other torques in the place of the log's."""
    C = np.array([W[:, i].T @ tau[:, i] for i in range(tau.shape[1])])
    return C, np.sum(samples.moving * tau**2, axis=0)


def drift_readings(samples: Samples, W: Array, given: Moments) -> list[Reading]:
    """The clock of all torques is faster or slower than that of the positions."""
    spline = cubic_spline(samples.time, samples.tau)

    def at(share: float) -> Fit:
        return fitted(given, *_products(samples, W, _drifted(samples, spline, share)))

    shares = np.array(DRIFTS)
    best = lowest(at, np.concatenate([-shares[::-1], shares]))

    def mended(one: Samples) -> Samples:
        return replace(one, tau=_drifted(one, cubic_spline(one.time, one.tau), best))

    return [Reading("clock-drift", (), best, "share", at(best), mended, 20.0)]


def _drifted(samples: Samples, spline: Callable[[Array], Array], share: float) -> Array:
    """Torques (n, n_joints) by a clock that is slower by this share."""
    time = samples.time
    when = time - share * (time - time[0])
    return spline(np.clip(when, time[0], time[-1]))


def far_delay(samples: Samples, W: Array) -> list[Reading]:
    """All torques late or early by much more than any bus delays them.

    The motion in the middle of the log is compared with torques before and after it: its products
    are the same for every delay. The best delay is then fitted to all samples that torque and
    motion have in common.
    """
    steps = np.diff(samples.time)
    step = float(np.median(steps))
    if steps.max() > 10.0 * step:
        return []  # of stretches of a long log
    n = len(samples.time)
    most = min(round(FAR_S / step), round(FAR_SHARE * n))
    apart = max(1, round(FAR_STEP_S / step))
    lags = np.arange(-(most // apart), most // apart + 1) * apart
    if len(lags) < 3:
        return []
    middle = np.arange(most, n - most, max(1, (n - 2 * most) // FAR_SAMPLES))
    given = moments(rows_of(samples, middle), W[middle])
    size = np.sqrt(np.mean(samples.tau**2, axis=0)) + 1e-12
    fit = fit_of(given)
    weights = np.sqrt(INDEPENDENT / given.counts) / (size * FIRST_ERROR)
    D = fit.spread
    H = np.tensordot(weights**2, given.G, axes=1) * D[:, None] * D + np.eye(len(D))
    solve = solver_of(H)
    pulled = given.G @ given.theta
    scores = []
    for lag in lags:
        tau = samples.tau[middle + lag]
        C = np.array([W[middle, i].T @ tau[:, i] for i in range(tau.shape[1])])
        theta = given.theta + D * solve(D * (weights**2 @ (C - pulled)))
        squares = np.sum(samples.moving[middle] * tau**2, axis=0) - 2.0 * C @ theta
        squares += (given.G @ theta) @ theta
        scores.append(float(np.sum(squares / given.counts / size**2)))
    rows = int(lags[int(np.argmin(scores))])
    if abs(rows) * step < LONGEST_S:
        return []
    cut, rows_of_motion = _overlap(samples, rows)
    fit = fit_of(moments(cut, W[rows_of_motion]))
    return [Reading("delay", (), rows * step, "s", fit, lambda one: _overlap(one, rows)[0], 30.0)]


def _overlap(samples: Samples, rows: int) -> tuple[Samples, slice]:
    """Motion with the torques of this many rows later, and the rows of that motion."""
    n = len(samples.time)
    motion = slice(0, n - rows) if rows >= 0 else slice(-rows, n)
    torque = slice(rows, n) if rows >= 0 else slice(0, n + rows)
    return replace(rows_of(samples, motion), tau=samples.tau[torque]), motion


def disturbances(samples: Samples, W: Array, given: Fit) -> list[Reading]:
    """Something pushes for a while: without those samples, all the others fit."""
    excluded = np.zeros(len(samples.time), dtype=bool)
    edges = np.linspace(0, len(samples.time), BLOCKS + 1).astype(int)
    fit, cut = given, samples
    found: tuple[int, int] | None = None
    for _ in range(3):
        residual = samples.tau * samples.moving - W @ fit.theta
        scaled = (residual / fit.size) ** 2
        energy = np.array([scaled[a:b].sum(axis=1).mean() for a, b in pairwise(edges)])
        usual = float(np.median(energy))
        first = last = int(np.argmax(energy))
        bound = max(4.0 * usual, 0.03 * float(energy.max()))
        while first > 0 and energy[first - 1] > bound:
            first -= 1
        while last < BLOCKS - 1 and energy[last + 1] > bound:
            last += 1
        if (last - first + 1) > LONGEST_TOUCH * BLOCKS or energy.max() < 9.0 * usual:
            break
        found = first, last
        excluded[:] = False
        excluded[edges[first] : edges[last + 1]] = True
        cut = replace(samples, moving=samples.moving & ~excluded[:, None])
        fit = fit_of(moments(cut, W * ~excluded[:, None, None]))
    if found is None:
        return []
    span = (
        float(samples.time[edges[found[0]]]),
        float(samples.time[min(edges[found[1] + 1], len(samples.time) - 1)]),
    )
    force = np.sqrt(np.mean((samples.tau - W @ fit.theta)[excluded] ** 2, axis=0))
    k = int(np.argmax(force / fit.size))
    size = float(force[k])
    hit = (samples.model.channels[k],)

    def mended(one: Samples) -> Samples:
        keep = ~((one.time >= span[0]) & (one.time <= span[1]))
        return replace(one, moving=one.moving & keep[:, None])

    return [Reading("disturbance", hit, size, "N m", fit, mended, 40.0, span)]


KINDS = (
    Kind(
        "torque-sign",
        "log",
        lambda one: f"torques {one.whose} have the wrong sign",
        to_do="multiply these torques by -1 in the log",
        could_be=("the axis of the joint in the robot file, if its position is wrong as well",),
        severity="always",
    ),
    Kind(
        "torques-swapped",
        "log",
        lambda one: f"the torques of {pair(one)} are exchanged",
        to_do="name both columns after the joints that they belong to",
    ),
    Kind(
        "torque-scale",
        "log",
        lambda one: (
            f"all torques are about {one.size:.3g} times those of the robot file: another "
            "unit, or torques of the motors before the gears"
        ),
        to_do="convert them to N m at the joints; torques of motors are to be multiplied by the "
        "gear ratios, or an overlay states the motors",
        could_be=(
            "currents, motor torques or shares of the rated torque",
            "a robot file of another robot",
        ),
        severity="always",
    ),
    Kind(
        "currents",
        "log",
        lambda one: (
            f"torques are about {one.size:.3g} times those of the robot file, with a "
            "factor for each joint: currents, or shares of the rated torques"
        ),
        to_do="name the columns as currents, and state the torque constant of every drive in an "
        "overlay",
        could_be=("torques in shares of each drive's rated torque",),
        severity="always",
    ),
    Kind(
        "external-torque",
        "log",
        lambda one: (
            "the torques contain no model of the robot: they are an estimate of external torques"
        ),
        to_do="record the torques of the drives, without a model taken out",
        could_be=("a robot file that is far from the robot",),
        severity="always",
    ),
    Kind(
        "payload",
        "file",
        lambda one: f"a mass of about {one.size:.2g} kg at the last link is not in the robot file",
        could_be=("a last link that is heavier than the file says",),
        severity="never",
    ),
    Kind(
        "torque-filtered",
        "log",
        lambda one: f"torques went through a slow filter of about {one.size:.3g} Hz",
        to_do="record the torques without this filter",
        could_be=("torques that are late",),
    ),
    Kind(
        "clock-drift",
        "log",
        lambda one: (
            f"the clock of the torques differs by {100 * one.size:.3g} % from that of the positions"
        ),
        to_do="give both the stamps of one clock",
        could_be=("lost rows",),
    ),
    Kind(
        "disturbance",
        "log",
        lambda one: f"something touched the robot from {one.when}",
        to_do="leave this part out of the log",
        could_be=("a payload that was carried for a while", "a fault of the torque sensor"),
    ),
)


def pair(one: Suspect) -> str:
    """Two joints, in words."""
    return " and ".join(f"'{joint}'" for joint in one.joints)
