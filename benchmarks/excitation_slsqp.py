"""Minimise a condition number with SciPy's SLSQP and finite differences, from many random starts.

Needs NumPy and SciPy alone, so that every contender runs the same optimiser in its own environment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEP = 1e-6
"""Of the forward differences; FIGAROH's own, and in coefficients near one a good one."""
TOLERANCE = 1e-7
MOST_ITERATIONS = 10_000
OUTSIDE = 1e-6
"""Share of a limit by which a motion may be outside at the grid, SLSQP's rounding."""


@dataclass(frozen=True, eq=False)
class Arrays:
    """The problem as `excitation_problem.write_arrays` wrote it."""

    middle: Array
    scale: Array
    shapes: Array
    rows: Array
    starts: Array
    columns: tuple[str, ...]

    def states(self, x: Array) -> tuple[Array, Array, Array]:
        """q, v and a (n_samples, n_joints) of coefficients x (n_joints, n_coefficients)."""
        coefficients = (x * self.scale).T
        q, v, a = self.shapes @ coefficients
        return q + self.middle, v, a


def read_arrays(path: str | Path) -> Arrays:
    """Read the problem."""
    with np.load(path) as file:
        fields = {name: file[name] for name in Arrays.__annotations__ if name != "columns"}
        return Arrays(**fields, columns=tuple(str(name) for name in file["columns"]))


class TimeIsOverError(Exception):
    """Ends a minimisation at the budget."""


@dataclass(frozen=True, eq=False)
class Descents:
    """What was found. trace : (seconds, condition number) whenever the best one fell.

    x : the best coefficients. starts : how many starts were begun.
    """

    trace: tuple[tuple[float, float], ...]
    x: Array
    starts: int
    evaluations: int


def descend(
    condition: Callable[[Array, Array, Array], float],
    arrays: Arrays,
    budget_s: float,
    *,
    logarithm: bool,
) -> Descents:
    """Minimise until the time is over, from one start after the other.

    condition : condition number from q, v and a. logarithm : whether its logarithm is minimised.
    """
    from scipy.optimize import minimize

    n_joints, n_rows, n_coefficients = arrays.rows.shape
    matrix = np.zeros((n_joints * n_rows, n_joints * n_coefficients))
    for j in range(n_joints):
        own = slice(j * n_coefficients, (j + 1) * n_coefficients)
        matrix[j * n_rows : (j + 1) * n_rows, own] = arrays.rows[j]
    limits = {"type": "ineq", "fun": lambda x: 1.0 - matrix @ x, "jac": lambda x: -matrix}
    trace: list[tuple[float, float]] = []
    best = np.inf
    best_x = arrays.starts[0]
    evaluations = 0
    begun = 0
    started = perf_counter()

    def value(x: Array) -> float:
        nonlocal evaluations
        if perf_counter() - started > budget_s:
            raise TimeIsOverError
        evaluations += 1
        found = condition(*arrays.states(x.reshape(n_joints, n_coefficients)))
        return float(np.log(found)) if logarithm else found

    def point(x: Array) -> float:
        nonlocal best, best_x
        found = value(x)
        number = float(np.exp(found)) if logarithm else found
        if number < best and float((matrix @ x).max()) <= 1.0 + OUTSIDE:
            best, best_x = number, x.reshape(n_joints, n_coefficients).copy()
            trace.append((perf_counter() - started, number))
        return found

    def gradient(x: Array) -> Array:
        here = value(x)
        out = np.zeros_like(x)
        for k in range(len(x)):
            moved = x.copy()
            moved[k] += STEP
            out[k] = (value(moved) - here) / STEP
        return out

    try:
        for x in arrays.starts:
            begun += 1
            minimize(
                point,
                x.ravel(),
                jac=gradient,
                method="SLSQP",
                constraints=[limits],
                options={"maxiter": MOST_ITERATIONS, "ftol": TOLERANCE},
            )
    except TimeIsOverError:
        pass
    return Descents(tuple(trace), best_x, begun, evaluations)
