"""A conic problem as the solver gets it: minimise ½ xᵀPx + qᵀx subject to b - A x in the cones.

    residual   x = (theta / scale, r) with the residuals r = F theta - g as variables. No Gram
               matrix is formed, which would square the condition number and cost half the digits.
    centred    x = theta / scale - centre with P = FᵀF + w, around the unconstrained optimum.
               That is computed from F itself, so rounding in P affects only the step from there.

The centred form has fewer variables and is faster for many links; a pull (ridge term) on every
parameter bounds its condition number. `steelyard.conic.problem` checks its answers with F, not P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, off_diagonal_weights

if TYPE_CHECKING:
    from steelyard.conic.problem import ConicProblem

Array = NDArray[np.float64]

# Smallest pull, in scaled units, that bounds the error of an inexact linear solve.
BENDING = 1e-4
# Rows of F from which lighter refinement, and the centred form, are faster overall. With fewer
# rows, moving a less precise answer inside takes longer than was saved.
SOME_ROWS, MANY_ROWS = 150, 800
# Largest condition number up to which the quick forms usually reach the accuracy.
CONDITION = 3e8
# Accuracy to which the solver's linear systems are refined if the pull bounds the error.
REFINEMENT = 1e-10


@dataclass(frozen=True, eq=False)
class Form:
    """The solver's input, and how to convert its answer back.

    P, A : sparse matrices. size : problem's objective divided by the solver's.
    n_equations : number of first rows of A that are equations of this form, not of the problem.
    centre : (n,) offset to add to the solver's x, in units of ``scale``.
    refinement : accuracy of the linear systems; the solver's default if None.
    """

    name: str
    P: Any
    q: Array
    A: Any
    b: Array
    n_equations: int
    centre: Array
    size: float
    refinement: float | None = None
    equilibrate: bool = True


def quick_form(problem: ConicProblem) -> Form | None:
    """The faster form to try first if a pull bounds its error; None otherwise."""
    floor = problem.least_pull
    if floor < BENDING or len(problem.g) < SOME_ROWS:
        return None
    # trace of FᵀF over the smallest pull: an upper bound of the condition number, but for the pull
    if float(np.sum((problem.F * problem.scale) ** 2)) > CONDITION * floor:
        return None
    if len(problem.g) >= MANY_ROWS:
        return centred_form(problem)
    return residual_form(problem, REFINEMENT)


def residual_form(problem: ConicProblem, refinement: float | None = None) -> Form:
    """The form with residuals as variables, the objective scaled to moderate size."""
    from scipy import sparse

    n, n_rows = len(problem.c), len(problem.g)
    scale = problem.scale
    size = max(1.0, float(np.max(np.abs(problem.g), initial=0.0)) / 100.0)
    curvature = np.concatenate([problem.pull * scale**2 / size**2, np.ones(n_rows)])
    used = np.flatnonzero(curvature)
    starts = np.concatenate([[0], np.cumsum(curvature != 0.0)])
    shape = (n + n_rows, n + n_rows)
    P = sparse.csc_matrix((curvature[used], used, starts), shape=shape)
    linear = (problem.c - problem.pull * problem.towards) * scale / size**2
    i, j = np.nonzero(problem.F)
    own = np.arange(n_rows)
    rows, columns, values, rhs = _cone_rows(problem, n_rows, np.zeros(n))
    entries = (np.concatenate([i, own, rows]), np.concatenate([j, n + own, columns]))
    A = sparse.csc_matrix(
        (
            np.concatenate([problem.F[i, j] * (scale / size)[j], np.full(n_rows, -1.0), values]),
            entries,
        ),
        shape=(n_rows + len(rhs), n + n_rows),
    )
    q = np.concatenate([linear, np.zeros(n_rows)])
    b = np.concatenate([problem.g / size, rhs])
    return Form("residual", P, q, A, b, n_rows, np.zeros(n), size**2, refinement)


def centred_form(problem: ConicProblem) -> Form:
    """The form with the Gram matrix, around the unconstrained optimum."""
    from scipy import linalg, sparse

    n, scale = len(problem.c), problem.scale
    F = problem.F * scale
    P = F.T @ F
    P[np.diag_indices(n)] += problem.pull * scale**2
    factor = linalg.cho_factor(P)
    centre = problem.towards / scale
    for _ in range(3):  # the second and third correct rounding errors of P
        centre = centre - linalg.cho_solve(factor, problem.gradient(centre * scale) * scale)
    size = max(1.0, float(np.max(np.abs(problem.g))) / 100.0) ** 2
    i, j = np.tril_indices(n)  # row by row of the lower is column by column of the upper triangle
    starts = np.concatenate([[0], np.cumsum(np.arange(1, n + 1))])
    upper = sparse.csc_matrix((P[i, j] / size, j, starts), shape=(n, n))
    rows, columns, values, rhs = _cone_rows(problem, 0, centre * scale)
    A = sparse.csc_matrix((values, (rows, columns)), shape=(len(rhs), n))
    q = problem.gradient(centre * scale) * scale / size
    return Form("centred", upper, q, A, rhs, 0, centre, size)


def grouped(blocks: Sequence[Block]) -> list[list[int]]:
    """Indices of blocks grouped by kind and shape, in the order in which the solver gets them."""
    groups: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for k, block in enumerate(blocks):
        groups.setdefault((_RANK[block.kind], block.A.shape), []).append(k)
    return [groups[key] for key in sorted(groups)]


def svec_weights(block: Block) -> Array:
    """Off-diagonal entries of psd blocks are scaled by sqrt 2 for the solver."""
    if block.kind != "psd":
        return np.ones(len(block.b))
    return np.sqrt(off_diagonal_weights(block.size))


def _cone_rows(
    problem: ConicProblem, first: int, theta: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, Array]:
    """Rows, columns, entries and right-hand side of all blocks, around ``theta``.

    Blocks of one shape are stacked: handling many small arrays would take as long as solving.
    """
    rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    values, rhs = [np.zeros(0)], [np.zeros(0)]
    at = first
    for group in grouped(problem.blocks):
        members = [problem.blocks[k] for k in group]
        where = np.array([block.columns for block in members], dtype=np.int64)
        A = np.array([block.A for block in members])
        weights = svec_weights(members[0])
        local = weights[:, None] * A * problem.scale[where][:, None, :]
        k, i, j = np.nonzero(local)
        rows.append(at + k * len(weights) + i)
        columns.append(where[k, j])
        values.append(-local[k, i, j])
        offset = np.array([block.b for block in members])
        offset = offset + np.einsum("kij,kj->ki", A, theta[where])
        rhs.append((weights * offset).ravel())
        at += len(group) * len(weights)
    return (
        np.concatenate(rows),
        np.concatenate(columns),
        np.concatenate(values),
        np.concatenate(rhs),
    )


_RANK = {"zero": 0, "nonnegative": 1, "second_order": 2, "psd": 3}
