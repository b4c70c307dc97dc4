"""Weighted least squares on the manifold of physical bodies (Traversaro et al. 2016)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.estimators.estimator import EstimationTask, Estimator

if TYPE_CHECKING:
    from steelyard.estimators.constrained import ConstrainedFit
    from steelyard.estimators.estimate import Estimate


def _manifold(task: EstimationTask) -> tuple[Estimate, ConstrainedFit]:
    from steelyard.estimators.intervals import with_intervals
    from steelyard.estimators.manifold.robot_fit import fit_robot_on_manifold
    from steelyard.estimators.measurements import with_advice

    found = fit_robot_on_manifold(
        task.model, task.regression, task.constraints, budget_s=task.options.budget_s
    )
    estimate = with_intervals(
        task.regression,
        found.fit,
        n_resamples=task.options.n_resamples,
        ranges=task.options.ranges,
        threads=task.threads,
        progress=task.progress_of("intervals"),
    )
    if task.options.ranges:
        estimate = with_advice(
            estimate,
            task.model,
            found.fit,
            threads=task.threads,
            progress=task.progress_of("measurements"),
        )
    return replace(estimate, findings=(*estimate.findings, found.finding)), found.fit


ESTIMATORS = (
    Estimator(
        "manifold",
        "like feasible, by steps of which every one is physical; can be stopped at any time",
        _manifold,
        options=frozenset({"n_resamples", "ranges", "constraints", "budget_s"}),
        gives_standard=True,
        physical=True,
    ),
)
