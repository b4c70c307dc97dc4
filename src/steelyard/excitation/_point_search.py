"""Searches for points whose matrix of energy differences is well conditioned.

The gradient search runs from many starts with a smooth measure of low order, continues from the
best with higher orders, and polishes the best of those. The other searches are those that Gautier
and Khalil (1992, section 4.3) compared; they use no derivatives of the kernel.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation import conditioning
from steelyard.excitation._point_problem import PointProblem

Array = NDArray[np.float64]
Measure = Literal["svd", "qr", "frobenius", "balanced"]
Optimiser = Literal["gradient", "powell", "nelder-mead", "quasi-newton"]
Progress = Callable[[float, float], None]
"""Called with the time since the beginning (s) and the best value so far."""


@dataclass(frozen=True)
class Stage:
    """One stage of the gradient search.

    share : of the starts that take part, the best ones. until : share of the budget at which the
    stage ends. steps : pairs of the order of the smooth measure and a number of iterations.
    """

    share: float
    until: float
    steps: tuple[tuple[float, int], ...]


STAGES = (
    Stage(1.0, 0.45, ((4.0, 50), (12.0, 70))),
    Stage(1.0 / 3.0, 0.7, ((24.0, 120), (48.0, 120))),
    Stage(0.1, 1.0, ((96.0, 500), (400.0, 700))),
)
LBFGS_MEMORY = 60
TAKING_TURNS = 0.9
"""Probability that a joint is slow and fast in turn."""
SLOW, FAST = 0.2, (0.5, 1.2)
"""Spread of the variables of slow points, and range of those of fast points."""
CONTENDERS = {"powell": "Powell", "nelder-mead": "Nelder-Mead", "quasi-newton": "BFGS"}


@dataclass(frozen=True)
class Criterion:
    """What is made small.

    condition_weight, equilibrium_weight : lambda1 and lambda2 of (18), for "balanced".
    """

    measure: Measure
    condition_weight: float = 1.0
    equilibrium_weight: float = 0.0

    def value(self, W: Array) -> float:
        """The measure of W (n_rows, n_base) as it is defined."""
        if self.measure == "svd":
            return conditioning.condition_number(W)
        if self.measure == "qr":
            return conditioning.pivot_condition(W)
        if self.measure == "frobenius":
            return conditioning.frobenius_condition(W)
        return conditioning.balanced_condition(W, self.condition_weight, self.equilibrium_weight)

    def smooth(self, W: Array, order: float) -> tuple[float, Array]:
        """A smooth measure of this order, and its derivative by W (n_rows, n_base).

        Below the order `FOLLOWED_FROM` it is that of the condition number.
        """
        if self.measure == "frobenius":
            return conditioning.frobenius_condition_gradient(W)
        if order >= FOLLOWED_FROM.get(self.measure, 0.0):
            if self.measure == "qr":
                return conditioning.pivot_condition_gradient(W)
            if self.measure == "balanced":
                return conditioning.smooth_balanced_gradient(
                    W, self.condition_weight, self.equilibrium_weight, order
                )
        return conditioning.smooth_condition_gradient(W, order)


FOLLOWED_FROM: dict[Measure, float] = {"qr": 50.0, "balanced": 20.0}
"""Pivots jump too often far from a solution, and S keeps every entry of W from changing its sign:
these measures are followed only from this order on."""


class BudgetSpent(Exception):
    """The time of a search, or of one of its stages, is over."""


@dataclass
class Search:
    """A search under way: the best variables so far, and what has been spent."""

    problem: PointProblem
    criterion: Criterion
    budget_s: float
    progress: Progress | None = None
    began: float = field(default_factory=time.perf_counter)
    evaluations: int = 0
    best: float = np.inf
    best_x: Array | None = None
    cut_short: bool = False
    deadline: float = np.inf

    def seconds(self) -> float:
        """Time (s) since the beginning."""
        return time.perf_counter() - self.began

    def note(self, x: Array) -> float:
        """The measure at x (n_variables,), kept if it is the best so far."""
        value = self.criterion.value(self.problem.matrix(x))
        if self.best_x is None or value < self.best:
            self.best, self.best_x = value, x.copy()
            if self.progress is not None:
                self.progress(self.seconds(), value)
        return value

    def smooth(self, x: Array, order: float) -> tuple[float, Array]:
        """Logarithm of the smooth measure at x, and its derivative (n_variables,)."""
        self._count()
        value, gradient = self.problem.value_and_gradient(
            x, lambda W: self.criterion.smooth(W, order)
        )
        return float(np.log(value)), gradient / value

    def plain(self, x: Array) -> float:
        """Logarithm of the measure at x."""
        self._count()
        return float(np.log(self.note(x)))

    def _count(self) -> None:
        # the first values come whatever they cost: a search must have a result
        if self.evaluations and self.seconds() > self.deadline:
            raise BudgetSpent
        self.evaluations += 1


def by_gradient(search: Search, starts: list[Array], stages: tuple[Stage, ...] = STAGES) -> None:
    """The gradient search from these starts (n_variables,) each."""
    for x in starts:
        search.note(x)
    # the budget may end the first stage after a few starts, so the most promising go first
    pool = _ranked(search, list(enumerate(starts)), stages[0].steps[0][0])
    for stage in stages:
        search.deadline = stage.until * search.budget_s
        pool = pool[: max(1, round(stage.share * len(starts)))]
        done: list[tuple[int, Array]] = []
        for k, start in pool:
            x = start
            try:
                for order, iterations in stage.steps:
                    x = _descend(search, x, order, iterations)
                search.note(x)
            except BudgetSpent:
                search.cut_short = True
                x = start
            done.append((k, x))
        pool = _ranked(search, done, stage.steps[-1][0])


def _ranked(search: Search, pool: list[tuple[int, Array]], order: float) -> list[tuple[int, Array]]:
    """Numbered variables (n_variables,) by the smooth measure of this order, the best first."""
    values = {k: search.criterion.smooth(search.problem.matrix(x), order)[0] for k, x in pool}
    return sorted(pool, key=lambda entry: (values[entry[0]], entry[0]))


def _descend(search: Search, x: Array, order: float, iterations: int) -> Array:
    from scipy.optimize import minimize

    found = minimize(
        search.smooth,
        x,
        args=(order,),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": LBFGS_MEMORY, "maxfun": 10 * iterations},
        callback=lambda intermediate_result: _note_sometimes(search, intermediate_result),
    )
    return np.asarray(found.x)


def _note_sometimes(search: Search, intermediate_result: object) -> None:
    """Keep a state of a long descent now and then, so that the budget can end it."""
    if search.evaluations % 25 == 0:
        search.note(np.asarray(intermediate_result.x))  # type: ignore[attr-defined]


def by_contender(search: Search, starts: list[Array], optimiser: Optimiser) -> None:
    """One of the methods of the paper from each start in turn, as long as the budget lasts."""
    from scipy.optimize import minimize

    search.deadline = search.budget_s
    try:
        for x in starts:
            minimize(search.plain, x, method=CONTENDERS[optimiser])
    except BudgetSpent:
        search.cut_short = True


def random_start(problem: PointProblem, rng: np.random.Generator) -> Array:
    """Normally distributed variables (n_variables,), as in Gautier and Khalil (1992)."""
    return rng.normal(size=problem.n_variables)


def smooth_start(problem: PointProblem, rng: np.random.Generator) -> Array:
    """Variables (n_variables,) of positions that drift, with slow and fast points in turn.

    Neighbouring points then differ little in weight torque, whose columns are the largest, and much
    in kinetic energy, whose columns are the smallest. Each joint either takes turns or gets
    random speeds.
    """
    n, n_joints = problem.n_points, len(problem.effective)
    n_effective = int(problem.effective.sum())
    drift = _drift(rng, n, n_effective) * rng.uniform(0.3, 0.98, n_effective)
    turns = rng.random(n_joints) < TAKING_TURNS
    phase = rng.integers(0, 2, n_joints)
    fast = rng.choice([-1.0, 1.0], (n, n_joints)) * rng.uniform(*FAST, (n, n_joints))
    slow = SLOW * rng.normal(size=(n, n_joints))
    in_turn = np.where((np.arange(n)[:, None] + phase) % 2 == 0, fast, slow)
    speeds = np.where(turns, in_turn, rng.normal(size=(n, n_joints)))
    return np.concatenate([np.arcsin(np.sqrt(0.5 * (1.0 + drift))).ravel(), speeds.ravel()])


def _drift(rng: np.random.Generator, n: int, n_joints: int) -> Array:
    """Smooth curves (n, n_joints) between -1 and 1: three sines, the slowest of one half or one
    whole wave.
    """
    if n_joints == 0:
        return np.zeros((n, 0))
    along = np.linspace(0.0, 1.0, n)[:, None]
    halves = rng.choice([1, 1, 1, 2])
    waves = [
        rng.normal(size=n_joints)
        / k
        * np.sin(np.pi * k * halves * along + rng.uniform(0.0, 2.0 * np.pi, n_joints))
        for k in (1, 2, 3)
    ]
    curve = np.sum(waves, axis=0)
    low, high = curve.min(axis=0), curve.max(axis=0)
    return np.asarray(2.0 * (curve - low) / (high - low) - 1.0)
