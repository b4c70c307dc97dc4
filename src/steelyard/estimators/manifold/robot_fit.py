"""The fit of a robot on the manifold of physical bodies, from the compressed factors.

The same problem as `steelyard.estimators.feasible`: the weighted residuals, and a weak pull of what
the data do not determine to known values. The semidefinite program is solved too, so that the
result says whether the same optimum was reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.problem import ConicProblem, ConicSolution
from steelyard.conic.settle import failing, settle
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.estimators.constrained import (
    ConstrainedFit,
    fit_problem,
    squares,
    weighted_system,
)
from steelyard.estimators.feasible import PULL
from steelyard.estimators.manifold.conditions import ManifoldConditions, manifold_conditions
from steelyard.estimators.manifold.fit import ManifoldFit, fit_on_manifold
from steelyard.findings import Finding
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.model.model import Model
from steelyard.model.typical_sizes import known_parameters, parameter_scale, placing_weights
from steelyard.regression.regression import Regression
from steelyard.robot.inertia import from_pseudo_inertia, pseudo_inertia

Array = NDArray[np.float64]
PENALTY, MOST_ROUNDS = 1e3, 20
"""Weight of a default bound that is active, as a multiple of |g|²; rounds of multipliers."""
BELOW = 1e-9
"""How far below its bound such a body is held, as a share, so that rounding stays within it."""
INSIDE = 1e-12
"""Smallest extent of a body that is written, as a share of its size."""
SAME = 1e-6
"""Two optima are the same if their objectives differ by at most this share (and 1e-6)."""


@dataclass(frozen=True, eq=False)
class RobotFit:
    """A robot's fit on the manifold.

    fit : with parameters that meet every condition exactly. on_manifold : the iterations.
    solution : of the semidefinite program. excess : objective of the fit above that of the
        solution, as a share of it; negative if the fit is the better one. budget_s : as given.
    rest : squared residuals, in units of the noise, that no parameters explain. They are not part
        of the objective; messages have them, as the certificate has.
    """

    fit: ConstrainedFit
    on_manifold: ManifoldFit
    solution: ConicSolution
    excess: float
    budget_s: float | None
    rest: float

    @property
    def value(self) -> float:
        """Half the sum of squared residuals, in units of the noise, as a certificate states it."""
        return 0.5 * (self.fit.squares + self.rest)

    @property
    def above(self) -> float:
        """By how much the value is above that of the semidefinite program."""
        return self.value - 0.5 * (squares(self.fit.problem, self.solution.theta) + self.rest)

    @property
    def same_optimum(self) -> bool:
        """Whether the fit is as good as the semidefinite program's solution."""
        return self.excess <= SAME

    @property
    def finding(self) -> Finding:
        """Whether the optimum was reached, and how."""
        ran = self.on_manifold
        steps = f"after {ran.iterations} iterations"
        if self.same_optimum:
            early = "" if ran.converged else f", though it was stopped ({_reason(self)})"
            return Finding(
                "info",
                "manifold-optimum",
                f"the fit on the manifold reached the optimum of the semidefinite program {steps}"
                f"{early}: its objective value of {self.value:.6g} differs by {self.above:.1g}",
            )
        return Finding(
            "warning",
            "manifold-not-optimal",
            f"the fit on the manifold was stopped {steps} ({_reason(self)}): the parameters are "
            f"physical, but their objective value of {self.value:.6g} is {self.above:.2g} above "
            f"the {self.value - self.above:.6g} of the semidefinite program; give it more time, or "
            "use the method 'feasible'",
        )


def _reason(result: RobotFit) -> str:
    reasons = {
        "budget": f"its budget of {result.budget_s} s is over",
        "iterations": "the largest number of iterations",
        "stalled": "no step reduced the objective",
        "optimum": "its own conditions of optimality held",
    }
    return reasons[result.on_manifold.stopped]


