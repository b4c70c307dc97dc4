"""Standard parameters closest to a priori (CAD) values (Gautier and Venture 2013)."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from steelyard.estimators.estimator import EstimationTask, Estimator
from steelyard.findings import Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from steelyard.estimators.estimate import Estimate

    Array = NDArray[np.float64]


def _cad(task: EstimationTask) -> tuple[Estimate, None]:
    from steelyard.estimators.cad import estimate_cad

    known, held, findings = _known(task)
    columns = task.options.columns
    found = estimate_cad(task.model, task.regression, known, columns=columns, held=held)
    return replace(found, findings=(*found.findings, *findings)), None


def _known(task: EstimationTask) -> tuple[Array, tuple[int, ...], tuple[Finding, ...]]:
    """Values of the prior (n_columns,), those to keep, and what a user should know about them."""
    from steelyard.estimators.cad import prior_with_drive_terms

    prior, rule = task.given_prior, task.options.drive_terms
    known, held, said = prior_with_drive_terms(task.model, task.regression, prior, rule)
    return known, held, (said, *prior.findings, *_kept(task))


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

    known, held, findings = _known(task)
    found, _ = estimate_cad_essential(
        task.model,
        task.regression,
        known,
        columns=task.options.columns,
        held=held,
        **asdict(task.options.essential),
    )
    return replace(found, findings=(*found.findings, *findings)), None


ESTIMATORS = (
    Estimator(
        "cad",
        "weighted least squares, and the standard parameters closest to a prior",
        _cad,
        prior="values",
        options=frozenset({"columns", "drive_terms"}),
        gives_standard=True,
    ),
    Estimator(
        "cad-essential",
        "standard parameters that differ from a prior only by essential parameters",
        _cad_essential,
        prior="values",
        options=frozenset({"columns", "drive_terms", "essential"}),
        gives_standard=True,
    ),
)
