"""Whether an estimate explains the torques it was made from, and those it was not made from."""

from __future__ import annotations

from steelyard.estimators.estimate import Estimate
from steelyard.findings import Finding
from steelyard.validation.held_out import HeldOut

POOR_FIT = 0.5
"""Relative error above which a result warns that it explains little."""


def poor_fit_findings(estimate: Estimate) -> tuple[Finding, ...]:
    """Say that an estimate explains little of the torques it was made from."""
    if not estimate.relative_error > POOR_FIT:
        return ()
    return (
        Finding(
            "warning",
            "poor-fit",
            f"the estimate leaves {100 * estimate.relative_error:.3g} % of the torques that it was "
            "made from unexplained: check units, signs and the order of joints, the masses of the "
            "robot file if they count as a prior, and the log for outliers",
        ),
    )


def worse_than_file_findings(held_out: HeldOut) -> tuple[Finding, ...]:
    """Name the held-out runs whose torques the robot file's inertials predict better."""
    return tuple(
        Finding(
            "warning",
            "worse-than-prior",
            f"on run '{run.run}', which was not used, the estimate {run.verdict}; record motions "
            "that are more alike or more varied, and look at the residuals before using it",
        )
        for run in held_out.runs
        if not run.beats_prior and run.run not in held_out.used
    )
