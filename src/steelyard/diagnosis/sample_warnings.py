"""Warnings where trimming, decimation and dead band leave few samples of a run."""

from __future__ import annotations

from steelyard.errors import listed
from steelyard.findings import Finding
from steelyard.regression.regression import Regression
from steelyard.signals.run_record import RunRecord

ROWS_PER_PARAMETER = 3.0
"""A joint should have this many torque values for each of its parameters."""
MOST_TAKEN = 0.8
"""No single step should remove more than this share of a run."""


def sample_warnings(regression: Regression) -> tuple[Finding, ...]:
    """Warnings where few torque values are left, with how many each step removed."""
    findings = []
    few = [
        f"{group.name} ({n_rows} for {len(group.columns)})"
        for group, n_rows in zip(regression.groups, regression.counts.sum(axis=0), strict=True)
        if 0 < n_rows < ROWS_PER_PARAMETER * len(group.columns)
    ]
    if few:
        steps = "; ".join(_steps(run) for run in regression.runs)
        findings.append(
            Finding(
                "warning",
                "few-samples",
                f"few {regression.equation.kind.values} are left for the parameters of "
                f"{listed(few)}: "
                f"{steps or 'the steps are not recorded'}; "
                "record longer, raise --cutoff-hz (cutoff_hz), or lower --dead-band (dead_band)",
            )
        )
    for run in regression.runs:
        if run.trimmed_share > MOST_TAKEN:
            findings.append(
                Finding(
                    "warning",
                    "trimmed-away",
                    f"run '{run.log}': trimming removed {sum(run.trimmed_s):.3g} of "
                    f"{run.duration_s:.3g} s ({run.trimmed_share:.0%}), which the filter needs "
                    "to settle; record longer, raise --cutoff-hz (cutoff_hz), or set --trim-s "
                    "(trim_s)",
                )
            )
        slow = {joint: taken for joint, taken in run.dead_band_shares.items() if taken > MOST_TAKEN}
        if slow:
            findings.append(
                Finding(
                    "warning",
                    "mostly-slow",
                    f"run '{run.log}': the dead band removed most torques of "
                    f"{listed(f'{joint} ({taken:.0%})' for joint, taken in slow.items())}; "
                    "record a motion in which they move faster, or lower --dead-band (dead_band)",
                )
            )
    return tuple(findings)


def _steps(run: RunRecord) -> str:
    """What each step left of one run."""
    shares = run.dead_band_shares.values()
    dead_band = sum(shares) / len(shares) if shares else 0.0
    return (
        f"of run '{run.log}' trimming removed {run.trimmed_share:.0%} of "
        f"{run.duration_s:.3g} s, decimation kept one sample in "
        f"{run.decimation}, the dead band removed {dead_band:.0%} of the torques"
    )
