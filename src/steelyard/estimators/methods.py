"""The estimators by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from steelyard.errors import EstimationError
from steelyard.estimators.cad import estimate_cad, estimate_cad_essential
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.essential import estimate_essential
from steelyard.estimators.estimate import MOSTLY_PRIOR, Estimate
from steelyard.estimators.feasible import fit_feasible
from steelyard.estimators.intervals import with_intervals
from steelyard.estimators.least_squares import ols, wls
from steelyard.estimators.parallel.workers import Workers
from steelyard.estimators.prior_fit import fit_with_prior
from steelyard.estimators.prior_weight import GammaRule
from steelyard.estimators.pull import Pull
from steelyard.findings import Finding
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import Prior
from steelyard.model.model import Model
from steelyard.model.typical_sizes import known_parameters
from steelyard.regression.regression import Regression

Method = Literal[
    "entropic", "pullback", "feasible", "essential", "cad", "cad-essential", "wls", "ols"
]
METHODS: tuple[Method, ...] = get_args(Method)
DEFAULT: Method = "entropic"
WITH_PRIOR = ("entropic", "pullback")
CONSTRAINED = (*WITH_PRIOR, "feasible")
TAKE_PRIOR = (*WITH_PRIOR, "cad", "cad-essential")


@dataclass(frozen=True)
class Wishes:
    """How an estimate is to be made.

    gamma : weight of the prior, or the rule by which the data choose it.
    n_resamples, ranges : how intervals of constrained estimates are found.
    """

    method: Method = DEFAULT
    gamma: float | GammaRule = "leave-blocks-out"
    n_resamples: int = 200
    ranges: bool = True

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise EstimationError(
                f"there is no method '{self.method}'; there are {', '.join(METHODS)}"
            )


def estimate_by(
    wishes: Wishes,
    model: Model,
    regression: Regression,
    *,
    prior: Prior | None = None,
    constraints: Constraints | None = None,
    threads: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[Estimate, ConstrainedFit | None]:
    """The estimate by a method, and the constrained fit behind it, if it has one.

    prior : for the methods that take one. progress : called with what is done, and how many of
    how many problems are solved.
    """
    if wishes.method not in CONSTRAINED:
        return _unconstrained(wishes.method, model, regression, prior), None
    if wishes.method == "feasible":
        known = known_parameters(model)
        fit = fit_feasible(model, regression, constraints, prior=known)
    else:
        if prior is None:
            raise EstimationError(f"the method '{wishes.method}' needs a prior")
        with Workers(threads) as workers:
            fit = fit_with_prior(
                model,
                regression,
                prior,
                constraints,
                gamma=wishes.gamma,
                metric=wishes.method,  # type: ignore[arg-type]
                workers=workers,
                progress=_named("weight of the prior", progress),
            )
    estimate = with_intervals(
        regression,
        fit,
        n_resamples=wishes.n_resamples,
        ranges=wishes.ranges,
        threads=threads,
        progress=_named("intervals", progress),
    )
    return (estimate if fit.pull is None else with_pull(estimate, fit.pull)), fit


def _unconstrained(
    method: str, model: Model, regression: Regression, prior: Prior | None
) -> Estimate:
    if method == "ols":
        return ols(regression)
    if method == "wls":
        return wls(regression)
    if method == "essential":
        return estimate_essential(regression)[0]
    if prior is None:
        raise EstimationError(f"the method '{method}' needs a prior")
    how = {"drive_terms": "first fit"}
    if method == "cad":
        found = estimate_cad(model, regression, prior.theta, **how)  # type: ignore[arg-type]
    else:
        found = estimate_cad_essential(model, regression, prior.theta, **how)[0]  # type: ignore[arg-type]
    return replace(found, findings=(*found.findings, *prior.findings))


def _named(
    what: str, progress: Callable[[str, int, int], None] | None
) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, total: progress(what, done, total)


def with_pull(estimate: Estimate, pull: Pull) -> Estimate:
    """The estimate with what its prior did, as data and in its findings."""
    findings = [*pull.prior.findings]
    share = pull.data_share
    n_prior = int(np.count_nonzero(np.nan_to_num(share, nan=1.0) < MOSTLY_PRIOR))
    if pull.choice.rule != "no prior":
        how = "as given" if pull.choice.rule == "given" else f"by {pull.choice.rule}"
        findings.append(
            Finding(
                "info",
                "prior-weight",
                f"the prior ({pull.prior.source}) counts with gamma = {pull.gamma:g}, {how}; "
                f"{n_prior} of {len(share)} base parameters come mostly from it",
            )
        )
    if pull.choice.at_edge == "smallest":
        findings.append(
            Finding(
                "warning",
                "prior-contradicted",
                f"the data want as little of the prior ({pull.prior.source}) as was tried: its "
                "values do not suit this robot, or the terms do not; compare with the method "
                "'feasible'",
            )
        )
    return replace(
        estimate,
        findings=(*estimate.findings, *findings),
        prior=pull.record,
        data_share=share,
    )
