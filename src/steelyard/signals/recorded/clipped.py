"""Signals that are cut off at the end of a range: their extreme value repeats."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.signals.recorded.recorded import Recorded, runs_of
from steelyard.signals.recorded.stuck import coarse_steps, resolution
from steelyard.signals.saturation import plateau

Array = NDArray[np.float64]

FEWEST, SHARE = 8, 5e-4
"""Fewest samples at the extreme, and the smallest share of all."""
ABRUPT = 0.2
"""A position enters its plateau with at least this share of its rms speed."""
COARSE = 10.0
"""In a coarsely quantised signal the extreme is this many times as frequent as its neighbours."""
UNITS = {"position": "rad or m", "torque": "N m or N"}


def clipping(recorded: Recorded) -> Iterator[Finding]:
    """A warning for each position and torque that is cut off at the end of a range."""
    for joint, quantity, x in recorded.used:
        ends = clipped_rows(recorded, joint.name, quantity, x)
        if len(ends):
            values = ", ".join(f"{value:.6g}" for value in np.unique(x[ends]))
            words = (
                f"the {quantity} of '{joint.name}' is cut off at {values} {UNITS[quantity]} in "
                f"{len(ends)} samples, which are left out; widen the range of the channel, or "
                "record a slower motion"
            )
            yield recorded.finding(
                "warning", "clipping", words, (joint.name,), ends, size=(len(ends), "samples")
            )


def clipped_rows(recorded: Recorded, joint: str, quantity: str, x: Array) -> NDArray[np.int64]:
    """Rows in which a signal (n_samples,) is at the end of its range, if it is cut off there."""
    found = [np.zeros(0, dtype=np.int64)]
    fewest = max(FEWEST, SHARE * len(x))
    for sign, end in ((1.0, np.nanmax(x)), (-1.0, np.nanmin(x))):
        at = np.flatnonzero(x == end)
        if end == 0.0 or len(at) < fewest:
            continue
        if quantity == "position" and not _enters_abruptly(recorded, joint, x, at):
            continue
        rows = plateau(sign * x)
        if len(rows) < fewest or np.mean(recorded.in_motion[rows]) < 0.5:
            continue
        if coarse_steps(x):
            break
        if _toggles(x) and not len(plateau(sign * x, COARSE)):
            continue
        # beside stamps that are wrong, no speed can be trusted
        if quantity == "position" and recorded.evenly_sampled:
            continue
        found.append(rows)
    return np.sort(np.concatenate(found))


def _toggles(x: Array) -> bool:
    """Whether a signal (n,) moves by single steps of its resolution, mostly."""
    step, on_grid = resolution(x)
    return on_grid and step > 0.5 * float(np.nanmedian(np.abs(np.diff(x))))


def _enters_abruptly(recorded: Recorded, joint: str, x: Array, rows: NDArray[np.int64]) -> bool:
    """Whether the position (n_samples,) stops at its extreme within one sample, mostly.

    A plateau of which one side alone is abrupt is that of a frozen signal.
    """
    inside = np.zeros(len(x), bool)
    inside[rows] = True
    edges = runs_of(inside).ravel()
    edges = edges[(edges > 0) & (edges < len(x))]
    steps = np.abs(x[edges] - x[edges - 1])
    usual = recorded.usual_speeds[joint]
    ordinary = (steps > ABRUPT * usual) & (steps < 10.0 * max(usual, 1e-12))
    return len(edges) > 0 and bool(np.mean(ordinary) >= 0.5)
