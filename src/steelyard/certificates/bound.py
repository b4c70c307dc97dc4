"""Whether what a certificate states is what it should be: comparisons of exact numbers.

A proof is about the numbers in its file. Whether these are the numbers of a result and of a robot
is found by computing them again: `steelyard.certificates.result_binding` from a result,
`steelyard.certificates.robot_binding` from a robot file. Standard library only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from steelyard.certificates.document import StatedCondition
from steelyard.conic.exact_text import quoted

ROUNDING = Fraction(1, 10**12)
"""Relative difference of recomputed coefficients that another processor's rounding may leave."""
LISTED = 5
"""Names in one message."""

Place = tuple[int, int]


@dataclass(frozen=True)
class Bound:
    """What a comparison with a result or a robot found.

    confirmed : what agrees, in words. problems : what does not. cautions : what a reader should
        know although nothing is wrong.
    """

    confirmed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def __add__(self, other: Bound) -> Bound:
        return Bound(
            self.confirmed + other.confirmed,
            self.problems + other.problems,
            self.cautions + other.cautions,
        )


def several(names: Sequence[str]) -> str:
    """Names in quotes, the first few of them."""
    shown = ", ".join(quoted(name) for name in names[:LISTED])
    return shown if len(names) <= LISTED else f"{shown} and {len(names) - LISTED} more"


def compare_names(stated: Sequence[str], expected: Sequence[str], what: str, of: str) -> Bound:
    """Whether names are the same, in the same order."""
    if list(stated) == list(expected):
        return Bound()
    if sorted(stated) == sorted(expected):
        return Bound(problems=(f"the {what} are in another order than those of {of}",))
    other = [name for name in stated if name not in set(expected)]
    missing = [name for name in expected if name not in set(stated)]
    said = [f"it has {several(other)}"] if other else []
    said += [f"it lacks {several(missing)}"] if missing else []
    said = said or [f"it has {len(stated)}, not {len(expected)}"]
    return Bound(problems=(f"the {what} are not those of {of}: {' and '.join(said)}",))


def compare_map(
    stated: Sequence[tuple[int, int, Fraction]], expected: Mapping[Place, Fraction], of: str
) -> Bound:
    """Whether K is the expected one, entry by entry; zeros count."""
    found = {(row, column): value for row, column, value in stated if value != 0}
    wrong, off = [], Fraction(0)
    size = max((abs(x) for x in expected.values()), default=Fraction(0))
    for place in sorted(found.keys() | expected.keys()):
        one, other = found.get(place, Fraction(0)), expected.get(place, Fraction(0))
        if one == other:
            continue
        off = max(off, abs(one - other))
        if abs(one - other) > ROUNDING * max(abs(one), abs(other), size):
            wrong.append(place)
    if wrong:
        row, column = wrong[0]
        words = (
            f"K is not that of {of}: {len(wrong)} entries differ, the first in row {row + 1}, "
            f"column {column + 1}"
        )
        return Bound(problems=(words,))
    if off:
        words = (
            f"K differs from that of {of} by up to {float(off):.1g}, as rounding on another "
            "processor may leave it; the proof is about the K in the file"
        )
        return Bound(cautions=(words,))
    return Bound(confirmed=(f"K is that of {of}, every entry",))


def compare_conditions(
    stated: Sequence[StatedCondition], expected: Sequence[StatedCondition], of: str
) -> Bound:
    """Whether the conditions are the expected ones: none left out, weakened or added."""
    there = Counter(_content(one) for one in stated)
    wanted = Counter(_content(one) for one in expected)
    missing = _beyond(expected, wanted - there)
    extra = _beyond(stated, there - wanted)
    rounded = [one for one in missing if any(_is_near(one, other) for other in extra)]
    extra = [one for one in extra if not any(_is_near(one, other) for other in rounded)]
    missing = [one for one in missing if one not in rounded]
    problems = []
    if missing:
        names = several([one.name for one in missing])
        problems.append(f"conditions of {of} are not there, or are others: {names}")
    if extra:
        names = several([one.name for one in extra])
        problems.append(f"conditions are not those of {of}: {names}")
    if problems:
        return Bound(problems=tuple(problems))
    cautions = []
    if rounded:
        cautions.append(
            f"{len(rounded)} conditions differ from those of {of} as rounding on another "
            "processor may leave them; the proof is about those in the file"
        )
    if Counter(one.name for one in stated) != Counter(one.name for one in expected):
        cautions.append(f"conditions have other names than this version gives to those of {of}")
    confirmed = f"the {len(stated)} conditions are all those of {of}, and no others"
    return Bound((confirmed,), (), tuple(cautions))


def _content(one: StatedCondition) -> Hashable:
    """Everything of a condition but its name."""
    return (one.kind, one.columns, tuple(tuple(row) for row in one.A), tuple(one.b))


def _beyond(
    conditions: Sequence[StatedCondition], surplus: Counter[Hashable]
) -> list[StatedCondition]:
    """The conditions of which there are more than there should be."""
    left = Counter(surplus)
    found = []
    for one in conditions:
        if left[_content(one)] > 0:
            left[_content(one)] -= 1
            found.append(one)
    return found


def _is_near(one: StatedCondition, other: StatedCondition) -> bool:
    """Whether two conditions differ by rounding only."""
    if (one.kind, one.columns, len(one.b)) != (other.kind, other.columns, len(other.b)):
        return False
    pairs = [
        *zip(one.b, other.b, strict=True),
        *(pair for rows in zip(one.A, other.A, strict=True) for pair in zip(*rows, strict=True)),
    ]
    return all(abs(x - y) <= ROUNDING * max(abs(x), abs(y)) for x, y in pairs)
