"""The one place where a conic solver is called.

    minimise ½ |F theta - g|² + ½ sum_i w_i (theta_i - p_i)² + cᵀ theta
    subject to   A_k theta + b_k in cone k

A `ConicSolution` keeps its problem and recomputes residuals and gap outside the solver: with
duals y_k in the dual cones, optimality means

    Fᵀ(F theta - g) + w (theta - p) + c = sum_k A_kᵀ y_k,      sum_k y_k · (A_k theta + b_k) = 0.

The solver sees one of two forms (`steelyard.conic_forms`). An answer of the quick one counts only
if the residuals recomputed here bound what it lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.cones import Block, off_diagonal_weights
from steelyard.conic_forms import Form, grouped, quick_form, residual_form, svec_weights
from steelyard.errors import EstimationError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConicProblem:
    """See the module's equation.

    F : (n_rows, n) and g : (n_rows,) of the quadratic part; no rows for a linear objective.
    c : (n,) linear part. pull, towards : (n,) weights w and centre p of a pull to known values.
    scale : (n,) typical size of each variable; the solver sees theta / scale.
    """

    F: Array
    g: Array
    c: Array
    blocks: tuple[Block, ...]
    scale: Array
    pull: Array
    towards: Array

    def objective(self, theta: Array) -> float:
        """The value that is minimised."""
        residual = self.F @ theta - self.g
        away = theta - self.towards
        return float(0.5 * (residual @ residual + self.pull @ away**2) + self.c @ theta)

    def gradient(self, theta: Array) -> Array:
        """Its gradient (n,)."""
        smooth = self.F.T @ (self.F @ theta - self.g) + self.pull * (theta - self.towards)
        return np.asarray(smooth + self.c)

    @cached_property
    def least_pull(self) -> float:
        """Smallest weight of the pull in scaled units: the objective bends at least so much."""
        return float(np.min(self.pull * self.scale**2, initial=np.inf))


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """A solver's answer, with its own account of how good it is.

    status : "solved", "infeasible" (then ``duals`` prove it), "unbounded" or "failed".
    duals : one array per block; for psd blocks the entries of a symmetric matrix Z, so that
        the pairing with the block's entries is the trace of the product.
    form : what the solver was given, "residual" or "centred" (`steelyard.conic_forms`).
    attempts : how often the solver was called until this answer was taken.
    """

    problem: ConicProblem
    status: str
    theta: Array
    duals: tuple[Array, ...]
    iterations: int
    said: str
    form: str = "residual"
    attempts: int = 1

    @cached_property
    def worst_margin(self) -> float:
        """Smallest margin of all blocks at theta; negative where a condition fails."""
        return min((b.margin(self.theta) for b in self.problem.blocks), default=float("inf"))

    @cached_property
    def imbalance(self) -> Array:
        """What the duals do not balance of the gradient (n,), in scaled units."""
        problem = self.problem
        gradient = problem.gradient(self.theta)
        for block, dual in zip(problem.blocks, self.duals, strict=True):
            gradient[list(block.columns)] -= adjoint(block, dual)
        return np.asarray(gradient * problem.scale)

    @cached_property
    def stationarity(self) -> float:
        """Largest entry of the imbalance."""
        return float(np.max(np.abs(self.imbalance), initial=0.0))

    @cached_property
    def imbalance_cost(self) -> float:
        """At most this much of the objective is lost to the imbalance.

        For an objective that bends at least by w in every scaled direction, a point with duals is
        at most gap + |imbalance|² / 2 w above the optimum; infinite without a pull.
        """
        floor = self.problem.least_pull
        return float(self.imbalance @ self.imbalance / (2.0 * floor)) if floor > 0 else np.inf

    @cached_property
    def value(self) -> float:
        """The objective at theta."""
        return self.problem.objective(self.theta)

    @cached_property
    def gap(self) -> float:
        """Complementarity: sum of the pairings of duals and block values."""
        return float(
            sum(
                pairing(block, dual, block.entries(self.theta))
                for block, dual in zip(self.problem.blocks, self.duals, strict=True)
            )
        )


def pairing(block: Block, dual: Array, entries: Array) -> float:
    """Inner product of a dual and a block's value."""
    if block.kind == "psd":
        return float((off_diagonal_weights(block.size) * dual) @ entries)
    return float(dual @ entries)


def adjoint(block: Block, dual: Array) -> Array:
    """A*(dual) (n_columns,): what the dual pairs with each column."""
    if block.kind == "psd":
        return np.asarray(block.A.T @ (off_diagonal_weights(block.size) * dual))
    return np.asarray(block.A.T @ dual)


