"""Everything that can be said of a log before it is used: `steelyard logs check`."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from steelyard.diagnosis.inspection.inspection import inspect_log
from steelyard.diagnosis.refusals import refuse_severe, telling
from steelyard.diagnosis.suspects.search import physics_of, why_not_judged
from steelyard.errors import SteelyardError
from steelyard.findings import Finding, not_yet_told
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.physical_links import negative_masses
from steelyard.robot.robot import Robot
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


def check_log(log: Log, robot: Robot, processing: Processing | None = None) -> CheckedLog:
    """What the signals of a log and the physics of the robot file say is wrong with it, and
    whether it can be prepared for a fit.

    A log that cannot be prepared has a severe finding with the reason, ``not-usable``.
    """
    findings = [*negative_masses(robot), *_inspected(log, robot, processing)]
    try:
        findings += not_yet_told(prepare(log, robot, processing).findings, findings)
        untrusted = any(one.alarming and one.code in UNTRUSTED for one in findings)
        if not untrusted and all(finding.level != "severe" for finding in findings):
            findings += physics_of(Model(robot), log, processing).findings
            findings += _not_compared(log, Model(robot), processing)
    except SteelyardError as error:
        findings.append(Finding("severe", "not-usable", str(error)))
    return CheckedLog(log.name, len(log), log.duration_s, once(findings))


def _inspected(log: Log, robot: Robot, processing: Processing | None) -> tuple[Finding, ...]:
    """What the signals say, on the time base that the processing asks for."""
    as_stamped = processing is not None and processing.time_base == "as-stamped"
    return inspect_log(log, robot, as_stamped=as_stamped).findings


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
    log: Log, model: Model, processing: Processing | None = None, accept: Collection[str] = ()
) -> AcceptedLog:
    """What is wrong with a log that an estimate is to be made from.

    Refuses it for severe findings, apart from those whose codes are accepted. The processing takes
    out a delay of the torques that is beyond doubt; see `suspects.search.physics_of`.
    """
    given = processing or Processing()
    findings = _inspected(log, model.robot, given)
    refuse_severe(findings, accept)
    if any(one.alarming and one.code in UNTRUSTED for one in findings):
        return AcceptedLog(findings, given)
    with telling(findings):
        physics = physics_of(model, log, given)
        refuse_severe(physics.findings, accept)
    return AcceptedLog((*findings, *physics.findings), physics.processing)


def validation_findings(
    log: Log,
    model: Model,
    processing: Processing | None = None,
    *,
    cutoff_is_automatic: bool = False,
) -> tuple[Finding, ...]:
    """What is wrong with a log that an estimate is tested on; nothing is refused.

    cutoff_is_automatic : whether the cutoff was chosen on another log: this one is checked with
        its own then, as if it were checked alone.
    """
    given = processing or Processing()
    signals = _inspected(log, model.robot, given)
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
