"""Time blocks of robots with very many columns: one factor each, over all torque channels.

A factor for each channel and time block lets weights of the channels be chosen afterwards. For a
chain of 100 joints these take 130 MB for each block. Where too few blocks would fit, the factors
of the channels are kept over all time, so that any weights are still possible for all data
together, and each time block has a single factor with weights that are fixed beforehand: in units
of each channel's noise, which a first pass over the first run gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RegressionError

Array = NDArray[np.float64]

SAME_WEIGHTS = 1e-12
"""Relative difference up to which weights count as the same."""


@dataclass(frozen=True, eq=False)
class PooledBlocks:
    """The factors of the time blocks.

    weights : (n_groups,) of the row groups, in 1/(N m) or 1/N. factors : (n_blocks, n_base + 1,
    n_base + 1), upper triangular, of the weighted [W tau] of all groups.
    """

    weights: Array
    factors: Array

    def has(self, weights: Array) -> bool:
        """Whether the blocks can be had with these weights: the same, but for a common factor."""
        ratio = np.asarray(weights) / self.weights
        return bool(np.ptp(ratio) <= SAME_WEIGHTS * np.max(np.abs(ratio)))

    def rows(self, block: int, weights: Array) -> Array:
        """Rows (n_base + 1, n_base + 1) equivalent to the samples of one block."""
        if not self.has(weights):
            raise RegressionError(
                "the time blocks of this robot with very many parameters are kept with weights by "
                "each joint's noise: they cannot be had with others; use a weighted method"
            )
        return np.asarray(weights[0] / self.weights[0] * self.factors[block])
