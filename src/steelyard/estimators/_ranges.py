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
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import BAND, Block
from steelyard.conic.interior_form import LinearEnds, linear_ends
from steelyard.conic.problem import conic_problem
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.estimate import NO_MASS, Spread
from steelyard.estimators.parallel.workers import solve_all
from steelyard.estimators.quantiles import chi2_quantile
from steelyard.model.base_map import BaseMap

Array = NDArray[np.float64]
ACCURACY = 1e-8
"""Of the ends, in typical sizes; as good as the other solver's is 50 times that."""
MOST_STEPS = 40
"""Steps after which the other solver is asked; ends take about 20."""
MOST_COLUMNS = 450
"""Problems with more columns go to the solver for sparse ones."""


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
    inflation = 1.0
    if len(spreads) > 1:
        known = spreads[0].sigma > 0.0
        ratio = spreads[-1].sigma[known] / spreads[0].sigma[known]
        ratio = ratio[np.isfinite(ratio)]
        inflation = max(1.0, float(np.median(ratio)) ** 2) if len(ratio) else 1.0
    return fit.squares + inflation * chi2_quantile(level, fit.free.rank)


def feasible_ranges(
    fit: ConstrainedFit,
    spreads: Sequence[Spread],
    wanted: Quantities,
    done: Callable[[int], None],
    threads: int,
) -> Ranges:
    """The ranges of the wanted quantities; no centre of mass of a body that may have no mass."""
    n = len(fit.problem.scale)
    ends_of = RangeEnds(fit.blocks, fit_ball(fit, spreads), fit.problem.scale, fit.theta)
    finished = 0

    def ends(quantities: Sequence[tuple[int, int]]) -> Array:
        """Ranges (n_quantities, 2) of columns, divided by a mass's column unless that is -1."""
        nonlocal finished
        tasks = [(i, mass, sign) for i, mass in quantities for sign in (1, -1)]
        before = finished
        finished += len(tasks)
        array = np.array(tasks, dtype=float).reshape(-1, 3)
        return solve_all(ends_of.end, array, threads, lambda k: done(before + k)).reshape(-1, 2)

    parameters = np.full((n, 2), np.nan)
    parameters[list(wanted.columns)] = ends([(i, -1) for i in wanted.columns])
    com = np.full((len(wanted.masses), 3, 2), np.nan)
    heavy = [
        k
        for k, m in enumerate(wanted.masses)
        if not parameters[m, 0] <= NO_MASS * abs(fit.theta[m])
    ]
    com[heavy] = ends(
        [(wanted.masses[k] + 1 + i, wanted.masses[k]) for k in heavy for i in range(3)]
    ).reshape(-1, 3, 2)
    done(wanted.n_problems)
    return Ranges(parameters, com)


def fit_ball(fit: ConstrainedFit, spreads: Sequence[Spread]) -> Block:
    """|z - R K theta|² is at most that of an acceptable fit."""
    problem, radius = fit.problem, np.sqrt(fit_threshold(fit, spreads))
    n = len(problem.scale)
    A = np.vstack([np.zeros(n), -problem.F])
    b = np.concatenate([[radius], problem.g])
    return Block("second_order", tuple(range(n)), A, b)


@dataclass(frozen=True, eq=False)
class RangeEnds:
    """Ends of ranges within conditions and the ball of acceptable fits; threads may share it.

    scale : (n,) typical sizes. inside : (n,) parameters that meet all of them.
    """

    blocks: tuple[Block, ...]
    ball: Block
    scale: Array
    inside: Array
    _ready: dict[int, LinearEnds | None] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def end(self, task: Array) -> Array:
        """One end (1,) of (column, column of the dividing mass or -1, sign), or NaN."""
        column, mass, sign = int(task[0]), int(task[1]), float(task[2])
        found = self._compiled(column, mass, sign)
        if found is None:
            found = self._by_clarabel(column, mass, sign)
        return np.array([found])

    def _compiled(self, column: int, mass: int, sign: float) -> float | None:
        """The end by the interior-point method; None if it does not converge."""
        with self._lock:
            if mass not in self._ready:
                self._ready[mass] = self._prepared(mass)
        ready = self._ready[mass]
        if ready is None:
            return None
        sizes = self._sizes(mass)
        c = np.zeros(len(sizes))
        c[column] = sign / sizes[column]
        try:
            found = ready.lowest(c, ACCURACY, MOST_STEPS)
        except EstimationError:
            return None
        return float(ready.theta(found.x)[column]) if found.worst <= 50.0 * ACCURACY else None

    def _prepared(self, mass: int) -> LinearEnds | None:
        """What all ends with this dividing mass share; None for very large problems."""
        sizes = self._sizes(mass)
        if len(sizes) > MOST_COLUMNS:
            return None
        inside = self.inside if mass < 0 else np.append(self.inside, 1.0) / self.inside[mass]
        blocks, ball = self._conditions(mass)
        return linear_ends(blocks, ball, sizes, inside)

    def _sizes(self, mass: int) -> Array:
        """Typical size of each variable: of theta, or of theta / m and 1 / m."""
        return self.scale if mass < 0 else np.append(self.scale, 1.0) / self.scale[mass]

    def _conditions(self, mass: int) -> tuple[tuple[Block, ...], Block]:
        """The conditions, and the ball; on theta / m and 1 / m if a mass divides."""
        if mass < 0:
            return self.blocks, self.ball
        n = len(self.scale)
        cones = tuple(_homogeneous(block, n) for block in self.blocks)
        one = Block("zero", (mass,), np.ones((1, 1)), -np.ones(1))
        some = Block("nonnegative", (n,), np.ones((1, 1)), np.zeros(1))
        return (*cones, one, some), _homogeneous(self.ball, n)

    def _by_clarabel(self, column: int, mass: int, sign: float) -> float:
        """The end by the other solver, NaN if there is none."""
        blocks, ball = self._conditions(mass)
        sizes = self._sizes(mass)
        c = np.zeros(len(sizes))
        c[column] = sign / sizes[column]
        solution = solve(conic_problem(len(sizes), (*blocks, ball), sizes, c=c), accuracy=1e-7)
        good = ("solved", "stalled") if mass < 0 else ("solved",)
        return float(solution.theta[column]) if solution.status in good else np.nan


def _homogeneous(block: Block, n: int) -> Block:
    """A y + b t in the cone, with t as the last variable; of bands their middle."""
    if block.band:
        half = len(block.b) // 2
        A = np.column_stack([block.A[:half], block.b[:half] - BAND])
        return Block("zero", (*block.columns, n), A, np.zeros(half))
    A = np.column_stack([block.A, block.b])
    return Block(block.kind, (*block.columns, n), A, np.zeros(len(block.b)))
