"""Everything that can be said of a log before it is used: `steelyard logs check`; logs that are
refused for it, and errors that carry what was found before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from steelyard.diagnosis.hypotheses.search import KINDS, physics_of, why_not_judged
from steelyard.diagnosis.hypotheses.stepwise import Missing
from steelyard.diagnosis.inspection import DETECTORS, OF_LOG, OF_ROWS, inspect_log
from steelyard.errors import EstimationError, InputRefusedError, SteelyardError, shown
from steelyard.findings import LEVELS, Finding, not_yet_told, said_once
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
OF_SIGNALS = (
    "constant-torque",
    "dead-channel",
    "no-torque",
    "position-unit",
    "time-rate",
    "time-unit",
)
"""Codes of the findings of the inspection that may be severe."""
ACCEPTABLE = tuple(sorted({*OF_SIGNALS, *(one.code for one in KINDS.values() if one.may_stop)}))
"""Codes of all findings that may stop an estimate."""


@dataclass(frozen=True)
class CheckedLog:
    """What was found in a log, of so many samples and seconds."""

    log: str
    n_samples: int
    duration_s: float
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        findings = [finding.as_json() for finding in self.findings]
        return {**vars(self), "findings": findings}


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
    held = selected(log)
    findings = [*negative_masses(robot), *_inspected(log, robot, processing)]
    try:
        model = Model(robot)
        if isinstance(log, StoredLog):
            run = LongRun(log, model, processing or Processing())
            told = [(part.span_s, rows_inspected(run, part)) for part in parts_told(run, progress)]
            findings += not_yet_told(said_once(told), findings)
            findings += not_yet_told(run.findings, findings)
        else:
            findings += not_yet_told(prepare(held, robot, processing).findings, findings)
        if not _untrusted(findings) and all(one.level != "severe" for one in findings):
            physics = physics_of(model, held, processing).findings
            why = why_not_judged(model, processing)
            findings = [*_as_physics_says(findings, physics, judged=not why), *physics]
            words = (
                f"log '{held.name}': only its signals were checked; whether signs, order, units "
                f"and delays agree with the robot file was not, because {why}"
            )
            findings += [Finding("info", "physics-not-checked", words)] if why else []
    except SteelyardError as error:
        findings.append(Finding("severe", "not-usable", str(error)))
    return CheckedLog(held.name, len(log), log.duration_s, once(findings))


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


def _untrusted(findings: Iterable[Finding]) -> bool:
    """Whether positions or stamps are wrong, so that nothing else can be judged."""
    return any(one.alarming and one.code in UNTRUSTED for one in findings)


def _as_physics_says(
    findings: Iterable[Finding], physics: Iterable[Finding], *, judged: bool
) -> tuple[Finding, ...]:
    """The findings of the signals; that joints are faster than the file's limits is a note if the
    torques say that time is right.
    """
    if not judged or any(one.code == "time-rate" for one in physics):
        return tuple(findings)
    return tuple(
        replace(one, level="info", code="beyond-speed-limits")
        if one.code == "time-rate" and one.level == "warning" and not one.corrected
        else one
        for one in findings
    )


def check_accepted(accept: Collection[str]) -> None:
    """Refuse codes that no severe finding has: a typing error would accept nothing."""
    if isinstance(accept, str):
        raise EstimationError(f"accept is the text {shown(accept)}; give a list, [{accept!r}]")
    unknown = [code for code in accept if code not in ACCEPTABLE]
    if unknown:
        raise EstimationError(
            f"--accept (accept in Python) names {', '.join(shown(str(one)) for one in unknown)}, "
            f"which no severe finding has; the codes are {', '.join(ACCEPTABLE)}"
        )


def refuse_severe(findings: Iterable[Finding], accept: Collection[str] = ()) -> None:
    """Raise an error if there are severe findings, apart from those whose codes are accepted."""
    severe = [one for one in findings if one.level == "severe" and one.code not in accept]
    if not severe:
        return
    codes = ",".join(dict.fromkeys([*accept, *(one.code for one in severe)]))
    error = InputRefusedError(
        f"{'; '.join(one.sentence for one in severe)}; the result would be useless: correct "
        f"the input, or go on anyway with --accept {codes} (accept={codes.split(',')} in "
        "Python)"
    )
    error.findings = tuple(severe)
    raise error


@contextmanager
def telling(findings: Iterable[Finding]) -> Iterator[None]:
    """Add the findings that are more than notes to every Steelyard error that is raised inside."""
    try:
        yield
    except SteelyardError as error:
        alarms = [one for one in findings if one.alarming]
        error.findings = tuple(dict.fromkeys((*error.findings, *alarms)))
        raise


@dataclass(frozen=True)
class AcceptedLog:
    """What was found in a log that an estimate is made from, and how it is to be processed.

    missing : what would explain how much of it.
    """

    findings: tuple[Finding, ...]
    processing: Processing
    missing: tuple[Missing, ...] = ()


def accepted_log(
    log: AnyLog, model: Model, processing: Processing | None = None, accept: Collection[str] = ()
) -> AcceptedLog:
    """What is wrong with a log that an estimate is to be made from; of one that is not held in
    memory, what windows show.

    Refuses it for severe findings, apart from those whose codes are accepted. The processing takes
    out a delay of the torques that is beyond doubt; see `hypotheses.search.physics_of`.
    """
    given = processing or Processing()
    findings = _inspected(log, model.robot, given)
    refuse_severe(findings, accept)
    if _untrusted(findings):
        return AcceptedLog(findings, given)
    with telling(findings):
        physics = physics_of(model, selected(log), given)
        refuse_severe(physics.findings, accept)
    judged = not why_not_judged(model, given)
    findings = _as_physics_says(findings, physics.findings, judged=judged)
    return AcceptedLog((*findings, *physics.findings), physics.processing, physics.missing)


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
    # a delay is corrected if the training log has it; of this log alone, it is only named
    given = replace(
        given,
        torque_delay=None if given.torque_delay == "auto" else given.torque_delay,
        without_torque=() if given.without_torque == "auto" else given.without_torque,
        cutoff_hz="auto" if cutoff_is_automatic else given.cutoff_hz,
    )
    physics: tuple[Finding, ...] = ()
    # what cannot be prepared is refused, with the reason, where it is prepared
    if not _untrusted(signals):
        with suppress(SteelyardError):
            physics = physics_of(model, selected(log), given).findings
    return tuple(replace(one, words=f"validation {one.words}") for one in (*signals, *physics))


def once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, severe ones first, each once."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda one: -LEVELS.index(one.level)))
