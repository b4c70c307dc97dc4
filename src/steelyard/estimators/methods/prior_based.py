"""The default methods: weighted, physical, and drawn to a prior whose weight the data choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.estimators.estimator import EstimationTask, Estimator, Option

if TYPE_CHECKING:
    from steelyard.estimators.constrained import ConstrainedFit
    from steelyard.estimators.entropic import Metric
    from steelyard.estimators.estimate import Estimate


def _drawn_to_prior(task: EstimationTask, metric: Metric) -> tuple[Estimate, ConstrainedFit]:
    from steelyard.estimators.complete_estimate import complete_estimate
    from steelyard.estimators.prior_fit import fit_with_prior

    fit = fit_with_prior(
        task.model,
        task.regression,
        task.given_prior,
        task.constraints,
        gamma=task.options.gamma,
        metric=metric,
        threads=task.threads,
        progress=task.progress_of("weight of the prior"),
    )
    return complete_estimate(task, fit), fit


def _entropic(task: EstimationTask) -> tuple[Estimate, ConstrainedFit]:
    return _drawn_to_prior(task, "entropic")


def _pullback(task: EstimationTask) -> tuple[Estimate, ConstrainedFit]:
    return _drawn_to_prior(task, "pullback")


OPTIONS: frozenset[Option] = frozenset(
    {"gamma", "n_resamples", "ranges", "constraints", "compare_terms"}
)
ESTIMATORS = (
    Estimator(
        "entropic",
        "weighted least squares with physical constraints, drawn to a prior whose weight the data "
        "choose",
        _entropic,
        prior="bodies",
        options=OPTIONS,
        gives_standard=True,
        physical=True,
    ),
    Estimator(
        "pullback",
        "like entropic, with the second-order part of the divergence from the prior",
        _pullback,
        prior="bodies",
        options=OPTIONS,
        gives_standard=True,
        physical=True,
    ),
)
