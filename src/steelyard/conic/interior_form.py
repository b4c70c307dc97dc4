"""Conic problems for the interior-point method: equations solved, inequalities as matrices.

theta = origin + turn u meets the equations for every u. The interior-point method needs no
equations, and is the faster one for problems of many bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import BAND, Block, matrix_of
from steelyard.conic.interior_conditions import MatrixCondition
from steelyard.conic.interior_solution import InteriorSolution
from steelyard.errors import EstimationError

if TYPE_CHECKING:
    from steelyard.conic.interior_compiled import PreparedConditions

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearEnds:
    """The lowest values of linear functions within conditions and one ball.

    origin : (n,), turn : (n, n_u). start : (n_u,), well inside.
    """

    origin: Array
    turn: Array
    ready: PreparedConditions
    start: Array

    def lowest(self, c: Array, accuracy: float, max_iterations: int) -> InteriorSolution:
        """Where c·theta is smallest, in u; EstimationError if there is no such point."""
        none = np.zeros((0, len(self.start)))
        return self.ready.minimise(
            none,
            np.zeros(0),
            self.turn.T @ c,
            self.start,
            accuracy=accuracy,
            max_iterations=max_iterations,
        )

    def theta(self, u: Array) -> Array:
        """theta (n,) of u (n_u,)."""
        return np.asarray(self.origin + self.turn @ u)


def linear_ends(blocks: Sequence[Block], ball: Block, scale: Array, inside: Array) -> LinearEnds:
    """Conditions and a second-order one, the ball, for the ends of many ranges.

    scale : (n,) typical sizes. inside : (n,) parameters that meet them, or nearly.
    """
    from steelyard.conic.interior_compiled import BallCondition, prepared

    y, N = without_equations(np.diag(scale), blocks)
    origin, turn = scale * y, scale[:, None] * N
    columns = list(ball.columns)
    A, b = ball.A @ turn[columns], ball.A @ origin[columns] + ball.b
    size = float(np.max(np.abs(b), initial=0.0)) or 1.0
    conditions = inequalities(blocks, origin, turn)
    ready = prepared(conditions, turn.shape[1], BallCondition(A / size, b / size))
    return LinearEnds(origin, turn, ready, N.T @ (inside / scale - y))


def without_equations(T: Array, given: Sequence[Block]) -> tuple[Array, Array]:
    """y and N with theta = T (y + N u) for all theta that meet the equations, NᵀN = 1, Nᵀy = 0.

    Columns that appear in no equation keep their coordinates in T.
    """
    n = len(T)
    rows, ends = [], []
    for block in given:
        if block.kind != "zero" and not block.band:
            continue
        half = len(block.b) // 2 if block.band else len(block.b)
        row = np.zeros((half, n))
        row[:, list(block.columns)] = block.A[:half]
        rows.append(row)
        ends.append((BAND if block.band else 0.0) - block.b[:half])
    if not rows:
        return np.zeros(n), np.eye(n)
    E, e = np.vstack(rows) @ T, np.concatenate(ends)
    size = np.linalg.norm(E, axis=1)
    E, e = E[size > 0] / size[size > 0, None], e[size > 0] / size[size > 0]
    touched = np.any(E != 0.0, axis=0)
    U, s, Vt = np.linalg.svd(E[:, touched])
    rank = int(np.count_nonzero(s > 1e-10))
    y = np.zeros(n)
    y[touched] = Vt[:rank].T @ ((U[:, :rank].T @ e) / s[:rank])
    left = float(np.max(np.abs(E @ y - e), initial=0.0))
    if left > 1e-6 * (1.0 + float(np.max(np.abs(e), initial=0.0))):
        raise EstimationError(
            f"the equations among the parameters contradict each other, by {left:.1e} of the "
            "prior's size"
        )
    free = np.flatnonzero(~touched)
    N = np.zeros((n, len(free) + int(touched.sum()) - rank))
    N[free, np.arange(len(free))] = 1.0
    N[np.flatnonzero(touched), len(free) :] = Vt[rank:].T
    N[np.abs(N) < 1e-15] = 0.0
    return y, N


def inequalities(given: Sequence[Block], origin: Array, turn: Array) -> list[MatrixCondition]:
    """The inequalities as conditions on u, each in units of its own size."""
    out = []
    for block in given:
        if block.kind == "zero" or block.band:
            continue
        columns = list(block.columns)
        A = block.A @ turn[columns]
        b = block.A @ origin[columns] + block.b
        used = np.flatnonzero(np.any(A != 0.0, axis=0))
        if block.kind == "nonnegative":
            for row, end in zip(A, b, strict=True):
                own = np.flatnonzero(row)
                if not len(own) and end < -BAND:
                    raise EstimationError(
                        f"fixed values contradict the condition that {block.words}"
                    )
                if len(own):
                    size = float(np.max(np.abs(row)))
                    values = (row[own] / size)[:, None, None]
                    out.append(MatrixCondition(_tuple(own), values, np.array([[end / size]])))
            continue
        if not len(used):
            continue
        size = float(np.max(np.abs(A)))
        shape = matrix_of if block.kind == "psd" else _arrow
        stack = np.array([shape(column) for column in A[:, used].T])
        out.append(MatrixCondition(_tuple(used), stack / size, shape(b) / size))
    return out


def _arrow(entries: Array) -> Array:
    """The matrix [[t, xᵀ], [x, t 1]], which is psd if and only if t >= |x|."""
    M = np.asarray(entries[0] * np.eye(len(entries)))
    M[0, 1:] = M[1:, 0] = entries[1:]
    return M


def _tuple(values: Array | NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)
