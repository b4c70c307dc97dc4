"""Confidence intervals of constrained estimates, by drawing time blocks anew.

Each resample draws as many blocks as there are, with replacement, and solves the constrained fit
on the factors of those: no sample is touched again. The spread of the solutions is the spread of
the estimate, whatever dependence there is within a block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from steelyard.conic import solve
from steelyard.estimate import Spread
from steelyard.estimators.cluster import MIN_BLOCKS
from steelyard.regression import Regression, triangle

if TYPE_CHECKING:
    from steelyard.estimators.feasible import FeasibleFit

Array = NDArray[np.float64]


def resample(
    regression: Regression,
    fit: FeasibleFit,
    n_resamples: int,
    seed: int,
    done: Callable[[int], None],
    threads: int = 1,
) -> Spread | None:
    """Covariance of the base parameters over resampled blocks; None with too few blocks."""
    from threadpoolctl import threadpool_limits

    from steelyard.estimators.feasible import fit_problem

    n_blocks = len(regression.keys)
    if n_blocks < MIN_BLOCKS:
        return None
    # one triangular factor per block stands for its rows in all groups
    small = np.array(
        [triangle(regression.block_rows(block, fit.weights)) for block in range(n_blocks)]
    )
    counts = np.random.default_rng(seed).multinomial(
        n_blocks, np.full(n_blocks, 1.0 / n_blocks), size=n_resamples
    )
    problem = fit.problem
    K = regression.base.K
    pull = float(problem.pull[0] * problem.scale[0] ** 2)

    def beta(draw: NDArray[np.int64]) -> Array | None:
        rows = np.sqrt(draw)[:, None, None] * small
        factor = triangle(rows[draw > 0].reshape(-1, rows.shape[2]))
        again = fit_problem(factor, fit.sigma, K, fit.blocks, problem.scale, pull, problem.towards)
        solution = solve(again, accuracy=1e-8)
        return K @ solution.theta if solution.status in ("solved", "stalled") else None

    drawn = []
    # one after another: the solver holds the interpreter lock, so that threads gain nothing
    with threadpool_limits(limits=1, user_api="blas"):
        for count, draw in enumerate(counts, start=1):
            value = beta(draw)
            done(count)
            if value is not None:
                drawn.append(value)
    away = np.array(drawn) - fit.beta
    covariance = away.T @ away / len(drawn)
    known = fit.free.determined
    covariance = np.where(known[:, None] & known[None, :], covariance, np.nan)
    return Spread("resampling", covariance, n_blocks - 1)
