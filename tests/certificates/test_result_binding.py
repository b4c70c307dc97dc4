"""A certificate beside a result: every difference is named, on files of a few numbers."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from exact_second import resealed
from small_certificates import NAMES, condition

from steelyard._files.json_data import RESULT_SCHEMA
from steelyard._files.result_seal import sealed
from steelyard.certificates.block_texts import block_document
from steelyard.certificates.bound import Bound
from steelyard.certificates.document import parse
from steelyard.certificates.result_binding import WrittenNumber, bound_to_result, read_exactly
from steelyard.errors import ResultError
from steelyard.knowledge.physical_blocks import full_consistency, sousa_consistency

COLUMNS = [*(f"arm.{one}" for one in NAMES), "joint.fv", "joint.fo"]
THETA = [1.5, 0.1, 0.2, -0.1, 0.3, 0.0, 0.3, 0.01, 0.0, 0.25, 0.7, -0.4]
BODY, FRICTION, OFFSET = 0, 10, 11
K = [[0, 4, "1"], [0, 0, "1/4"], [1, 10, "1"]]
BASE = {"arm.Ixx": 0.675, "joint.fv": 0.7}
HASH = "a" * 64

MINE = "the result names this certificate as its own"
IMAGE = "the base parameters of the result are K times its parameters"
PHYSICAL = "its conditions make all 1 bodies physical"
DIGITS = "the 12 parameters are those of the result, digit for digit"


def column(name: str) -> dict[str, Any]:
    """A column of the model as a result states it."""
    owner, symbol = name.split(".")
    kind = {"fv": "viscous", "fo": "offset"}.get(symbol, "rigid_body")
    return {"name": name, "owner": owner, "symbol": symbol, "kind": kind}


def friction(b: str = "0", kind: str = "nonnegative", a: str = "1") -> dict[str, Any]:
    """A condition a fv + b on the friction alone."""
    return condition("friction", kind, (FRICTION,), ((a,),), (b,))


def body(margin: float = 0.0) -> dict[str, Any]:
    """The body is physical."""
    return block_document(full_consistency(None, BODY, margin))


def files(kind: str = "feasible", *conditions: dict[str, Any]) -> tuple[dict, dict]:
    """A certificate and the result that it is about."""
    theta = [repr(value) for value in THETA]
    numbers: dict[str, Any] = {"theta": theta}
    constraints = list(conditions) or [body(), friction()]
    if kind == "optimal":
        numbers |= {"K": copy.deepcopy(K), "R": [["1", "0"], ["1"]], "z": ["1", "1"]}
        numbers |= {"u": ["0", "0"], "duals": [["0"] * len(one["b"]) for one in constraints]}
        numbers |= {"rest": "0", "value": "5/2", "lower_bound": "2", "gap": "1/2"}
    if kind == "infeasible":
        numbers = {"K": copy.deepcopy(K), "beta": ["0.675", "0.7"], "y": ["0", "0"]}
        numbers |= {"duals": [["0"] * len(one["b"]) for one in constraints], "value": "-1"}
    document = {
        "schema": "steelyard.certificate/1",
        "kind": kind,
        "parameters": list(COLUMNS),
        "base_parameters": list(BASE) if "K" in numbers else None,
        "constraints": constraints,
        "numbers": numbers,
        "hashes": {"model": HASH},
    }
    document = resealed(document)
    summary = {
        "kind": kind,
        "conditions": len(constraints),
        "value": 2.5 if kind == "optimal" else None,
        "gap": 0.5 if kind == "optimal" else None,
        "hashes": dict(document["hashes"]),
    }
    pairs = zip(COLUMNS, THETA, strict=True)
    result = {
        "schema": RESULT_SCHEMA,
        "model": {"hash": HASH, "columns": [column(name) for name in COLUMNS]},
        "certificate": summary,
        "standard": {"parameters": [{"name": name, "value": value} for name, value in pairs]},
        "estimate": {
            "parameters": [
                {"name": name, "predicts_with": value, "value": value}
                for name, value in BASE.items()
            ]
        },
    }
    return document, sealed(result)


def found(document: dict, result: dict, base: dict | None = None) -> Bound:
    """The comparison."""
    return bound_to_result(document, parse(document), result, base)


# --- what agrees ------------------------------------------------------------------------------


def test_what_is_the_same_is_confirmed():
    """Digits, the certificate's name in the result, K and bodies, each as far as it is given."""
    assert found(*files()) == Bound((MINE, DIGITS, PHYSICAL))
    assert found(*files("optimal")) == Bound((MINE, DIGITS, IMAGE, PHYSICAL))
    # with a robot the conditions are compared there, and its K is at hand
    base = {(row, at): Fraction(value) for row, at, value in K}
    assert found(*files(), base) == Bound((MINE, DIGITS, IMAGE))
    # no parameters, so that only the model and the base parameters can be compared
    document, result = files("infeasible")
    document["numbers"]["beta"] = [str(Fraction(value)) for value in BASE.values()]
    words = "the 2 base parameters are those of the result"
    assert found(document, result) == Bound((words,))


