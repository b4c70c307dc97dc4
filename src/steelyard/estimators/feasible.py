"""The least-squares optimum within what is physically possible: FBPE of paper 000.

    minimise |z - R K theta|²   subject to   the constraints on theta        (eqs 64-75)

on the compressed factors, with weights per joint as in `least_squares`. What the data leave
open is placed as close as possible to known values (a prior, or typical bodies) by a pull that
is too weak to matter to the fit; by how much it matters is bounded and reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.cones import Block
from steelyard.conic import ConicSolution, conic_problem, solve
from steelyard.constraints import Constraints, blocks
from steelyard.errors import EstimationError
from steelyard.estimators.least_squares import joint_noise, triangular_fit
from steelyard.feasible_point import Settled, settle
from steelyard.model import Model
from steelyard.regression import Regression
from steelyard.scales import parameter_scale, typical_parameters

Array = NDArray[np.float64]
PULL = 1e-2


@dataclass(frozen=True, eq=False)
class FeasibleFit:
    """Parameters inside all constraints, exactly, and how they were obtained.

    theta : (n_columns,) standard parameters. beta : (n_base,) = K theta.
    squares, unconstrained_squares : |z - R beta|² in units of the noise, here and at the
        unconstrained optimum.
    """

    theta: Array
    beta: Array
    weights: Array
    blocks: tuple[Block, ...]
    solution: ConicSolution
    settled: Settled
    squares: float
    unconstrained_squares: float


def fit_feasible(
    model: Model,
    regression: Regression,
    constraints: Constraints | None = None,
    *,
    prior: Array | None = None,
    weighting: Literal["ols", "wls"] = "wls",
    pull: float = PULL,
) -> FeasibleFit:
    """The constrained optimum from the factors.

    prior : (n_columns,) where to place what the data leave open; typical bodies if None.
    pull : weight of that placement, for a deviation of typical size, in units where one is a
        residual of one sigma.
    """
    if regression.model_hash != model.hash:
        raise EstimationError("the regression belongs to another model")
    given = blocks(model, constraints or Constraints())
    weights = np.ones(len(regression.groups))
    if weighting == "wls":
        weights = 1.0 / joint_noise(regression)
    factor = regression.system(weights)
    free = triangular_fit(factor)
    freedom = max(regression.n_rows - free.rank, 1)
    sigma = max(np.sqrt(free.residual_square / freedom), 1e-12 * np.linalg.norm(factor[:, -1]))
    R, z = factor[:-1, :-1] / sigma, factor[:-1, -1] / sigma
    K = regression.base.K
    scale = parameter_scale(model)
    towards = typical_parameters(model) if prior is None else prior
    problem = conic_problem(
        len(scale), given, scale, F=R @ K, g=z, pull=pull / scale**2, towards=towards
    )
    solution = solve(problem)
    if solution.status not in ("solved", "stalled"):
        raise EstimationError(f"the constrained fit has no solution ({solution.said})")
    settled = settle(solution.theta, given, scale)
    beta = K @ settled.theta
    return FeasibleFit(
        theta=settled.theta,
        beta=beta,
        weights=weights,
        blocks=given,
        solution=solution,
        settled=settled,
        squares=_squares(R, z, beta),
        unconstrained_squares=_squares(R, z, free.beta),
    )


def _squares(R: Array, z: Array, beta: Array) -> float:
    residual = z - R @ beta
    return float(residual @ residual)
