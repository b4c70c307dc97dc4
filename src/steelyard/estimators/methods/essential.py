"""Essential parameters (Gautier and Venture 2013)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from steelyard.estimators.estimator import EstimationTask, Estimator

if TYPE_CHECKING:
    from steelyard.estimators.estimate import Estimate


def _essential(task: EstimationTask) -> tuple[Estimate, None]:
    from steelyard.estimators.essential import estimate_essential

    return estimate_essential(task.regression, **asdict(task.options.essential))[0], None


ESTIMATORS = (
    Estimator(
        "essential",
        "weighted least squares of the essential base parameters, the others zero",
        _essential,
        options=frozenset({"essential"}),
    ),
)
