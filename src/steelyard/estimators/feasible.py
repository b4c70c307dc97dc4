"""Least squares with physical constraints: FBPE of Sousa and Cortesão (2014).

    minimise |z - R K theta|²   subject to   the constraints on theta        (eqs 64-75)

on the compressed factors, with weights per joint as in `least_squares`. Parameters that the data
do not determine are drawn to known values (a prior, or typical bodies) with a weight that is too
small to change the fit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.settle import settle
from steelyard.conic.simultaneous import solve_fit
from steelyard.errors import EstimationError
from steelyard.estimators.constrained import (
    ConstrainedFit,
    fit_problem,
    squares,
    weighted_system,
)
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.intervals import with_intervals
from steelyard.estimators.solver_names import Weighting
from steelyard.knowledge.conflicts import check_constraints
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale, placing_weights, typical_parameters
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]

PULL = 1e-2


def fit_feasible(
    model: Model,
    regression: Regression,
    constraints: Constraints | None = None,
    *,
    prior: Array | None = None,
    weighting: Weighting = "wls",
    pull: float = PULL,
) -> ConstrainedFit:
    """The constrained optimum from the factors.

    prior : (n_columns,) values for what the data do not determine; typical bodies if None.
    pull : weight of a deviation of typical size from them; 1 is that of a residual of one sigma.
    """
    system = weighted_system(model, regression, weighting)
    given = blocks(model, constraints or Constraints())
    scale = parameter_scale(model)
    towards = typical_parameters(model) if prior is None else np.asarray(prior, dtype=float)
    if towards.shape != scale.shape or not np.isfinite(towards).all():
        raise EstimationError(f"a prior needs one finite number for each of {len(scale)} columns")
    K = regression.base.K
    weights = pull * placing_weights(model)
    problem = fit_problem(system.factor, system.sigma, K, given, scale, weights, towards)
    solution = solve_fit(problem)
    if solution.status not in ("solved", "stalled"):
        check_constraints(model, constraints or Constraints())  # raises if they contradict
        raise EstimationError(
            f"the constrained fit has no solution (solver status: {solution.said}), although "
            "the constraints do not contradict each other: check the units of the data"
        )
    settled = settle(solution.theta, given, scale)
    return ConstrainedFit(
        method="feasible",
        theta=settled.theta,
        beta=K @ settled.theta,
        system=system,
        blocks=given,
        problem=problem,
        settled=settled,
        squares=squares(problem, settled.theta),
        solver="interior-point" if solution.form == "interior" else "clarabel",
        solution=solution,
    )


def estimate_feasible(
    model: Model,
    regression: Regression,
    constraints: Constraints | None = None,
    *,
    prior: Array | None = None,
    weighting: Weighting = "wls",
    n_resamples: int = 200,
    ranges: bool = True,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """Physically consistent parameters with intervals: `fit_feasible`, then `with_intervals`."""
    fit = fit_feasible(model, regression, constraints, prior=prior, weighting=weighting)
    return with_intervals(
        regression,
        fit,
        n_resamples=n_resamples,
        ranges=ranges,
        seed=seed,
        threads=threads,
        progress=progress,
    )
