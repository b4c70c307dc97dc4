"""The estimate of a constrained fit, with everything that a result says about it."""

from __future__ import annotations

from steelyard.estimators._pull_report import with_pull
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.estimator import EstimationTask
from steelyard.estimators.intervals import with_intervals
from steelyard.estimators.measurements import with_advice


def complete_estimate(task: EstimationTask, fit: ConstrainedFit) -> Estimate:
    """The fit with intervals, ranges and the measurements that would help, where the task wants
    them, and with what its prior contributed.
    """
    estimate = with_intervals(
        task.regression,
        fit,
        n_resamples=task.options.n_resamples,
        ranges=task.options.ranges,
        threads=task.threads,
        progress=task.progress_of("intervals"),
    )
    if task.options.ranges:
        estimate = with_advice(
            estimate,
            task.model,
            fit,
            threads=task.threads,
            progress=task.progress_of("measurements"),
        )
    return estimate if fit.pull is None else with_pull(estimate, fit.pull)
