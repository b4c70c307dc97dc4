"""Runs of exactly equal values: signals that stand still although the robot moves.

Such a run is suspicious of a torque while the robot moves, since its noise would change it. A joint
may rest: a position is frozen only where it stops or starts within one sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.signals.recorded.recorded import Recorded

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SHORTEST_S, SHORTEST = 0.15, 20
"""Shortest time (s) and fewest samples for which a signal is called frozen."""
LONGER = 10.0
"""A frozen run is this many times as long as other runs of equal values of the signal."""
ABRUPT, DECELERATION, FAR = 0.15, 40.0, 3.0
"""A position stops abruptly from this share of its rms speed, if that takes a deceleration of more
than this (rad/s² or m/s²); a step of ``FAR`` times the usual one is abrupt in any log."""
MOST = 20
"""Runs of a signal, the longest ones, that are looked at."""
FEW_STEPS = 0.02
"""A torque whose resolution is more than this share of its span stays on a value for long."""


@dataclass(frozen=True, eq=False)
class Frozen:
    """A signal that stands still. runs : rows of each run; value : that of the longest one.

    throughout : whether it is the same in all samples.
    """

    runs: tuple[slice, ...]
    value: float
    throughout: bool = False

    def mask(self, n_samples: int) -> Mask:
        """Samples (n_samples,) in which the signal stands still."""
        out = np.zeros(n_samples, bool)
        for rows in self.runs:
            out[rows] = True
        return out


def resolution(x: Array) -> tuple[float, bool]:
    """Smallest change of a signal (n,) between samples, and whether all are multiples of it."""
    change = np.abs(np.diff(x[np.isfinite(x)]))
    change = change[change > 1e-9 * float(np.max(change, initial=0.0))]
    if len(change) < 4:
        return 0.0, False
    least = float(change.min())
    ratio = change / least
    return least, bool(np.all(np.abs(ratio - np.round(ratio)) < 0.05))


def coarse_steps(x: Array) -> bool:
    """Whether a signal (n,) has but few values between its extremes."""
    step, on_grid = resolution(x)
    return on_grid and step > FEW_STEPS * float(np.nanmax(x) - np.nanmin(x))


def runs_of_equals(x: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First index and length of each run of exactly equal values (n,); NaN equals nothing."""
    first = np.concatenate([[0], np.flatnonzero(x[1:] != x[:-1]) + 1])
    return first, np.diff(np.concatenate([first, [len(x)]]))


def frozen_of(recorded: Recorded, joint: str, quantity: str, x: Array) -> Frozen | None:
    """Where a position or torque (n_samples,) stands still; None where nothing is wrong."""
    known = x[np.isfinite(x)]
    if len(known) < SHORTEST:
        return None
    low, high = float(known.min()), float(known.max())
    if low == high:
        return Frozen((slice(0, len(x)),), low, throughout=True)
    least = max(SHORTEST, SHORTEST_S / recorded.period_s)
    n = int(np.ceil(least)) - 1
    # a run that long has equal values at its ends
    if n >= len(x) or not np.any(x[n:] == x[: len(x) - n]):
        return None
    first, length = runs_of_equals(x)
    candidates = np.flatnonzero(length >= least)
    candidates = candidates[np.argsort(-length[candidates], kind="stable")][:MOST]
    squares, total = float(np.sum(length.astype(float) ** 2)), float(np.sum(length))
    frozen = []
    for k in candidates.tolist():
        rows = slice(int(first[k]), int(first[k] + length[k]))
        squares, total = squares - float(length[k]) ** 2, total - float(length[k])
        usual = squares / total if total > 0.0 else 1.0
        if length[k] < LONGER * max(usual, 1.0):
            break
        value = float(x[rows.start])
        if value in (low, high) and value != 0.0:
            continue  # cut off at the end of a range
        if quantity == "torque" and np.mean(recorded.in_motion[rows]) < 0.5:
            continue
        if quantity == "position" and not _abrupt(recorded, joint, x, rows):
            continue
        frozen.append(rows)
    if not frozen or (quantity == "torque" and coarse_steps(x)):
        return None
    return Frozen(tuple(frozen), float(x[frozen[0].start]))


def _abrupt(recorded: Recorded, joint: str, x: Array, rows: slice) -> bool:
    """Whether the position (n_samples,) stops or starts within one sample."""
    usual = recorded.usual_speeds[joint]
    steps = [
        abs(float(x[b] - x[a])) / max(float(recorded.stamps[b] - recorded.stamps[a]), 1.0)
        for a, b in ((rows.start - 1, rows.start), (rows.stop - 1, rows.stop))
        if a >= 0 and b < len(x)
    ]
    limit = max(ABRUPT * usual, DECELERATION * recorded.period_s**2)
    limit = min(limit, FAR * usual) + resolution(x)[0]
    return usual > 0.0 and any(step > limit for step in steps)
