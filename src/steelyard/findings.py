"""Findings: warnings and notes about a result or its input, as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

Level = Literal["info", "warning", "severe"]
LEVELS: tuple[Level, ...] = get_args(Level)
COUNTS = ("samples", "rows", "jumps", "places")
"""Units of sizes that are counted."""


@dataclass(frozen=True)
class Finding:
    """A warning or note about a result or its input.

    level : "severe" for what makes a result useless.
    code : short and stable, for programs.
    words : the message: what, where, by how much, what to do.
    joints : that it is about, where it is about single ones.
    span_s : first and last time (s) of what was found, on the clock of the log.
    size, unit : how large it is, such as 3 "samples" or 0.008 "s".
    could_be : other explanations, in words.
    option : what mends it, as a user types it, such as "--lock elbow=0.3".
    corrected : whether it was mended before the fit.
    rivals : codes of other findings that explain the same about as well.
    """

    level: Level
    code: str
    words: str
    joints: tuple[str, ...] = ()
    span_s: tuple[float, float] | None = None
    size: float | None = None
    unit: str = ""
    could_be: tuple[str, ...] = ()
    option: str = ""
    corrected: bool = False
    rivals: tuple[str, ...] = ()

    @property
    def alarming(self) -> bool:
        """Whether it is more than a note."""
        return self.level != "info"

    @property
    def sentence(self) -> str:
        """The message with the other explanations and the option."""
        other = f"; it could also be: {', or '.join(self.could_be)}" if self.could_be else ""
        return f"{self.words}{other}{f' ({self.option})' if self.option else ''}"

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold: level, code, words, and the facts that there are."""
        facts: dict[str, Any] = {
            "joints": list(self.joints),
            "span_s": None if self.span_s is None else [float(one) for one in self.span_s],
            "size": None if self.size is None else float(self.size),
            "unit": self.unit,
            "could_be": list(self.could_be),
            "option": self.option,
            "corrected": self.corrected or None,
            "rivals": list(self.rivals),
        }
        known = {name: value for name, value in facts.items() if value not in (None, "", [])}
        return {"level": self.level, "code": self.code, "words": self.words, **known}


def not_yet_told(new: Iterable[Finding], told: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings about a log whose code and joints none of those has that were told before.

    That no torque changes is severe for the inspection, and for the preparation a warning.
    """
    known = {(one.code, one.joints) for one in told if one.joints}
    return tuple(one for one in new if (one.code, one.joints) not in known)


Span = tuple[float, float]
"""First and last time (s), on the clock of the log."""


def said_once(parts: Sequence[tuple[Span, Iterable[Finding]]]) -> tuple[Finding, ...]:
    """The findings about parts of one log, each code of the same joints once, in the first's words.

    A severe one that is of less than half of the parts is a warning: the rest can be used.
    """
    found: dict[tuple[str, tuple[str, ...]], list[tuple[Span, Finding]]] = {}
    for span, of_part in parts:
        first_of_each = {(one.code, one.joints): one for one in reversed([*of_part])}
        for key, one in first_of_each.items():
            found.setdefault(key, []).append((span, one))
    return tuple(_over_parts(several, len(parts)) for several in found.values())


def _over_parts(several: Sequence[tuple[Span, Finding]], n_parts: int) -> Finding:
    """One finding for several parts of a log."""
    span, first = several[0]
    n, words = len(several), first.words
    if n < n_parts and first.span_s is None:
        words = f"from {span[0]:.6g} to {span[1]:.6g} s, {words}"
    if 1 < n < n_parts:
        words = f"in {n} of {n_parts} parts of the log; the first: {words}"
    spans = [one.span_s or span for span, one in several]
    sizes = [one.size for _, one in several if one.size is not None]
    size = None
    if sizes:
        size = sum(sizes) if first.unit in COUNTS else max(sizes, key=abs)
    rare = first.level == "severe" and 2 * n < n_parts
    return replace(
        first,
        level="warning" if rare else first.level,
        words=words,
        span_s=(min(a for a, _ in spans), max(b for _, b in spans)),
        size=size,
    )
