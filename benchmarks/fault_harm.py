"""Harm of a fault: how well its estimate predicts torques of a clean recording it never saw."""

from __future__ import annotations

import numpy as np
from fault_recordings import Recording

from steelyard.identification.found import Identification

MOVING = 0.1
"""A joint counts where it is faster than this share of its rms speed: near standstill friction
sticks, and no model of the torque is right, as in the errors that Steelyard reports."""


def unseen_error(found: Identification, unseen: Recording) -> float:
    """Error of the predicted torques, every joint counted alike:

        sqrt(mean over joints of (|tau - tau_hat| / |tau|)²), norms over samples in motion

    tau is the measured torque of the clean recording, with its noise; tau_hat is predicted at its
    true positions, velocities and accelerations, so that no filter of the run has a say.
    """
    motion = unseen.motion
    predicted = found.predict(motion.q, motion.v, motion.a)
    order = [found.model.channels.index(joint) for joint in unseen.model.channels]
    moving = np.abs(motion.v) > MOVING * np.sqrt(np.mean(motion.v**2, axis=0))
    with np.errstate(over="ignore", invalid="ignore"):
        away = np.linalg.norm(np.where(moving, unseen.tau - predicted[:, order], 0.0), axis=0)
        size = np.linalg.norm(np.where(moving, unseen.tau, 0.0), axis=0)
        return float(np.sqrt(np.mean((away / size) ** 2)))
