"""Whether enough samples are left of the runs, and whether an estimate explains their torques and
those of held-out logs.
"""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.errors import listed
from steelyard.estimators.estimate import Estimate
from steelyard.findings import Finding
from steelyard.model.mechanism import BASE_WRENCH, row_words
from steelyard.regression.regression import Regression
from steelyard.signals.run_record import RunRecord
from steelyard.validation.held_out import HeldOut

ROWS_PER_PARAMETER = 3.0
"""A joint should have this many torque values for each of its parameters."""
MOST_TAKEN = 0.8
"""No single step should remove more than this share of a run."""
POOR_FIT = 0.5
"""Relative error above which a finding warns of a poor fit."""
WORSE_THAN_NOTHING = 1.05
"""Relative error of one joint above which a finding names it; 1 is that of predicting zero."""


def sample_warnings(regression: Regression) -> Iterator[Finding]:
    """Warnings where trimming, decimation and dead band leave few torque values, with how many each
    step removed.
    """
    few = [
        f"{group.name} ({n_rows} for {len(group.columns)})"
        for group, n_rows in zip(regression.groups, regression.counts.sum(axis=0), strict=True)
        if 0 < n_rows < ROWS_PER_PARAMETER * len(group.columns)
    ]
    if few:
        steps = "; ".join(_steps(run) for run in regression.runs)
        words = (
            f"few {regression.equation.kind.values} are left for the parameters of {listed(few)}: "
            f"{steps or 'the steps are not recorded'}; record longer, raise --cutoff-hz "
            "(cutoff_hz), or lower --dead-band (dead_band)"
        )
        yield Finding("warning", "few-samples", words)
    for run in regression.runs:
        if run.trimmed_share > MOST_TAKEN:
            words = (
                f"run '{run.log}': trimming removed {sum(run.trimmed_s):.3g} of "
                f"{run.duration_s:.3g} s ({run.trimmed_share:.0%}), which the filter needs to "
                "settle; record longer, raise --cutoff-hz (cutoff_hz), or set --trim-s (trim_s)"
            )
            yield Finding("warning", "trimmed-away", words)
        shares = run.dead_band_shares.items()
        slow = [f"{joint} ({taken:.0%})" for joint, taken in shares if taken > MOST_TAKEN]
        if slow:
            words = (
                f"run '{run.log}': the dead band removed most torques of {listed(slow)}; record a "
                "motion in which they move faster, or lower --dead-band (dead_band)"
            )
            yield Finding("warning", "mostly-slow", words)


def _steps(run: RunRecord) -> str:
    """What each step left of one run."""
    shares = run.dead_band_shares.values()
    dead_band = sum(shares) / len(shares) if shares else 0.0
    return (
        f"of run '{run.log}' trimming removed {run.trimmed_share:.0%} of "
        f"{run.duration_s:.3g} s, decimation kept one sample in "
        f"{run.decimation}, the dead band removed {dead_band:.0%} of the torques"
    )


def poor_fit_findings(estimate: Estimate) -> Iterator[Finding]:
    """Warn if an estimate explains little of the torques that it was fitted to.

    A single joint is named if the estimate is worse for it than no torque at all.
    """
    kind, of_joints = estimate.equation.kind, estimate.equation.of_joints
    for fit in estimate.channels if of_joints else ():
        if fit.relative_error > WORSE_THAN_NOTHING:
            base = fit.name in BASE_WRENCH
            name = row_words(fit.name) if base else f"torque of '{fit.name}'"
            words = (
                f"the {name} is explained worse than by no torque at all: the residual is "
                f"{100 * fit.relative_error:.3g} % of it; {_to_check(base)}"
            )
            yield Finding("warning", "poor-fit-of-a-joint", words)
    if estimate.relative_error > POOR_FIT:
        words = (
            f"the estimate leaves {100 * estimate.relative_error:.3g} % of the "
            f"{'torques' if of_joints else kind.quantity} that it was fitted to unexplained: check "
            "units, signs and the order of joints, the masses of the robot file if they are the "
            "prior, and the log for outliers"
        )
        yield Finding("warning", "poor-fit", words)


def _to_check(base: bool) -> str:
    """What may be wrong with the columns of a torque row, of the base or of a joint."""
    if base:
        return (
            "check sign, unit and axes of the wrenches (--wrench-sign, --wrench-axes), that no "
            "contact is missing, and the orientation of the base"
        )
    return (
        "check the sign and the unit of this joint's position and torque, and that its columns "
        "are not another joint's"
    )


def worse_than_file_findings(held_out: HeldOut) -> Iterator[Finding]:
    """Name the held-out runs whose torques the robot file's inertials predict better."""
    for run in held_out.runs:
        if not run.beats_prior and run.run not in held_out.used:
            words = (
                f"on run '{run.run}', which was not used, the estimate {run.verdict}; identify "
                "from motions that are closer to this one or more varied, and look at the residuals"
            )
            yield Finding("warning", "worse-than-prior", words)
