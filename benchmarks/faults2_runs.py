"""One run of the second fault matrix: `identify` on a case, what it says, and what its advice does.

A run has the error of the plain command on the unseen motion, that of the clean log, every finding,
and the error after each option that a finding prints, which the command line itself parses. The
plain fit, which knows no detector, says how much harm the fault does where nothing is corrected.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import shlex
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import never_loses_logs
import never_loses_runs
from fault_codes import CODES, GENERAL_ALARMS, Given
from fault_runs import USABLE, identified, verdict_of
from faults2_kinds import NEW_CODES, Kind, generator_of, kind_named, size_of
from faults2_properties import robot_of, unseen_error
from faults2_recordings import Case, case_with, clean_case
from faults2_sizes import faulty_log, plain_fit

from steelyard.errors import InputRefusedError, SteelyardError
from steelyard.findings import Finding
from steelyard.identification.found import Identification
from steelyard.logs.log import Log
from steelyard.logs.writer_csv import write_csv

CLEAN = "clean"
MUJOCO = "never-loses"
"""The name in the place of a robot's of clean logs of `never_loses_logs`."""
ALL_CODES = {**CODES, **NEW_CODES}
HARMFUL, MOST_IN_GROUP = 1.5, 3
NO_CHANGE = 0.0002
"""Errors, as shares of the rms torque, that differ by less are equal."""
MOST_OPTIONS = 3
Errors = dict[bool, tuple[float, float]]
"""By ``low_passed``: `unseen_error` of the plain command and of the plain fit."""
OWN_LAWS = {"stribeck": "stribeck", "dahl": "presliding"}
"""Codes that are right on clean logs of robots with these laws of friction."""


@dataclass(frozen=True)
class Said:
    """A finding: what it blames, alone or beside rivals, and what it advises."""

    level: str
    code: str
    joints: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    option: str = ""
    corrected: bool = False
    size: float | None = None

    @property
    def alarming(self) -> bool:
        """Whether it is a warning that names a fault."""
        return self.level != "info" and self.code in ALL_CODES

    def names(self, expected: Iterable[str]) -> bool:
        """Whether it names one of these, alone or in a group of at most three.

        Notes count where they say what was corrected, or which property of the robot was admitted.
        """
        group = {self.code, *self.rivals}
        told = self.level != "info" or self.corrected or self.code in NEW_CODES
        known = told and self.code in ALL_CODES and len(group) <= MOST_IN_GROUP
        return known and not group.isdisjoint(expected)


