"""Signals that are updated less often than rows are written, what was between their updates, and
signals with coarse steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import quoted_list
from steelyard.findings import Finding
from steelyard.signals.recorded.recorded import FAST, USED, Recorded, in_long_runs, interpolated
from steelyard.signals.recorded.stuck import resolution

Array = NDArray[np.float64]

REPEATED = 0.05
"""Share of repeated values above which a signal is held."""
NEW_VALUES = 0.5
"""Share of the changes of a held torque that give a value that it never had."""
FROZEN_S = 0.15
"""Runs of equal values longer than this (s) are another matter."""
REPEATED_ROWS, FEWEST_ROWS = 0.02, 5
"""Share of rows, while the robot moves, that repeat the row before in every signal and are more
than a note; fewer than so many rows are not worth one."""
COARSE_ANGLE, COARSE_LENGTH = 3e-3, 5e-4
"""Steps (rad, m) of a position that are coarse."""
COARSE_TORQUE = 0.03
"""Rounding error of a torque over its standard deviation that is coarse."""


def held_signals(recorded: Recorded, quantity: str) -> dict[str, float]:
    """Joints of which the values of a quantity repeat, apart from rows that repeat as a whole, and
    how many rows there are for each new value.
    """
    shares = {
        joint.name: repeated_share(recorded, joint.name, quantity, x)
        for joint, x in recorded.of_quantity(quantity)
    }
    return {joint: 1.0 / max(1.0 - one, 1e-3) for joint, one in shares.items() if one > 0.0}


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
    judged &= ~in_long_runs(same, FROZEN_S / recorded.period_s)
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
    # after the last new value there is nothing to go by
    repeated = same & (np.cumsum(new[::-1])[::-1] > 0)
    repeated &= ~in_long_runs(same, FROZEN_S / float(np.median(np.diff(time))))
    return interpolated(time, x, new, repeated)


def held_samples(recorded: Recorded) -> Iterator[Finding]:
    """A warning if signals repeat their values while the robot moves, a note for few of them."""
    yield from _repeated_rows(recorded)
    for quantity in USED:
        held = held_signals(recorded, quantity)
        if held:
            rows = float(np.mean(list(held.values())))
            words = (
                f"the {quantity} of {quoted_list(held)} changes only every {rows:.3g} rows: a "
                "slower signal was held; what is between new values is interpolated, and what "
                "happened there is lost: log it at a higher rate"
            )
            yield recorded.finding(
                "warning", "held-samples", words, tuple(held), size=(rows, "rows")
            )


def _repeated_rows(recorded: Recorded) -> Iterator[Finding]:
    """Rows that repeat the row before: in every signal, or in the positions of all joints."""
    for what, stale in (
        ("every signal", ~recorded.fresh & recorded.in_motion),
        ("the positions of all joints", ~recorded.fresh_positions & recorded.any_faster(FAST)),
    ):
        rows = np.flatnonzero(stale)
        if len(rows) < FEWEST_ROWS:
            continue
        share = len(rows) / int(np.count_nonzero(recorded.in_motion))
        if what != "every signal" and share > REPEATED:
            continue  # positions of a slower bus
        yield recorded.finding(
            "warning" if share > REPEATED_ROWS else "info",
            "held-samples",
            f"{len(rows)} rows ({100 * share:.3g} %) repeat the row before in {what} while the "
            "robot moves: the last known state was written where a message was lost; leave these "
            "rows out of the log",
            rows=rows,
            size=(100.0 * share, "% of rows"),
        )
        return


def quantised(recorded: Recorded) -> Iterator[Finding]:
    """A warning for positions and torques whose steps are coarse."""
    for quantity, unit in (("position", "rad (or m)"), ("torque", "N m (or N)")):
        coarse = {}
        for joint, x in recorded.of_quantity(quantity):
            least, on_grid = resolution(x)
            if on_grid and least > _coarse(joint.kind, quantity, x):
                coarse[joint.name] = least
        if coarse:
            step = max(coarse.values())
            words = (
                f"the {quantity} of {quoted_list(coarse)} has steps of {step:.3g} {unit}, coarse "
                "beside what it shows; export more digits"
            )
            yield recorded.finding("warning", "quantised", words, tuple(coarse), size=(step, unit))


def _coarse(kind: str, quantity: str, x: Array) -> float:
    """The smallest step of a signal (n_samples,) that is too coarse."""
    if quantity == "position":
        return COARSE_LENGTH if kind == "prismatic" else COARSE_ANGLE
    return COARSE_TORQUE * math.sqrt(12.0) * float(np.nanstd(x))
