"""A log as thinned samples, on which readings are compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import Samples, plain_model
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]

MOST_SAMPLES = 3000
SLOW = 0.1
"""A joint counts as slow below this share of its rms speed."""


def thinned(robot: Robot, log: Log, processing: Processing | None = None) -> Samples:
    """At most ``MOST_SAMPLES`` samples of a log, torques and friction filtered like positions."""
    asked = replace(processing or Processing(), torque_filter="same", dead_band=None)
    model = plain_model(robot)
    prepared = prepare(log, model, asked)
    motion, tau = prepared.motion, prepared.all_measurements.tau
    jump = np.sign(motion.v)
    if motion.friction is not None:
        names = [f"{joint}.fc" for joint in model.channels]
        where = [motion.friction.names.index(name) for name in names]
        jump = motion.friction.values[:, where]
    good = np.isfinite(tau).all(axis=1) & np.isfinite(motion.a).all(axis=1)
    rows = np.flatnonzero(good)
    rows = rows[:: max(1, -(-len(rows) // MOST_SAMPLES))]
    speed = np.abs(motion.v)
    moving = speed > SLOW * np.sqrt(np.mean(motion.v**2, axis=0))
    time, q, v, a, jump, tau = (
        np.ascontiguousarray(one[rows])
        for one in (motion.time, motion.q, motion.v, motion.a, jump, tau)
    )
    return Samples(model, time, q, v, a, jump, tau, moving[rows])