def test_a_file_is_read_with_its_digits(tmp_path):
    """Numbers keep the text in the file, which is compared as decimals."""
    document, result = files()
    path = tmp_path / "result.json"
    path.write_text(json.dumps(result).replace("0.3,", "0.30,").replace("0.3}", "0.30}"))
    read = read_exactly(path)
    value = read["standard"]["parameters"][4]["value"]
    assert (value, value.text) == (0.3, "0.30")
    assert DIGITS in found(document, read).confirmed
    for text in ("[]", "{}", '{"schema": "other"}'):
        path.write_text(text)
        with pytest.raises(ResultError, match="is not a result file, which has the schema"):
            read_exactly(path)


def test_parameters_may_be_the_binary_numbers():
    """A certificate of the exact binary numbers is about the same parameters."""
    document, result = files()
    document["numbers"]["theta"] = [str(Fraction(value)) for value in THETA]
    said = found(resealed(document), result)
    assert "the 12 parameters are those of the result, as binary numbers" in said.confirmed


# --- what differs -----------------------------------------------------------------------------


def parameter(document: dict, result: dict) -> None:
    result["standard"]["parameters"][4]["value"] = WrittenNumber("0.3000000000000001")


def binary_and_decimal(document: dict, result: dict) -> None:
    document["numbers"]["theta"][9] = str(Fraction(0.25) + Fraction(1, 10**60))


def renamed_parameter(document: dict, result: dict) -> None:
    result["standard"]["parameters"][0]["name"] = "leg.m"


def no_parameters(document: dict, result: dict) -> None:
    result["standard"] = None


def renamed_column(document: dict, result: dict) -> None:
    result["model"]["columns"][11]["name"] = "joint.fx"


def other_model(document: dict, result: dict) -> None:
    result["model"]["hash"] = "b" * 64


def no_summary(document: dict, result: dict) -> None:
    result["certificate"] = None


def other_kind(document: dict, result: dict) -> None:
    result["certificate"]["kind"] = "drawn"


def other_count(document: dict, result: dict) -> None:
    result["certificate"]["conditions"] += 1


def other_value(document: dict, result: dict) -> None:
    result["certificate"]["value"] = 2.25


def other_gap(document: dict, result: dict) -> None:
    result["certificate"]["gap"] = None


def other_hashes(document: dict, result: dict) -> None:
    result["certificate"]["hashes"] = {}


def predicted(document: dict, result: dict) -> None:
    result["estimate"]["parameters"][0]["predicts_with"] *= 1 + 3e-12


def estimated(document: dict, result: dict) -> None:
    result["estimate"]["parameters"][1]["value"] *= 1 - 3e-12


def base_name(document: dict, result: dict) -> None:
    result["estimate"]["parameters"][1]["name"] = "joint.fc"


NOT_MINE = "the result states another certificate as its own: {} differ"
DIFFERENCES: list[tuple[Callable[[dict, dict], None], str]] = [
    (parameter, 'the digits are not those of the result: "arm.Ixx"'),
    (binary_and_decimal, 'the digits are not those of the result: "arm.Izz"'),
    (renamed_parameter, 'the parameters are not those of the result: it has "arm.m" and it lacks'),
    (no_parameters, "the result has no standard parameters"),
    (renamed_column, 'the parameters are not those of the result: it has "joint.fo" and it lacks'),
    (other_model, "it is for another model than the result: their hashes differ"),
    (no_summary, "the result states no certificate"),
    (other_kind, NOT_MINE.format("kind")),
    (other_count, NOT_MINE.format("number of conditions")),
    (other_value, NOT_MINE.format("value")),
    (other_gap, NOT_MINE.format("gap")),
    (other_hashes, NOT_MINE.format("constraints, digits, model")),
    (predicted, 'base parameters of the result are not K times its parameters: "arm.Ixx"'),
    (estimated, 'base parameters of the result are not K times its parameters: "joint.fv"'),
    (base_name, 'the base parameters are not those of the result: it has "joint.fv" and it lacks'),
]


