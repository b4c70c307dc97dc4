"""Least squares under conic conditions, by the solver that is faster for it.

The rule was measured on chains and trees of 5 to 100 links with all terms (benchmark `scale`): from
the factors, the interior-point method takes as long as Clarabel up to ten links and half as long
from 50 on, and finds the same optimum. It needs a unique optimum (every parameter has a pull) and
conditions with room inside; where it does not converge, and for all other problems, Clarabel is
asked. `form` of the solution says which one it was.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, triangle_index
from steelyard.conic.interior_form import inequalities, without_equations
from steelyard.conic.interior_point import LARGEST, minimise
from steelyard.conic.problem import ConicProblem, ConicSolution, adjoint
from steelyard.conic.row_panels import times_columns
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError

Array = NDArray[np.float64]
ACCURACY = 1e-9


def solve_fit(problem: ConicProblem) -> ConicSolution:
    """The optimum, by the interior-point method or by Clarabel. See `steelyard.conic.solver.solve`
    for what is returned if there is none.
    """
    found = _by_interior_point(problem)
    return solve(problem) if found is None else found


def _by_interior_point(problem: ConicProblem) -> ConicSolution | None:
    """The optimum with its duals; None if the method is not for this problem, or fails."""
    rounds = any(b.kind == "second_order" and len(b.b) > LARGEST for b in problem.blocks)
    if rounds or not problem.least_pull > 0.0 or not np.isfinite(problem.least_pull):
        return None
    scale, root = problem.scale, np.sqrt(problem.pull)
    try:
        y, N = without_equations(np.diag(scale), problem.blocks)
        origin, turn = scale * y, scale[:, None] * N
        conditions = inequalities(problem.blocks, origin, turn)
        rows = np.vstack([times_columns(problem.F, turn), root[:, None] * turn])
        targets = np.concatenate(
            [problem.g - problem.F @ origin, root * (problem.towards - origin)]
        )
        start = N.T @ (problem.towards / scale - y)
        found = minimise(rows, targets, turn.T @ problem.c, conditions, start, accuracy=ACCURACY)
    except EstimationError:
        return None
    if not found.converged:
        return None
    theta = origin + turn @ found.x
    duals = _with_equations(problem, theta, _block_duals(problem, turn, found.duals))
    said = "interior point: converged"
    return ConicSolution(problem, "solved", theta, duals, found.iterations, said, "interior")


def _block_duals(
    problem: ConicProblem, turn: Array, duals: tuple[Array, ...]
) -> list[Array | None]:
    """Duals of the inequalities, in the order and units of the blocks; None for equations.

    Follows `inequalities`: one condition per row, or one per block, in units of its own size.
    """
    given = iter(duals)
    out: list[Array | None] = []
    for block in problem.blocks:
        if block.kind == "zero" or block.band:
            out.append(None)
            continue
        A = block.A @ turn[list(block.columns)]
        if block.kind == "nonnegative":
            sizes = np.max(np.abs(A), axis=1, initial=0.0)
            out.append(np.array([next(given)[0, 0] / s if s > 0.0 else 0.0 for s in sizes]))
            continue
        size = float(np.max(np.abs(A), initial=0.0))
        if size == 0.0:
            out.append(np.zeros(len(block.b)))
            continue
        Z = next(given) / size
        if block.kind == "psd":
            out.append(np.array([Z[i, j] for i, j in triangle_index(block.size)]))
        else:  # the arrow matrix of a second-order condition
            out.append(np.concatenate([[np.trace(Z)], 2.0 * Z[0, 1:]]))
    return out


def _with_equations(
    problem: ConicProblem, theta: Array, duals: list[Array | None]
) -> tuple[Array, ...]:
    """The duals of the equations are what is left of the gradient, by least squares."""
    rest = problem.gradient(theta)
    columns = []
    for block, dual in zip(problem.blocks, duals, strict=True):
        if dual is not None:
            rest[list(block.columns)] -= adjoint(block, dual)
            continue
        for row in block.A[: _n_equations(block)]:
            column = np.zeros(len(theta))
            column[list(block.columns)] = row * problem.scale[list(block.columns)]
            columns.append(column)
    values: Iterator[float] = iter(())
    if columns:
        E = np.array(columns).T
        values = iter(np.linalg.lstsq(E, rest * problem.scale, rcond=None)[0].tolist())
    out = []
    for block, dual in zip(problem.blocks, duals, strict=True):
        if dual is not None:
            out.append(dual)
            continue
        here = np.array([next(values) for _ in range(_n_equations(block))])
        if block.band:  # a pair of inequalities with opposite rows: both duals are positive
            here = np.concatenate([np.maximum(here, 0.0), np.maximum(-here, 0.0)])
        out.append(here)
    return tuple(out)


def _n_equations(block: Block) -> int:
    return len(block.b) // 2 if block.band else len(block.b)
