"""A log as thinned samples, on which readings are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import Samples, plain_model
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_SAMPLES = 3000
TRAVELS = (3e-3, 8e-3, 0.02, 0.05, 0.12, 0.3)
"""Travels of friction that are tried, as shares of the rms of each joint's position."""
STRETCHES, LEAST_RATE_HZ = 12, 40.0
"""Stretches of a long log, and the rate below which torques are not thinned out."""
USUAL_LAG_S = 0.1
"""Time (s) after which the noise of unfiltered torques is another one, generously."""
SLOW = 0.1
"""A joint counts as slow below this share of its rms speed."""


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
    prepared = prepare(log, model, asked, other_travels=TRAVELS)
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
    rows = rows[spread_rows(len(rows), prepared.record.rate_out_hz)]
    speed = np.abs(motion.v)
    moving = (speed > SLOW * np.sqrt(np.mean(motion.v**2, axis=0))) & measured
    tau = np.where(measured, tau, 0.0)
    time, q, v, a, jump, tau = (
        np.ascontiguousarray(one[rows])
        for one in (motion.time, motion.q, motion.v, motion.a, jump, tau)
    )
    cutoff = prepared.record.cutoff_hz
    lag_s = USUAL_LAG_S if cutoff is None else 1.0 / cutoff
    slower = tuple(np.ascontiguousarray(one[rows]) for one in slower)
    samples = Samples(model, time, q, v, a, jump, tau, moving[rows], lag_s, slower)
    return Thinned(samples, prepared.findings, cutoff)


def spread_rows(n: int, rate_hz: float) -> IntArray:
    """At most ``MOST_SAMPLES`` of n rows, spread over the log.

    Even ones, where torques can still be interpolated between them; of a longer log, stretches of
    even rows from all over it.
    """
    step = max(1, -(-n // MOST_SAMPLES))
    widest = max(1, int(rate_hz / LEAST_RATE_HZ))
    if step <= widest:
        return np.arange(0, n, step)
    length = widest * (MOST_SAMPLES // STRETCHES)
    starts = np.linspace(0, n - length, STRETCHES).astype(np.int64)
    return np.asarray((starts[:, None] + np.arange(0, length, widest)).ravel())
