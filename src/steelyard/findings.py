"""Findings: warnings and notes about a result or its input, as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

Level = Literal["info", "warning", "severe"]
LEVELS: tuple[Level, ...] = get_args(Level)
COUNTS = ("samples", "rows")
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
        }
        known = {name: value for name, value in facts.items() if value not in (None, "", [])}
        return {"level": self.level, "code": self.code, "words": self.words, **known}


def not_yet_told(new: Iterable[Finding], told: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings about a log whose code and joints none of those has that were told before.

    That no torque changes is severe for the inspection, and for the preparation a warning.
    """
    known = {(one.code, one.joints) for one in told if one.joints}
    return tuple(one for one in new if (one.code, one.joints) not in known)


def said_once(parts: Sequence[Iterable[Finding]]) -> tuple[Finding, ...]:
    """The findings about parts of one log, each code of the same joints once, in the first's words.

    A severe one that is of less than half of the parts is a warning: the rest can be used.
    """
    found: dict[tuple[str, tuple[str, ...]], list[Finding]] = {}
    for part in parts:
        of_part = {(one.code, one.joints): one for one in reversed([*part])}
        for key, one in of_part.items():
            found.setdefault(key, []).append(one)
    return tuple(_over_parts(several, len(parts)) for several in found.values())


def _over_parts(several: Sequence[Finding], n_parts: int) -> Finding:
    """One finding for several parts of a log."""
    first, n = several[0], len(several)
    words = first.words
    if n_parts > 1 and n > 1:
        words += f". So it is in {n} of {n_parts} parts of the log"
    spans = [one.span_s for one in several if one.span_s is not None]
    sizes = [one.size for one in several if one.size is not None]
    size = None
    if sizes:
        size = sum(sizes) if first.unit in COUNTS else max(sizes, key=abs)
    rare = first.level == "severe" and 2 * n < n_parts
    return replace(
        first,
        level="warning" if rare else first.level,
        words=words,
        span_s=(min(a for a, _ in spans), max(b for _, b in spans)) if spans else None,
        size=size,
    )
