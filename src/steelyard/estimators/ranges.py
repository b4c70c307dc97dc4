"""The smallest and largest value that the constraints and the fit allow, by conic programming.

    minimise, maximise theta_i   subject to   the constraints,   |z - R K theta|² <= threshold

For a parameter that the data do not determine alone this is all that can be said. The threshold
is the constrained optimum plus the 95 % quantile of chi-squared with one degree of freedom per
base parameter, times how much wider the error bars from the time blocks are than classical ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from steelyard.cones import Block
from steelyard.conic import conic_problem, solve
from steelyard.estimate import Spread
from steelyard.identifiability import BaseMap

if TYPE_CHECKING:
    from steelyard.estimators.feasible import FeasibleFit

Array = NDArray[np.float64]


def open_columns(base: BaseMap, determined: NDArray[np.bool_]) -> tuple[int, ...]:
    """The columns that the data do not determine alone."""
    return tuple(
        i
        for i, fate in enumerate(base.fates())
        if fate.kind != "alone" or not determined[base.K[:, i] != 0.0].all()
    )


def fit_threshold(fit: FeasibleFit, spreads: Sequence[Spread], level: float = 0.95) -> float:
    """Largest |z - R K theta|², in units of the noise, that still counts as a fit."""
    from scipy.stats import chi2

    inflation = 1.0
    if len(spreads) > 1:
        ratio = spreads[-1].sigma / spreads[0].sigma
        ratio = ratio[np.isfinite(ratio)]
        inflation = max(1.0, float(np.median(ratio)) ** 2) if len(ratio) else 1.0
    return fit.squares + inflation * float(chi2.ppf(level, fit.free.rank))


def feasible_ranges(
    fit: FeasibleFit,
    spreads: Sequence[Spread],
    columns: Sequence[int],
    done: Callable[[int], None],
    threads: int = 1,
) -> Array:
    """(n_columns, 2) smallest and largest value of the standard parameters in ``columns``.

    NaN for the others, and where the solver could not settle one side.
    """
    problem = fit.problem
    n = len(problem.scale)
    radius = np.sqrt(fit_threshold(fit, spreads))
    # |g - F theta| <= radius
    ball = Block(
        "the data are fitted",
        "second_order",
        tuple(range(n)),
        np.vstack([np.zeros(n), -problem.F]),
        np.concatenate([[radius], problem.g]),
    )
    given = (*fit.blocks, ball)

    def extreme(task: tuple[int, float]) -> float:
        column, sign = task
        c = np.zeros(n)
        c[column] = sign / problem.scale[column]
        solution = solve(conic_problem(n, given, problem.scale, c=c), accuracy=1e-7)
        if solution.status not in ("solved", "stalled"):
            return float("nan")
        return float(solution.theta[column])

    tasks = [(column, sign) for column in columns for sign in (1.0, -1.0)]
    out = []
    for count, task in enumerate(tasks, start=1):
        out.append(extreme(task))
        done(count)
    limits = np.full((n, 2), np.nan)
    limits[list(columns)] = np.reshape(out, (len(columns), 2))
    return limits
