"""Minimise a smooth function under linear inequalities, block by block, from the inside.

    minimise f(x)    subject to    -1 <= rows[j] @ x[j] <= 1 for every block j

A primal-dual interior-point method. Second derivatives of the inequalities' barrier are exact
(they are small blocks); those of f come from damped BFGS updates. Every iterate is strictly
inside, so that the method can be stopped at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TO_THE_EDGE = 0.99
"""Share of the way to the nearest inequality that a step may go."""
SUFFICIENT = 1e-4
MOST_HALVINGS = 12
DUAL_RANGE = 100.0


class Point(Protocol):
    """f at one place; the gradient is computed when it is asked for."""

    @property
    def value(self) -> float:
        """f, infinite where it is not defined."""

    def gradient(self) -> Array:
        """df/dx (n_blocks, n_coefficients)."""


@dataclass(frozen=True, eq=False)
class State:
    """Where a minimisation stands: x (n_blocks, n), curvature B of f, and its value."""

    x: Array
    curvature: Array
    value: float
    finished: bool


def minimise(
    function: Callable[[Array], Point],
    rows: Array,
    x: Array,
    curvature: Array,
    *,
    weight: float,
    iterations: int,
    tolerance: float,
    stop: Callable[[], bool],
) -> State:
    """Descend f - weight * sum log slack from x, which must be strictly inside.

    rows : (n_blocks, n_rows, n). curvature : (n_blocks * n, n_blocks * n) positive definite.
    tolerance : expected decrease below which it is finished. stop : asked before every step.
    """
    n_blocks, _, n = rows.shape
    curvature = curvature.copy()
    here = function(x)
    slack = _both_sides(rows, x)
    slack += 1.0
    if not (np.isfinite(here.value) and slack.min() > 0.0):
        return State(x, curvature, np.inf, finished=True)
    slope = here.gradient()
    dual = weight / slack
    transposed = np.ascontiguousarray(rows.transpose(0, 2, 1))
    for _ in range(iterations):
        if stop():
            return State(x, curvature, here.value, finished=False)
        ratio = dual / slack
        H = curvature.copy()
        for j, block in enumerate((transposed * (ratio[0] + ratio[1])[:, None]) @ rows):
            H[j * n : (j + 1) * n, j * n : (j + 1) * n] += block
        push = weight / slack
        force = -(slope + (transposed @ (push[0] - push[1])[..., None])[..., 0])
        try:
            step = np.linalg.solve(H, force.ravel()).reshape(n_blocks, n)
        except np.linalg.LinAlgError:
            break
        decrease = float(np.sum(force * step))
        if not decrease > tolerance:
            break
        change = _both_sides(rows, step)
        dual_step = push - dual - ratio * change
        length = _longest(slack, change)
        merit = here.value - weight * _log_sum(slack)
        found = None
        for _ in range(MOST_HALVINGS):
            trial = function(x + length * step)
            new_slack = slack + length * change
            if trial.value - weight * _log_sum(new_slack) <= (
                merit - SUFFICIENT * length * decrease
            ):
                found = trial
                break
            length *= 0.5
        if found is None:
            break
        new_slope = found.gradient()
        _update(curvature, length * step.ravel(), (new_slope - slope).ravel())
        x, slack, slope, here = x + length * step, new_slack, new_slope, found
        dual += _longest(dual, dual_step) * dual_step
        push = weight / slack
        np.clip(dual, push / DUAL_RANGE, push * DUAL_RANGE, out=dual)
    return State(x, curvature, here.value, finished=True)


def _both_sides(rows: Array, x: Array) -> Array:
    """What x adds to the slack (2, n_blocks, n_rows) of the upper and of the lower bounds."""
    lower = (rows @ x[..., None])[..., 0]
    return np.array([-lower, lower])


def _log_sum(slack: Array) -> float:
    """Sum of the logarithms of both slacks (2, n_blocks, n_rows)."""
    return float(np.log(slack[0] * slack[1]).sum())


def _longest(room: Array, change: Array) -> float:
    """The longest step, one at most, that leaves ``room + step * change`` positive."""
    fastest = float(np.min(change / room))
    return 1.0 if fastest > -TO_THE_EDGE else TO_THE_EDGE / -fastest


def _update(B: Array, step: Array, change: Array) -> None:
    """Powell's damped BFGS update of B in place; B stays positive definite."""
    along = B @ step
    curve = float(step @ along)
    seen = float(step @ change)
    if not curve > 0.0:
        return
    share = 1.0 if seen >= 0.2 * curve else 0.8 * curve / (curve - seen)
    mixed = share * change + (1.0 - share) * along
    B += np.outer(mixed, mixed) / float(step @ mixed) - np.outer(along, along) / curve
