"""What was done to a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.signals.processing import Processing


def used_hashes(record: Mapping[str, Any]) -> frozenset[str]:
    """Content hashes of the logs that an estimate's record names."""
    runs = record.get("runs")
    if not isinstance(runs, Sequence):
        return frozenset()
    hashes = (run.get("content_sha256") for run in runs if isinstance(run, Mapping))
    return frozenset(found for found in hashes if isinstance(found, str))


def processing_as_used(processing: Processing, record: Mapping[str, Any]) -> Processing:
    """The processing with the cutoff that an estimate's first run got, if it was automatic.

    So that the numbers of fit and test are about the same torques.
    """
    runs = record.get("runs")
    if processing.cutoff_hz != "auto" or not isinstance(runs, Sequence) or not runs:
        return processing
    cutoff = runs[0].get("cutoff_hz") if isinstance(runs[0], Mapping) else None
    return processing if cutoff is None else replace(processing, cutoff_hz=float(cutoff))
