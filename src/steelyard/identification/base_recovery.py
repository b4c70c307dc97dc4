"""Base parameters of a rehearsal: what was predicted of them, and what the identification says.

Two labels can look like a contradiction. A motion *determines a parameter well* if least squares
on its data alone, without a prior, would be that precise. An identification uses the robot file as
a prior too, and calls a parameter *mostly prior* if less than half of its variance is from the
data: a parameter may be determined well by the data and even better by the prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.estimate import BaseKind
from steelyard.excitation.predicted import PredictedPrecision, Verdict
from steelyard.identification.found import Identification

Array = NDArray[np.float64]

LABELS = (
    "'determined well, roughly, not' is predicted for the data alone, without a prior; 'mostly "
    "from the prior' is said by identify, where the robot file says more about a parameter than "
    "the data do"
)


@dataclass(frozen=True)
class BaseRecovery:
    """One base parameter of the virtual robot.

    verdict : what the motion was predicted to determine by data alone. predicted_sigma : of least
    squares without a prior; infinite where the motion does not determine it. kind : how the
    identification, with its prior, calls its interval. inside : whether that holds the truth; None
    where there is none.
    """

    name: str
    unit: str
    truth: float
    value: float
    predicted_sigma: float
    verdict: Verdict
    kind: BaseKind
    inside: bool | None


def base_recoveries(
    found: Identification, truth: Array, predicted: PredictedPrecision
) -> tuple[BaseRecovery, ...]:
    """Every base parameter beside its truth (K truth) and its predicted precision."""
    beta = found.estimate.base.K @ truth
    by_name = {one.name: one for one in predicted.parameters}
    out = []
    for one, value in zip(found.estimate.parameters(found.level), beta.tolist(), strict=True):
        expected = by_name[one.name]
        known = bool(np.isfinite(one.lower) and np.isfinite(one.upper))
        out.append(
            BaseRecovery(
                one.name,
                one.unit,
                value,
                one.value,
                expected.sigma,
                expected.verdict,
                one.interval_kind,
                bool(one.lower <= value <= one.upper) if known else None,
            )
        )
    return tuple(out)
