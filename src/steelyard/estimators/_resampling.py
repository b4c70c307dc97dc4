"""Confidence intervals of constrained estimates, from the time blocks.

Without a prior by resampling (bootstrap): each resample draws as many blocks as there are, with
replacement, and solves the constrained fit on their factors, without reading the samples again. The
covariance of the solutions is that of the estimate, for any dependence within a block. With a prior
by leaving out each block in turn; the covariance from the prior's own uncertainty is added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.interior_form import inequalities, without_equations
from steelyard.conic.interior_point import Prepared, prepare
from steelyard.conic.problem import ConicProblem
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.estimators.cluster import MIN_BLOCKS
from steelyard.estimators.constrained import ConstrainedFit, Refit, fit_problem
from steelyard.estimators.drawn_fits import DrawnFactors, drawn_factors
from steelyard.estimators.estimate import Spread
from steelyard.estimators.parallel.workers import solve_all
from steelyard.estimators.pull import Pull
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]
ACCURACY = 1e-8
"""Of the fits to resampled blocks."""


def resample(
    regression: Regression,
    fit: ConstrainedFit,
    n_resamples: int,
    seed: int,
    done: Callable[[int], None],
    threads: int,
) -> Spread | None:
    """Covariance of the base parameters over resampled blocks; None with too few blocks.

    All draws are made from the seed beforehand, so that the number of threads has no effect.
    """
    n_blocks = len(regression.keys)
    if n_blocks < MIN_BLOCKS:
        return None
    if fit.pull is not None:
        return _leave_out(n_blocks, fit, fit.pull, n_resamples, done, threads)
    counts = np.random.default_rng(seed).multinomial(
        n_blocks, np.full(n_blocks, 1.0 / n_blocks), size=n_resamples
    )
    refit = fit.refit or Refit(lambda: _drawn_fits(regression, fit).base_parameters)
    drawn = _solved(solve_all(refit.solver(), counts.astype(float), threads, done))
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
    threads: int,
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
    without = _solved(solve_all(pull.fits.base_parameters, tasks, threads, done))
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


@dataclass(frozen=True, eq=False)
class DrawnFeasible:
    """Constrained fits to draws of time blocks; threads may share it.

    theta = origin + turn u. anchor : (n, n_u) rows and wish : (n,) targets that draw theta to known
    values. problem : the fit to all blocks.
    """

    factors: DrawnFactors
    problem: ConicProblem
    sigma: float
    K: Array
    pull: Array
    origin: Array
    turn: Array
    anchor: Array
    wish: Array
    ready: Prepared
    start: Array

    def base_parameters(self, draw: Array) -> Array:
        """Base parameters (n_base,) of the fit to blocks that count as ``draw`` says, or NaN."""
        factor = self.factors.factor(draw)
        F, g = factor[:-1, :-1] / self.sigma @ self.K, factor[:-1, -1] / self.sigma
        rows, targets = np.vstack([F @ self.turn, self.anchor]), g - F @ self.origin
        c = np.zeros(len(self.start))
        try:
            found = self.ready.minimise(
                rows, np.concatenate([targets, self.wish]), c, self.start, accuracy=ACCURACY
            )
            if found.worst <= ACCURACY:
                return np.asarray(self.K @ (self.origin + self.turn @ found.x))
        except EstimationError:
            pass
        return self._by_clarabel(factor)

    def _by_clarabel(self, factor: Array) -> Array:
        one = self.problem
        problem = fit_problem(
            factor, self.sigma, self.K, one.blocks, one.scale, self.pull, one.towards
        )
        solution = solve(problem, accuracy=ACCURACY)
        if solution.status not in ("solved", "stalled"):
            return np.full(len(self.K), np.nan)
        return np.asarray(self.K @ solution.theta)


def _drawn_fits(regression: Regression, fit: ConstrainedFit) -> DrawnFeasible:
    """What the fits to all draws share."""
    problem = fit.problem
    y, N = without_equations(np.diag(problem.scale), fit.blocks)
    origin, turn = problem.scale * y, problem.scale[:, None] * N
    root = np.sqrt(problem.pull)
    return DrawnFeasible(
        factors=drawn_factors(regression, fit.weights, fit.system.factor),
        problem=problem,
        sigma=fit.sigma,
        K=regression.base.K,
        pull=problem.pull * problem.scale**2,
        origin=origin,
        turn=turn,
        anchor=root[:, None] * turn,
        wish=root * (problem.towards - origin),
        ready=prepare(inequalities(fit.blocks, origin, turn), turn.shape[1]),
        start=N.T @ (fit.theta / problem.scale - y),
    )
