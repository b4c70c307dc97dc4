"""Findings about the prior that an estimate was drawn to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.errors import listed
from steelyard.estimators.estimate import MOSTLY_PRIOR, Estimate
from steelyard.estimators.prior_weight import NO_PULL, Rival
from steelyard.estimators.pull import Pull
from steelyard.findings import Finding


def with_pull(estimate: Estimate, pull: Pull) -> Estimate:
    """The estimate with its prior's influence, as data and as findings."""
    findings = [*pull.prior.findings]
    share = pull.data_share
    n_prior = int(np.count_nonzero(np.nan_to_num(share, nan=1.0) < MOSTLY_PRIOR))
    if pull.choice.rule != "no prior":
        how = "as given" if pull.choice.rule == "given" else f"by {pull.choice.rule}"
        findings.append(
            Finding(
                "info",
                "prior-weight",
                f"the prior ({pull.prior.source}) has the weight gamma = {pull.gamma:g}, {how}; "
                f"{n_prior} of {len(share)} base parameters come mostly from it"
                f"{_beside_rivals(pull.choice.rivals)}",
            )
        )
    if pull.strained:
        findings.append(
            Finding(
                "warning",
                "link-differs-from-prior",
                f"the data move {listed(pull.strained)} further from the prior "
                f"({pull.prior.source}) than its weight explains: its values look wrong there; "
                "intervals of the parameters that depend on it are wider for that",
            )
        )
    if pull.choice.rule == "leave-blocks-out" and pull.gamma == NO_PULL:
        findings.append(
            Finding(
                "warning",
                "prior-contradicted",
                f"the data contradict the prior ({pull.prior.source}): left-out parts of the log "
                "are predicted best without it; its values or the terms do not fit this robot. "
                "Check the inertials of the file, or state another prior",
            )
        )
    standard = estimate.standard
    return replace(
        estimate,
        standard=None if standard is None else replace(standard, credible=pull.credible),
        findings=(*estimate.findings, *findings),
        prior=pull.record,
        data_share=share,
    )


_RIVALS = {"no pull": "without a prior", "file": "with the prior's links and fitted friction"}


def _beside_rivals(rivals: tuple[Rival, ...]) -> str:
    """How the error of simpler fits on left-out parts compares, to be appended."""
    words = [
        f"{'' if abs(one.ratio - 1.0) < 0.005 else f'{one.ratio:.3g} times '}as large "
        f"{_RIVALS[one.name]}"
        for one in rivals
    ]
    return f". On left-out parts of the log the error is {' and '.join(words)}" if words else ""
