"""Confidence intervals of constrained estimates, from the time blocks.

Without a prior by resampling (bootstrap): each resample draws as many blocks as there are, with
replacement, and solves the constrained fit on their factors, without reading the samples again. The
covariance of the solutions is that of the estimate, for any dependence within a block. With a prior
by leaving out each block in turn; the covariance from the prior's own uncertainty is added.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.estimators.cluster import MIN_BLOCKS
from steelyard.estimators.constrained import ConstrainedFit, Refit, fit_problem
from steelyard.estimators.entropic import drawn_prior_solver
from steelyard.estimators.estimate import Spread
from steelyard.estimators.parallel._packing import packed_blocks, unpacked_blocks
from steelyard.estimators.parallel.workers import Shared, Solver, Workers
from steelyard.estimators.pull import Pull
from steelyard.regression.regression import Regression, triangle

Array = NDArray[np.float64]


def resample(
    regression: Regression,
    fit: ConstrainedFit,
    n_resamples: int,
    seed: int,
    done: Callable[[int], None],
    workers: Workers,
) -> Spread | None:
    """Covariance of the base parameters over resampled blocks; None with too few blocks.

    All draws are made from the seed beforehand, so that the number of processes has no effect.
    """
    n_blocks = len(regression.keys)
    if n_blocks < MIN_BLOCKS:
        return None
    if fit.pull is not None:
        return _leave_out(n_blocks, fit, fit.pull, n_resamples, done, workers)
    counts = np.random.default_rng(seed).multinomial(
        n_blocks, np.full(n_blocks, 1.0 / n_blocks), size=n_resamples
    )
    refit = fit.refit or Refit(resample_solver, partial(_shared, regression, fit))
    drawn = workers.run(refit.job, refit.shared(), counts.astype(float), done)
    drawn = _solved(drawn)
    away = drawn - fit.beta
    covariance = away.T @ away / len(drawn)
    known = fit.free.determined
    covariance = np.where(known[:, None] & known[None, :], covariance, np.nan)
    return Spread("resampling", covariance, n_blocks - 1)


def _leave_out(
    n_blocks: int,
    fit: ConstrainedFit,
    pull: Pull,
    most: int,
    done: Callable[[int], None],
    workers: Workers,
) -> Spread:
    """Covariance of an estimate with a prior over fits without one part of the blocks each, plus
    that from the prior's own uncertainty.

    With as many parts as blocks, or ``most`` parts of neighbours, this is the CR3 form of
    `steelyard.estimators.cluster`: resampling would be too narrow with few blocks, since a prior
    leaves less to vary than the least squares for which it is known to be safe.
    """
    parts = np.array_split(np.arange(n_blocks), min(n_blocks, max(most, MIN_BLOCKS)))
    tasks = np.ones((len(parts), 2 + n_blocks))
    tasks[:, :2] = pull.gamma, pull.choice.terms
    for row, part in zip(tasks, parts, strict=True):
        row[2 + part] = 0.0
    without = _solved(workers.run(drawn_prior_solver, pull.shared, tasks, done))
    away = without - fit.beta
    n = len(without)
    covariance = (n - 1) / n * (away.T @ away)
    return Spread("cluster", covariance + pull.covariance, n - 1)


def _solved(betas: Array) -> Array:
    """The rows that were solved; refuses fewer than two."""
    betas = betas[np.isfinite(betas).all(axis=1)]
    if len(betas) < 2:
        raise EstimationError("the solver failed on all resamples of the time blocks")
    return betas


def _shared(regression: Regression, fit: ConstrainedFit) -> dict[str, NDArray[Any]]:
    """What a helper process needs to fit resampled blocks."""
    problem = fit.problem
    small = [
        triangle(regression.block_rows(block, fit.weights)) for block in range(len(regression.keys))
    ]
    return {
        # one triangular factor per block replaces its rows in all groups
        "small": np.array(small),
        "sigma": np.array([fit.sigma]),
        "pull": problem.pull * problem.scale**2,
        "K": regression.base.K,
        "scale": problem.scale,
        "towards": problem.towards,
        **packed_blocks(fit.blocks),
    }


def resample_solver(shared: Shared) -> Solver:
    """Solver from counts of drawn blocks (n_blocks,) to base parameters (n_base,) or NaN."""
    given: dict[str, NDArray[Any]] = dict(shared)
    small, K, scale, towards = (given[name] for name in ("small", "K", "scale", "towards"))
    sigma, pull = float(given["sigma"][0]), given["pull"]
    blocks = unpacked_blocks(given)

    def beta(draw: Array) -> Array:
        rows = np.sqrt(draw)[:, None, None] * small
        factor = triangle(rows[draw > 0].reshape(-1, rows.shape[2]))
        problem = fit_problem(factor, sigma, K, blocks, scale, pull, towards)
        solution = solve(problem, accuracy=1e-8)
        if solution.status not in ("solved", "stalled"):
            return np.full(len(K), np.nan)
        return np.asarray(K @ solution.theta)

    return beta
