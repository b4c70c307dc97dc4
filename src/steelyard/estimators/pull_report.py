"""What a result says of the prior that it was drawn to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.estimators.estimate import MOSTLY_PRIOR, Estimate
from steelyard.estimators.pull import Pull
from steelyard.findings import Finding


def with_pull(estimate: Estimate, pull: Pull) -> Estimate:
    """The estimate with what its prior did, as data and in its findings."""
    findings = [*pull.prior.findings]
    share = pull.data_share
    n_prior = int(np.count_nonzero(np.nan_to_num(share, nan=1.0) < MOSTLY_PRIOR))
    if pull.choice.rule != "no prior":
        how = "as given" if pull.choice.rule == "given" else f"by {pull.choice.rule}"
        findings.append(
            Finding(
                "info",
                "prior-weight",
                f"the prior ({pull.prior.source}) counts with gamma = {pull.gamma:g}, {how}; "
                f"{n_prior} of {len(share)} base parameters come mostly from it",
            )
        )
    if pull.choice.at_edge == "smallest":
        findings.append(
            Finding(
                "warning",
                "prior-contradicted",
                f"the data want as little of the prior ({pull.prior.source}) as was tried: its "
                "values do not suit this robot, or the terms do not; compare with the method "
                "'feasible'",
            )
        )
    return replace(
        estimate,
        findings=(*estimate.findings, *findings),
        prior=pull.record,
        data_share=share,
    )
