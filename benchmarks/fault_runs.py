"""One run of the fault campaign: a faulty input through `identify`, and what came of it."""

from __future__ import annotations

import inspect
import math
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import fault_kinds
from fault_codes import CODES, GENERAL_ALARMS, FaultKind, Given
from fault_harm import unseen_error
from fault_recordings import Case, case_of, random_recording

from steelyard.errors import SteelyardError
from steelyard.findings import Finding
from steelyard.identification.found import Identification
from steelyard.identification.identify import identify, with_validation
from steelyard.logs.log import Log

USABLE = "usable"
CLEAN = "clean"
"""The name that runs without a fault have in the place of a kind's."""


@dataclass(frozen=True)
class FaultRun:
    """What came of one input in one situation.

    codes : of warnings and severe findings, of the result or of the refusal.
    error : `unseen_error` of the estimate; of the one that overrides the refusal, where there is
        such an option; None where there is no estimate. clean_error : that of the clean log.
    verdict : of the result, "" where it has none. refusal, traceback : of the error, or "".
    """

    robot: str
    seed: int
    kind: str
    size: float
    situation: str
    codes: tuple[str, ...] = ()
    error: float | None = None
    clean_error: float = math.nan
    verdict: str = ""
    refusal: str = ""
    traceback: str = ""

    @property
    def fault(self) -> FaultKind:
        """The kind of fault."""
        return fault_kinds.kind_named(self.kind)

    @property
    def harmful(self) -> bool:
        """Whether the estimate is worse than the clean one; a refusal counts as such where
        nothing shows what the estimate would have been.
        """
        if self.error is None:
            return bool(self.refusal or self.traceback)
        return not self.error <= fault_kinds.TOLERANCE * self.clean_error

    @property
    def blamed(self) -> tuple[str, ...]:
        """Codes of warnings that name a fault."""
        return tuple(code for code in self.codes if code in CODES)

    @property
    def noticed(self) -> bool:
        """Whether the user is told that something is wrong."""
        doubted = self.verdict not in ("", USABLE)
        alarms = any(code in GENERAL_ALARMS for code in self.codes)
        return bool(self.blamed or self.refusal or self.traceback or doubted or alarms)

    @property
    def silent(self) -> bool:
        """Whether the result is wrong and nothing says so."""
        return self.harmful and not self.noticed

    @property
    def named(self) -> bool:
        """Whether a finding, or the words of a refusal, name the fault."""
        words = any(word in self.refusal for word in self.fault.refusal)
        return words or any(code in self.fault.expected for code in self.blamed)

    @property
    def misnamed(self) -> bool:
        """Whether findings blame faults, but only others."""
        return bool(self.blamed) and not self.named

    @property
    def outcome(self) -> str:
        """The run in one word."""
        if self.traceback:
            return "traceback"
        if self.named:
            return "named"
        if self.misnamed:
            return "misnamed"
        if self.refusal:
            return "refused"
        if not self.harmful:
            return "harmless"
        return "noticed" if self.noticed else "silent"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which knows no infinity."""
        values = asdict(self)
        for name in ("error", "clean_error"):
            if values[name] is not None and not math.isfinite(values[name]):
                values[name] = None if math.isnan(values[name]) else 1e308
        return values

    @staticmethod
    def from_dict(values: dict[str, Any]) -> FaultRun:
        """The run that :meth:`to_dict` wrote."""
        known = {**values, "codes": tuple(values["codes"])}
        if known["clean_error"] is None:
            known["clean_error"] = math.nan
        return FaultRun(**known)


@lru_cache(maxsize=2)
def prepared_case(robot: str, seed: int) -> tuple[Case, Identification, float]:
    """The recordings of a robot and seed, the estimate from the clean log, and its error."""
    case = case_of(robot, seed)
    found = identified(Given(case.training.robot, case.training.log()))
    return case, found, unseen_error(found, case.unseen)


def identified(given: Given, **overrides: object) -> Identification:
    """The default estimate. What is left out of it (ranges, certificate, most resamples, the
    comparison of terms) changes neither its parameters nor what is found in its input.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return identify(
            given.robot,
            given.log,
            ranges=False,
            certify=False,
            n_resamples=20,
            compare_terms=False,
            threads=1,
            **overrides,  # type: ignore[arg-type]
        )


def runs_of(
    robot: str,
    seed: int,
    kind: FaultKind,
    situations: tuple[str, ...] = fault_kinds.SITUATIONS,
) -> list[FaultRun]:
    """One fault in each situation; the estimate is the same in all, and made once."""
    case, _, clean_error = prepared_case(robot, seed)
    start = FaultRun(robot, seed, kind.name, kind.size_of(seed), "alone", clean_error=clean_error)
    given = None
    try:
        given = fault_kinds.faulty(kind, case.training, seed)
        found = identified(given)
        error = unseen_error(found, case.unseen)
    except Exception as failure:
        failed = with_failure(start, failure)
        if given is not None and failed.refusal and failed.codes:
            failed = replace(failed, error=overridden_error(given, failed.codes, case))
        return [replace(failed, situation=one) for one in situations]
    validations: dict[str, Callable[[], Log]] = {
        "clean validation": case.validation.log,
        "faulty validation": lambda: fault_kinds.faulty(kind, case.validation, seed).log,
    }
    runs = []
    for situation in situations:
        run = replace(start, situation=situation, error=error)
        try:
            judged = found
            if situation in validations:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    judged = with_validation(found, validations[situation]())
            run = replace(run, codes=alarm_codes(judged.findings), verdict=verdict_of(judged))
        except Exception as failure:
            run = with_failure(run, failure)
        runs.append(run)
    return runs


def clean_run(robot: str, seed: int) -> FaultRun:
    """The clean log alone: of one of the three robots, or of a random one (robot "random")."""
    run = FaultRun(robot, seed, CLEAN, 0.0, "alone")
    try:
        if robot == "random":
            clean = random_recording(seed)
            found = identified(Given(clean.robot, clean.log()))
        else:
            _, found, error = prepared_case(robot, seed)
            run = replace(run, error=error, clean_error=error)
    except Exception as failure:
        return with_failure(run, failure)
    return replace(run, codes=alarm_codes(found.findings), verdict=verdict_of(found))


def with_failure(run: FaultRun, failure: Exception) -> FaultRun:
    """The run with the error that ended it: a refusal if Steelyard raised it on purpose."""
    if not isinstance(failure, SteelyardError):
        return replace(run, traceback="".join(traceback.format_exception(failure))[-2000:])
    findings = getattr(failure, "findings", ())
    code = getattr(failure, "code", None)
    codes = alarm_codes(findings) + ((code,) if code else ())
    return replace(run, refusal=str(failure), codes=codes)


def overridden_error(given: Given, codes: tuple[str, ...], case: Case) -> float | None:
    """`unseen_error` of the estimate that a user gets who accepts these findings, if any."""
    if "accept" not in inspect.signature(identify).parameters:
        return None
    try:
        return unseen_error(identified(given, accept=codes), case.unseen)
    except Exception:
        return None


def alarm_codes(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Codes of warnings and severe findings, each once."""
    return tuple(dict.fromkeys(one.code for one in findings if one.level != "info"))


def verdict_of(found: Identification) -> str:
    """The verdict in its few words, "" where an identification has none."""
    verdict = getattr(found, "verdict", "")
    return str(getattr(verdict, "level", verdict))
