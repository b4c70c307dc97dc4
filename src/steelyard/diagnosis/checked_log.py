"""Everything that can be said of a log before it is used: `steelyard logs check`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from steelyard.diagnosis.inspection import DETECTORS, OF_LOG, OF_ROWS, inspect_log
from steelyard.diagnosis.refusals import refuse_severe, telling
from steelyard.diagnosis.suspects.search import physics_of, why_not_judged
from steelyard.errors import SteelyardError
from steelyard.findings import Finding, not_yet_told, said_once
from steelyard.logs.log import Log
from steelyard.logs.stored_log import AnyLog, StoredLog, selected
from steelyard.model.model import Model
from steelyard.robot.physical_links import negative_masses
from steelyard.robot.robot import Robot
from steelyard.signals.long_run import LongRun, Part, parts_told
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

UNTRUSTED = ("position-unit", "time-unit", "time-order")
"""Findings of the signals after which physics can tell nothing more: motion itself is wrong."""


@dataclass(frozen=True)
class CheckedLog:
    """What was found in a log. n_samples, duration_s : of the log."""

    log: str
    n_samples: int
    duration_s: float
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "log": self.log,
            "n_samples": self.n_samples,
            "duration_s": self.duration_s,
            "findings": [finding.as_json() for finding in self.findings],
        }


def check_log(
    log: AnyLog,
    robot: Robot,
    processing: Processing | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CheckedLog:
    """What the signals of a log and the physics of the robot file say is wrong with it, and
    whether it can be prepared for a fit.

    A log that cannot be prepared has a severe finding with the reason, ``not-usable``. Of a log
    that is not held in memory, windows are judged by physics, and all rows looked at.
    progress : called with the number of each part of such a log, and how many there are.
    """
    n_samples, duration_s = len(log), log.duration_s
    long = log if isinstance(log, StoredLog) else None
    findings = [*negative_masses(robot), *_inspected(log, robot, processing)]
    log = selected(log)
    try:
        if long is None:
            findings += not_yet_told(prepare(log, robot, processing).findings, findings)
        else:
            run = LongRun(long, Model(robot), processing or Processing())
            of_rows = inspected_rows(run, progress)
            findings += not_yet_told(of_rows, findings)
            findings += not_yet_told(run.findings, findings)
        untrusted = any(one.alarming and one.code in UNTRUSTED for one in findings)
        if not untrusted and all(finding.level != "severe" for finding in findings):
            findings += physics_of(Model(robot), log, processing).findings
            findings += _not_compared(log, Model(robot), processing)
    except SteelyardError as error:
        findings.append(Finding("severe", "not-usable", str(error)))
    return CheckedLog(log.name, n_samples, duration_s, once(findings))


def inspected_rows(
    run: LongRun, progress: Callable[[int, int], None] | None = None
) -> tuple[Finding, ...]:
    """What is wrong in single rows of a log that is not held in memory."""
    return said_once(
        [(part.span_s, rows_inspected(run, part)) for part in parts_told(run, progress)]
    )


def rows_inspected(run: LongRun, part: Part) -> tuple[Finding, ...]:
    """What is wrong in single rows of one part."""
    as_stamped = run.processing.time_base == "as-stamped"
    return inspect_log(part.log, run.model.robot, OF_ROWS, as_stamped=as_stamped).findings


def _inspected(log: AnyLog, robot: Robot, processing: Processing | None) -> tuple[Finding, ...]:
    """What the signals say, on the time base that the processing asks for; of a log that is not
    held in memory, what is wrong throughout.
    """
    as_stamped = processing is not None and processing.time_base == "as-stamped"
    detectors = DETECTORS if isinstance(log, Log) else OF_LOG
    return inspect_log(selected(log), robot, detectors, as_stamped=as_stamped).findings


def _not_compared(log: Log, model: Model, processing: Processing | None) -> list[Finding]:
    """A note if only the signals were looked at: that nothing was found says less then."""
    why = why_not_judged(model, processing)
    if not why:
        return []
    words = (
        f"log '{log.name}': only its signals were checked; whether signs, order, units and delays "
        f"agree with the robot file was not, because {why}"
    )
    return [Finding("info", "physics-not-checked", words)]


@dataclass(frozen=True)
class AcceptedLog:
    """What was found in a log that an estimate is made from, and how it is to be processed."""

    findings: tuple[Finding, ...]
    processing: Processing


def accepted_log(
    log: AnyLog, model: Model, processing: Processing | None = None, accept: Collection[str] = ()
) -> AcceptedLog:
    """What is wrong with a log that an estimate is to be made from; of one that is not held in
    memory, what windows show.

    Refuses it for severe findings, apart from those whose codes are accepted. The processing takes
    out a delay of the torques that is beyond doubt; see `suspects.search.physics_of`.
    """
    given = processing or Processing()
    findings = _inspected(log, model.robot, given)
    log = selected(log)
    refuse_severe(findings, accept)
    if any(one.alarming and one.code in UNTRUSTED for one in findings):
        return AcceptedLog(findings, given)
    with telling(findings):
        physics = physics_of(model, log, given)
        refuse_severe(physics.findings, accept)
    return AcceptedLog((*findings, *physics.findings), physics.processing)


def validation_findings(
    log: AnyLog,
    model: Model,
    processing: Processing | None = None,
    *,
    cutoff_is_automatic: bool = False,
) -> tuple[Finding, ...]:
    """What is wrong with a log that an estimate is tested on; nothing is refused. Of a log that is
    not held in memory, what windows show.

    cutoff_is_automatic : whether the cutoff was chosen on another log: this one is checked with
        its own then, as if it were checked alone.
    """
    given = processing or Processing()
    signals = _inspected(log, model.robot, given)
    log = selected(log)
    if given.torque_delay == "auto":
        # a delay is corrected if the training log has it; of this log alone, it is only named
        given = replace(given, torque_delay=None)
    if given.without_torque == "auto":
        given = replace(given, without_torque=())
    if cutoff_is_automatic:
        given = replace(given, cutoff_hz="auto")
    physics: tuple[Finding, ...] = ()
    # what cannot be prepared is refused, with the reason, where it is prepared
    if not any(one.alarming and one.code in UNTRUSTED for one in signals):
        with suppress(SteelyardError):
            physics = physics_of(model, log, given).findings
    return tuple(replace(one, words=f"validation {one.words}") for one in (*signals, *physics))


def once(findings: list[Finding]) -> tuple[Finding, ...]:
    """The findings, severe ones first, each once."""
    unique = dict.fromkeys(findings)
    order = ("severe", "warning", "info")
    return tuple(sorted(unique, key=lambda finding: order.index(finding.level)))
