"""Plain and weighted least squares (Gautier and Venture 2013)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.estimators.estimator import EstimationTask, Estimator

if TYPE_CHECKING:
    from steelyard.estimators.estimate import Estimate


def _ols(task: EstimationTask) -> tuple[Estimate, None]:
    from steelyard.estimators.least_squares import ols

    return ols(task.regression), None


def _wls(task: EstimationTask) -> tuple[Estimate, None]:
    from steelyard.estimators.least_squares import wls

    return wls(task.regression), None


ESTIMATORS = (
    Estimator("ols", "ordinary least squares, unweighted", _ols),
    Estimator("wls", "weighted least squares, each joint by its own noise", _wls),
)
