"""A log that is not held in memory, prepared part by part.

What is decided once (cutoff, decimation, usual speeds, what the log has besides joints) is decided
on windows that are spread over the log. Each part is then prepared with the rows around it that
the filter needs to settle, so that the samples do not depend on where one part ends and the next
begins. Jumps of an encoder that are taken back in one part are taken back in those after it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.findings import Finding, Span, said_once
from steelyard.logs.log import Log
from steelyard.logs.stored_log import StoredLog
from steelyard.model.model import Model
from steelyard.signals.derivatives import half_width
from steelyard.signals.filters import settling_time_s
from steelyard.signals.motion import Measurements
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.opened_log import OpenedLog, open_log
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import RunRecord, TimeBaseRecord, TimeRepair
from steelyard.signals.term_speeds import usual_speeds

Array = NDArray[np.float64]

PART_VALUES = 2**20
"""Numbers of a part of a log, without the rows around it."""
SETTLED = 3.0
"""Times that the filter settles in the rows around a part; it decays to 1 % in each."""
LEAST_SHARE = 4
"""A part is at least this many times as long as the rows on one side of it."""
OF_ROWS = ("outliers", "locked-joint-moves", "beyond-limits", "log-cut")
"""Findings about rows, which all parts are looked at for; others are of the windows."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a log, prepared.

    log : with the rows around. prepared : without them.
    span_s : first and last time of its rows. number, n_parts : which part it is, from 1.
    """

    log: Log
    prepared: Prepared
    span_s: Span
    number: int
    n_parts: int


class LongRun:
    """The run of a stored log; what is counted in it is known once all parts have been taken."""

    def __init__(
        self,
        log: StoredLog,
        model: Model,
        processing: Processing,
        *,
        cutoff_of_another_log: bool = False,
    ) -> None:
        self.log, self.model = log, model
        self.whole = prepare(
            log.selection(), model, processing, cutoff_of_another_log=cutoff_of_another_log
        )
        record = self.whole.record
        self.usual = usual_speeds(model, self.whole.motion.v)
        bands = record.dead_band.speeds
        # parts have the stamps repaired, each by its own rows, where those of the windows are wrong
        repaired = record.time_repair != TimeRepair()
        self.processing = replace(
            record.processing,
            cutoff_hz=record.cutoff_hz,
            decimate=record.decimation,
            dead_band=bands if processing.dead_band == "tenth" else processing.dead_band,
            still_joints="keep",
            time_base=processing.time_base if repaired else "as-stamped",
        )
        self.records: list[RunRecord] = []
        self.findings_of_parts: list[tuple[Span, tuple[Finding, ...]]] = []
        self.counts: dict[str, Counter[str]] = {}
        self.failures: list[SignalError] = []

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is to be known of the whole log, each said once."""
        whole = [one for one in self.whole.findings if one.code not in OF_ROWS]
        return (*whole, *said_once(self.findings_of_parts), *self._left_out())

    def parts(self) -> Iterator[Part]:
        """The parts with samples, in the order of time; one at a time is in memory."""
        self.records, self.findings_of_parts, self.failures = [], [], []
        self.counts = {name: Counter() for name in COUNTED}
        slipped: dict[str, float] = {}
        edges, around = self._edges()
        n_parts = len(edges) - 1
        for number in range(1, n_parts + 1):
            begin, end = edges[number - 1], edges[number]
            first = max(0, begin - around)
            log = self.log.read(first, min(len(self.log), end + around))
            log = _moved(log, self.model, slipped)
            inside = slice(begin - first, end - first)
            try:
                opened = open_log(log, self.model.robot, self.processing)
                prepared = prepare(
                    log,
                    self.model,
                    self.processing,
                    opened=opened,
                    usual_speeds=self.usual,
                )
            except SignalError as failure:
                # of a part that is shorter than the filter needs, or in which nothing was measured
                self.failures.append(failure)
                continue
            self._count(opened, inside)
            for joint, slips in opened.mend.slips.items():
                rows = slips.rows
                if opened.clock is not None and opened.clock.dropped:
                    rows = np.flatnonzero(~opened.clock.stale)[rows]
                before_next = rows < (edges[number] - around) - first
                inside_next = slips.sizes[before_next]
                slipped[joint] = slipped.get(joint, 0.0) + float(np.sum(inside_next))
            until = math.inf if end == len(self.log) else _time_of(opened, log, inside.stop)
            part = _between(prepared, _time_of(opened, log, inside.start), until)
            self.records.append(part.record)
            span = float(log.time[inside.start]), float(log.time[inside.stop - 1])
            of_rows = tuple(one for one in part.findings if one.code in OF_ROWS)
            self.findings_of_parts.append((span, of_rows))
            if len(part.motion):
                yield Part(log, part, span, number, n_parts)
        if not self.records:
            raise self.failures[0]

    def record(self) -> RunRecord:
        """What was done to all parts."""
        counts = self.counts
        first, last, whole = self.records[0], self.records[-1], self.whole.record
        return replace(
            whole,
            content_sha256=self.log.content_hash,
            samples_in=len(self.log),
            duration_s=self.log.duration_s,
            time=_time_record(whole, self.records),
            time_repair=replace(
                whole.time_repair,
                repeated_rows=sum(one.time_repair.repeated_rows for one in self.records),
                missing_rows=sum(one.time_repair.missing_rows for one in self.records),
            ),
            rows_cut_at_ends=(first.rows_cut_at_ends[0], last.rows_cut_at_ends[1]),
            samples_bridged=dict(counts["bridged"]),
            outliers=dict(counts["outliers"]),
            stuck=dict(counts["stuck"]),
            slips_taken_back=dict(counts["slips"]),
            interpolated_between_updates=tuple(
                dict.fromkeys(
                    name for one in self.records for name in one.interpolated_between_updates
                )
            ),
            unwrapped_jumps=dict(
                sum((Counter(one.unwrapped_jumps) for one in self.records), Counter())
            ),
            trimmed_s=(first.trimmed_s[0], last.trimmed_s[1]),
            samples_out=sum(one.samples_out for one in self.records),
            dead_band=replace(
                whole.dead_band,
                samples=_summed([one.dead_band.samples for one in self.records]),
            ),
            torque_samples_missing=_summed([one.torque_samples_missing for one in self.records]),
        )

    def _edges(self) -> tuple[list[int], int]:
        """Rows at which parts begin, the end of the last, and how many rows are taken around."""
        record, processing = self.whole.record, self.processing
        settle = 0.0
        if record.cutoff_hz is not None:
            settle = SETTLED * settling_time_s(record.cutoff_hz, processing.filter_order)
        if processing.trim_s != "auto":
            settle = max(settle, *processing.trim_s)
        around_s = settle + processing.max_gap_s + _longest_delay(processing)
        rate = len(self.log) / self.log.duration_s
        step = record.decimation
        around = math.ceil(around_s * rate) + half_width(processing) + 2
        around = step * math.ceil(around / step)
        n = max(PART_VALUES // self.log.n_columns, LEAST_SHARE * around)
        n = step * math.ceil(n / step)
        edges = [*range(0, len(self.log), n), len(self.log)]
        if len(edges) > 2 and edges[-1] - edges[-2] < n // LEAST_SHARE:
            del edges[-2]
        return edges, around

    def _count(self, opened: OpenedLog, inside: slice) -> None:
        """Count what was found in the rows of a part, without those around it."""
        # rows that repeat others may have been left out
        clock = opened.clock
        if clock is not None and clock.dropped:
            before = np.cumsum(~clock.stale)
            inside = slice(int(before[inside.start]) - 1, int(before[inside.stop - 1]))
        masks = {"outliers": opened.outliers, "stuck": opened.mend.stuck}
        for name, found in masks.items():
            for (joint, quantity), mask in found.items():
                n = int(np.count_nonzero(mask[inside]))
                if n:
                    self.counts[name][f"{joint}.{quantity}"] += n
        for joint, slips in opened.mend.slips.items():
            n = int(np.sum((slips.rows >= inside.start) & (slips.rows < inside.stop)))
            if n:
                self.counts["slips"][joint] += n
        for piece in opened.pieces:
            rows = np.arange(piece.rows.start, piece.rows.stop)
            here = (rows >= inside.start) & (rows < inside.stop)
            for (joint, quantity), missing in piece.missing.items():
                n = int(np.count_nonzero(missing & here))
                if n:
                    self.counts["bridged"][f"{joint}.{quantity}"] += n

    def _left_out(self) -> tuple[Finding, ...]:
        if not self.failures:
            return ()
        n, n_parts = len(self.failures), len(self.failures) + len(self.records)
        words = (
            f"log '{self.log.name}': {n} of {n_parts} parts cannot be used, the first because "
            f"{self.failures[0]}"
        )
        return (Finding("warning", "part-not-used", words),)


COUNTED = ("outliers", "stuck", "slips", "bridged")
"""What is counted in the rows of each part."""


def parts_told(run: LongRun, tell: Callable[[int, int], None] | None) -> Iterator[Part]:
    """The parts of a run; ``tell`` is called with the number of each, and how many there are."""
    for part in run.parts():
        if tell is not None:
            tell(part.number, part.n_parts)
        yield part


def _time_of(opened: OpenedLog, log: Log, row: int) -> float:
    """When a row of a log was sampled (s), by its repaired stamps where these are used."""
    clock = opened.clock
    if clock is None:
        return float(log.time[row])
    if not clock.dropped:
        return float(clock.time[row])
    return float(clock.time[min(int(np.count_nonzero(~clock.stale[:row])), len(clock.time) - 1)])


def with_accelerations(run: LongRun, part: Part) -> Prepared:
    """A part with the accelerations that its torques need, also where the run has none."""
    processing = run.processing
    if processing.acceleration != "none":
        return part.prepared
    processing = replace(processing, acceleration="differentiate")
    prepared = prepare(part.log, run.model, processing, usual_speeds=run.usual)
    return _between(prepared, part.span_s[0], part.span_s[1])


def _longest_delay(processing: Processing) -> float:
    given = processing.torque_delay
    if given is None or given == "auto":
        return 0.0
    delays = given.values() if isinstance(given, Mapping) else (given,)
    return max((abs(one) for one in delays), default=0.0)


def _moved(log: Log, model: Model, slipped: Mapping[str, float]) -> Log:
    """The log with the jumps of encoders before it taken back."""
    if not any(slipped.values()):
        return log
    log, _ = name_numbered_joints(log, model.robot)
    signals = dict(log.signals)
    for joint, size in slipped.items():
        if (joint, "position") in signals:
            signals[joint, "position"] = signals[joint, "position"] - size
    return replace(log, signals=signals)


def _between(run: Prepared, begin: float, end: float) -> Prepared:
    """The samples from ``begin`` (s) to before ``end``."""
    first, last = np.searchsorted(run.motion.time, (begin, end)).tolist()
    rows = slice(first, last)
    kept, whole = run.measurements[rows], run.all_measurements[rows]
    gone, left_out = _missing(kept), _missing(whole)
    dead = {name: gone[name] - left_out[name] for name in gone}
    record = replace(
        run.record,
        samples_out=last - first,
        dead_band=replace(run.record.dead_band, samples=dead),
        torque_samples_missing=gone,
    )
    return Prepared(
        run.motion[rows],
        kept,
        whole,
        run.outside_band[rows],
        run.unfiltered[rows],
        record,
        run.findings,
        tuple(one[rows] for one in run.other_friction),
        None if run.plain_friction is None else run.plain_friction[rows],
    )


def _missing(measurements: Measurements) -> dict[str, int]:
    counts = np.isnan(measurements.tau).sum(axis=0).tolist()
    return dict(zip(measurements.channels, counts, strict=True))


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return {name: total[name] for name in counts[0]}


def _time_record(whole: RunRecord, records: Sequence[RunRecord]) -> TimeBaseRecord | None:
    """The time base of the windows, with the holes and pieces of all parts."""
    times = [one.time for one in records if one.time is not None]
    if whole.time is None or not times:
        return whole.time
    spans = sorted(span for one in times for span in zip(one.starts_s, one.ends_s, strict=True))
    joined = [spans[0]]
    for begin, end in spans[1:]:
        if begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    deviations = [one.largest_deviation_periods for one in times]
    return replace(
        whole.time,
        largest_deviation_periods=max(deviations),
        resampled=any(one.resampled for one in times),
        holes=sum(one.holes - len(one.starts_s) + 1 for one in times) + len(joined) - 1,
        samples_in_holes=sum(one.samples_in_holes for one in times),
        starts_s=tuple(begin for begin, _ in joined),
        ends_s=tuple(end for _, end in joined),
    )
