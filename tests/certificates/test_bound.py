"""Comparisons of what a certificate states with what it should be, rounding from both sides."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from steelyard.certificates.bound import (
    Bound,
    compare_conditions,
    compare_map,
    compare_names,
    several,
)
from steelyard.certificates.document import StatedCondition

OF = "the arm"
INSIDE, OUTSIDE = Fraction(9, 10**13), Fraction(11, 10**13)
"""Relative differences on both sides of what rounding may leave, 1e-12."""


def test_bounds_add_up_by_part():
    """Confirmed, problems and cautions stay apart, in order."""
    one, other = Bound(("a",), ("b",), ("c",)), Bound(("d",), ("e",), ("f",))
    assert one + other == Bound(("a", "d"), ("b", "e"), ("c", "f"))
    assert one + Bound() == one


def test_five_names_are_shown():
    """Of more names, the first five and how many more."""
    assert several(["a"]) == '"a"'
    assert several(list("abcde")) == '"a", "b", "c", "d", "e"'
    assert several(list("abcdef")) == '"a", "b", "c", "d", "e" and 1 more'
    assert several(list("abcdefgh")).endswith("and 3 more")


@pytest.mark.parametrize(
    ("stated", "expected", "words"),
    [
        ("abc", "abc", None),
        ("", "", None),
        ("acb", "abc", "the names are in another order than those of the arm"),
        ("abd", "abc", 'the names are not those of the arm: it has "d" and it lacks "c"'),
        ("abcd", "abc", 'the names are not those of the arm: it has "d"'),
        ("ab", "abc", 'the names are not those of the arm: it lacks "c"'),
        ("abb", "ab", "the names are not those of the arm: it has 3, not 2"),
    ],
)
def test_names(stated, expected, words):
    """What is missing, what is too much, and another order."""
    found = compare_names(tuple(stated), list(expected), "names", OF)
    assert found == (Bound() if words is None else Bound(problems=(words,)))


def entries(values: dict[tuple[int, int], Fraction]) -> list[tuple[int, int, Fraction]]:
    """K as a certificate states it."""
    return [(row, column, value) for (row, column), value in values.items()]


def test_maps():
    """The same entries agree, whatever their order; zeros are as good as absent."""
    K = {(0, 0): Fraction(1), (0, 2): Fraction(-3), (1, 1): Fraction(1, 7)}
    same = Bound(confirmed=("K is that of the arm, every entry",))
    assert compare_map(entries(K), K, OF) == same
    assert compare_map(entries(K)[::-1], K, OF) == same
    assert compare_map([*entries(K), (1, 2, Fraction(0))], K, OF) == same
    assert compare_map([], {}, OF) == same
    # an entry too few, too many, or of another sign: how many, and where the first one is
    for place, value, count in (
        ((0, 2), Fraction(0), 1),
        ((1, 0), Fraction(1), 1),
        ((0, 2), Fraction(3), 1),
    ):
        (words,) = compare_map(entries({**K, place: value}), K, OF).problems
        where = f"the first in row {place[0] + 1}, column {place[1] + 1}"
        assert words == f"K is not that of the arm: {count} entries differ, {where}"
    assert compare_map([(0, 0, Fraction(1, 10**13))], {}, OF).problems != ()
    (words,) = compare_map(entries({(1, 1): Fraction(1)}), K, OF).problems
    assert "3 entries differ, the first in row 1, column 1" in words


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("place", [(0, 0), (0, 2), (1, 1), (1, 2)])
def test_rounding_of_a_map_is_relative_to_its_largest_entry(place, sign):
    """A difference of 0.9e-12 of the largest entry is a caution with its size, of 1.1e-12 a
    problem; also where the entry is small or should be zero.
    """
    K = {(0, 0): Fraction(1), (0, 2): Fraction(-300), (1, 1): Fraction(1, 7)}
    for share in (INSIDE, OUTSIDE):
        other = {**K, place: K.get(place, Fraction(0)) + sign * share * 300}
        found = compare_map(entries(other), K, OF)
        assert found.confirmed == ()
        if share == INSIDE:
            assert found.problems == ()
            assert "by up to 3e-10, as rounding on another" in found.cautions[0]
        else:
            assert "1 entries differ" in found.problems[0]
            assert found.cautions == ()


def test_the_largest_of_several_differences_is_stated():
    """Not the last one."""
    K = {(0, k): Fraction(1) for k in range(3)}
    steps = (Fraction(2, 10**13), Fraction(8, 10**13), Fraction(1, 10**13))
    other = {(0, k): 1 + step for k, step in enumerate(steps)}
    assert "by up to 8e-13" in compare_map(entries(other), K, OF).cautions[0]


# --- conditions -------------------------------------------------------------------------------

A = StatedCondition("a", "nonnegative", (0, 1), ([Fraction(2), Fraction(-3)],), [Fraction(5)])
B = StatedCondition("b", "zero", (2,), ([Fraction(1)], [Fraction(4)]), [Fraction(0), Fraction(7)])
C = StatedCondition("c", "second_order", (1,), ([Fraction(1)],), [Fraction(0)])


def all_of(n: int) -> Bound:
    """What is said where nothing is wrong."""
    return Bound(confirmed=(f"the {n} conditions are all those of the arm, and no others",))


def test_the_same_conditions_in_any_order():
    """Order does not matter, how often each occurs does."""
    assert compare_conditions([A, B, C], [C, A, B], OF) == all_of(3)
    assert compare_conditions([A, A, B], [A, B, A], OF) == all_of(3)
    assert compare_conditions([], [], OF) == all_of(0)


@pytest.mark.parametrize(
    ("stated", "expected", "missing", "extra"),
    [
        ([A], [A, B], '"b"', None),
        ([A, B], [A], None, '"b"'),
        ([A, C], [A, B], '"b"', '"c"'),
        ([A, A], [A], None, '"a"'),
        ([A, A, A], [A], None, '"a", "a"'),
        ([A], [A, A], '"a"', None),
        ([A, A, B], [A, B, B], '"b"', '"a"'),
        ([], [A, B, C], '"a", "b", "c"', None),
    ],
)
def test_conditions_that_are_missing_or_too_many(stated, expected, missing, extra):
    """Each is named once, and nothing is confirmed."""
    found = compare_conditions(stated, expected, OF)
    words = []
    if missing:
        words.append(f"conditions of the arm are not there, or are others: {missing}")
    if extra:
        words.append(f"conditions are not those of the arm: {extra}")
    assert found == Bound(problems=tuple(words))


def nudged(one: StatedCondition, share: Fraction) -> list[StatedCondition]:
    """The condition with each of its numbers changed by this share, one after the other."""
    found = []
    for i, row in enumerate(one.A):
        for j in range(len(row)):
            rows = [list(own) for own in one.A]
            rows[i][j] *= 1 + share
            found.append(replace(one, A=tuple(rows)))
    for i in range(len(one.b)):
        b = list(one.b)
        b[i] *= 1 + share
        found.append(replace(one, b=b))
    return [other for other in found if other != one]


@pytest.mark.parametrize("one", [A, B], ids=["a", "b"])
@pytest.mark.parametrize("sign", [1, -1])
def test_rounding_of_a_coefficient_is_a_caution_and_more_a_problem(one, sign):
    """Every coefficient and constant, by 0.9e-12 and by 1.1e-12 of itself."""
    for near, far in zip(nudged(one, sign * INSIDE), nudged(one, sign * OUTSIDE), strict=True):
        found = compare_conditions([C, near], [one, C], OF)
        assert found.problems == ()
        assert found.confirmed == all_of(2).confirmed
        assert found.cautions[0].startswith("1 conditions differ from those of the arm as rounding")
        name = f'"{one.name}"'
        assert compare_conditions([C, far], [one, C], OF).problems == (
            f"conditions of the arm are not there, or are others: {name}",
            f"conditions are not those of the arm: {name}",
        )


@pytest.mark.parametrize(
    "other",
    [
        replace(A, kind="zero"),
        replace(A, columns=(0, 2)),
        replace(A, columns=(1, 0)),
        replace(A, A=([Fraction(-2), Fraction(3)],)),
        replace(A, b=[-Fraction(5)]),
        replace(A, b=[Fraction(0)]),
        replace(A, A=(*A.A, *A.A), b=[*A.b, *A.b]),
    ],
)
def test_what_differs_in_more_than_rounding_is_another_condition(other):
    """Another cone, other columns, other signs, another number of rows."""
    assert len(compare_conditions([other], [A], OF).problems) == 2
    assert len(compare_conditions([A], [other], OF).problems) == 2


def test_one_rounded_condition_does_not_hide_another():
    """Beside a rounded one, what is missing and what is too much are still named."""
    (near, *_) = nudged(A, INSIDE)
    found = compare_conditions([near, C], [A, B], OF)
    assert found.problems == (
        'conditions of the arm are not there, or are others: "b"',
        'conditions are not those of the arm: "c"',
    )
    both = compare_conditions([near, *nudged(B, INSIDE)[:1]], [A, B], OF)
    assert both.cautions[0].startswith("2 conditions differ")


def test_other_names_are_a_caution():
    """Names do not matter for the proof, but a reader should know."""
    found = compare_conditions([replace(A, name="x"), B], [A, B], OF)
    words = "conditions have other names than this version gives to those of the arm"
    assert found == Bound(all_of(2).confirmed, (), (words,))