@dataclass(frozen=True)
class Run:
    """What came of one case.

    robot : its name, or `MUJOCO`. error, clean_error : `unseen_error` of the plain command, and of
    the clean log; where it is refused, of the estimate that accepts its findings, None where there
    is none. plain, plain_clean : of the plain fit. advice : option -> error with it; None where the
    command refuses it. allowed : code that is right although the log is clean.
    """

    robot: str
    seed: int
    kind: str
    size: float = 0.0
    said: tuple[Said, ...] = ()
    error: float | None = None
    clean_error: float | None = None
    plain: float | None = None
    plain_clean: float | None = None
    verdict: str = ""
    refusal: str = ""
    traceback: str = ""
    advice: dict[str, float | None] = field(default_factory=dict)
    allowed: str = ""

    @property
    def fault(self) -> Kind:
        """The kind of fault."""
        return kind_named(self.kind)

    @property
    def harm(self) -> float:
        """Error over that of the clean log; of the plain fit where there is no estimate."""
        if self.error is not None and self.clean_error:
            return self.error / self.clean_error
        return self.plain_harm

    @property
    def plain_harm(self) -> float:
        """The same of the plain fit, which neither corrects nor admits anything."""
        return self.plain / self.plain_clean if self.plain and self.plain_clean else math.nan

    @property
    def blamed(self) -> tuple[str, ...]:
        """Codes of warnings that name a fault."""
        return tuple(one.code for one in self.said if one.alarming)

    @property
    def noticed(self) -> bool:
        """Whether the user is told that something is wrong."""
        general = any(one.code in GENERAL_ALARMS and one.level != "info" for one in self.said)
        doubted = self.verdict not in ("", USABLE)
        return bool(self.blamed or general or self.refusal or self.traceback or doubted)

    @property
    def naming(self) -> tuple[Said, ...]:
        """The findings that name the fault."""
        return tuple(one for one in self.said if one.names(self.fault.expected))

    @property
    def outcome(self) -> str:
        """The run in one word."""
        if self.traceback:
            return "traceback"
        if self.naming:
            return "named"
        if self.blamed:
            return "misnamed"
        return "noticed" if self.noticed else "silent"

    @property
    def advised(self) -> bool:
        """Whether a finding that names the fault fixes it, admits it or says how to."""
        return any(one.option or one.corrected or one.level == "info" for one in self.naming)

    @property
    def false_alarm(self) -> bool:
        """Of a clean log: whether a fault is named or corrected, or the result not to be used."""
        blamed = any(code != self.allowed for code in self.blamed)
        corrected = any(one.corrected and one.code in ALL_CODES for one in self.said)
        wrong = self.refusal or self.traceback or self.verdict == "do not use"
        return bool(blamed or corrected or wrong)

    @property
    def advice_ratios(self) -> dict[str, float]:
        """Error with each option over that without; 1 where they are equal."""
        if self.error is None:
            return {}
        return {
            option: 1.0 if abs(error - self.error) <= NO_CHANGE else error / self.error
            for option, error in self.advice.items()
            if error is not None
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Run:
        """The run that :meth:`to_dict` wrote."""
        said = tuple(
            Said(**{**one, "joints": tuple(one["joints"]), "rivals": tuple(one["rivals"])})
            for one in values["said"]
        )
        return Run(**{**values, "said": said})


def true_case(kind: Kind, robot: str, seed: int, size: float) -> Case:
    """The case of a run: a robot of MuJoCo with a property is simulated with it."""
    clean, rng = clean_case(robot, seed), generator_of(kind, seed)
    if kind.file is not None:
        return Case(kind.file(clean.urdf, rng, size), clean.training, clean.unseen)
    if kind.log is not None:
        return faulty_log(kind, clean, rng, size)
    assert kind.law is not None
    return case_with(robot, seed, kind.law(clean.training, rng, size), unseen=kind.lasting)


def attempted(given: Given) -> tuple[Identification, SteelyardError | None]:
    """The result of the plain command; of a refusal, the one that accepts it, and the refusal."""
    try:
        return identified(given), None
    except InputRefusedError as refusal:
        codes = tuple(one.code for one in refusal.findings if one.level == "severe")
        try:
            return identified(given, accept=codes), refusal
        except SteelyardError:
            raise refusal from None


@lru_cache(maxsize=4)
def clean_result(robot: str, seed: int) -> tuple[Identification, SteelyardError | None, Errors]:
    """What `attempted` gives of the clean log, and its errors."""
    case = clean_case(robot, seed)
    log = case.training.log()
    found, refusal = attempted(Given(robot_of(case.urdf), log))
    plain = plain_fit(case.urdf, log)
    return (
        found,
        refusal,
        {
            low: (
                unseen_error(found, case.unseen, low_passed=low),
                unseen_error(plain, case.unseen, low_passed=low),
            )
            for low in (False, True)
        },
    )


def clean_run(robot: str, seed: int) -> Run:
    """The clean log of a robot of the matrix, or of `never_loses_logs`."""
    run = Run(robot, seed, CLEAN)
    refusal = None
    try:
        if robot == MUJOCO:
            drawn = never_loses_logs.case_of(seed)
            log, test = never_loses_logs.recorded(drawn)
            urdf = never_loses_logs.arms.urdf_text(drawn.arm)
            run = replace(run, allowed=OWN_LAWS.get(drawn.law, ""))
            found = never_loses_runs.identified(drawn, log)

            def error_of(one: Identification) -> float:
                return never_loses_runs.error_of(one, one.estimate.beta, test)
        else:
            case = clean_case(robot, seed)
            urdf, log = case.urdf, case.training.log()
            found, refusal, errors = clean_result(robot, seed)
            run = replace(run, plain=errors[False][1], plain_clean=errors[False][1])

            def error_of(one: Identification) -> float:
                return unseen_error(one, case.unseen)

        error = error_of(found)
    except Exception as failure:
        return with_failure(run, failure)
    run = replace(with_result(run, found, refusal), error=error, clean_error=error)
    return with_advice(run, urdf, log, error_of)


def faulty_run(robot: str, seed: int, kind: Kind) -> Run:
    """A run of a kind."""
    size = size_of(kind, robot, seed)
    run = Run(robot, seed, kind.name, size)
    try:
        case = true_case(kind, robot, seed, size)
        clean_error, plain_clean = clean_result(robot, seed)[2][kind.low_passed]
        log = case.training.log()
        plain = unseen_error(plain_fit(case.urdf, log), case.unseen, low_passed=kind.low_passed)
        run = replace(run, clean_error=clean_error, plain=plain, plain_clean=plain_clean)

        def error_of(one: Identification) -> float:
            return unseen_error(one, case.unseen, low_passed=kind.low_passed)

        found, refusal = attempted(Given(robot_of(case.urdf), log))
        run = replace(with_result(run, found, refusal), error=error_of(found))
    except Exception as failure:
        return with_failure(run, failure)
    return with_advice(run, case.urdf, log, error_of)


def with_result(run: Run, found: Identification, refusal: SteelyardError | None) -> Run:
    """The run with what the plain command says: its result, or its refusal."""
    if refusal is not None:
        return with_failure(run, refusal)
    return replace(run, said=said_by(found.findings), verdict=verdict_of(found))


def with_failure(run: Run, failure: Exception) -> Run:
    """The run with the error that ended it: a refusal if Steelyard raised it on purpose."""
    if not isinstance(failure, SteelyardError):
        return replace(run, traceback="".join(traceback.format_exception(failure))[-2000:])
    said = said_by(getattr(failure, "findings", ()))
    code = getattr(failure, "code", None)
    if code and code not in [one.code for one in said]:
        said = (*said, Said("severe", code))
    return replace(run, refusal=f"{type(failure).__name__}: {failure}"[:600], said=said)


def said_by(findings: Iterable[Finding]) -> tuple[Said, ...]:
    """Findings that warn, blame a fault or advise something."""
    return tuple(
        Said(
            one.level,
            one.code,
            tuple(one.joints),
            tuple(dict.fromkeys(getattr(one, "rivals", ()))),
            one.option,
            one.corrected,
            one.size,
        )
        for one in findings
        if one.level != "info" or one.code in ALL_CODES or one.option or one.corrected
    )


def with_advice(run: Run, urdf: str, log: Log, error_of: Callable[[Identification], float]) -> Run:
    """The run with the error after each option that its findings print."""
    severe = tuple(one.code for one in run.said if one.level == "severe" and run.refusal)
    advice: dict[str, float | None] = {}
    for option in options_of(run.said)[:MOST_OPTIONS]:
        found = by_command(urdf, log, option, severe)
        advice[option] = None if found is None else error_of(found)
    return replace(run, advice=advice)


def options_of(said: Iterable[Said]) -> list[str]:
    """The options to try: of faults that were not corrected, those of one name together.

    Notes advise only where they are about a fault; a word such as JOINT is a pattern.
    """
    options: dict[str, list[str]] = {}
    for one in said:
        advises = one.level != "info" or one.code in ALL_CODES
        if one.option and advises and not one.corrected and "JOINT" not in one.option:
            own = options.setdefault(one.option.split()[0], [])
            own += [] if one.option in own else [one.option]
    return [" ".join(own) for own in options.values()]


def by_command(
    urdf: str, log: Log, option: str, accepted: tuple[str, ...] = ()
) -> Identification | None:
    """The result of the command ``identify`` with an option, None where it is refused.

    What changes no parameter is left out, as in `fault_runs.identified`. accepted : codes of severe
    findings in spite of which to go on.
    """
    import steelyard.cli

    module = importlib.import_module("steelyard.identification.identify")
    plain, results = module.identify, []

    def keeping(*arguments: Any, **options: Any) -> Identification:
        quick = {"ranges": False, "certify": False, "n_resamples": 20, "compare_terms": False}
        results.append(plain(*arguments, **{**options, **quick, "threads": 1}))
        return results[-1]

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot, path = Path(folder) / "robot.urdf", Path(folder) / "log.csv"
        robot.write_text(urdf, encoding="utf-8")
        write_csv(log, path)
        words = ["identify", str(robot), str(path), *shlex.split(option)]
        if accepted:
            words += ["--accept", ",".join(accepted)]
        with (
            mock.patch.object(module, "identify", keeping),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            steelyard.cli.run(words)
    return results[0] if results else None
