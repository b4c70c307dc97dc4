"""Standard parameters closest to a priori (CAD) values (Gautier and Venture 2013)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.estimators.estimator import EstimationTask, Estimator
from steelyard.findings import Finding

if TYPE_CHECKING:
    from steelyard.estimators.estimate import Estimate


def _cad(task: EstimationTask) -> tuple[Estimate, None]:
    from steelyard.estimators.cad import estimate_cad

    prior = task.given_prior
    found = estimate_cad(
        task.model,
        task.regression,
        prior.theta,
        columns=task.options.columns,
        drive_terms="first fit",
    )
    return replace(found, findings=(*found.findings, *prior.findings, *_kept(task))), None


def _kept(task: EstimationTask) -> tuple[Finding, ...]:
    """A note that most parameters are those of the prior, if that was asked for."""
    if task.options.columns == "all":
        return ()
    base = task.regression.base
    words = (
        f"only the {base.rank} base columns differ from the prior, as asked: the other "
        f"{len(base.columns) - base.rank} parameters have its values"
    )
    return (Finding("info", "independent-columns", words),)


def _cad_essential(task: EstimationTask) -> tuple[Estimate, None]:
    from steelyard.estimators.cad import estimate_cad_essential

    prior = task.given_prior
    found, _ = estimate_cad_essential(
        task.model,
        task.regression,
        prior.theta,
        columns=task.options.columns,
        drive_terms="first fit",
    )
    return replace(found, findings=(*found.findings, *prior.findings, *_kept(task))), None


ESTIMATORS = (
    Estimator(
        "cad",
        "weighted least squares, and the standard parameters closest to a prior",
        _cad,
        prior="values",
        options=frozenset({"columns"}),
        gives_standard=True,
    ),
    Estimator(
        "cad-essential",
        "standard parameters that differ from a prior only by essential parameters",
        _cad_essential,
        prior="values",
        options=frozenset({"columns"}),
        gives_standard=True,
    ),
)
