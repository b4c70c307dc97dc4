"""Whether the frame was in enough distinct orientations to separate weight, centre and bias.

Only what changes between samples separates the body from the bias: force m (a_i - a_j) and torque
h × (a_i - a_j) of the proper accelerations a. With one orientation these are all zero; with two
they have one direction, and the part of h along it does not show: three distinct orientations are
needed. Without a bias the accelerations themselves count, and one orientation less is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import WeighingError
from steelyard.findings import Finding
from steelyard.payload.sensor_factors import usable_samples
from steelyard.signals.frame_motion import FrameMotion, Wrench

Array = NDArray[np.float64]

SMALLEST_SPREAD = 0.2
"""Standard deviation (m/s²) of the proper acceleration along a direction that counts as change:
gravity turned by about one degree.
"""
WEIGHTLESS = 0.5
"""Proper acceleration (m/s², rms) that no gravity leaves."""
SLOW = 0.5
"""Angular acceleration, or square of the angular speed (rad/s², rms), below which the first moment
shows by gravity alone.
"""


@dataclass(frozen=True, eq=False)
class Orientations:
    """What the orientations leave open.

    ignored : (10, k) directions of the parameters that count as not determined.
    findings : why.
    """

    ignored: Array
    findings: tuple[Finding, ...]


def check_orientations(
    recordings: Sequence[tuple[FrameMotion, Wrench]], *, bias: bool
) -> Orientations:
    """Refuse a single orientation; with two, the first moment along one direction is open."""
    gram, n, turning = np.zeros((3, 3)), 0, 0.0
    total = np.zeros(3)
    for motion, wrench in recordings:
        index = usable_samples(motion, wrench)
        a = motion.proper_acceleration[index]
        gram += a.T @ a
        total += a.sum(axis=0)
        n += len(index)
        rates = motion.angular_acceleration[index], motion.angular_velocity[index]
        turning += float(np.sum(rates[0] ** 2) + np.sum(rates[1] ** 2) ** 2 / max(len(index), 1))
    spread = gram / n
    if bias:
        spread = spread - np.outer(total, total) / n**2
    values, vectors = np.linalg.eigh(spread)
    sizes = np.sqrt(np.maximum(values, 0.0))
    frame = recordings[0][0].frame
    if sizes[2] < SMALLEST_SPREAD and np.sqrt(np.trace(gram) / n) < WEIGHTLESS:
        raise WeighingError(
            "no-gravity",
            f"frame '{frame}' has nearly no proper acceleration (rms "
            f"{np.sqrt(np.trace(gram) / n):.2g} m/s²), so that no weight shows: state gravity in "
            "m/s² (9.81 on Earth), or check the unit of the accelerations",
        )
    if sizes[2] < SMALLEST_SPREAD:
        raise WeighingError(
            "one-orientation",
            f"frame '{frame}' is in one orientation only (the proper acceleration in its axes "
            f"varies by {sizes[2]:.2g} m/s²): the weight of the payload cannot be told from the "
            "sensor's bias; turn the frame to at least three distinct orientations"
            + (", or state that the sensor has no bias" if bias else "")
            + "; if it was turned, check that the clocks of motion and wrench start together and "
            "are both in seconds",
        )
    ignored = np.zeros((10, 0))
    if sizes[1] >= SMALLEST_SPREAD or np.sqrt(turning / n) >= SLOW:
        return Orientations(ignored, ())
    direction = vectors[:, 2]
    ignored = np.zeros((10, 1))
    ignored[1:4, 0] = direction
    needed = "three" if bias else "two"
    words = (
        f"frame '{frame}' is in fewer than {needed} distinct orientations (across its main "
        f"direction the proper acceleration varies by {sizes[1]:.2g} m/s²): the centre of mass "
        f"along ({', '.join(f'{x:.2f}' for x in direction)}) is not determined; turn the frame to "
        f"at least {needed} distinct orientations"
    )
    return Orientations(ignored, (Finding("warning", "few-orientations", words),))
