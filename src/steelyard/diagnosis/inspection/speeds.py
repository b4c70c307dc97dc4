"""Speeds that follow from positions and time stamps, beside the limits of the robot file."""

from __future__ import annotations

import numpy as np

from steelyard.diagnosis.inspection.stamps import time_units
from steelyard.diagnosis.inspection.velocities import velocities_agree
from steelyard.findings import Finding
from steelyard.signals.recorded.recorded import Recorded

TOO_FAST = 1.35
"""Speeds beyond this many times a joint's limit are implausible."""
GLANCE = 0.7
"""Share of such a speed at which a closer look is taken; averages are below the largest."""
TOP = 99.0
"""Percentile of the speed that is compared."""


def speeds_beyond_limits(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning if joints are faster than the robot file allows, though within their range; a note
    if recorded velocities say so, too.
    """
    if not _some_are_fast(recorded):
        return ()
    fast: dict[str, float] = {}
    speeds, limits = [], []
    period = recorded.period_s
    if recorded.evenly_sampled:
        period = float(recorded.time[-1] - recorded.time[0]) / (len(recorded) - 1)
    for joint, q in recorded.of_quantity("position"):
        limit = joint.limits.velocity
        if limit is None or not limit > 0.0 or not np.isfinite(limit):
            continue
        ends = [end for end in (joint.limits.lower, joint.limits.upper) if end is not None]
        if len(ends) == 2 and np.nanmax(np.abs(q)) > 2.0 * max(abs(end) for end in ends):
            return ()
        steps = recorded.steps.get(joint.name)
        if steps is None:
            continue
        speed = np.percentile(np.abs(steps.expected) / steps.taken, TOP) / period
        speeds.append(float(speed))
        limits.append(limit)
        if speed > TOO_FAST * limit:
            fast[joint.name] = float(speed) / limit
    if not fast or time_units(recorded):
        return ()
    # joints in another order than the file's: their speeds fit the limits of other joints
    if np.all(np.sort(speeds) <= TOO_FAST * np.sort(limits)):
        return ()
    words = ", ".join(f"'{joint}' {factor:.3g} times" for joint, factor in fast.items())
    if velocities_agree(recorded):
        return (
            Finding(
                "info",
                "beyond-speed-limits",
                f"log '{recorded.name}': joints are faster than the limits of the robot file: "
                f"{words}; recorded velocities agree with the positions, so time is right unless "
                "they were computed from them: check the limits of the file",
                joints=tuple(fast),
                size=max(fast.values()),
                unit="times",
            ),
        )
    return (
        Finding(
            "warning",
            "time-rate",
            f"log '{recorded.name}': joints are faster than the limits of the robot file: {words}; "
            "is the sampling rate, from which time stamps were made, the true one?",
            joints=tuple(fast),
            size=max(fast.values()),
            unit="times",
            could_be=("positions in another unit", "limits of the file that are too low"),
        ),
    )


def _some_are_fast(recorded: Recorded) -> bool:
    """Whether a joint comes near a speed that is implausible, seen at a glance."""
    for joint, _ in recorded.of_quantity("position"):
        limit = joint.limits.velocity
        if limit is None or not limit > 0.0:
            continue
        speed = float(np.max(recorded.speeds[joint.name])) / recorded.period_s
        if speed > GLANCE * TOO_FAST * limit:
            return True
    return recorded.evenly_sampled
