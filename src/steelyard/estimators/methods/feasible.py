"""Weighted least squares with physical constraints (Sousa and Cortesão 2014)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.estimators.estimator import EstimationTask, Estimator

if TYPE_CHECKING:
    from steelyard.estimators.constrained import ConstrainedFit
    from steelyard.estimators.estimate import Estimate


def _feasible(task: EstimationTask) -> tuple[Estimate, ConstrainedFit]:
    from steelyard.estimators.complete_estimate import complete_estimate
    from steelyard.estimators.feasible import fit_feasible

    fit = fit_feasible(
        task.model,
        task.regression,
        task.constraints,
        prior=task.centre("file"),
        weighting=task.options.weighting,
    )
    return complete_estimate(task, fit), fit


ESTIMATORS = (
    Estimator(
        "feasible",
        "weighted least squares with physical constraints, without a prior",
        _feasible,
        options=frozenset({"n_resamples", "ranges", "constraints", "weighting", "towards"}),
        gives_standard=True,
        physical=True,
    ),
)