def solve(
    problem: ConicProblem, *, accuracy: float = 1e-9, max_iterations: int = 200
) -> ConicSolution:
    """Solve with Clarabel; never raises for infeasibility, which is an answer.

    Where a pull bends the objective, the quick form is tried first, and kept if what it lost is
    within the accuracy. An answer that the solver itself doubts is asked for again at lower
    accuracy, and the better one, by residuals recomputed here, is kept. Where the solver breaks
    down, it is asked again in other words.
    """
    tried: list[ConicSolution] = []
    troubles: list[EstimationError] = []

    def ask(form: Form, tolerance: float) -> None:
        try:
            tried.append(_attempt(problem, form, tolerance, max_iterations))
        except EstimationError as trouble:
            troubles.append(trouble)

    quick = quick_form(problem)
    if quick is not None:
        ask(quick, accuracy)
        if tried and _quick_enough(tried[0], accuracy):
            return tried[0]
    form = residual_form(problem)
    ask(form, accuracy)
    for coarser in (1e-8, 1e-6):
        if coarser <= accuracy or (tried and _settled_matter(_best(tried))):
            break
        ask(form, coarser)
    if not tried:
        ask(replace(form, equilibrate=False), accuracy)
    if not tried:
        raise troubles[0]
    return replace(_best(tried), attempts=len(tried) + len(troubles))


def _best(tried: Sequence[ConicSolution]) -> ConicSolution:
    """The earliest of the answers that none beats."""
    return min(tried, key=_standing)


def _quick_enough(solution: ConicSolution, accuracy: float) -> bool:
    """Whether the quick form lost no more than the accuracy, whatever its conditioning was."""
    size = 1.0 + abs(solution.value)
    return (
        solution.status == "solved"
        and (solution.said == "Solved" or abs(solution.gap) <= DOUBTED_GAP * size)
        and solution.imbalance_cost <= accuracy * size
    )


def _settled_matter(solution: ConicSolution) -> bool:
    """Whether the solver stands by its answer, or a doubted one is good all the same."""
    if solution.said in ("Solved", "PrimalInfeasible", "DualInfeasible"):
        return True
    size = 1.0 + abs(solution.value)
    return solution.status == "solved" and solution.gap <= DOUBTED_GAP * size


def _standing(solution: ConicSolution) -> tuple[int, float]:
    """For comparing answers: solved before stalled before the rest, then by what is unbalanced."""
    order = {"solved": 0, "infeasible": 1, "unbounded": 1, "stalled": 2}
    doubt = 1 if solution.said.startswith("Almost") else 0
    rank = 2 * order.get(solution.status, 3) + doubt
    return rank, solution.stationarity if solution.status in ("solved", "stalled") else 0.0


def _attempt(
    problem: ConicProblem, form: Form, accuracy: float, max_iterations: int
) -> ConicSolution:
    """One call of the solver."""
    import clarabel

    groups = grouped(problem.blocks)
    kinds = {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "second_order": clarabel.SecondOrderConeT,
        "psd": clarabel.PSDTriangleConeT,
    }
    cones: list[Any] = [clarabel.ZeroConeT(form.n_equations)] if form.n_equations else []
    for group in groups:
        first = problem.blocks[group[0]]
        cones.extend(kinds[first.kind](first.size) for _ in group)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iterations
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    settings.equilibrate_enable = form.equilibrate
    many = form.P.nnz + form.A.nnz > 60_000
    settings.direct_solve_method = "faer" if many else "qdldl"
    if form.refinement is not None:
        settings.iterative_refinement_reltol = form.refinement
        settings.iterative_refinement_abstol = form.refinement
    try:
        answer = clarabel.DefaultSolver(form.P, form.q, form.A, form.b, cones, settings).solve()
    except BaseException as failure:  # Clarabel panics in Rust, which is no Exception
        if isinstance(failure, KeyboardInterrupt | SystemExit):
            raise
        raise EstimationError(f"the conic solver refused the problem ({failure})") from None
    said = str(answer.status)
    theta = (form.centre + np.array(answer.x)[: len(problem.c)]) * problem.scale
    z = np.array(answer.z) * form.size
    at = form.n_equations
    found: dict[int, Array] = {}
    for group in groups:
        weights = svec_weights(problem.blocks[group[0]])
        n_entries = len(group) * len(weights)
        parts = z[at : at + n_entries].reshape(len(group), -1) / weights
        found.update(zip(group, parts, strict=True))
        at += n_entries
    duals = tuple(found[k] for k in range(len(problem.blocks)))
    status = _STATUS.get(said, "failed")
    return ConicSolution(problem, status, theta, duals, answer.iterations, said, form.name)


# a doubted answer whose gap is below this share of the objective is taken
DOUBTED_GAP = 1e-7
_STATUS = {
    "Solved": "solved",
    "AlmostSolved": "solved",
    "PrimalInfeasible": "infeasible",
    "AlmostPrimalInfeasible": "infeasible",
    "DualInfeasible": "unbounded",
    "AlmostDualInfeasible": "unbounded",
    "InsufficientProgress": "stalled",
    "MaxIterations": "stalled",
}


def conic_problem(
    n: int,
    blocks: Sequence[Block],
    scale: Array,
    *,
    F: Array | None = None,
    g: Array | None = None,
    c: Array | None = None,
    pull: Array | None = None,
    towards: Array | None = None,
) -> ConicProblem:
    """A problem in n variables, with zeros for the parts that are not given."""
    return ConicProblem(
        F=np.zeros((0, n)) if F is None else F,
        g=np.zeros(0) if g is None else g,
        c=np.zeros(n) if c is None else c,
        blocks=tuple(blocks),
        scale=scale,
        pull=np.zeros(n) if pull is None else pull,
        towards=np.zeros(n) if towards is None else towards,
    )