def fit_robot_on_manifold(
    model: Model,
    regression: Regression,
    constraints: Constraints | None = None,
    *,
    budget_s: float | None = None,
    max_iterations: int = 200,
) -> RobotFit:
    """The fit of the method "manifold". budget_s : time (s) for the iterations."""
    if budget_s is not None and not (np.isfinite(budget_s) and budget_s > 0.0):
        raise EstimationError(f"budget_s is {budget_s:g}; it must be a positive number of seconds")
    system = weighted_system(model, regression)
    given = blocks(model, constraints or Constraints())
    conditions = manifold_conditions(model, given)
    scale = parameter_scale(model)
    problem = fit_problem(
        system.factor,
        system.sigma,
        regression.base.K,
        given,
        scale,
        PULL * placing_weights(model),
        known_parameters(model),
    )
    ran = _iterate(problem, conditions, budget_s, max_iterations)
    theta = conditions.offset.copy()
    theta[conditions.kept] += moved_inside(ran.theta, conditions.first)
    theta = _within_limits(theta, conditions)
    settled = settle(theta, given, scale)
    solution = solve(problem)
    if solution.status not in ("solved", "stalled"):
        raise EstimationError(
            f"the semidefinite program to compare with has no solution (solver status: "
            f"{solution.said}); check the units of the data"
        )
    assert not failing(given, settled.theta)
    value, best = problem.objective(settled.theta), solution.value
    fit = ConstrainedFit(
        method="manifold",
        theta=settled.theta,
        beta=regression.base.K @ settled.theta,
        system=system,
        blocks=given,
        problem=problem,
        settled=settled,
        squares=squares(problem, settled.theta),
        solver="manifold",
        solution=solution,
    )
    rest = float(system.factor[-1, -1] ** 2) / system.sigma**2
    return RobotFit(fit, ran, solution, (value - best) / max(best, 1.0), budget_s, rest)


def moved_inside(theta: Array, first: Sequence[int]) -> Array:
    """Parameters (n,) with every flat body given a trace of extent, so that rounding keeps it
    physical: 1e-12 of its size, kg m² and kg alike, in each direction.
    """
    out = theta.copy()
    for begin in first:
        J = pseudo_inertia(theta[begin : begin + 10])
        size = float(np.trace(J))
        if J[3, 3] > 0.0 and np.linalg.eigvalsh(J)[0] < INSIDE * size:
            J[np.diag_indices(3)] += INSIDE * size
            out[begin : begin + 10] = from_pseudo_inertia(J)
    return out


def _within_limits(theta: Array, conditions: ManifoldConditions) -> Array:
    """Parameters (n,) with every body that is above its default bound made lighter, to be at it.

    Only a fit that was stopped early needs it; a lighter body is physical too.
    """
    out = theta.copy()
    for block in conditions.limits:
        own = list(block.columns)
        known = conditions.offset[own]
        used, fixed = block.A[0] @ theta[own], block.A[0] @ known
        room = (1.0 - BELOW) * block.b[0]
        if used + room < 0.0 and fixed + room > 0.0:
            out[own] = known + (theta[own] - known) * (room + fixed) / (fixed - used)
    return out


def _iterate(
    problem: ConicProblem,
    conditions: ManifoldConditions,
    budget_s: float | None,
    max_iterations: int,
) -> ManifoldFit:
    """The iterations, on the columns that move.

    Where a default bound fails, the fit is repeated with a penalty that holds the body at its
    bound, and with the multipliers of the bounds (an augmented Lagrangian).
    """
    begun = perf_counter()
    root = np.sqrt(problem.pull)
    F = np.vstack([problem.F, np.diag(root)])
    g = np.concatenate([problem.g, root * problem.towards])
    heavy = np.sqrt(PENALTY) * (float(np.linalg.norm(g)) or 1.0)
    limits = conditions.limits
    shares = np.zeros((len(limits), F.shape[1]))  # of its bound that each body uses
    for k, block in enumerate(limits):
        shares[k, list(block.columns)] = -block.A[0] / block.b[0]
    held = np.zeros(len(limits), dtype=bool)
    multiplier = np.zeros(len(limits))
    for _ in range(MOST_ROUNDS):
        whole = np.vstack([F, heavy * shares[held]])
        right = np.concatenate([g, heavy * (1.0 - BELOW - multiplier[held])])
        left = None if budget_s is None else max(budget_s - (perf_counter() - begun), 0.0)
        ran = fit_on_manifold(
            whole[:, conditions.kept],
            right - whole @ conditions.offset,
            conditions.first,
            lower=conditions.lower,
            budget_s=left,
            max_iterations=max_iterations,
        )
        theta = conditions.offset.copy()
        theta[conditions.kept] += ran.theta
        over = shares @ theta - (1.0 - BELOW)
        multiplier = np.where(held, np.maximum(multiplier + over, 0.0), 0.0)
        settled = (over <= BELOW) & (~held | (np.abs(over) <= BELOW) | (multiplier == 0.0))
        if settled.all() or ran.stopped == "budget":
            break
        held |= over > BELOW
    return ran
