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
    """Solve with Clarabel. Infeasibility is returned as a status, not raised.

    If every parameter has a pull, the faster form is tried first, and its answer returned if its
    error is within the accuracy. If the solver reports an uncertain answer, it runs again at lower
    accuracy, and the answer with the smaller recomputed residuals is returned. If every attempt
    breaks down, it runs once more without equilibration.
    """
    tried: list[ConicSolution] = []
    troubles: list[EstimationError] = []

    def attempt(form: Form, tolerance: float) -> None:
        try:
            tried.append(_attempt(problem, form, tolerance, max_iterations))
        except EstimationError as trouble:
            troubles.append(trouble)

    quick = quick_form(problem)
    if quick is not None:
        attempt(quick, accuracy)
        if tried and _quick_enough(tried[0], accuracy):
            return tried[0]
    form = residual_form(problem)
    attempt(form, accuracy)
    for coarser in (1e-8, 1e-6):
        if coarser <= accuracy or (tried and _acceptable(_best(tried))):
            break
        attempt(form, coarser)
    if not tried:
        attempt(replace(form, equilibrate=False), accuracy)
    if not tried:
        raise troubles[0]
    return replace(_best(tried), attempts=len(tried) + len(troubles))


def _best(tried: Sequence[ConicSolution]) -> ConicSolution:
    """The best answer, the earliest of equals."""
    return min(tried, key=_sort_key)


def _quick_enough(solution: ConicSolution, accuracy: float) -> bool:
    """Whether the error of the quick form's answer is within the accuracy."""
    size = 1.0 + abs(solution.value)
    return (
        solution.status == "solved"
        and (solution.certain or abs(solution.gap) <= DOUBTED_GAP * size)
        and solution.imbalance_cost <= accuracy * size
    )


def _acceptable(solution: ConicSolution) -> bool:
    """Whether the solver is certain of its answer, or the recomputed gap is small enough."""
    if solution.certain:
        return True
    size = 1.0 + abs(solution.value)
    return solution.status == "solved" and solution.gap <= DOUBTED_GAP * size


def _sort_key(solution: ConicSolution) -> tuple[int, float]:
    """Sort key of answers: by status (solved, infeasible, stalled, failed), then stationarity."""
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
    except BaseException as failure:  # a Rust panic in Clarabel is not an Exception
        if isinstance(failure, KeyboardInterrupt | SystemExit):
            raise
        raise EstimationError(f"the conic solver broke down ({failure})") from None
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


# an uncertain answer is accepted if its gap is below this share of the objective
DOUBTED_GAP = 1e-7


# the solver's statuses: what they mean, and whether the solver is certain
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
