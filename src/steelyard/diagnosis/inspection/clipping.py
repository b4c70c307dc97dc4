"""Signals that are cut off at the end of a range: their extreme value repeats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.signals.recorded.clipped import clipped_rows
from steelyard.signals.recorded.recorded import Recorded

Array = NDArray[np.float64]

UNITS = {"position": "rad or m", "torque": "N m or N"}


def clipping(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning for each position and torque that is cut off at the end of a range."""
    findings = []
    for quantity in ("position", "torque"):
        for joint, x in recorded.of_quantity(quantity):
            ends = clipped_rows(recorded, joint.name, quantity, x)
            if not len(ends):
                continue
            values = ", ".join(f"{value:.6g}" for value in np.unique(x[ends]))
            findings.append(
                Finding(
                    "warning",
                    "clipping",
                    f"log '{recorded.name}': the {quantity} of '{joint.name}' is cut off at "
                    f"{values} {UNITS[quantity]} in {len(ends)} samples, which are left out; "
                    "widen the range of the channel, or record a slower motion",
                    joints=(joint.name,),
                    span_s=(float(recorded.time[ends[0]]), float(recorded.time[ends[-1]])),
                    size=float(len(ends)),
                    unit="samples",
                )
            )
    return tuple(findings)
