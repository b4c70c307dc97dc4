"""Standard parameters closest to a priori (CAD) values (Gautier and Venture 2013)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.estimators.estimator import EstimationTask, Estimator

if TYPE_CHECKING:
    from steelyard.estimators.estimate import Estimate


def _cad(task: EstimationTask) -> tuple[Estimate, None]:
    from steelyard.estimators.cad import estimate_cad

    prior = task.given_prior
    found = estimate_cad(task.model, task.regression, prior.theta, drive_terms="first fit")
    return replace(found, findings=(*found.findings, *prior.findings)), None


def _cad_essential(task: EstimationTask) -> tuple[Estimate, None]:
    from steelyard.estimators.cad import estimate_cad_essential

    prior = task.given_prior
    found, _ = estimate_cad_essential(
        task.model, task.regression, prior.theta, drive_terms="first fit"
    )
    return replace(found, findings=(*found.findings, *prior.findings)), None


ESTIMATORS = (
    Estimator(
        "cad",
        "weighted least squares, and the standard parameters closest to a prior",
        _cad,
        prior="values",
        gives_standard=True,
    ),
    Estimator(
        "cad-essential",
        "standard parameters that differ from a prior only by essential parameters",
        _cad_essential,
        prior="values",
        gives_standard=True,
    ),
)
