"""Whether an estimate explains the torques of its own logs and of held-out logs."""

from __future__ import annotations

from steelyard.estimators.estimate import Estimate
from steelyard.findings import Finding
from steelyard.model.mechanism import BASE_WRENCH, row_words
from steelyard.validation.held_out import HeldOut

POOR_FIT = 0.5
"""Relative error above which a finding warns of a poor fit."""
WORSE_THAN_NOTHING = 1.05
"""Relative error of one joint above which a finding names it; 1 is that of predicting zero."""


def poor_fit_findings(estimate: Estimate) -> tuple[Finding, ...]:
    """Warn if an estimate explains little of the torques that it was fitted to.

    A single joint is named if the estimate is worse for it than no torque at all.
    """
    kind = estimate.equation.kind
    of_joints = estimate.equation.of_joints
    worse = [fit for fit in estimate.channels if fit.relative_error > WORSE_THAN_NOTHING]
    joints = tuple(
        Finding(
            "warning",
            "poor-fit-of-a-joint",
            f"the {_what(fit.name)} is explained worse than by no torque at all: the residual is "
            f"{100 * fit.relative_error:.3g} % of it; {_to_check(fit.name)}",
        )
        for fit in (worse if of_joints else ())
    )
    if not estimate.relative_error > POOR_FIT:
        return joints
    return (
        *joints,
        Finding(
            "warning",
            "poor-fit",
            f"the estimate leaves {100 * estimate.relative_error:.3g} % of the "
            f"{'torques' if of_joints else kind.quantity} that it was "
            "fitted to unexplained: check units, signs and the order of joints, the masses of the "
            "robot file if they are the prior, and the log for outliers",
        ),
    )


def _what(channel: str) -> str:
    return row_words(channel) if channel in BASE_WRENCH else f"torque of '{channel}'"


def _to_check(channel: str) -> str:
    """What may be wrong with the columns of a torque row."""
    if channel in BASE_WRENCH:
        return (
            "check sign, unit and axes of the wrenches (--wrench-sign, --wrench-axes), that no "
            "contact is missing, and the orientation of the base"
        )
    return (
        "check the sign and the unit of this joint's position and torque, and that its columns "
        "are not another joint's"
    )


def worse_than_file_findings(held_out: HeldOut) -> tuple[Finding, ...]:
    """Name the held-out runs whose torques the robot file's inertials predict better."""
    return tuple(
        Finding(
            "warning",
            "worse-than-prior",
            f"on run '{run.run}', which was not used, the estimate {run.verdict}; identify from "
            "motions that are closer to this one or more varied, and look at the residuals",
        )
        for run in held_out.runs
        if not run.beats_prior and run.run not in held_out.used
    )
