"""Compare sets of joint terms on the data, and add the comparison to the estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.term_choice import compare_terms, term_findings
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import prior_of_wider
from steelyard.model.model import Model
from steelyard.regression.regression import Regression


def with_term_comparison(
    estimate: Estimate,
    fit: ConstrainedFit,
    model: Model,
    wide: Model,
    data: Regression,
    constraints: Constraints,
    threads: int,
    progress: Callable[[str, int, int], None] | None,
) -> Estimate:
    """The estimate with a comparison of other sets of terms, as data and in its findings.

    wide : the model with every term that is compared. data : the factors of that model.
    """
    assert fit.pull is not None
    prior = fit.pull.prior
    found = compare_terms(
        wide,
        data,
        prior_of_wider(prior, model, wide),
        constraints,
        gamma=fit.pull.gamma,
        term_weight=fit.pull.choice.terms,
        metric=fit.pull.metric,
        stated=[term.name for term in model.terms],
        system=fit.system if wide.hash == model.hash else None,
        threads=threads,
        progress=None if progress is None else partial(progress, "terms"),
    )
    return replace(
        estimate,
        findings=(*estimate.findings, *term_findings(found)),
        term_comparison=found,
    )
