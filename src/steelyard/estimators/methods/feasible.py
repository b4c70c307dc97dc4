"""Weighted least squares with physical constraints (Sousa and Cortesão 2014)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.estimators.estimator import EstimationTask, Estimator

if TYPE_CHECKING:
    from steelyard.estimators.constrained import ConstrainedFit
    from steelyard.estimators.estimate import Estimate


def _feasible(task: EstimationTask) -> tuple[Estimate, ConstrainedFit]:
    from steelyard.estimators.feasible import fit_feasible
    from steelyard.estimators.intervals import with_intervals
    from steelyard.estimators.measurements import with_advice
    from steelyard.model.typical_sizes import known_parameters

    known = known_parameters(task.model)
    fit = fit_feasible(task.model, task.regression, task.constraints, prior=known)
    estimate = with_intervals(
        task.regression,
        fit,
        n_resamples=task.options.n_resamples,
        ranges=task.options.ranges,
        threads=task.threads,
        progress=task.progress_of("intervals"),
    )
    if task.options.ranges:
        estimate = with_advice(
            estimate,
            task.model,
            fit,
            threads=task.threads,
            progress=task.progress_of("measurements"),
        )
    return estimate, fit


ESTIMATORS = (
    Estimator(
        "feasible",
        "weighted least squares with physical constraints, without a prior",
        _feasible,
        options=frozenset({"n_resamples", "ranges", "constraints"}),
        gives_standard=True,
        physical=True,
    ),
)