@pytest.mark.parametrize(("change", "words"), DIFFERENCES)
def test_a_difference_is_the_one_problem(change, words):
    """One thing changed, with honest hashes, gives one problem in the words for it."""
    document, result = files("optimal")
    change(document, result)
    document = resealed(document)
    if change is binary_and_decimal:
        result["certificate"]["hashes"] = dict(document["hashes"])
    problems = found(document, sealed(result)).problems
    assert len(problems) == 1, problems
    assert problems[0].startswith(words)


def test_rounding_of_base_parameters_is_no_difference():
    """K theta in floating point differs from the exact one by less than 1e-12 of its terms; values
    that a method does not state are not compared.
    """
    document, result = files("optimal")
    result["estimate"]["parameters"][0]["predicts_with"] *= 1 + 5e-13
    result["estimate"]["parameters"][1]["value"] = None
    assert IMAGE in found(document, sealed(result)).confirmed
    # the tolerance is that of the terms: 0.675 = 0.3 + 0.375, not of a small difference of them
    document["numbers"]["K"][1][2] = "-1/5"
    document = resealed(document)
    result["certificate"]["hashes"] = dict(document["hashes"])
    for value, fits in ((5e-13, True), (7e-13, False)):
        result["estimate"]["parameters"][0] |= {"predicts_with": value, "value": -value}
        assert (IMAGE in found(document, sealed(result)).confirmed) == fits


@pytest.mark.parametrize("place", [0, 1])
def test_base_parameters_are_compared_exactly(place):
    """A claim about base parameters is about those of the result, as binary numbers."""
    document, result = files("infeasible")
    beta = [Fraction(value) for value in BASE.values()]
    beta[place] += Fraction(1, 10**40)
    document["numbers"]["beta"] = [str(value) for value in beta]
    name = list(BASE)[place]
    words = f'the base parameters are not those of the result: "{name}"'
    assert found(resealed(document), result) == Bound(problems=(words,))
    document["base_parameters"] = list(BASE)[::-1]
    words = "the base parameters are in another order than those of the result"
    assert found(resealed(document), result) == Bound(problems=(words,))


def test_a_result_that_was_changed_or_has_no_hash():
    """The first is a problem; the second, of an earlier version, a caution."""
    document, result = files()
    old = {key: value for key, value in result.items() if key != "hashes"}
    (caution,) = found(document, old).cautions
    assert caution.startswith("the result has no hash of its digits")
    assert found(document, old).problems == ()
    result["model"]["columns"][0]["unit"] = "lb"
    (problem,) = found(document, result).problems
    assert problem.startswith("the result was changed after it was written")


DAMAGED: list[tuple[tuple, Any]] = [
    (("model",), None),
    (("model", "columns"), 5),
    (("model", "columns", 0), {}),
    (("certificate",), {}),
    (("certificate", "hashes"), 3),
    (("standard", "parameters"), [{}] * 12),
    (("standard", "parameters", 3, "value"), "0.1"),
    (("standard", "parameters", 3, "value"), True),
    (("standard", "parameters", 3, "value"), None),
    (("estimate", "parameters"), None),
    (("estimate", "parameters", 0, "predicts_with"), [1]),
    (("estimate", "parameters", 0, "value"), False),
]


@pytest.mark.parametrize(("path", "to"), DAMAGED)
def test_damaged_results_are_refused(path, to):
    """Whatever is missing or of another type is a named error in one line, not a traceback."""
    document, result = files("optimal")
    holder: Any = result
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = to
    with pytest.raises(ResultError, match=r"^the result is damaged; [A-Z][A-Za-z]+Error: "):
        found(document, sealed(result))


# --- bodies and signs -------------------------------------------------------------------------


