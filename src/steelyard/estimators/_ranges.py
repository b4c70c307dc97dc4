"""The smallest and largest value that the constraints and the fit allow, by conic programming.

    minimise, maximise theta_i   subject to   the constraints,   |z - R K theta|² <= threshold

and the same for the coordinates h_i / m of centres of mass: with y = theta / m and t = 1 / m

    minimise, maximise y_i   subject to   y_m = 1,   t >= 0,   A y + b t in the cones

They replace confidence intervals for parameters that the data do not determine individually. The
threshold is the constrained optimum plus the 95 % quantile of chi-squared with one degree of
freedom per base parameter, times the ratio of resampled to classical variances.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.conic.problem import conic_problem
from steelyard.conic.solver import solve
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.estimate import Spread
from steelyard.estimators.parallel._packing import packed_blocks, unpacked_blocks
from steelyard.estimators.parallel.workers import Shared, Solver, Workers
from steelyard.model.base_map import BaseMap

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Quantities:
    """The quantities whose ranges are wanted.

    columns : those that the data do not determine individually.
    masses : column of each body's mass; its first moments are the next three.
    """

    columns: tuple[int, ...]
    masses: tuple[int, ...]

    @property
    def n_problems(self) -> int:
        """Number of conic problems to solve."""
        return 2 * (len(self.columns) + 3 * len(self.masses))


@dataclass(frozen=True, eq=False)
class Ranges:
    """Smallest and largest values; NaN where none was wanted or the solver failed.

    parameters : (n_columns, 2). com : (n_bodies, 3, 2) m, of centres of mass.
    """

    parameters: Array
    com: Array


def open_quantities(base: BaseMap, determined: NDArray[np.bool_]) -> Quantities:
    """The parameters that the data do not determine individually, and every centre of mass."""
    columns = tuple(
        i
        for i, fate in enumerate(base.fates())
        if fate.kind != "alone" or not determined[base.K[:, i] != 0.0].all()
    )
    masses = tuple(
        i for i, c in enumerate(base.columns) if (c.kind, c.symbol) == ("rigid_body", "m")
    )
    return Quantities(columns, masses)


def fit_threshold(fit: ConstrainedFit, spreads: Sequence[Spread], level: float = 0.95) -> float:
    """Largest |z - R K theta|², in units of the noise, of an acceptable fit."""
    from scipy.stats import chi2

    inflation = 1.0
    if len(spreads) > 1:
        known = spreads[0].sigma > 0.0
        ratio = spreads[-1].sigma[known] / spreads[0].sigma[known]
        ratio = ratio[np.isfinite(ratio)]
        inflation = max(1.0, float(np.median(ratio)) ** 2) if len(ratio) else 1.0
    return fit.squares + inflation * float(chi2.ppf(level, fit.free.rank))


def feasible_ranges(
    fit: ConstrainedFit,
    spreads: Sequence[Spread],
    wanted: Quantities,
    done: Callable[[int], None],
    workers: Workers,
) -> Ranges:
    """The ranges of the wanted quantities."""
    problem = fit.problem
    n = len(problem.scale)
    shared: dict[str, NDArray[Any]] = {
        "scale": problem.scale,
        **packed_blocks((*fit.blocks, fit_ball(fit, spreads))),
    }
    # column, column of the mass that divides it or -1, sign
    tasks = [(i, -1, sign) for i in wanted.columns for sign in (1, -1)]
    tasks += [(m + k, m, sign) for m in wanted.masses for k in (1, 2, 3) for sign in (1, -1)]
    found = workers.run(range_solver, shared, np.array(tasks, dtype=float).reshape(-1, 3), done)
    ends = found.reshape(-1, 2)
    parameters = np.full((n, 2), np.nan)
    parameters[list(wanted.columns)] = ends[: len(wanted.columns)]
    return Ranges(parameters, ends[len(wanted.columns) :].reshape(-1, 3, 2))


def fit_ball(fit: ConstrainedFit, spreads: Sequence[Spread]) -> Block:
    """|z - R K theta|² is at most that of an acceptable fit."""
    problem, radius = fit.problem, np.sqrt(fit_threshold(fit, spreads))
    n = len(problem.scale)
    A = np.vstack([np.zeros(n), -problem.F])
    b = np.concatenate([[radius], problem.g])
    return Block("second_order", tuple(range(n)), A, b)


def range_solver(shared: Shared) -> Solver:
    """Solver from (column, column of the dividing mass or -1, sign) to one end (1,) or NaN."""
    arrays: dict[str, NDArray[Any]] = dict(shared)
    scale, given = arrays["scale"], unpacked_blocks(arrays)
    n = len(scale)
    cones = tuple(_homogeneous(block, n) for block in given)

    def end(task: Array) -> Array:
        column, mass, sign = int(task[0]), int(task[1]), float(task[2])
        c = np.zeros(n + 1)
        if mass < 0:
            c[column] = sign / scale[column]
            problem = conic_problem(n, given, scale, c=c[:n])
        else:
            sizes = np.append(scale, 1.0) / scale[mass]
            c[column] = sign / sizes[column]
            one = Block("zero", (mass,), np.ones((1, 1)), -np.ones(1))
            some = Block("nonnegative", (n,), np.ones((1, 1)), np.zeros(1))
            problem = conic_problem(n + 1, (*cones, one, some), sizes, c=c)
        solution = solve(problem, accuracy=1e-7)
        good = ("solved", "stalled") if mass < 0 else ("solved",)
        return np.array([solution.theta[column] if solution.status in good else np.nan])

    return end


def _homogeneous(block: Block, n: int) -> Block:
    """A y + b t in the cone, with t as the last variable."""
    A = np.column_stack([block.A, block.b])
    return Block(block.kind, (*block.columns, n), A, np.zeros(len(block.b)))
