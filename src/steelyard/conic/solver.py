"""The one place where a conic solver is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.conic._forms import Form, grouped, quick_form, residual_form, svec_weights
from steelyard.conic.problem import ConicProblem, ConicSolution, Status
from steelyard.errors import EstimationError

Array = NDArray[np.float64]


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
        and (solution.certain or abs(solution.gap) <= DOUBTED_GAP * size)
        and solution.imbalance_cost <= accuracy * size
    )


def _settled_matter(solution: ConicSolution) -> bool:
    """Whether the solver stands by its answer, or a doubted one is good all the same."""
    if solution.certain:
        return True
    size = 1.0 + abs(solution.value)
    return solution.status == "solved" and solution.gap <= DOUBTED_GAP * size


def _standing(solution: ConicSolution) -> tuple[int, float]:
    """For comparing answers: solved before stalled before the rest, then by what is unbalanced."""
    order = {"solved": 0, "infeasible": 1, "unbounded": 1, "stalled": 2}
    doubt = 0 if solution.certain or solution.status in ("stalled", "failed") else 1
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
    status, certain = _STATUS.get(said, ("failed", False))
    return ConicSolution(
        problem, status, theta, duals, answer.iterations, said, form.name, certain=certain
    )


# a doubted answer whose gap is below this share of the objective is taken
DOUBTED_GAP = 1e-7


# what the solver's statuses mean, and whether it stands by its answer
_STATUS: dict[str, tuple[Status, bool]] = {
    "Solved": ("solved", True),
    "AlmostSolved": ("solved", False),
    "PrimalInfeasible": ("infeasible", True),
    "AlmostPrimalInfeasible": ("infeasible", False),
    "DualInfeasible": ("unbounded", True),
    "AlmostDualInfeasible": ("unbounded", False),
    "InsufficientProgress": ("stalled", False),
    "MaxIterations": ("stalled", False),
}
