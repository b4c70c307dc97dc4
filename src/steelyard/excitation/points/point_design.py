"""Points (q, v) that determine the base parameters well, by differences of energy between them.

Gautier and Khalil (1992), section 4: the points of a sequence are moved, within limits of position
and speed, until the matrix of energy differences between neighbours is well conditioned.
`steelyard.excitation.points.point_motion` joins them by a motion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError, listed
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.points import conditioning
from steelyard.excitation.points._point_problem import PointProblem, point_problem
from steelyard.excitation.points._point_search import (
    CONTENDERS,
    STAGES,
    Criterion,
    Measure,
    Optimiser,
    Progress,
    Search,
    by_contender,
    by_gradient,
    random_start,
    smooth_start,
)
from steelyard.model.model import Model

Array = NDArray[np.float64]
MEASURES: tuple[Measure, ...] = ("svd", "qr", "frobenius", "balanced")
OPTIMISERS: tuple[Optimiser, ...] = ("gradient", "powell", "nelder-mead", "quasi-newton")


@dataclass(frozen=True)
class PointSettings:
    """How points are searched for.

    n_rows : energy differences, one less than points; at least the number of base parameters.
    measure : what is made small: "svd" the condition number (16), "qr" its estimate by QR with
        column pivoting, "frobenius" that of WᵀW in the Frobenius norm (21), "balanced" the sum
        (18) with the equilibrium S (19).
    condition_weight, equilibrium_weight : lambda1 and lambda2 of (18), for "balanced".
    optimiser : "gradient" (analytic derivatives), or one of the methods that Gautier and Khalil
        compared: "powell", "nelder-mead", and "quasi-newton" with finite differences.
    n_starts : random starts. budget_s : time (s) after which the best so far is the result; the
        result depends on the seed alone where the search ends before.
    """

    n_rows: int
    measure: Measure = "svd"
    condition_weight: float = 1.0
    equilibrium_weight: float = 0.01
    optimiser: Optimiser = "gradient"
    n_starts: int = 60
    budget_s: float = 10.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise SignalError(f"measure is '{self.measure}'; it is one of {listed(MEASURES)}")
        if self.optimiser not in OPTIMISERS:
            raise SignalError(f"optimiser is '{self.optimiser}'; it is one of {listed(OPTIMISERS)}")
        weights = (self.condition_weight, self.equilibrium_weight)
        if not (min(weights) >= 0.0 and max(weights) > 0.0 and np.isfinite(weights).all()):
            raise SignalError(
                f"condition_weight and equilibrium_weight are {weights[0]:g} and {weights[1]:g}; "
                "they must not be negative, nor both zero"
            )
        if self.n_rows < 1 or self.n_starts < 1 or self.seed < 0:
            raise SignalError(
                f"n_rows is {self.n_rows}, n_starts {self.n_starts} and seed {self.seed}; the "
                "first two must be positive and the seed not negative"
            )
        if not self.budget_s > 0.0:
            raise SignalError(f"budget_s is {self.budget_s}; it must be positive")

    @property
    def criterion(self) -> Criterion:
        """The measure with its weights."""
        return Criterion(self.measure, self.condition_weight, self.equilibrium_weight)


@dataclass(frozen=True, eq=False)
class PointSequence:
    """States in their order. q, v : (n_points, n_joints) rad or m, and per s."""

    joints: tuple[str, ...]
    q: Array
    v: Array


@dataclass(frozen=True, eq=False)
class PointDesign:
    """Points that were found, and how good they are.

    matrix : W (n_rows, n_base) of their energy differences, weighted and scaled as asked for.
    names : (n_base,) of the base columns. value, start_value : of the measure that was made small,
    and of the best start. condition, frobenius, equilibrium : (16), (21) and (19) of W.
    idle : joints whose positions have no effect on W; these are random.
    cut_short : whether the budget ended the search.
    """

    points: PointSequence
    matrix: Array
    names: tuple[str, ...]
    settings: PointSettings
    value: float
    start_value: float
    condition: float
    frobenius: float
    equilibrium: float
    idle: tuple[str, ...]
    n_variables: int
    evaluations: int
    seconds: float
    cut_short: bool


def design_points(
    model: Model,
    limits: MotionLimits,
    settings: PointSettings,
    *,
    start: PointSequence | None = None,
    row_weights: Array | None = None,
    column_scale: Array | None = None,
    progress: Progress | None = None,
) -> PointDesign:
    """Points within the limits of position and speed whose energy differences are well conditioned.

    The columns are the base parameters of bodies and drive inertias; the work of friction and
    offsets depends on the path between the points. Robots with a fixed base.

    start : points to start from, instead of random ones.
    row_weights : (n_rows,) and column_scale : (n_base,) positive factors of W; none when not given.
    progress : called with the time (s) and the best value whenever there is a better one.
    """
    rng = np.random.default_rng(settings.seed)
    problem = point_problem(model, limits, settings.n_rows, rng, row_weights, column_scale)
    if start is None:
        starts = _starts(problem, settings, rng)
    else:
        problem, starts = _given_start(problem, start)
    search = Search(problem, settings.criterion, settings.budget_s, progress)
    start_value = min(settings.criterion.value(problem.matrix(x)) for x in starts)
    if settings.optimiser in CONTENDERS:
        by_contender(search, starts, settings.optimiser)
    else:
        # given points are already good: low orders would lead away from them
        by_gradient(search, starts, STAGES if start is None else STAGES[1:])
    found = starts[0] if search.best_x is None else search.best_x
    q, v = problem.points(found)
    W = problem.matrix_of(q, v)
    return PointDesign(
        points=PointSequence(limits.joints, q, v),
        matrix=W,
        names=tuple(problem.model.column_names[i] for i in problem.columns),
        settings=settings,
        value=settings.criterion.value(W),
        start_value=start_value,
        condition=conditioning.condition_number(W),
        frobenius=conditioning.frobenius_condition(W),
        equilibrium=conditioning.equilibrium(W),
        idle=tuple(np.array(limits.joints)[~problem.effective].tolist()),
        n_variables=problem.n_variables,
        evaluations=search.evaluations,
        seconds=search.seconds(),
        cut_short=search.cut_short,
    )


def random_points(
    model: Model, limits: MotionLimits, n_rows: int, rng: np.random.Generator
) -> tuple[PointSequence, Array]:
    """Points drawn evenly within the limits, and their W (n_rows, n_base): the random sequences
    that Gautier and Khalil (1992) compare with, Table 2.
    """
    problem = point_problem(model, limits, n_rows, rng)
    shape = (n_rows + 1, len(limits.joints))
    q = rng.uniform(limits.lower, limits.upper, size=shape)
    v = rng.uniform(-limits.velocity, limits.velocity, size=shape)
    return PointSequence(limits.joints, q, v), problem.matrix_of(q, v)


def _starts(
    problem: PointProblem, settings: PointSettings, rng: np.random.Generator
) -> list[Array]:
    """Starts of the search; the paper's methods get the paper's."""
    if settings.optimiser in CONTENDERS:
        return [random_start(problem, rng) for _ in range(settings.n_starts)]
    return [smooth_start(problem, rng) for _ in range(settings.n_starts)]


def _given_start(problem: PointProblem, start: PointSequence) -> tuple[PointProblem, list[Array]]:
    shape = (problem.n_points, len(problem.limits.joints))
    if start.joints != problem.limits.joints or start.q.shape != shape or start.v.shape != shape:
        raise SignalError(
            f"the points to start from have shape {start.q.shape} for {listed(start.joints)}; "
            f"{shape} for {listed(problem.limits.joints)} is needed"
        )
    inside = np.clip(start.q, problem.limits.lower, problem.limits.upper)
    return replace(problem, idle_q=inside), [problem.variables(inside, start.v)]
