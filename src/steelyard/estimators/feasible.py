"""The least-squares optimum within what is physically possible: FBPE of paper 000.

    minimise |z - R K theta|²   subject to   the constraints on theta        (eqs 64-75)

on the compressed factors, with weights per joint as in `least_squares`. What the data leave
open is placed as close as possible to known values (a prior, or typical bodies) by a pull that
is too weak to matter to the fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.cones import Block
from steelyard.conflicts import check_constraints
from steelyard.conic import ConicProblem, ConicSolution, conic_problem, solve
from steelyard.constraints import Constraints, blocks
from steelyard.errors import EstimationError
from steelyard.estimate import Estimate, Spread, Standard
from steelyard.estimators.least_squares import (
    Fit,
    channel_fits,
    excitation_findings,
    joint_noise,
    relative_error,
    triangular_fit,
)
from steelyard.estimators.ranges import Ranges, feasible_ranges, open_quantities
from steelyard.estimators.resampling import resample
from steelyard.estimators.workers import Workers
from steelyard.feasible_point import Settled, settle
from steelyard.findings import Finding
from steelyard.model import Model
from steelyard.regression import Regression
from steelyard.scales import parameter_scale, typical_parameters

Array = NDArray[np.float64]
Weighting = Literal["ols", "wls"]

PULL = 1e-2
GENEROUS_WORDS = "the mass and the second moment over"
# A condition whose slack is below this share of its typical size is active.
ACTIVE = 1e-6


@dataclass(frozen=True, eq=False)
class FeasibleFit:
    """Parameters inside all constraints, exactly, and how they were obtained.

    theta : (n_columns,) standard parameters. beta : (n_base,) = K theta.
    weights : (n_groups,) of the row groups. sigma : noise of the weighted residuals.
    free : the unconstrained least squares on the same factor.
    squares, free_squares : |z - R beta|² in units of the noise, here and without constraints.
    """

    theta: Array
    beta: Array
    weights: Array
    sigma: float
    blocks: tuple[Block, ...]
    problem: ConicProblem
    solution: ConicSolution
    settled: Settled
    free: Fit
    squares: float
    free_squares: float

    def active(self) -> tuple[str, ...]:
        """The conditions that hold with hardly any slack: where the estimate is on the edge."""
        scale = self.problem.scale
        names = []
        for block in self.blocks:
            size = np.max(np.abs(block.A * scale[list(block.columns)]))
            if block.kind != "zero" and block.margin(self.theta) < ACTIVE * size:
                names.append(block.name)
        return tuple(names)


def fit_feasible(
    model: Model,
    regression: Regression,
    constraints: Constraints | None = None,
    *,
    prior: Array | None = None,
    weighting: Weighting = "wls",
    pull: float = PULL,
) -> FeasibleFit:
    """The constrained optimum from the factors.

    prior : (n_columns,) where to place what the data leave open; typical bodies if None.
    pull : weight of that placement, for a deviation of typical size, in units where one is a
        residual of one sigma.
    """
    if regression.model_hash != model.hash:
        raise EstimationError("the regression belongs to another model")
    given = blocks(model, constraints or Constraints())
    weights = np.ones(len(regression.groups))
    if weighting == "wls":
        weights = 1.0 / joint_noise(regression)
    factor = regression.system(weights)
    free = triangular_fit(factor)
    freedom = max(regression.n_rows - free.rank, 1)
    # noise-free data would make residuals infinitely heavy
    floor = 1e-4 * np.linalg.norm(factor[:, -1]) / np.sqrt(regression.n_rows)
    sigma = float(max(np.sqrt(free.residual_square / freedom), floor, np.finfo(float).tiny))
    scale = parameter_scale(model)
    towards = typical_parameters(model) if prior is None else np.asarray(prior, dtype=float)
    if towards.shape != scale.shape or not np.isfinite(towards).all():
        raise EstimationError(f"a prior needs one finite number for each of {len(scale)} columns")
    problem = fit_problem(factor, sigma, regression.base.K, given, scale, pull, towards)
    solution = solve(problem)
    if solution.status not in ("solved", "stalled"):
        check_constraints(model, constraints or Constraints())  # names the culprits, if any
        raise EstimationError(
            f"the constrained fit has no solution (the solver said {solution.said}), although "
            "the constraints do not contradict each other: check the units of the data"
        )
    settled = settle(solution.theta, given, scale)
    beta = regression.base.K @ settled.theta
    return FeasibleFit(
        theta=settled.theta,
        beta=beta,
        weights=weights,
        sigma=sigma,
        blocks=given,
        problem=problem,
        solution=solution,
        settled=settled,
        free=free,
        squares=squares(problem, settled.theta),
        free_squares=float(free.residual_square - factor[-1, -1] ** 2) / sigma**2,
    )


def fit_problem(
    factor: Array,
    sigma: float,
    K: Array,
    given: tuple[Block, ...],
    scale: Array,
    pull: float,
    towards: Array,
) -> ConicProblem:
    """The fit on one triangular factor (n_base + 1, n_base + 1) of [W tau]."""
    R, z = factor[:-1, :-1] / sigma, factor[:-1, -1] / sigma
    return conic_problem(
        len(scale), given, scale, F=R @ K, g=z, pull=pull / scale**2, towards=towards
    )


def squares(problem: ConicProblem, theta: Array) -> float:
    """|z - R K theta|² in units of the noise."""
    residual = problem.g - problem.F @ theta
    return float(residual @ residual)


def estimate_feasible(
    model: Model,
    regression: Regression,
    constraints: Constraints | None = None,
    *,
    prior: Array | None = None,
    weighting: Weighting = "wls",
    n_resamples: int = 200,
    ranges: bool = True,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """Physically consistent parameters with intervals: `fit_feasible`, then `with_intervals`."""
    fit = fit_feasible(model, regression, constraints, prior=prior, weighting=weighting)
    return with_intervals(
        regression,
        fit,
        n_resamples=n_resamples,
        ranges=ranges,
        seed=seed,
        threads=threads,
        progress=progress,
    )


def with_intervals(
    regression: Regression,
    fit: FeasibleFit,
    *,
    n_resamples: int = 200,
    ranges: bool = True,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """The estimate of a constrained fit.

    n_resamples : how often the time blocks are drawn anew for the confidence intervals; 0 for
        none. ranges : whether to compute, for each standard parameter that the data do not
        determine alone, the smallest and largest value that constraints and fit allow.
    threads : how many conic problems are solved at once; the result does not depend on it.
    progress : called with how many of how many conic problems are done.
    """
    spreads, findings = [], list(excitation_findings(regression, fit.free))
    freedom = max(regression.n_rows - fit.free.rank, 1)
    classical = fit.sigma**2 * fit.free.inverse @ fit.free.inverse.T
    spreads.append(Spread("classical", classical, freedom))
    wanted = open_quantities(regression.base, fit.free.determined)
    total = n_resamples + (wanted.n_problems if ranges else 0)

    def done(count: int) -> None:
        if progress is not None:
            progress(count, total)

    limits: Ranges | None = None
    with Workers(threads) as workers:
        if n_resamples:
            drawn = resample(regression, fit, n_resamples, seed, done, workers)
            if drawn is None:
                findings.append(
                    Finding(
                        "warning",
                        "no-cluster-covariance",
                        f"{len(regression.keys)} time blocks are too few to resample: error bars "
                        "take residuals as independent; record for longer",
                    )
                )
            else:
                spreads.append(drawn)
        findings.extend(edge_findings(fit))
        if ranges:
            limits = feasible_ranges(
                fit, spreads, wanted, lambda count: done(n_resamples + count), workers
            )
    if workers.note is not None:
        findings.append(Finding("info", "fewer-processes", workers.note))
    return Estimate(
        method="feasible",
        base=regression.base,
        beta=fit.beta,
        determined=fit.free.determined,
        spreads=tuple(spreads),
        channels=channel_fits(regression, fit.beta, fit.weights),
        relative_error=relative_error(regression, fit.beta),
        condition=fit.free.condition,
        condition_scaled=fit.free.condition_scaled,
        n_rows=regression.n_rows,
        n_blocks=len(regression.keys),
        findings=tuple(findings),
        record=regression.record,
        standard=Standard(
            fit.theta,
            fit.active(),
            fit.settled.moved,
            None if limits is None else limits.parameters,
            com_ranges=None if limits is None else limits.com,
        ),
    )


def edge_findings(fit: FeasibleFit) -> tuple[Finding, ...]:
    """Say what physics cost the fit, and which conditions it ended on."""
    active = fit.active()
    findings = []
    if active:
        findings.append(
            Finding(
                "info",
                "on-the-boundary",
                f"{len(active)} conditions hold with no slack, so that intervals of the "
                f"parameters they bind are one-sided at best: {'; '.join(active[:6])}"
                + (f"; and {len(active) - 6} more" if len(active) > 6 else ""),
            )
        )
    bounded = [name for name in active if name.startswith(GENEROUS_WORDS)]
    if bounded:
        findings.append(
            Finding(
                "warning",
                "default-bound-active",
                f"the fit ends on the default bound of {len(bounded)} bodies ({bounded[0]}): the "
                "data leave their mass open, or the masses of the robot file are placeholders; "
                "state what is known of them, or second_moment",
            )
        )
    return tuple(findings)
