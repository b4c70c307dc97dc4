"""Warnings where trimming, decimation and dead band leave little of a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.errors import listed
from steelyard.findings import Finding
from steelyard.regression.regression import Regression

ROWS_PER_PARAMETER = 3.0
"""A joint should have this many torque values for each of its parameters."""
MOST_TAKEN = 0.8
"""No single step should take more than this share of a record."""


def shortage_findings(regression: Regression) -> tuple[Finding, ...]:
    """Warnings where few torque values are left; which step took how much, and what to do."""
    runs: list[Mapping[str, Any]] = list(regression.record.get("runs", ()))
    findings = []
    few = [
        f"{group.name} ({n_rows} for {len(group.columns)})"
        for group, n_rows in zip(regression.groups, regression.counts.sum(axis=0), strict=True)
        if 0 < n_rows < ROWS_PER_PARAMETER * len(group.columns)
    ]
    if few:
        findings.append(
            Finding(
                "warning",
                "few-samples",
                f"few torque values are left for the parameters of {listed(few)}: "
                f"{'; '.join(_steps(run) for run in runs) or 'nothing is recorded of why'}; "
                "record longer, raise --cutoff-hz (cutoff_hz), or lower --dead-band (dead_band)",
            )
        )
    for run in runs:
        name, share = run.get("log", "run"), trimmed_share(run)
        if share > MOST_TAKEN:
            findings.append(
                Finding(
                    "warning",
                    "trimmed-away",
                    f"run '{name}': trimming took {sum(run['trimmed_s']):.3g} of "
                    f"{run['duration_s']:.3g} s ({share:.0%}), which the filter needs to settle; "
                    "record longer, raise --cutoff-hz (cutoff_hz), or set --trim-s (trim_s)",
                )
            )
        slow = {
            joint: taken for joint, taken in dead_band_shares(run).items() if taken > MOST_TAKEN
        }
        if slow:
            findings.append(
                Finding(
                    "warning",
                    "mostly-slow",
                    f"run '{name}': the dead band took most torques of "
                    f"{listed(f'{joint} ({taken:.0%})' for joint, taken in slow.items())}; "
                    "record a motion in which they move faster, or lower --dead-band (dead_band)",
                )
            )
    return tuple(findings)


def trimmed_share(run: Mapping[str, Any]) -> float:
    """Share of a run's duration that was cut at its ends."""
    duration = float(run.get("duration_s") or 0.0)
    return sum(run.get("trimmed_s", ())) / duration if duration > 0.0 else 0.0


def dead_band_shares(run: Mapping[str, Any]) -> dict[str, float]:
    """Share of each joint's torques that the dead band took."""
    total = run.get("samples_out") or 0
    samples: Mapping[str, int] = run.get("dead_band", {}).get("samples", {})
    return {joint: count / total for joint, count in samples.items()} if total else {}


def _steps(run: Mapping[str, Any]) -> str:
    """What each step left of one run."""
    shares = dead_band_shares(run).values()
    dead_band = sum(shares) / len(shares) if shares else 0.0
    return (
        f"of run '{run.get('log', 'run')}' trimming took {trimmed_share(run):.0%} of "
        f"{run.get('duration_s', 0.0):.3g} s, decimation kept one sample in "
        f"{run.get('decimation', 1)}, the dead band took {dead_band:.0%} of the torques"
    )
