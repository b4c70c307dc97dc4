"""Steps of a position from sample to sample, and those that are too large for the motion.

A step is compared with the local speed: the median of the steps around it, each divided by the time
that it took. A robot's speed changes little from one sample to the next, so what is left is noise,
unless the position jumped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

WINDOW = 9
"""Steps of which the median is the local speed."""
NOISES = 12.0
"""A step is too large beyond this many times the noise (standard deviation) of the steps."""
TAIL, TAILS = 97.0, 3.0
"""It is also more than ``TAILS`` times the ``TAIL``-th percentile of the noise."""
USUAL = 85.0
"""Percentile beyond which steps say nothing of the noise."""
LEAST = 2e-3
"""Smallest step (rad, or 10 times this in m) that is worth a word."""
STAMPS = 2.0
"""Periods by which a stamp may be wrong."""
LONGEST = 5.0
"""Steps over more than this many periods, as over missing samples, are not judged."""


NEAR_TURN = 1.0
"""A step within this (rad) of a whole turn is one."""
MOST_TURNS = 2.0
"""A step by more turns is none: angles are wrapped by one."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps between the samples of one position that were measured.

    rows : (n + 1,) of the log. taken : (n,) time of each step in periods.
    expected : (n,) step that the local speed explains. excess : (n,) the rest of the step, 0 for
    those over more than ``LONGEST`` periods.
    noise : standard deviation of the excess, without its largest.
    tail : its ``TAIL``-th percentile.
    """

    rows: Rows
    taken: Array
    expected: Array
    excess: Array
    noise: float
    tail: float

    @property
    def too_large(self) -> Rows:
        """Indices of the steps that neither motion nor noise explains."""
        limit = max(NOISES * self.noise, TAILS * self.tail, LEAST)
        # a stamp that is wrong by a period or two is no jump
        limits = np.maximum(limit, STAMPS * np.abs(self.expected) / self.taken)
        return np.flatnonzero((np.abs(self.excess) > limits) & (self.taken <= LONGEST))


def steps_of(stamps: Array, q: Array, use: Mask) -> Steps | None:
    """The steps of a position (n_samples,) between the rows in ``use``; None for too few of them.

    stamps : (n_samples,) time in periods.
    """
    from scipy.ndimage import median_filter

    rows = np.flatnonzero(use)
    if len(rows) < 4 * WINDOW:
        return None
    step, taken = np.diff(q[rows]), np.diff(stamps[rows])
    expected = median_filter(step / taken, WINDOW, mode="nearest") * taken
    # over a hole the speed may change as it likes: what it explains there is not known
    excess = np.where(taken > LONGEST, 0.0, step - expected)
    size = np.abs(excess)
    # of a coarse encoder most are zero: the median is no measure of their noise
    usual = np.minimum(size, np.percentile(size, USUAL))
    noise = max(
        1.4826 * float(np.median(size)),
        float(np.sqrt(np.mean(usual**2))),
        0.5 * least_change(step),
    )
    return Steps(rows, taken, expected, excess, noise, float(np.percentile(size, TAIL)))


def never_jumps(stamps: Array, q: Array) -> bool:
    """Whether no step of a position (n,) can be too large, seen without looking at its noise.

    A step differs from the median of the ``WINDOW`` around it by no more than the largest change
    from step to step, times half that number.
    """
    taken = np.diff(stamps)
    change = np.abs(np.diff(np.diff(q) / taken))
    most = float(np.max(change, initial=0.0)) * (WINDOW // 2)
    return most * min(float(np.max(taken)), LONGEST) <= LEAST


def least_change(step: Array) -> float:
    """The smallest change (n,) that is more than rounding of the last digit; 0 if there is none."""
    size = np.abs(step)
    size = size[size > 1e-9 * float(np.max(size, initial=0.0))]
    return float(size.min()) if len(size) else 0.0


def whole_turns(step: Array, rows: Rows) -> Array:
    """How many turns (2 pi) a step of an angle (n,) is, 0 for one that is not near to such.

    rows : (n,) that the step spans. From one row to the next an angle moves by less than
    ``NEAR_TURN`` besides, and by half of that in each row that is missing between them; over many
    missing rows, nothing is known of the rest. A jump by many turns is no wrap: an
    outlier of 253 rad is within 1 rad of a whole turn one time in three.
    """
    turns = np.round(step / (2.0 * np.pi))
    besides = np.minimum(0.5 * NEAR_TURN * (rows + 1.0), np.pi)
    near = (np.abs(step - 2.0 * np.pi * turns) <= besides) & (np.abs(turns) <= MOST_TURNS)
    return np.where(near, turns, 0.0)
