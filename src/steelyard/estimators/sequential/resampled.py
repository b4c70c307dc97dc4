"""Sequential fits of resampled time blocks, for confidence intervals.

Every resample repeats the whole pass from the leaves to the root, so that what is uncertain about
outer links, and what their conditions do to it, reaches the intervals of the inner ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.drawn_fits import drawn_factors
from steelyard.estimators.parallel.workers import Solver
from steelyard.estimators.sequential.inward import fit_inward
from steelyard.estimators.sequential.links import Link
from steelyard.estimators.sequential.paper import fit_paper
from steelyard.estimators.sequential.sweeps import Sweeper, whole_fit
from steelyard.regression.regression import Regression, triangle

Array = NDArray[np.float64]
SWEEPS = 2
"""Sweeps that refine the fit of a resample."""


def sequential_solver(
    regression: Regression, fit: ConstrainedFit, links: tuple[Link, ...]
) -> Solver:
    """Solver from counts of drawn blocks (n_blocks,) to base parameters (n_base,) or NaN."""
    factors, K = drawn_factors(regression, fit.weights, fit.system.factor), regression.base.K

    def beta(draw: Array) -> Array:
        factor = factors.factor(draw) / fit.sigma
        R, z = factor[:-1, :-1], factor[:-1, -1]
        try:
            found = fit_inward(R, z, K, links)
            sweeper = Sweeper(whole_fit(R, z, K, links))
            for k in range(SWEEPS):
                found = sweeper.sweep(found, outward=k % 2 == 0)
        except EstimationError:
            return np.full(len(K), np.nan)
        return np.asarray(K @ found.theta(links))

    return beta


def paper_solver(
    regression: Regression,
    fit: ConstrainedFit,
    links: tuple[Link, ...],
    rows: Sequence[Sequence[int]],
) -> Solver:
    """The same for the published method. rows : the row groups of each link's joint."""
    K = regression.base.K
    columns = [group.columns for group in regression.groups]
    weighted = [
        factors * (weight / fit.sigma)
        for factors, weight in zip(regression.factors, fit.weights, strict=True)
    ]

    def beta(draw: Array) -> Array:
        root = np.sqrt(draw)[:, None, None]
        factors = {}
        for g, group in enumerate(weighted):
            blocks = (root * group)[draw > 0]
            factors[g] = triangle(blocks.reshape(-1, blocks.shape[2]))
        try:
            found = fit_paper(rows, columns, factors, K, links)
        except EstimationError:
            return np.full(len(K), np.nan)
        return np.asarray(K @ found.theta(links))

    return beta
