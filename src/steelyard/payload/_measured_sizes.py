"""Whether numbers of a motion and a wrench can be those of a robot and a working sensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError, WeighingError
from steelyard.payload.sensor_factors import usable_samples
from steelyard.signals.frame_motion import FrameMotion, Wrench

Array = NDArray[np.float64]

LARGEST = 1e9
"""Largest number (SI units) that is taken for a measurement."""
SMALLEST_FORCE = 1e-9
"""Force (N) below which a sensor shows nothing."""
SMALLEST_TORQUE = 1e-10
"""Torque (N m) below which a sensor shows nothing."""
SAME = 1e-9
"""Range of the readings, as a share of their size, that no sensor resolves."""


def check_sizes(recordings: Sequence[tuple[FrameMotion, Wrench]]) -> None:
    """Refuse numbers that are no measurement, and a wrench that is zero or never changes.

    Numbers that are NaN or infinite mark samples that are not used.
    """
    for motion, wrench in recordings:
        for what, values in (
            ("the force", wrench.force),
            ("the torque", wrench.torque),
            ("the proper acceleration", motion.proper_acceleration),
            ("the angular velocity", motion.angular_velocity),
            ("the angular acceleration", motion.angular_acceleration),
        ):
            _refuse_huge(motion, what, values)
    index = [usable_samples(motion, wrench) for motion, wrench in recordings]
    force = np.concatenate([w.force[rows] for (_, w), rows in zip(recordings, index, strict=True)])
    torque = np.concatenate(
        [w.torque[rows] for (_, w), rows in zip(recordings, index, strict=True)]
    )
    if len(force) == 0:
        return
    frame = recordings[0][0].frame
    weak = float(np.abs(force).max()) < SMALLEST_FORCE
    if weak and float(np.abs(torque).max()) < SMALLEST_TORQUE:
        raise WeighingError(
            "zero-wrench",
            f"frame '{frame}': the wrench is zero in all samples: sensor disconnected or zeroed; "
            "check the sensor and the columns of its forces and torques",
        )
    if weak:
        raise WeighingError(
            "zero-wrench",
            f"frame '{frame}': the force is zero in all samples, though the torque is not: check "
            "the columns of the forces",
        )
    if len(force) > 1 and _constant(force) and _constant(torque):
        raise WeighingError(
            "constant-wrench",
            f"frame '{frame}': the wrench is the same in all {len(force)} samples (force "
            f"{np.linalg.norm(force[0]):.3g} N): the sensor carries no payload, or its readings "
            "are frozen; check that the sensor is read anew for each sample",
        )


def _refuse_huge(motion: FrameMotion, what: str, values: Array) -> None:
    huge = np.isfinite(values) & (np.abs(values) > LARGEST)
    if not huge.any():
        return
    bad = np.flatnonzero(huge.any(axis=1))
    raise SignalError(
        f"run '{motion.run}', frame '{motion.frame}': {what} is "
        f"{values[huge][0]:.4g} (SI units) in sample {bad[0] + 1} ({len(bad)} "
        f"such samples); more than {LARGEST:g} is no measurement: check its unit"
        + (" and the gravity" if what == "the proper acceleration" else "")
        + ", or mark the sample as missing with nan"
    )


def _constant(values: Array) -> bool:
    return bool((np.ptp(values, axis=0) <= SAME * float(np.abs(values).max())).all())
