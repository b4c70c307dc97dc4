"""The interior-point method in compiled code, for many problems with the same conditions.

The method is described in `steelyard.conic.interior_point`. Compiled loops release the interpreter
lock, so that threads solve several problems at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.conic import _interior_loops
from steelyard.conic.interior_conditions import MatrixCondition
from steelyard.conic.interior_rules import ACCURACY, MAX_ITERATIONS, NEAR
from steelyard.conic.interior_solution import InteriorSolution, usable
from steelyard.errors import EstimationError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BallCondition:
    """s = A x + b has s_0 >= |(s_1, s_2, ...)|. A : (m, n), b : (m,)."""

    A: Array
    b: Array


class MatrixRows(NamedTuple):
    """Condition k has entries start[k] to start[k + 1] of (col, A (D, D)), b (D, D), size[k]."""

    start: Indices
    col: Indices
    A: Array
    b: Array
    size: Indices


class NumberRows(NamedTuple):
    """Row k is entries start[k] to start[k + 1] of (col, weight), plus b[k]."""

    start: Indices
    col: Indices
    weight: Array
    b: Array


class BallRows(NamedTuple):
    """A (m, n), its transpose, AᵀJA (n, n) and b (m,); m = 0 if there is no such condition."""

    A: Array
    AT: Array
    AJA: Array
    b: Array


@dataclass(frozen=True, eq=False)
class PreparedConditions:
    """Conditions as arrays that the compiled loops read.

    members, number_members : the place of each matrix and each number among the conditions.
    floors : (n_conditions,) their weights of -log det.
    """

    n: int
    matrices: MatrixRows
    members: Indices
    numbers: NumberRows
    number_members: Indices
    ball: BallRows
    floors: Array

    def minimise(
        self,
        F: Array,
        g: Array,
        c: Array,
        start: Array,
        *,
        gram: Array | None = None,
        floors: Array | None = None,
        near: InteriorSolution | None = None,
        accuracy: float = ACCURACY,
        max_iterations: int = MAX_ITERATIONS,
    ) -> InteriorSolution:
        """The optimum; arguments as for `steelyard.conic.interior_point.minimise`.

        gram : FᵀF, if it is known. floors : (n_conditions,) instead of those of the conditions.
        near : the optimum of a nearby problem with the same conditions, to start from instead.
        """
        F = np.ascontiguousarray(F, dtype=float)
        problem = (
            F,
            np.ascontiguousarray(F.T),
            np.ascontiguousarray(g, dtype=float),
            np.ascontiguousarray(c, dtype=float),
            np.ascontiguousarray(F.T @ F if gram is None else gram),
        )
        floors = self.floors if floors is None else floors
        if near is not None:
            found, at = self._iterated(problem, floors, start, near, accuracy, max_iterations)
            if found.converged:
                return found
        found, at = self._iterated(problem, floors, start, None, accuracy, max_iterations)
        return usable(found, at)

    def _iterated(
        self,
        problem: tuple[Array, ...],
        floors: Array,
        start: Array,
        near: InteriorSolution | None,
        accuracy: float,
        max_iterations: int,
    ) -> tuple[InteriorSolution, int]:
        """The best iterate, which may be far from the optimum, and the step at which it was found.

        problem : F, Fᵀ, g, c, FᵀF.
        """
        x = np.array(start if near is None else near.x, dtype=float)
        duals = np.zeros(self.matrices.b.shape)
        number_duals = np.zeros(len(self.number_members))
        if near is not None:
            self._take_duals(near, duals, number_duals)
        info = np.zeros(7)
        begun = _interior_loops.iterate(
            *problem,
            *self.matrices,
            floors[self.members],
            *self.numbers,
            floors[self.number_members],
            *self.ball,
            x,
            0.0 if near is None else NEAR,
            accuracy,
            max_iterations,
            duals,
            number_duals,
            info,
        )
        if not begun:
            raise EstimationError("the interior-point method got numbers that are not finite")
        found = InteriorSolution(
            x=x,
            duals=self._in_order(duals, number_duals),
            iterations=int(info[6]),
            converged=bool(info[5]),
            stationarity=float(info[0]),
            violation=float(info[1]),
            gap=float(info[2]),
            off_floor=float(info[3]),
        )
        return found, int(info[4])

    def _take_duals(self, near: InteriorSolution, duals: Array, number_duals: Array) -> None:
        """Copy the duals of an optimum into the arrays of the loops; reverses `_in_order`."""
        for k, place in enumerate(self.members.tolist()):
            d = int(self.matrices.size[k])
            duals[k, :d, :d] = near.duals[place]
        for k, place in enumerate(self.number_members.tolist()):
            number_duals[k] = near.duals[place][0, 0]

    def _in_order(self, duals: Array, number_duals: Array) -> tuple[Array, ...]:
        """The duals in the order of the conditions."""
        out: list[Array] = [np.empty((0, 0))] * len(self.floors)
        for k, place in enumerate(self.members.tolist()):
            d = int(self.matrices.size[k])
            out[place] = duals[k, :d, :d]
        for place, value in zip(self.number_members.tolist(), number_duals, strict=True):
            out[place] = np.array([[value]])
        return tuple(out)


def prepared(
    conditions: Sequence[MatrixCondition], n: int, ball: BallCondition | None = None
) -> PreparedConditions:
    """Conditions on n variables as arrays."""
    small = [k for k, one in enumerate(conditions) if one.b.shape[0] == 1]
    large = [k for k, one in enumerate(conditions) if one.b.shape[0] > 1]
    chosen = [conditions[k] for k in large]
    D = max((one.b.shape[0] for one in chosen), default=1)
    starts, columns = _entries(chosen)
    A, b = np.zeros((len(columns), D, D)), np.zeros((len(chosen), D, D))
    for k, one in enumerate(chosen):
        d = one.b.shape[0]
        A[starts[k] : starts[k + 1], :d, :d] = one.A
        b[k, :d, :d] = one.b
    size = np.array([one.b.shape[0] for one in chosen], dtype=np.int64)
    rows = [conditions[k] for k in small]
    number_starts, number_columns = _entries(rows)
    weights = np.concatenate([np.zeros(0), *(one.A[:, 0, 0] for one in rows)])
    return PreparedConditions(
        n=n,
        matrices=MatrixRows(starts, columns, A, b, size),
        members=np.array(large, dtype=np.int64),
        numbers=NumberRows(
            number_starts, number_columns, weights, np.array([one.b[0, 0] for one in rows])
        ),
        number_members=np.array(small, dtype=np.int64),
        ball=_ball_rows(ball, n),
        floors=np.array([one.floor for one in conditions], dtype=float),
    )


def _entries(conditions: Sequence[MatrixCondition]) -> tuple[Indices, Indices]:
    """Where the entries of each condition start, and the columns of all."""
    lengths = [len(one.columns) for one in conditions]
    columns = [column for one in conditions for column in one.columns]
    return np.cumsum([0, *lengths], dtype=np.int64), np.array(columns, dtype=np.int64)


def _ball_rows(ball: BallCondition | None, n: int) -> BallRows:
    A = np.zeros((0, n)) if ball is None else np.ascontiguousarray(ball.A)
    b = np.zeros(0) if ball is None else np.ascontiguousarray(ball.b)
    AJA = np.outer(A[0], A[0]) - A[1:].T @ A[1:] if len(A) else np.zeros((n, n))
    return BallRows(A, np.ascontiguousarray(A.T), AJA, b)
