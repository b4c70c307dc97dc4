"""A primal-dual interior-point method for least squares with log-determinant terms.

    minimise   ½ |F x - g|² + c·x - sum_k floor_k log det S_k
    subject to S_k = sum_j x_j A_kj + b_k positive semidefinite

A condition with ``floor_k`` = 0 is an ordinary one. The optimum has duals Z_k with

    Fᵀ(F x - g) + c = sum_k A_k*(Z_k),      S_k Z_k = floor_k 1,

so a log-determinant in the objective only changes the target of the product S_k Z_k: zero for
ordinary conditions, floor_k for the others. The central path is S_k Z_k = (floor_k + mu) 1 with
the same mu for all. Newton steps use the Nesterov-Todd scaling and Mehrotra's predictor-corrector.

The Gram matrix FᵀF is used only in the Newton matrix. Residuals are computed from F, so poor
conditioning costs iterations, not accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.interior_conditions import MatrixCondition
from steelyard.conic.interior_rules import ACCURACY, MAX_ITERATIONS
from steelyard.conic.interior_solution import InteriorSolution
from steelyard.conic.interior_stacked import minimise_stacked

Array = NDArray[np.float64]

MOST_VARIABLES = 250
"""Problems with more variables spend their time in BLAS, and are solved in NumPy."""
LARGEST = 12
"""So are those with larger matrices."""


class Prepared(Protocol):
    """Conditions that are ready for many problems with them."""

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
        """As `minimise`; gram : FᵀF, if it is known. floors : instead of the conditions' own.

        near : the optimum of a nearby problem, which saves steps where the method can use it.
        """
        ...


def prepare(conditions: Sequence[MatrixCondition], n: int) -> Prepared:
    """Conditions on n variables, for many problems with them. Threads may share the answer."""
    largest = max((one.b.shape[0] for one in conditions), default=1)
    if n > MOST_VARIABLES or largest > LARGEST:
        return Stacked(tuple(conditions))
    from steelyard.conic.interior_compiled import prepared

    return prepared(conditions, n)


@dataclass(frozen=True, eq=False)
class Stacked:
    """Conditions for the method in NumPy."""

    conditions: tuple[MatrixCondition, ...]

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
        """See `Prepared`; starts from ``start`` in any case."""
        conditions = self.conditions
        if floors is not None:
            conditions = tuple(
                replace(one, floor=float(floor))
                for one, floor in zip(conditions, floors, strict=True)
            )
        return minimise_stacked(
            F, g, c, conditions, start, gram=gram, accuracy=accuracy, max_iterations=max_iterations
        )


def minimise(
    F: Array,
    g: Array,
    c: Array,
    conditions: Sequence[MatrixCondition],
    start: Array,
    *,
    accuracy: float = ACCURACY,
    max_iterations: int = MAX_ITERATIONS,
) -> InteriorSolution:
    """Solve the problem in the module's docstring.

    F : (n_rows, n), g : (n_rows,), c : (n,). start : (n,), preferably well inside, but it may be
    outside. Works best if the variables, and the matrices with a floor, are of size near one.
    Raises EstimationError if no optimum is found, as when the conditions contradict each other.
    """
    return prepare(conditions, len(start)).minimise(
        F, g, c, start, accuracy=accuracy, max_iterations=max_iterations
    )
