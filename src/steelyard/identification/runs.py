"""Prepare and compress the logs of one robot, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.checked_log import accepted_log, refuse_severe, rows_inspected
from steelyard.diagnosis.hypotheses.search import suspects
from steelyard.diagnosis.verdict.elsewhere import MotionSizes, motion_sizes, over_runs
from steelyard.errors import LogError
from steelyard.estimators.least_squares import joint_noise
from steelyard.findings import Finding, Span, not_yet_told, said_once
from steelyard.logs.any_log import LogsLike
from steelyard.logs.several import any_logs_with_unique_names, refuse_duplicates
from steelyard.logs.stored_log import AnyLog, StoredLog, selected
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.model import Model
from steelyard.regression.compress import compress, compress_stream, run_block_s
from steelyard.regression.compress_pooled import compress_pooled, needs_pooling
from steelyard.regression.equation import TORQUE, Equation
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.regression.regression import Regression, merge
from steelyard.regression.row_mixing import RowMixing
from steelyard.signals.long_run import LongRun, parts_told, with_accelerations
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import RunRecord
from steelyard.signals.torque_noise import ChannelNoise, channel_noise, over_all


@dataclass(frozen=True, eq=False)
class CompressedLogs:
    """The compressed logs.

    regression : the factors of all of them; its ``runs`` say how each log was processed.
    findings : warnings and notes about the logs.
    first : the first run, prepared; None if it was not kept.
    noise : (n_channels,) of the torques of all runs, N m or N; see `torque_noise`.
    sizes : where and how fast joints moved.
    """

    regression: Regression
    findings: tuple[Finding, ...]
    first: Prepared | None = None
    noise: NDArray[np.float64] | None = None
    sizes: MotionSizes | None = None


def compressed(
    model: Model,
    wide: Model,
    logs: LogsLike,
    processing: Processing,
    threads: int,
    *,
    keep_first: bool = False,
    cutoff_is_automatic: bool = False,
    delay_is_automatic: bool = False,
    equation: Equation = TORQUE,
    found_in_first: tuple[Finding, ...] | None = None,
    accept: Collection[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> CompressedLogs:
    """The factors of all logs for the model ``wide``, prepared as ``model`` needs it.

    cutoff_is_automatic : whether the cutoff of the processing was chosen on the first log.
    delay_is_automatic : whether the delay of the torques was; a log that has another gets its own.
    found_in_first : what the check of the first log found, where it was checked before.
    accept : codes of severe findings that do not stop the run.
    The first run that is kept has accelerations, which its torques need, even if the equation has
    none.

    progress : called with the number of each part of a long log, and how many there are.

    Only one log at a time is kept in memory, and of a long one only a part.
    """
    base = base_map(wide)
    pooled = equation.of_joints and needs_pooling(wide, base)
    parts: list[Regression] = []
    findings: list[Finding] = []
    seen: dict[str, str] = {}
    noise: list[ChannelNoise] = []
    sizes: list[MotionSizes] = []
    first = None
    for log in any_logs_with_unique_names(logs):
        refuse_duplicates(log, seen)
        used = processing
        if parts or found_in_first is None:
            if delay_is_automatic and _has_another_delay(log, model, processing):
                used = replace(processing, torque_delay="auto")
            checked = accepted_log(log, model, used, accept)
            told, used = checked.findings, checked.processing
        else:
            told = found_in_first
        findings.extend(told)
        if isinstance(log, StoredLog) and not pooled:
            run = _LongRunSoFar(
                LongRun(log, model, used, cutoff_of_another_log=cutoff_is_automatic),
                keep_first=keep_first and not parts,
            )
            parts.append(run.compressed(wide, base, threads, equation, progress))
            noise += run.noise
            sizes += run.sizes
            first = run.first or first
            of_rows = said_once(run.of_rows)
            refuse_severe(of_rows, accept)
            findings.extend(not_yet_told(of_rows, told))
            findings.extend(not_yet_told(run.run.findings, (*told, *of_rows)))
            del log, run
            continue
        if isinstance(log, StoredLog):
            log = log.read(0, len(log))
        prepared = prepare(log, model, used, cutoff_of_another_log=cutoff_is_automatic)
        if keep_first and not parts:
            first = prepared
            if processing.acceleration == "none":
                first = prepare(log, model, prepared.record.processing_as_used)
        findings.extend(not_yet_told(prepared.findings, told))
        noise.append(channel_noise(prepared))
        sizes.append(motion_sizes(prepared.motion))
        if pooled:
            parts.append(_pooled_run(wide, base, prepared, threads, parts))
        else:
            parts.append(compress_run(wide, base, prepared, threads, equation=equation))
        del log, prepared  # before the next log is read
    if not parts:
        raise LogError("there is no log to identify from; give at least one")
    told_once = tuple(dict.fromkeys(findings))
    return CompressedLogs(merge(parts), told_once, first, over_all(noise), over_runs(sizes))


class _LongRunSoFar:
    """What is gathered from the parts of a long log while they are compressed."""

    def __init__(self, run: LongRun, *, keep_first: bool) -> None:
        self.run, self.keep_first = run, keep_first
        self.first: Prepared | None = None
        self.noise: list[ChannelNoise] = []
        self.sizes: list[MotionSizes] = []
        self.of_rows: list[tuple[Span, tuple[Finding, ...]]] = []

    def compressed(
        self,
        wide: Model,
        base: BaseMap,
        threads: int,
        equation: Equation,
        progress: Callable[[int, int], None] | None,
    ) -> Regression:
        """The factors of all parts, in the time blocks that the whole log has."""
        records: list[RunRecord] = []
        correlation_s = self.run.whole.record.correlation_s
        regression = compress_stream(
            wide,
            self._chunks(progress, records),
            base=base,
            block_s=run_block_s(wide, base, self.run.log.duration_s, correlation_s, equation),
            threads=threads,
            runs=records,
            equation=equation,
        )
        if self.first is not None:
            self.first = replace(self.first, record=records[0])
        return regression

    def _chunks(
        self, progress: Callable[[int, int], None] | None, records: list[RunRecord]
    ) -> Iterator[tuple[Motion, Measurements]]:
        for part in parts_told(self.run, progress):
            prepared = part.prepared
            self.of_rows.append((part.span_s, rows_inspected(self.run, part)))
            self.sizes.append(motion_sizes(prepared.motion))
            self.noise.append(channel_noise(prepared))
            if self.keep_first and self.first is None:
                self.first = with_accelerations(self.run, part)
            yield prepared.motion, prepared.measurements
        records.append(self.run.record())


def _has_another_delay(log: AnyLog, model: Model, processing: Processing) -> bool:
    """Whether a log is late or early after the delay of the first log is taken out of it."""
    if processing.torque_delay is None or processing.torque_delay == "auto":
        return False
    return any(one.code == "delay" for one in suspects(model, selected(log), processing))


def _pooled_run(
    model: Model, base: BaseMap, prepared: Prepared, threads: int, earlier: list[Regression]
) -> Regression:
    """The factors of one run with pooled time blocks, weighted as those of the earlier runs."""

    def weigh(whole: Regression) -> NDArray[np.float64]:
        if earlier and earlier[0].pooled is not None:
            return earlier[0].pooled.weights
        return 1.0 / joint_noise(whole)

    return compress_pooled(
        model,
        prepared.motion,
        prepared.measurements,
        weigh,
        base=base,
        correlation_s=prepared.record.correlation_s,
        threads=threads,
        record=prepared.record,
    )


def compress_run(
    model: Model,
    base: BaseMap,
    prepared: Prepared,
    threads: int,
    *,
    extra: ExtraColumns | None = None,
    mixing: RowMixing | None = None,
    equation: Equation = TORQUE,
) -> Regression:
    """The factors of one prepared run, with its record.

    A low-pass filter correlates neighbouring residuals: time blocks shorter than the correlation
    would not be independent, and the error bars too small.
    """
    return compress(
        model,
        prepared.motion,
        prepared.measurements,
        base=base,
        correlation_s=prepared.record.correlation_s,
        threads=threads,
        record=prepared.record,
        extra=extra,
        mixing=mixing,
        equation=equation,
    )
