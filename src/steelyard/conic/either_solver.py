"""Least squares under matrix conditions by the interior-point method, or else by Clarabel.

The interior-point method starts at values of size near one. Data that ask for values thousands of
times as large (torques in other units than the parameters) can keep it from converging; Clarabel,
which scales the problem by itself, is asked then. It has no logarithms of determinants: a problem
with floors has no second solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, entries_of, matrix_of
from steelyard.conic.interior_conditions import MatrixCondition
from steelyard.conic.interior_point import minimise
from steelyard.conic.problem import ConicSolution, conic_problem
from steelyard.conic.solver import DOUBTED_GAP, solve
from steelyard.errors import EstimationError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Minimum:
    """x (n,), the duals of the conditions, and whether Clarabel found it."""

    x: Array
    duals: tuple[Array, ...]
    iterations: int
    by_clarabel: bool = False


def minimise_by_either(
    F: Array, g: Array, c: Array, conditions: Sequence[MatrixCondition], start: Array
) -> Minimum:
    """Minimise ½ |F x - g|² + c·x - sum_k floor_k log det S_k within the conditions.

    As `steelyard.conic.interior_point.minimise`; raises its error if neither solver succeeds.
    """
    try:
        found = minimise(F, g, c, conditions, start)
    except EstimationError:
        second = _by_clarabel(F, g, c, conditions)
        if second is None:
            raise
        return second
    return Minimum(found.x, found.duals, found.iterations)


def _by_clarabel(
    F: Array, g: Array, c: Array, conditions: Sequence[MatrixCondition]
) -> Minimum | None:
    """Clarabel's answer if it is an optimum; None if not, or if there are logarithms."""
    if any(one.floor > 0.0 for one in conditions):
        return None
    blocks = [
        Block("psd", one.columns, np.array([entries_of(A) for A in one.A]).T, entries_of(one.b))
        for one in conditions
    ]
    size = np.linalg.norm(F, axis=0)
    scale = max(float(np.linalg.norm(g)), 1.0) / np.where(size > 0.0, size, 1.0)
    try:
        found = solve(conic_problem(len(c), blocks, scale, F=F, g=g, c=c))
    except EstimationError:
        return None
    if not _optimal(found):
        return None
    duals = tuple(matrix_of(dual) for dual in found.duals)
    return Minimum(found.theta, duals, found.iterations, by_clarabel=True)


def _optimal(found: ConicSolution) -> bool:
    """Whether the answer is solved, or its recomputed gap is small."""
    if found.status == "solved":
        return True
    return found.status == "stalled" and abs(found.gap) <= DOUBTED_GAP * (1.0 + abs(found.value))
