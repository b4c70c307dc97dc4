"""Units of positions, where the robot file has no limits to compare with."""

from __future__ import annotations

import numpy as np

from steelyard.diagnosis.inspection.recorded import Recorded
from steelyard.findings import Finding

TURNS = 4.0
"""A joint without limits that turns more than this many times about is implausible."""


def position_units(recorded: Recorded) -> tuple[Finding, ...]:
    """A finding if joints without limits turn far more than an arm's do: often degrees.

    Joints with limits are compared with them where the log is prepared (``beyond-limits``).
    """
    wide = {}
    for joint, q in recorded.of_quantity("position"):
        limited = joint.limits.lower is not None and joint.limits.upper is not None
        if joint.kind == "prismatic" or limited or not np.isfinite(q).any():
            continue
        span = float(np.nanmax(q) - np.nanmin(q))
        if span > TURNS * 2.0 * np.pi and _back_and_forth(q):
            wide[joint.name] = span
    if not wide:
        return ()
    words = ", ".join(f"'{joint}' {span:.4g} rad" for joint, span in wide.items())
    return (
        Finding(
            "severe",
            "position-unit",
            f"log '{recorded.name}': joints swing back and forth over many turns: {words}; are "
            "positions in degrees?",
            joints=tuple(wide),
            size=max(wide.values()),
            unit="rad",
            could_be=("positions of motors before their gears", "encoder counts"),
            option="name the column like 'joint.position[deg]'",
        ),
    )


def _back_and_forth(q: np.ndarray) -> bool:
    """Whether a position (n_samples,) does not just run on in one direction, as a wheel's."""
    known = q[np.isfinite(q)]
    return abs(float(known[-1] - known[0])) < 0.7 * float(np.ptp(known))
