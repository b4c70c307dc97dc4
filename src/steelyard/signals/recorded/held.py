"""Signals that are updated less often than rows are written, and what was between their updates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.signals.cubic_spline import cubic_spline
from steelyard.signals.recorded.frozen import resolution
from steelyard.signals.recorded.recorded import FAST, Recorded

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

REPEATED = 0.05
"""Share of repeated values above which a signal is held."""
NEW_VALUES = 0.5
"""Share of the changes of a held torque that give a value that it never had."""
FROZEN_S = 0.15
"""Runs of equal values longer than this (s) are another matter."""


@dataclass(frozen=True)
class Held:
    """A quantity of some joints whose values repeat.

    rows : rows for each new value, on average over the joints.
    """

    quantity: str
    joints: tuple[str, ...]
    rows: float


def held_signals(recorded: Recorded) -> tuple[Held, ...]:
    """The quantities whose values repeat, apart from rows that repeat as a whole."""
    found = []
    for quantity in ("position", "torque"):
        rows = {}
        for joint, x in recorded.of_quantity(quantity):
            share = repeated_share(recorded, joint.name, quantity, x)
            if share > 0.0:
                rows[joint.name] = 1.0 / max(1.0 - share, 1e-3)
        if rows:
            found.append(Held(quantity, tuple(rows), float(np.mean(list(rows.values())))))
    return tuple(found)


def repeated_share(recorded: Recorded, joint: str, quantity: str, x: Array) -> float:
    """Share of values that repeat although the signal should change; 0 if that is natural."""
    same = x[1:] == x[:-1]
    if np.count_nonzero(same) <= REPEATED * 200:
        return 0.0
    moving = recorded.faster(joint, FAST) if quantity == "position" else recorded.in_motion
    judged = moving[1:] & recorded.fresh[1:] & np.isfinite(x[1:])
    if np.count_nonzero(same & judged) <= REPEATED * max(int(np.count_nonzero(judged)), 200):
        return 0.0
    # a signal that is cut off repeats its extremes, which is another matter
    judged &= (x[1:] != np.nanmax(x)) & (x[1:] != np.nanmin(x))
    judged &= ~_in_long_runs(same, FROZEN_S / recorded.period_s)
    n_judged = np.count_nonzero(judged)
    if n_judged < 50:
        return 0.0
    share = float(np.count_nonzero(same & judged)) / float(n_judged)
    if share <= REPEATED:
        return 0.0
    if quantity == "position":
        least, on_grid = resolution(x)
        return 0.0 if on_grid and recorded.usual_speeds[joint] < 6.0 * least else share
    # the few values of a coarse torque come back; those of one that is held do not
    n_new = np.count_nonzero(~same)
    return share if len(np.unique(x)) > NEW_VALUES * n_new else 0.0


def between_updates(time: Array, x: Array) -> Array:
    """A held signal (n_samples,) with a cubic spline through its new values, where it repeats.

    time : (n_samples,) s. Runs longer than ``FROZEN_S`` stay as they are.
    """
    same = np.concatenate([[False], x[1:] == x[:-1]])
    new = np.isfinite(x) & ~same
    if np.count_nonzero(new) < 4:
        return x
    period = float(np.median(np.diff(time)))
    repeated = same & ~np.concatenate([[False], _in_long_runs(same[1:], FROZEN_S / period)])
    # after the last new value there is nothing to go by
    repeated &= time <= time[np.flatnonzero(new)[-1]]
    out = x.copy()
    out[repeated] = cubic_spline(time[new], x[new])(time[repeated])
    return out


def _in_long_runs(same: Mask, longest: float) -> Mask:
    """Steps (n,) that are in a run of more than ``longest`` equal values."""
    edge = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    out = np.zeros(len(same), bool)
    for first, end in zip(edge[::2].tolist(), edge[1::2].tolist(), strict=True):
        if end - first > longest:
            out[first:end] = True
    return out
