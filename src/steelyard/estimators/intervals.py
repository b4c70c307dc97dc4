"""Intervals of constrained estimates, each labelled with its kind."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.estimators._ranges import Quantities, Ranges, feasible_ranges, open_quantities
from steelyard.estimators._resampling import resample
from steelyard.estimators.affordable_intervals import affordable
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.estimate import Estimate, Spread, Standard
from steelyard.estimators.least_squares import channel_fits, excitation_findings, relative_error
from steelyard.estimators.size_rules import has_many
from steelyard.findings import Finding
from steelyard.knowledge.statements import DefaultBound, Limit
from steelyard.regression.regression import Regression


def with_intervals(
    regression: Regression,
    fit: ConstrainedFit,
    *,
    n_resamples: int = 200,
    ranges: bool = True,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """The estimate of a constrained fit.

    n_resamples : how often the time blocks are resampled for the confidence intervals; 0 for
        none. ranges : whether to compute, for each standard parameter that the data do not
        determine individually, the smallest and largest value that constraints and fit allow.
        Both are limited for robots with many parameters, see `steelyard.estimators.size_rules`.
    threads : how many conic problems are solved at once; the result does not depend on it.
    progress : called with how many of how many conic problems are done.
    """
    spreads, findings = [], list(excitation_findings(regression, fit.free))
    freedom = max(regression.n_rows - fit.free.rank, 1)
    classical = fit.sigma**2 * fit.free.inverse @ fit.free.inverse.T
    spreads.append(Spread("classical", classical, freedom))
    n_columns = len(fit.theta)
    wanted = open_quantities(regression.base, fit.free.determined)
    wanted = wanted if ranges else Quantities((), ())
    computed = affordable(n_columns, n_resamples, wanted, with_prior=fit.pull is not None)
    n_resamples, wanted = computed.n_resamples, computed.ranges
    findings += computed.findings
    ranges = ranges and (wanted.n_problems > 0 or not has_many(n_columns))
    total = n_resamples + (wanted.n_problems if ranges else 0)

    def done(count: int) -> None:
        if progress is not None:
            progress(count, total)

    limits: Ranges | None = None
    if n_resamples:
        drawn = resample(regression, fit, n_resamples, seed, done, threads)
        if drawn is None:
            findings.append(
                Finding(
                    "warning",
                    "no-cluster-covariance",
                    f"{len(regression.keys)} time blocks are too few to resample: error bars "
                    "assume independent residuals; record for longer",
                )
            )
        else:
            spreads.append(drawn)
    findings.extend(edge_findings(fit))
    if ranges:
        limits = feasible_ranges(
            fit, spreads, wanted, lambda count: done(n_resamples + count), threads
        )
    return Estimate(
        method=fit.method,
        base=regression.base,
        beta=fit.beta,
        determined=fit.free.determined,
        seen=fit.free.seen,
        spreads=tuple(spreads),
        channels=channel_fits(regression, fit.beta, fit.weights),
        relative_error=relative_error(regression, fit.beta),
        condition=fit.free.condition,
        condition_scaled=fit.free.condition_scaled,
        n_rows=regression.n_rows,
        n_blocks=len(regression.keys),
        solver=fit.solver,
        findings=tuple(findings),
        runs=regression.runs,
        equation=regression.equation,
        standard=Standard(
            fit.theta,
            fit.active(),
            fit.settled.moved,
            None if limits is None else limits.parameters,
            com_ranges=None if limits is None or not len(limits.com) else limits.com,
        ),
    )


def edge_findings(fit: ConstrainedFit) -> tuple[Finding, ...]:
    """Findings about the conditions that are active at the fit."""
    active = fit.active()
    findings = []
    if active:
        first = "; ".join(statement.words for statement in active[:6])
        findings.append(
            Finding(
                "info",
                "on-the-boundary",
                f"conditions with no slack ({len(active)}), which make intervals of the parameters "
                f"that they bind valid on one side at most: {first}"
                + (f"; and {len(active) - 6} more" if len(active) > 6 else ""),
            )
        )
    bounded = [
        statement
        for statement in active
        if isinstance(statement, Limit) and isinstance(statement.quantity, DefaultBound)
    ]
    if bounded:
        findings.append(
            Finding(
                "warning",
                "default-bound-active",
                f"the fit is at the default bound of {len(bounded)} bodies "
                f"({bounded[0].words}): the data do not determine their mass, or the masses of "
                "the robot file are placeholders; constrain them, or set second_moment",
            )
        )
    return tuple(findings)
