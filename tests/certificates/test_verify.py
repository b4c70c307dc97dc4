"""Verdicts on certificates of a few numbers, whose claims are known in closed form."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from exact_second import proves, resealed
from small_certificates import KINDS, condition, small

from steelyard.certificates.document import parse
from steelyard.certificates.verify import (
    Verification,
    Work,
    about,
    empty_claims,
    proven_gap,
    unchecked,
    verify,
)
from steelyard.conic.exact_text import CertificateError


def judged(kind: str, changes: dict[str, Any], *conditions: dict[str, Any]) -> Verification:
    """The verdict on a small certificate with other numbers, and with more conditions."""
    document = small(kind)
    document["numbers"] |= changes
    document["constraints"] += conditions
    document = resealed(document)
    verdict = verify(document)
    if kind != "drawn":
        empty = empty_claims(parse(document))
        assert verdict.valid == (proves(document) and not empty)
    return verdict


OPTIMAL = "the duals do not balance at 'a'"
CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("feasible", {"theta": ["1e-99", "-5"]}, []),
    ("feasible", {"theta": ["-1e-99", "2"]}, ['the condition "a is not negative" does not hold']),
    ("feasible", {"K": [[0, 0, "2"]], "beta": ["2"]}, []),
    ("feasible", {"K": [[0, 0, "2"]], "beta": ["3"]}, ["base parameter 1 is not K theta"]),
    (
        "feasible",
        {"K": [[0, 0, "2"], [0, 1, "-1"], [1, 1, "1/2"]], "beta": ["0", "1"]},
        [],
    ),
    (
        "feasible",
        {"K": [[0, 0, "2"], [0, 1, "1"], [1, 1, "1/2"]], "beta": ["0", "1"]},
        ["base parameter 1 is not K theta"],
    ),
    ("infeasible", {"beta": ["-1/9"], "value": "-1/9"}, []),
    ("infeasible", {"y": ["3"], "duals": [["3"]], "value": "-3"}, []),
    ("infeasible", {"value": "-2"}, ["the stated value is not the value of the duals"]),
    ("infeasible", {"y": ["2"], "value": "-2"}, ["the duals do not balance at 'a'"]),
    (
        "infeasible",
        {"beta": ["0"], "value": "0"},
        ["the duals are no proof: their value is 0, not negative"],
    ),
    (
        "infeasible",
        {"beta": ["1"], "y": ["-1"], "duals": [["-1"]]},
        ['the dual of the condition "a is not negative" is outside its cone'],
    ),
    ("optimal", {"value": "1", "gap": "1/2"}, []),
    ("optimal", {"lower_bound": "0", "gap": "1/2"}, []),
    ("optimal", {"rest": "4", "value": "5/2", "lower_bound": "5/2"}, []),
    (
        "optimal",
        {"value": "0.4", "gap": "0"},
        ["the value of the parameters is 0.5, above the stated one"],
    ),
    (
        "optimal",
        {"lower_bound": "0.6", "gap": "0"},
        ["the duals prove a bound of 0.5, below the stated one"],
    ),
    ("optimal", {"gap": "-0.1"}, ["the stated gap is smaller than value - lower bound"]),
    (
        "optimal",
        {"rest": "2", "value": "3/2", "lower_bound": "1.6", "gap": "0"},
        ["the duals prove a bound of 1.5, below the stated one"],
    ),
    # a = 2 is feasible, and 4 above the optimum: ½ (-1 - 2)² = 4.5
    ("optimal", {"theta": ["2", "0"], "value": "4.5", "gap": "4"}, []),
    (
        "optimal",
        {"theta": ["2", "0"], "value": "4.4", "gap": "4"},
        ["the value of the parameters is 4.5, above the stated one"],
    ),
    # another u proves less: u z - ½ u² = ½ - ⅛
    ("optimal", {"u": ["-1/2"], "duals": [["1/2"]], "lower_bound": "0.375", "gap": "0.125"}, []),
    (
        "optimal",
        {"u": ["-1/2"], "duals": [["1/2"]], "lower_bound": "0.376", "gap": "0.125"},
        ["the duals prove a bound of 0.375, below the stated one"],
    ),
    ("optimal", {"u": ["-1/2"], "lower_bound": "0", "gap": "1/2"}, [OPTIMAL]),
    # R = 2: r = -1 and the gradient -2 u = 2
    ("optimal", {"R": [["2"]], "duals": [["2"]]}, []),
    ("optimal", {"R": [["2"]]}, [OPTIMAL]),
]


@pytest.mark.parametrize(("kind", "changes", "problems"), CASES)
def test_claims_with_known_answers(kind, changes, problems):
    """Problems are those known, and the second implementation agrees."""
    verdict = judged(kind, changes)
    assert verdict.details["problems"] == problems
    assert verdict.valid == (not problems)
    if problems:
        assert verdict.words == f"invalid: {problems[0]}"


def test_a_constant_of_a_condition_pays():
    """With a >= -b the optimum of ½ (-1 - a)² is ½ (1 - b)²; the dual times b is subtracted."""
    document = small("optimal")
    document["constraints"][0]["b"] = ["1/4"]
    document["numbers"] |= {"u": ["-3/4"], "duals": [["3/4"]], "theta": ["-1/4", "0"]}
    document["numbers"] |= {"value": "9/32", "lower_bound": "9/32"}
    assert verify(resealed(document)).valid
    document["numbers"]["lower_bound"] = "10/32"
    assert "prove a bound of 0.28125, below" in verify(resealed(document)).words
    infeasible = small("infeasible")
    infeasible["constraints"][0]["b"] = ["1/4"]
    infeasible["numbers"]["value"] = "-3/4"
    assert verify(resealed(infeasible)).valid


def test_two_base_parameters_and_a_matrix():
    """R above its diagonal, a K that mixes columns, and entries off the diagonal count twice: of
    [[a, b], [b, c]] the dual [[1, 1], [1, 1]] proves a + 2 b + c >= 0.
    """
    matrix = condition("M", "psd", (0, 1, 2), (("1", "0", "0"), ("0", "1", "0"), ("0", "0", "1")))
    matrix["b"] = ["0", "0", "0"]
    document = small("infeasible")
    document["parameters"] = ["a", "b", "c"]
    document["base_parameters"] = ["a", "b"]
    document["constraints"] = [matrix]
    document["numbers"] = {
        "K": [[0, 0, "1"], [0, 2, "1"], [1, 1, "2"]], "beta": ["3", "-4"], "y": ["1", "1"],
        "duals": [["1", "1", "1"]], "value": "-1",
    }  # fmt: skip
    assert verify(resealed(document)).valid
    assert proves(resealed(document))
    document["numbers"]["duals"] = [["1", "2", "1"]]
    said = verify(resealed(document)).details["problems"]
    assert said == [
        'the dual of the condition "M" is outside its cone',
        "the duals do not balance at 'b'",
    ]
    optimal = small("optimal")
    optimal["base_parameters"] = ["a", "b"]
    optimal["numbers"] |= {
        "K": [[0, 0, "1"], [1, 1, "1"]], "R": [["1", "2"], ["3"]], "z": ["-1", "5"],
        "theta": ["0", "1"], "u": ["-3", "2"], "duals": [["3"]],
        "value": "6.5", "lower_bound": "6.5",
    }  # fmt: skip
    # at b: 2 u_1 + 3 u_2 = 0; r = (-1 - 2, 5 - 3) = u, and u·z - ½|u|² = 13 - 6.5
    assert verify(resealed(optimal)).valid, verify(resealed(optimal)).words
    assert proves(resealed(optimal))


# --- drawn to a prior ---------------------------------------------------------------------------

HEAVY = ["2", "0", "0", "0", "2", "0", "2", "0", "0", "2"]
DRAWN: list[tuple[dict[str, Any], str]] = [
    ({}, "0"),
    # twice the mass: ½ 1² of the fit, and 3 (tr J + tr J⁻¹ - 8) = 3 (5 + 3.5 - 8)
    ({"theta": HEAVY}, "2"),
    # M = 1 - u / 3 at the mass: ½ u² + 3 (5/6 + 6/5 - 2)
    ({"u": ["1/2"]}, "0.225"),
    # the same M by a dual, which costs dual times mass
    ({"duals": [["1/2"]]}, "0.6"),
    ({"z": ["3"]}, "2"),
    ({"z": ["3"], "R": [["2"]]}, "1/2"),
]


@pytest.mark.parametrize(("changes", "gap"), DRAWN)
def test_gaps_of_fit_and_prior(changes, gap):
    """The gap that is known may be stated, and no smaller one."""
    assert judged("drawn", {**changes, "gap": gap}).valid
    document = small("drawn")
    document["numbers"] |= changes
    assert proven_gap(parse(document)) == Fraction(gap)
    less = judged("drawn", {**changes, "gap": str(Fraction(gap) - Fraction(1, 100))})
    (problem,) = less.details["problems"]
    assert problem == f"the duals prove a gap of {float(Fraction(gap)):g}, above the stated one"


def test_terms_that_are_drawn_to_zero():
    """½ q x² of a term outside all bodies: (e - q x)² / 2 q; without q it must not pull at all."""
    document = small("drawn")
    document["parameters"].append("joint.fv")
    document["numbers"]["theta"].append("2")
    document["numbers"]["pulls"].append("3")
    document["numbers"]["gap"] = "6"
    assert verify(resealed(document)).valid
    assert proven_gap(parse(document)) == 6
    document["numbers"]["pulls"][-1] = "0"
    assert proven_gap(parse(document)) == 0
    document["numbers"]["pulls"][-1] = "-1"
    assert proven_gap(parse(document)) is None


def test_what_proves_no_gap():
    """No body, a weight that is not positive, a dual outside its cone, a pull beyond the prior."""
    assert judged("drawn", {"bodies": []}).details["problems"] == ["it has no body with a prior"]
    none = "the duals prove no bound of the objective"
    body = small("drawn")["numbers"]["bodies"][0]
    for weight in ("0", "-1"):
        said = judged("drawn", {"bodies": [{**body, "weight": weight}]})
        assert said.details["problems"] == [none]
    assert judged("drawn", {"u": ["3"], "gap": "99"}).details["problems"] == [none]
    outside = {"duals": [["-1"]], "gap": "99"}
    said = judged("drawn", outside).details["problems"]
    assert said == ['the dual of the condition "a is not negative" is outside its cone']
    document = small("drawn")
    document["numbers"] |= outside
    assert proven_gap(parse(document)) is None


# --- equality, empty claims, words --------------------------------------------------------------

CONES: list[tuple[str, int, list[str], list[str], list[str]]] = [
    ("nonnegative", 1, ["1"], ["0"], ["-1"]),
    ("nonnegative", 2, ["1", "2"], ["0", "2"], ["2", "-1"]),
    ("second_order", 2, ["3", "2"], ["2", "-2"], ["2", "3"]),
    ("second_order", 3, ["5", "3", "3"], ["5", "3", "4"], ["5", "4", "4"]),
    ("second_order", 2, ["1", "0"], ["0", "0"], ["-1", "0"]),
    ("psd", 1, ["1"], ["0"], ["-1"]),
    ("psd", 3, ["2", "1", "1"], ["1", "1", "1"], ["1", "2", "1"]),
    ("psd", 3, ["1", "0", "1"], ["0", "0", "1"], ["0", "1", "1"]),
]


@pytest.mark.parametrize(("kind", "n", "inside", "edge", "outside"), CONES)
def test_inside_on_the_edge_and_outside(kind, n, inside, edge, outside):
    """Each cone: strictly, with equality, and not at all; denominators do not matter."""
    for below in (1, 7):
        for values, expected in (
            (inside, (True, True)),
            (edge, (True, False)),
            (outside, (False, False)),
        ):
            entries = [Fraction(value) / below for value in values]
            assert Work().membership(kind, entries) == expected
            block = condition("it", kind, (1,), (("1",),) * n, tuple(values))
            verdict = judged("feasible", {"theta": ["1", "0"]}, block)
            assert (verdict.valid, verdict.details["strict"]) == (
                (True, expected[1]) if expected[0] else (False, True)
            )
            if expected == (True, False):
                assert verdict.details["positions_with_equality"] == [1]
                assert verdict.details["with_equality"] == ["it"]
                assert verdict.words == "the parameters meet every condition, 1 with equality"
            elif expected[0]:
                assert verdict.words == "the parameters meet every condition strictly"
    # equations hold or not; holding is no narrow case
    assert Work().membership("zero", [Fraction(0)]) == (True, True)
    assert Work().membership("zero", [Fraction(0), Fraction(1)]) == (False, False)


def test_claims_about_nothing():
    """No condition, one that no parameter changes, rows of K or R of zeros."""
    document = small("feasible")
    document["constraints"] = []
    none = "it states no condition, so that it says nothing about a robot"
    assert verify(resealed(document)).details["problems"] == [none]
    idle = condition("idle", A=(("0",),), b=("1",))
    said = judged("feasible", {}, idle).details["problems"]
    assert said == ['conditions that no parameter changes: "idle"']
    for K in ([], [[0, 0, "0"]], [[0, 0, "0"], [0, 1, "0"]]):
        said = judged("feasible", {"K": K, "beta": ["0"]}).details["problems"]
        assert said == ["K is empty in 1 of its 1 rows"]
    said = judged("feasible", {"K": [[1, 0, "1"]], "beta": ["0", "1", "0"]}).details["problems"]
    assert said == ["K is empty in 2 of its 3 rows"]
    said = judged("feasible", {"K": [], "beta": []}).details["problems"]
    assert said == ["K is empty in 0 of its 0 rows"]
    zero = judged("optimal", {"R": [["0"]], "u": ["0"], "duals": [["0"]], "lower_bound": "0"})
    assert "R is zero: there are no data that the parameters could fit" in zero.words
    assert "R is zero" in judged("drawn", {"R": [["0"]], "gap": "9"}).words
    assert empty_claims(parse(small("optimal"))) == []
    partly = small("optimal")
    partly["numbers"] |= {"K": [[0, 0, "1"], [1, 1, "1"]], "R": [["0", "0"], ["1"]]}
    partly["numbers"] |= {"z": ["0", "0"], "u": ["0", "0"]}
    assert empty_claims(parse(partly)) == []


def test_of_many_problems_five_are_in_the_words():
    """All are in the details."""
    for n, more in ((5, None), (6, "; and 1 more"), (9, "; and 4 more")):
        failing = [condition(f"c{k}", b=("-9",)) for k in range(n)]
        verdict = judged("feasible", {}, *failing)
        assert len(verdict.details["problems"]) == n
        assert verdict.words.count("does not hold") == 5
        assert verdict.words.endswith(more or 'the condition "c4" does not hold')
    assert judged("feasible", {}).details["conditions"] == 1
    assert judged("feasible", {}).details["parameters"] == 2


@pytest.mark.parametrize("kind", KINDS)
def test_cautions_say_what_was_not_compared(kind):
    """By what was given, and for claims about data."""
    certificate = parse(small(kind))
    data = kind in ("optimal", "drawn")
    for result, robot, words in (
        (False, False, "the proof is about the numbers in this file"),
        (False, True, "the digits were not compared with those of a result"),
        (True, False, "K and the conditions were not computed anew from a robot"),
        (True, True, None),
    ):
        said = unchecked(certificate, result, robot)
        fits_nothing = kind == "feasible" and result and "beta" not in certificate.vectors
        assert len(said) == (words is not None) + (data or fits_nothing)
        if fits_nothing:
            assert "not that they fit any data" in said[-1]
        assert ("nor were the verdict" in " ".join(said)) == (result and (data or fits_nothing))
        if words is not None:
            assert said[0].startswith(words)
        if data:
            assert said[-1].startswith("the data, R and z")
            assert ("weights of the prior" in said[-1]) == (kind == "drawn")


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (Fraction(0), "0"),
        (Fraction(1, 3), "0.333333"),
        (Fraction(10) ** 400, "beyond 1e308"),
        (-(Fraction(10) ** 400), "below -1e308"),
        (Fraction(1, 10**400), "above 0 by less than 1e-300"),
        (Fraction(-1, 10**400), "below 0 by less than 1e-300"),
    ],
)
def test_numbers_in_words(x, words):
    """Six digits, and the sign of what no float can show."""
    assert about(x) == words


# --- work ---------------------------------------------------------------------------------------


def test_work_is_counted_in_words_of_64_bits():
    """An operation on n words of 64 bits costs n²; the limit itself is allowed."""
    for n_bits, cost in ((0, 1), (63, 1), (64, 4), (127, 4), (128, 9), (640, 121)):
        work = Work(3 * cost)
        work.spend(3, n_bits)
        assert work.left == 0
        with pytest.raises(CertificateError, match="would take too long"):
            work.spend(1, 0)


def test_sums_and_cones_are_charged():
    """Products with zero are free; a matrix of n rows costs 2 n³, on longer numbers more."""
    work = Work(100)
    pairs = [(Fraction(2), Fraction(3)), (Fraction(0), Fraction(5)), (Fraction(5), Fraction(0))]
    assert work.total(Fraction(1), pairs) == 7
    assert work.left == 99
    assert Work(100).total(Fraction(1, 2), []) == Fraction(1, 2)
    work = Work(100)
    work.membership("nonnegative", [Fraction(1), Fraction(1, 3)])
    assert work.left == 100 - 2 - 8
    work = Work(1000)
    work.membership("psd", [Fraction(1), Fraction(0), Fraction(1)])
    assert work.left == 1000 - 3 - 16
    # at 2^60 the pivots have two words
    work = Work(1000)
    work.membership("psd", [Fraction(2**60), Fraction(0), Fraction(1)])
    assert work.left == 1000 - 3 - 16 * ((4 * 62) // 64 + 1) ** 2
    long = Fraction(1, 3**41)  # 65 bits below, one above
    work = Work(1000)
    assert work.total(Fraction(0), [(long, Fraction(1))]) == long
    assert work.left == 1000 - ((66 + 2 + 66) // 64 + 1) ** 2
