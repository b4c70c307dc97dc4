"""The logs of one robot, prepared and compressed one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from steelyard.diagnosis.friction import smear_findings
from steelyard.errors import LogError
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.logs.several import refuse_twins, with_unique_names
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.model import Model
from steelyard.regression.regression import Regression, compress, merge
from steelyard.signals.dead_band import leave_out_slow
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.processing import Processing

PERIODS_PER_BLOCK = 1.5
"""Shortest time block, in periods of the low-pass filter's cutoff."""


@dataclass(frozen=True, eq=False)
class FirstRun:
    """The first run, kept to be shown.

    whole : with all of its torques. used : the same with NaN for torques inside the dead band.
    """

    whole: Prepared
    used: Prepared


@dataclass(frozen=True, eq=False)
class CompressedLogs:
    """What is left of the logs.

    regression : the factors of all of them; its record says what was done to each run.
    findings : what the user should know about the logs.
    first : the first run; None if it was not to be kept.
    """

    regression: Regression
    findings: tuple[Finding, ...]
    first: FirstRun | None = None


def compressed(
    model: Model,
    wide: Model,
    logs: Log | Iterable[Log],
    processing: Processing,
    threads: int,
    *,
    keep_first: bool = False,
) -> CompressedLogs:
    """The factors of all logs for the model ``wide``, prepared as ``model`` needs it.

    Each log is forgotten before the next is asked for.
    """
    base = base_map(wide)
    parts: list[Regression] = []
    findings: list[Finding] = []
    seen: dict[str, str] = {}
    first = None
    for log in with_unique_names(logs):
        refuse_twins(log, seen)
        whole = prepare_whole_run(model, log, processing)
        prepared = leave_out_slow(model, whole, processing.dead_band)
        if keep_first and not parts:
            first = FirstRun(whole, prepared)
        findings.extend((*prepared.findings, *smear_findings(model, prepared)))
        parts.append(compress_run(wide, base, prepared, threads))
    if not parts:
        raise LogError("there is no log to identify from; give at least one")
    record = {"runs": [dict(part.record) for part in parts]}
    return CompressedLogs(replace(merge(parts), record=record), tuple(findings), first)


def prepare_run(model: Model, log: Log, processing: Processing) -> Prepared:
    """Motion and torques of one log, as :func:`steelyard.identify` uses them."""
    whole = prepare_whole_run(model, log, processing)
    return leave_out_slow(model, whole, processing.dead_band)


def prepare_whole_run(model: Model, log: Log, processing: Processing) -> Prepared:
    """Motion and torques of one log, torques inside the dead band included."""
    return prepare(log, model.robot, replace(processing, dead_band=None))


def compress_run(model: Model, base: BaseMap, prepared: Prepared, threads: int) -> Regression:
    """The factors of one prepared run, with its record.

    A low-pass filter makes neighbouring residuals alike: time blocks shorter than that would
    not be independent, and their error bars too small.
    """
    cutoff = prepared.record.get("cutoff_hz")
    return compress(
        model,
        prepared.motion,
        prepared.measurements,
        base=base,
        correlation_s=PERIODS_PER_BLOCK / cutoff if isinstance(cutoff, float) else 0.0,
        threads=threads,
        record=prepared.record,
    )
