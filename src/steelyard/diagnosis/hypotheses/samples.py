"""A log as samples on which hypotheses are compared: thinned, filtered, with its regressor."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.terms import joint_term
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
IntArray = NDArray[np.int64]

TERM_KINDS = ("drive_inertia", "viscous", "coulomb", "offset")
MOST_SAMPLES = 4000
TRAVELS = (3e-3, 8e-3, 0.02, 0.05, 0.12, 0.3)
"""Travels of friction that are tried, as shares of the rms of each joint's position."""
STRETCHES, LEAST_RATE_HZ, PER_WAVE = 12, 40.0, 3.0
"""Stretches of a long log, the rate below which torques are not thinned out, and how many samples
the fastest wave has that the filter of the log leaves."""
LIMIT_SLACK = 0.05
"""Share of its span by which a joint may be beyond its limits."""
ENOUGH_HZ = 10.0
"""Waves faster than this, and than four bandwidths of the motion, are of noise and of friction that
reverses, which hide what a gear that gives way does to the motion."""
USUAL_LAG_S = 0.1
"""Time (s) after which the noise of unfiltered torques is another one, generously."""
SLOW = 0.1
"""A joint counts as slow below this share of its rms speed."""


def plain_model(robot: Robot) -> Model:
    """The robot with drive inertia, viscous and Coulomb friction and an offset at every joint."""
    return Model(
        robot, tuple(joint_term(kind, name) for name in robot.joint_names for kind in TERM_KINDS)
    )


@dataclass(frozen=True, eq=False)
class Samples:
    """Thinned samples of a log, columns in the order of ``model.channels``.

    time : (n,) s. q, v, a, tau : (n, n_joints) rad, N m, ... jump : the filtered sign of v.
    moving : where a joint moves fast enough for the sign of its friction to be known; nowhere for
    a joint whose torque is not used.
    lag_s : time (s) after which the noise of filtered torques is another one.
    step_s : time between samples of the log.
    slower : (n, n_joints) factors of friction in the place of ``jump``, which follow a change of
    direction over longer and longer travels.
    """

    model: Model
    time: Array
    q: Array
    v: Array
    a: Array
    jump: Array
    tau: Array
    moving: Mask
    lag_s: float = 0.1
    slower: tuple[Array, ...] = ()
    step_s: float = 0.0

    def with_motion_of(self, order: IntArray, sign: Array) -> Samples:
        """Joint i moves as column ``order[i]``, times ``sign[i]``."""
        q, v, a, jump, *slower = (
            sign * one[:, order] for one in (self.q, self.v, self.a, self.jump, *self.slower)
        )
        moving = self.moving[:, order]
        return replace(self, q=q, v=v, a=a, jump=jump, moving=moving, slower=tuple(slower))


def rows_of(samples: Samples, rows: slice | IntArray) -> Samples:
    """These rows of the samples."""
    names = ("time", "q", "v", "a", "jump", "tau", "moving")
    some = {name: getattr(samples, name)[rows] for name in names}
    return replace(samples, **some, slower=tuple(one[rows] for one in samples.slower))


def every(samples: Samples, step: int) -> Samples:
    """Every ``step``-th of the samples."""
    return rows_of(samples, slice(None, None, step))


def term_columns(model: Model) -> IntArray:
    """Columns (n_joints, 4) of each joint's terms, in the order of ``TERM_KINDS``."""
    index = {name: k for k, name in enumerate(model.column_names)}
    names = [[joint_term(kind, joint).name for kind in TERM_KINDS] for joint in model.channels]
    return np.array([[index[name] for name in row] for row in names], dtype=np.int64)


def regressor(samples: Samples) -> Array:
    """W (n, n_joints, n_columns) with filtered friction; rows of slow joints are zero."""
    W = torque_regressor(samples.model, samples.q, samples.v, samples.a)
    for i, columns in enumerate(term_columns(samples.model)):
        W[:, i, columns[2]] = samples.jump[:, i]
    W *= samples.moving[:, :, None]
    return W


@dataclass(frozen=True, eq=False)
class Thinned:
    """Samples of a log, what was found when it was prepared, and the cutoff (Hz) of its filter."""

    samples: Samples
    findings: tuple[Finding, ...]
    cutoff_hz: float | None


def thinned(robot: Robot, log: Log, processing: Processing | None = None) -> Thinned:
    """At most ``MOST_SAMPLES`` samples of a log, torques and friction filtered like positions."""
    asked = replace(processing or Processing(), torque_filter="same", dead_band=None)
    if asked.acceleration == "none":
        asked = replace(asked, acceleration="differentiate")
    model = plain_model(robot)
    prepared = prepare(log, model, asked, other_travels=TRAVELS, enough_hz=ENOUGH_HZ)
    motion, tau = prepared.motion, prepared.all_measurements.tau
    jump = np.sign(motion.v)
    slower: tuple[Array, ...] = ()
    if motion.friction is not None:
        names = [f"{joint}.fc" for joint in model.channels]
        where = [motion.friction.names.index(name) for name in names]
        jump, *others = (
            one.values[:, where] for one in (motion.friction, *prepared.other_friction)
        )
        slower = tuple(others)
    measured = np.isfinite(tau).any(axis=0)
    good = np.isfinite(tau[:, measured]).all(axis=1) & np.isfinite(motion.a).all(axis=1)
    rows = np.flatnonzero(good)
    cutoff = prepared.record.cutoff_hz
    least_hz = LEAST_RATE_HZ if cutoff is None else max(LEAST_RATE_HZ, PER_WAVE * cutoff)
    rows = rows[spread_rows(len(rows), prepared.record.rate_out_hz, least_hz)]
    speed = np.abs(motion.v)
    moving = (speed > SLOW * np.sqrt(np.mean(motion.v**2, axis=0))) & measured
    tau = np.where(measured, tau, 0.0)
    time, q, v, a, jump, tau = (
        np.ascontiguousarray(one[rows])
        for one in (motion.time, motion.q, motion.v, motion.a, jump, tau)
    )
    lag_s = USUAL_LAG_S if cutoff is None else 1.0 / cutoff
    slower = tuple(np.ascontiguousarray(one[rows]) for one in slower)
    step_s = float(np.median(np.diff(log.time)))
    samples = Samples(model, time, q, v, a, jump, tau, moving[rows], lag_s, slower, step_s)
    return Thinned(samples, prepared.findings, cutoff)


def spread_rows(n: int, rate_hz: float, least_hz: float = LEAST_RATE_HZ) -> IntArray:
    """At most ``MOST_SAMPLES`` of n rows, spread over the log.

    Even ones, where torques can still be interpolated between them; of a longer log, stretches of
    even rows from all over it.
    """
    step = max(1, -(-n // MOST_SAMPLES))
    widest = max(1, int(rate_hz / least_hz))
    if step <= widest:
        return np.arange(0, n, step)
    length = widest * (MOST_SAMPLES // STRETCHES)
    starts = np.linspace(0, n - length, STRETCHES).astype(np.int64)
    return np.asarray((starts[:, None] + np.arange(0, length, widest)).ravel())


def within_limits(samples: Samples) -> bool:
    """Whether the positions of every joint are within its limits, or hardly beyond."""
    for name, q in zip(samples.model.channels, samples.q.T, strict=True):
        limits = samples.model.robot.joint(name).limits
        slack = LIMIT_SLACK * float(np.ptp(q))
        if limits.lower is not None and q.min() < limits.lower - slack:
            return False
        if limits.upper is not None and q.max() > limits.upper + slack:
            return False
    return True
