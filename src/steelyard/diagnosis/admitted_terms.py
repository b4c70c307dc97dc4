"""What was added to a model because a log asked for it, and what may be added."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.diagnosis.signal_ways import SignalChoice
from steelyard.errors import ModelError, did_you_mean, listed, shown
from steelyard.findings import Finding
from steelyard.model.model import Model
from steelyard.model.term_kinds import TERM_CLASSES, TermClass

CODES: dict[TermClass, str] = {
    "travel": "friction-travel",
    "load": "load-friction",
    "stribeck": "stribeck",
    "rising": "rising-friction",
    "asymmetric": "asymmetric-friction",
    "spring": "spring",
    "counterbalance": "spring",
}
"""Codes of the findings."""
WORDS: dict[TermClass, str] = {
    "travel": "Coulomb friction that builds up over a travel",
    "load": "friction in proportion to the load",
    "stribeck": "Stribeck friction",
    "rising": "friction that rises with speed to a constant",
    "asymmetric": "viscous friction that differs between the directions",
    "spring": "a spring",
    "counterbalance": "a counterbalance",
}
AdmitOption = Literal["auto", "none"] | Collection[str]


@dataclass(frozen=True)
class AdmittedTerm:
    """Terms that were admitted together.

    joints : torque rows on which they act. before, after : relative error there on left-out parts,
    without and with them.
    """

    what: TermClass
    owner: str
    names: tuple[str, ...]
    joints: tuple[str, ...]
    before: float
    after: float
    travel: float = 0.0
    speed: float = 0.0

    @property
    def finding(self) -> Finding:
        """What was admitted, in words."""
        words = (
            f"{WORDS[self.what]} of '{self.owner}' was added to the model: left-out parts of the "
            f"log are predicted with an error of {100 * self.after:.3g} % instead of "
            f"{100 * self.before:.3g} % at {listed(self.joints)}"
            "; --admit none leaves it out"
        )
        return Finding("info", CODES[self.what], words, joints=self.joints)

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        shape = {"travel": self.travel, "speed": self.speed}
        return {
            "class": self.what,
            "owner": self.owner,
            "terms": list(self.names),
            "joints": list(self.joints),
            "left_out_error_before": self.before,
            "left_out_error_after": self.after,
            **{name: value for name, value in shape.items() if value},
        }


@dataclass(frozen=True, eq=False)
class Admission:
    """The model with the terms that one log asks for.

    admitted : in the order in which they were added. reason : why none could be tried.
    signals : the processing and the widths of friction to go on with, chosen again beside laws
        that widths had stood for; None if nothing was tried.
    """

    model: Model
    admitted: tuple[AdmittedTerm, ...] = ()
    reason: str = ""
    signals: SignalChoice | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was admitted, in words."""
        return tuple(one.finding for one in self.admitted)

    @property
    def words(self) -> str | None:
        """What was admitted, and what it gains, in a few words; None if nothing was."""
        by_class: dict[TermClass, list[AdmittedTerm]] = {}
        for one in self.admitted:
            by_class.setdefault(one.what, []).append(one)
        parts = []
        for what, own in by_class.items():
            gains = (
                f"{one.owner} {100 * one.before:.2g} to {100 * one.after:.2g} %" for one in own
            )
            parts.append(f"{WORDS[what]} ({'; '.join(gains)})")
        if not parts:
            return None
        return f"{', '.join(parts)}: errors on left-out parts of the log"

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold, as in ``record.admission`` of a result file."""
        return {"admitted": [one.as_json() for one in self.admitted], "reason": self.reason}


def classes_to_admit(admit: AdmitOption) -> tuple[TermClass, ...]:
    """The classes of terms that may enter the model; refuses unknown ones."""
    if admit == "auto":
        return TERM_CLASSES
    if admit == "none":
        return ()
    names = {admit} if isinstance(admit, str) else set(admit)
    unknown = sorted(names - set(TERM_CLASSES))
    if unknown:
        raise ModelError(
            f"admit names {shown(unknown[0])}{did_you_mean(unknown[0], TERM_CLASSES)}; it can be "
            f"auto, none, or some of {listed(TERM_CLASSES)}"
        )
    return tuple(name for name in TERM_CLASSES if name in names)
