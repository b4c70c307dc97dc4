"""Common parts of constrained fits: the weighted system and the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, Statement
from steelyard.conic.problem import ConicProblem, ConicSolution, conic_problem
from steelyard.conic.row_panels import times_columns
from steelyard.conic.settle import Settled
from steelyard.errors import EstimationError
from steelyard.estimators.cluster import cluster_spread
from steelyard.estimators.least_squares import Fit, joint_noise, triangular_fit
from steelyard.estimators.optimum_distance import OptimumDistance
from steelyard.estimators.parallel.workers import Solver
from steelyard.estimators.pull import Pull
from steelyard.estimators.solver_names import SolverName, Weighting
from steelyard.model.model import Model
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]

# a condition with a slack below this share of its typical size is active
ACTIVE = 1e-6
NO_NOISE = 1e-4
"""Share of the rms torque that residuals have at least: weights of noise-free data are finite."""


@dataclass(frozen=True, eq=False)
class System:
    """The compressed data with each torque channel weighted.

    weights : (n_groups,) of the row groups. factor : (n_base + 1, n_base + 1) of [W tau].
    free : the unconstrained least-squares fit of it. sigma : noise of the weighted residuals.
    regression : the data.
    """

    weights: Array
    factor: Array
    free: Fit
    sigma: float
    regression: Regression

    @property
    def free_squares(self) -> float:
        """|z - R beta|² of the unconstrained fit, in units of the noise."""
        return float(self.free.residual_square - self.factor[-1, -1] ** 2) / self.sigma**2

    @cached_property
    def dependence(self) -> float:
        """Median ratio of cluster-robust to classical variances, at least 1.

        Autocorrelated residuals carry less information than as many independent ones.
        """
        free = self.free
        covariance, _ = cluster_spread(self.regression, self.weights, free.beta, free.inverse)
        if covariance is None:
            return 1.0
        classical = self.sigma**2 * np.sum(free.inverse**2, axis=1)
        ratio = np.diag(covariance)[classical > 0] / classical[classical > 0]
        return max(1.0, float(np.median(ratio[np.isfinite(ratio)])))


def _least_noise(regression: Regression) -> Array:
    """Noise (n_groups,) below which a channel counts as noise-free.

    Without it, a channel that the model explains to rounding would make all others worthless.
    """
    least = np.zeros(len(regression.groups))
    if regression.pooled is None:
        n_rows = np.maximum(regression.counts.sum(axis=0), 1)
        squares = [float(np.sum(factor[:, -1] ** 2)) for factor in regression.group_factors]
        least = NO_NOISE * np.sqrt(np.array(squares) / n_rows)
    return least


def weighted_system(model: Model, regression: Regression, weighting: Weighting = "wls") -> System:
    """Weight the channels equally ("ols") or by each joint's own noise ("wls")."""
    if regression.model_hash != model.hash:
        raise EstimationError("the regression belongs to another model")
    weights = np.ones(len(regression.groups))
    if weighting == "wls":
        weights = 1.0 / np.maximum(joint_noise(regression), _least_noise(regression))
    factor = regression.system(weights)
    free = triangular_fit(factor)
    freedom = max(regression.n_rows - free.rank, 1)
    # noise-free data would give infinite weights
    floor = NO_NOISE * np.linalg.norm(factor[:, -1]) / np.sqrt(regression.n_rows)
    sigma = float(max(np.sqrt(free.residual_square / freedom), floor, np.finfo(float).tiny))
    return System(weights, factor, free, sigma, regression)


@dataclass(frozen=True, eq=False)
class Refit:
    """How resampled time blocks are fitted by the same method.

    solver : makes a function from counts of drawn blocks (n_blocks,) to base parameters (n_base,),
        NaN where it fails; several threads call it.
    """

    solver: Callable[[], Solver]


@dataclass(frozen=True, eq=False)
class ConstrainedFit:
    """Parameters inside all constraints, exactly, and how they were obtained.

    theta : (n_columns,) standard parameters. beta : (n_base,) = K theta.
    problem : the fit to the data without a prior. solution : of that problem, if it was solved.
    squares : |z - R beta|² in units of the noise. pull : the prior and its weight, if any.
    solver : what solved it, see `steelyard.estimators.solver_names`.
    refit : how resamples are fitted; None for the simultaneous fit. distance : of a sequential fit
        from the simultaneous one.
    """

    method: str
    theta: Array
    beta: Array
    system: System
    blocks: tuple[Block, ...]
    problem: ConicProblem
    settled: Settled
    squares: float
    solver: SolverName
    solution: ConicSolution | None = None
    pull: Pull | None = None
    refit: Refit | None = None
    distance: OptimumDistance | None = None

    def __repr__(self) -> str:
        count = f"{len(self.theta)} parameters inside {len(self.blocks)} conditions"
        return f"<ConstrainedFit by '{self.method}': {count}>"

    @property
    def weights(self) -> Array:
        """Weights (n_groups,) of the row groups."""
        return self.system.weights

    @property
    def sigma(self) -> float:
        """Noise of the weighted residuals."""
        return self.system.sigma

    @property
    def free(self) -> Fit:
        """The unconstrained least-squares fit of the same system."""
        return self.system.free

    def active(self) -> tuple[Statement, ...]:
        """The active conditions: those that hold with almost no slack."""
        scale = self.problem.scale
        active = []
        for block in self.blocks:
            size = np.max(np.abs(block.A * scale[list(block.columns)]))
            size = max(size, np.max(np.abs(block.b)))  # a limit may be far above typical values
            if block.kind == "zero" or block.statement is None:
                continue
            if block.margin(self.theta) < ACTIVE * size:
                active.append(block.statement)
        return tuple(active)


def fit_problem(
    factor: Array,
    sigma: float,
    K: Array,
    given: tuple[Block, ...],
    scale: Array,
    pull: float | Array,
    towards: Array,
) -> ConicProblem:
    """The fit as a conic problem, from a triangular factor (n_base + 1, n_base + 1) of [W tau]."""
    R, z = factor[:-1, :-1] / sigma, factor[:-1, -1] / sigma
    return conic_problem(
        len(scale), given, scale, F=times_columns(R, K), g=z, pull=pull / scale**2, towards=towards
    )


def squares(problem: ConicProblem, theta: Array) -> float:
    """|z - R K theta|² in units of the noise."""
    residual = problem.g - problem.F @ theta
    return float(residual @ residual)
