"""Signals that are cut off at the end of a range: their extreme value repeats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.inspection.held import resolution
from steelyard.diagnosis.inspection.recorded import Recorded
from steelyard.findings import Finding
from steelyard.signals.saturation import plateau

Array = NDArray[np.float64]

FEWEST, SHARE = 8, 5e-4
"""Fewest samples at the extreme, and the smallest share of all."""
ABRUPT = 0.2
"""A position enters its plateau with at least this share of its rms speed."""
COARSE = 10.0
"""In a coarsely quantised signal the extreme is this many times as frequent as its neighbours."""
FEW_STEPS = 0.02
"""A signal whose resolution is more than this share of its span is not judged."""
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
                    f"{values} {UNITS[quantity]} in {len(ends)} samples; widen the range of the "
                    "channel, or record a slower motion",
                    joints=(joint.name,),
                    span_s=(float(recorded.time[ends[0]]), float(recorded.time[ends[-1]])),
                    size=float(len(ends)),
                    unit="samples",
                )
            )
    return tuple(findings)


def clipped_rows(recorded: Recorded, joint: str, quantity: str, x: Array) -> NDArray[np.int64]:
    """Rows in which a signal (n_samples,) is at the end of its range, if it is cut off there."""
    step, on_grid = resolution(x)
    coarse = on_grid and step > 0.5 * float(np.nanmedian(np.abs(np.diff(x))))
    more_often = COARSE if coarse else 4.0
    found = [np.zeros(0, dtype=np.int64)]
    if on_grid and step > FEW_STEPS * float(np.nanmax(x) - np.nanmin(x)):
        return found[0]
    for sign in (1.0, -1.0):
        rows = plateau(sign * x, more_often)
        if len(rows) < max(FEWEST, SHARE * len(x)) or x[rows[0]] == 0.0:
            continue
        if np.mean(recorded.in_motion[rows]) < 0.5:
            continue
        if quantity == "position" and not _enters_abruptly(recorded, joint, x, rows):
            continue
        found.append(rows)
    return np.sort(np.concatenate(found))


def _enters_abruptly(recorded: Recorded, joint: str, x: Array, rows: NDArray[np.int64]) -> bool:
    """Whether the position (n_samples,) stops at its extreme within one sample, mostly.

    A plateau of which one side alone is abrupt is that of a frozen signal.
    """
    inside = np.zeros(len(x) + 2, bool)
    inside[rows + 1] = True
    edges = np.flatnonzero(inside[1:-1] != inside[:-2])
    edges = edges[(edges > 0) & (edges < len(x))]
    steps = np.abs(x[edges] - x[edges - 1])
    usual = recorded.usual_speeds[joint]
    ordinary = (steps > ABRUPT * usual) & (steps < 10.0 * max(usual, 1e-12))
    return len(edges) > 0 and bool(np.mean(ordinary) >= 0.5)
