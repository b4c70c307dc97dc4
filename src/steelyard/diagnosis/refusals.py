"""Input that is refused for what was found in it, and errors that carry what was found before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from steelyard.diagnosis.hypotheses.search import KINDS
from steelyard.errors import EstimationError, InputRefusedError, SteelyardError, shown
from steelyard.findings import Finding

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
        f"{'; '.join(one.sentence for one in severe)}; the result would be useless: mend the "
        f"input, or go on in spite of it with --accept {codes} (accept={codes.split(',')} in "
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
        alarms = tuple(one for one in findings if one.alarming)
        error.findings = tuple(dict.fromkeys((*error.findings, *alarms)))
        raise
