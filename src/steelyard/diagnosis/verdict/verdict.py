"""The verdict on a result: usable, usable with care, or do not use, with its reasons as data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from steelyard._files.json_data import finite
from steelyard.findings import Finding

VerdictLevel = Literal["usable", "usable with care", "do not use"]
VERDICT_LEVELS: tuple[VerdictLevel, ...] = get_args(VerdictLevel)
USABLE, WITH_CARE, DO_NOT_USE = VERDICT_LEVELS

SEEN = 1e-3
"""A noise below this share of the torque shows that the torque was smoothed before it was
recorded."""
MOST_REASONS, MOST_ZEROS = 3, 2
"""Reasons and zeros that the sentences tell; all are in ``reasons`` and ``zeros``."""


@dataclass(frozen=True)
class JointNumbers:
    """One torque channel: unexplained share of its torque, and its noise as such a share.

    NaN where they are not known.
    """

    name: str
    error: float
    noise: float


@dataclass(frozen=True)
class Numbers:
    """What a verdict rests on; all errors are shares of the torque, NaN where not known.

    data : what they are about, in words. tested : whether that is data that was left out of the
        fit: other logs, or parts of the training logs.
    error : of the estimate. noise : of the torques themselves. file : of the robot file's
        inertials. file_with_terms : of these with friction, drive inertia and offsets fitted to
        the training logs. friction_alone : of friction and offsets without any link.
    elsewhere : to be expected on motions through all positions, from what the logs determine and
        the error itself; see `steelyard.diagnosis.verdict.elsewhere`.
    joints : the channels one by one.
    quantity : what is fitted, whose shares the errors are: torque, energy or power.
    """

    data: str
    tested: bool
    error: float
    noise: float = math.nan
    file: float = math.nan
    file_with_terms: float = math.nan
    friction_alone: float = math.nan
    elsewhere: float = math.nan
    joints: tuple[JointNumbers, ...] = ()
    quantity: str = "torque"

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold; None where a number is not known."""
        known: dict[str, Any] = finite(asdict(self))
        del known["quantity"]
        return known


@dataclass(frozen=True)
class Reason:
    """Why a result is not simply usable.

    level : the best verdict that it allows. code : short and stable, for programs. words : part of
    the sentence. value, limit : the number that it rests on, and what that was compared with.
    """

    level: VerdictLevel
    code: str
    words: str
    value: float | None = None
    limit: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        stated = {name: one for name, one in asdict(self).items() if one is not None}
        return dict(finite(stated))


@dataclass(frozen=True)
class AssumedZero:
    """The zero of a last joint, which no log of an estimate shows.

    error : of the joint's torque, as a share of it. error_if_wrong : the same once a zero is mended
    that was off by ``degrees``.
    """

    joint: str
    degrees: float
    error: float
    error_if_wrong: float


@dataclass(frozen=True)
class Verdict:
    """Whether a result can be used.

    level : "usable", "usable with care" or "do not use". reasons : why not "usable", the gravest
    first. numbers : what it rests on; None where a saved result does not have them.
    zeros : last joints whose zeros are taken for granted, where they are known.
    """

    level: VerdictLevel
    reasons: tuple[Reason, ...] = ()
    numbers: Numbers | None = None
    zeros: tuple[AssumedZero, ...] = ()

    def __str__(self) -> str:
        return self.sentence

    @property
    def usable(self) -> bool:
        """Whether the result can be used, if only with care."""
        return self.level != DO_NOT_USE

    @property
    def sentence(self) -> str:
        """The verdict in one sentence, without its full stop."""
        told = [one.words for one in self.reasons[:MOST_REASONS]]
        if len(self.reasons) > MOST_REASONS:
            told.append(f"and {len(self.reasons) - MOST_REASONS} more")
        if not told and self.numbers is not None:
            told = [numbers_words(self.numbers)]
        return f"{self.level}: {'; '.join(told)}" if told else self.level

    @property
    def assumed(self) -> str:
        """What no log can tell, and is taken for granted, without a full stop."""
        return (
            "that torques have the right scale, that the robot carried nothing that its file "
            f"lacks, and that {zeros_words(self.zeros)}: no log alone can tell these from links "
            "that are heavier, lighter or turned"
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            "level": self.level,
            "sentence": self.sentence,
            "reasons": [one.as_json() for one in self.reasons],
            "numbers": None if self.numbers is None else self.numbers.as_json(),
            "assumed": self.assumed,
            "assumed_zeros": finite([asdict(one) for one in self.zeros]),
        }


def verdict_of(
    numbers: Numbers | None, reasons: Iterable[Reason], zeros: tuple[AssumedZero, ...] = ()
) -> Verdict:
    """The verdict that these reasons leave, each told once, the gravest first."""
    known = sorted(dict.fromkeys(reasons), key=lambda one: -VERDICT_LEVELS.index(one.level))
    return Verdict(known[0].level if known else USABLE, tuple(known), numbers, zeros)


def numbers_words(numbers: Numbers) -> str:
    """The errors in words."""
    others = {
        "noise": numbers.noise if numbers.noise >= SEEN else math.nan,
        "the file's links with friction fitted": numbers.file_with_terms,
        "the file's inertials alone": numbers.file,
    }
    told = "; ".join(f"{name} {share(one)}" for name, one in others.items() if one == one)
    return f"{share(numbers.error)} of the {numbers.quantity} is unexplained on {numbers.data}" + (
        f" ({told})" if told else ""
    )


def zeros_words(zeros: tuple[AssumedZero, ...]) -> str:
    """Which zeros are taken for granted, and what they would cost, the dearest first."""
    if not zeros:
        return "the zero of the last joint is right"
    words = [
        f"the zero of '{one.joint}' is right (were it {one.degrees:g} degrees off, the error of "
        f"its torque at the right zero would be {share(one.error_if_wrong)} instead of "
        f"{share(one.error)})"
        for one in sorted(zeros, key=lambda one: -one.error_if_wrong)[:MOST_ZEROS]
    ]
    if len(zeros) > MOST_ZEROS:
        words.append(f"those of {len(zeros) - MOST_ZEROS} more last joints are right")
    return ", and that ".join(words)


def share(value: float) -> str:
    """A share as percent, with three digits."""
    return f"{100.0 * value:.3g} %"


def about(findings: Iterable[Finding]) -> str:
    """Codes of findings, each once, for a sentence."""
    return ", ".join(dict.fromkeys(one.code for one in findings))