def massless(value: str = "0") -> dict[str, Any]:
    """Ten equations, parameter = value."""
    rows = tuple(tuple(str(int(i == j)) for j in range(10)) for i in range(10))
    return condition("massless", "zero", tuple(range(10)), rows, (value,) * 10)


def edited_body(place: int, value: str) -> dict[str, Any]:
    """The condition on the body with another constant."""
    made = body()
    made["b"][place] = value
    return made


MISSING = 'no condition says that "arm" must be physical'
WEAK = 'the bodies "arm" meet the 6×6 condition only, which does not imply a mass density'
BODIES: list[tuple[dict[str, Any], str | None]] = [
    (body(), None),
    (body(0.5), None),  # more than physical
    (massless(), None),
    (body(-0.5), MISSING),  # less
    (massless("1"), MISSING),
    ({**massless(), "b": ["0"] * 9 + ["-1"]}, MISSING),
    ({**massless(), "kind": "nonnegative"}, MISSING),
    ({**massless(), "A": [["1"] * 10 for _ in range(10)]}, MISSING),
    ({**body(), "columns": [*range(1, 10), 0]}, MISSING),
    (edited_body(1, "1"), MISSING),  # a constant off the diagonal
    (edited_body(2, "-1"), MISSING),  # a margin in one place only
    (edited_body(0, "-1"), MISSING),
    (block_document(sousa_consistency(None, BODY)), WEAK),
    (block_document(sousa_consistency(None, BODY, 0.1)), WEAK),
    (block_document(sousa_consistency(None, BODY, -0.1)), MISSING),
]


@pytest.mark.parametrize(("stated", "words"), BODIES)
def test_which_conditions_make_a_body_physical(stated, words):
    """Its own condition, possibly with a margin, or ten zeros; the paper's is weaker."""
    said = found(*files("feasible", stated, friction()))
    if words is None:
        assert PHYSICAL in said.confirmed
        assert said.problems == said.cautions == ()
    else:
        assert PHYSICAL not in said.confirmed
        assert words in (said.cautions if words == WEAK else said.problems)


def test_the_full_condition_is_enough_beside_a_weaker_one():
    """The strongest of several conditions on a body counts."""
    weak = block_document(sousa_consistency(None, BODY))
    assert PHYSICAL in found(*files("feasible", weak, body(), friction())).confirmed
    said = found(*files("feasible", friction()))
    assert said.problems == (MISSING,)


SIGNS: list[tuple[dict[str, Any] | None, bool]] = [
    (None, False),
    (friction(), True),
    (friction(a="2"), True),
    (friction(b="-1"), True),  # fv >= 1
    (friction(b="1e-30"), False),  # fv >= -1e-30
    (friction(a="-1"), False),  # fv <= 0
    (friction(a="-1", b="3"), False),
    (friction(a="0"), False),
    (friction(kind="zero"), True),  # fv = 0
    (friction(kind="zero", b="-3"), True),  # fv = 3
    (friction(kind="zero", b="3"), False),  # fv = -3
    (friction(kind="zero", a="-1", b="3"), True),
    (friction(kind="zero", a="-1", b="-3"), False),
    (friction(kind="zero", a="0"), False),
    (friction(kind="second_order"), False),
    (condition("two", "nonnegative", (FRICTION,), (("-1",), ("1",)), ("9", "0")), True),
    (condition("two", "nonnegative", (FRICTION,), (("-1",), ("1",)), ("0", "9")), False),
    (condition("two", "zero", (FRICTION,), (("1",), ("1",)), ("0", "0")), False),
    (condition("both", "nonnegative", (FRICTION, OFFSET), (("1", "1"),), ("0",)), False),
    (condition("offset", "nonnegative", (OFFSET,), (("1",),), ("0",)), False),
    (condition("offset", "zero", (OFFSET,), (("1",),), ("0",)), False),
]


@pytest.mark.parametrize(("stated", "kept"), SIGNS)
def test_which_conditions_keep_a_term_from_being_negative(stated, kept):
    """A lower bound of zero or more on it alone, or a value that is not negative; an offset may be
    negative, and is never asked for.
    """
    said = found(*files("feasible", body(), *([] if stated is None else [stated])))
    words = 'no condition keeps "joint.fv" from being negative'
    assert said.cautions == (() if kept else (words,))
    assert PHYSICAL in said.confirmed
