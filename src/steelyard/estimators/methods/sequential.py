"""Weighted least squares with physical constraints, link by link (paper 002, made sound)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.estimators.estimator import EstimationTask, Estimator

if TYPE_CHECKING:
    from steelyard.estimators.constrained import ConstrainedFit
    from steelyard.estimators.estimate import Estimate
    from steelyard.estimators.sequential.fit import SequentialFit


def _sequential(task: EstimationTask) -> tuple[Estimate, ConstrainedFit]:
    from steelyard.estimators.sequential.fit import fit_sequential

    found = fit_sequential(
        task.model,
        task.regression,
        task.constraints,
        towards=task.centre("file"),
        weighting=task.options.weighting,
        sweeps=task.options.sweeps,
        progress=task.progress_of("sweeps"),
    )
    return _estimate(task, found)


def _with_prior(task: EstimationTask) -> tuple[Estimate, ConstrainedFit]:
    from steelyard.estimators.sequential.fit import fit_sequential_with_prior

    found = fit_sequential_with_prior(
        task.model,
        task.regression,
        task.given_prior,
        task.constraints,
        gamma=task.options.gamma,
        sweeps=task.options.sweeps,
        threads=task.threads,
        progress=task.progress_of("weight of the prior"),
    )
    return _estimate(task, found)


def _paper(task: EstimationTask) -> tuple[Estimate, ConstrainedFit]:
    from steelyard.estimators.sequential.fit import fit_sequential_paper

    found = fit_sequential_paper(
        task.model,
        task.regression,
        task.constraints,
        towards=task.centre("zero"),
        weighting=task.options.weighting,
    )
    return _estimate(task, found)


def _estimate(task: EstimationTask, found: SequentialFit) -> tuple[Estimate, ConstrainedFit]:
    """The estimate and what is known about the fit."""
    from steelyard.estimators.complete_estimate import complete_estimate

    estimate = complete_estimate(task, found.fit)
    fit = replace(found.fit, distance=found.distance)
    return replace(estimate, findings=(*estimate.findings, *found.findings)), fit


ESTIMATORS = (
    Estimator(
        "sequential",
        "like feasible, link by link from the leaves inward in linear time, then refined by sweeps "
        "until it is proven to be near the optimum",
        _sequential,
        options=frozenset(
            {"n_resamples", "ranges", "constraints", "sweeps", "weighting", "towards"}
        ),
        gives_standard=True,
        physical=True,
    ),
    Estimator(
        "sequential-entropic",
        "like entropic, link by link and refined as sequential",
        _with_prior,
        prior="bodies",
        options=frozenset({"gamma", "n_resamples", "ranges", "constraints", "sweeps"}),
        gives_standard=True,
        physical=True,
    ),
    Estimator(
        "sequential-paper",
        "link by link as published, from each joint's own torque with the outer links fixed; for "
        "comparison",
        _paper,
        options=frozenset({"n_resamples", "ranges", "constraints", "weighting", "towards"}),
        gives_standard=True,
        physical=True,
    ),
)
