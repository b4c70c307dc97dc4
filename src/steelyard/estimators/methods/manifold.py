"""Weighted least squares on the manifold of physical bodies (Traversaro et al. 2016)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.estimators.estimator import EstimationTask, Estimator

if TYPE_CHECKING:
    from steelyard.estimators.constrained import ConstrainedFit
    from steelyard.estimators.estimate import Estimate


def _manifold(task: EstimationTask) -> tuple[Estimate, ConstrainedFit]:
    from steelyard.estimators.complete_estimate import complete_estimate
    from steelyard.estimators.manifold.robot_fit import fit_robot_on_manifold

    found = fit_robot_on_manifold(
        task.model, task.regression, task.constraints, budget_s=task.options.budget_s
    )
    estimate = complete_estimate(task, found.fit)
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
