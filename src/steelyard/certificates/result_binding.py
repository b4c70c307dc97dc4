"""Compare a certificate with the result that it should be about, digit by digit.

A claim about standard parameters (those of `identify`) must be about the very digits of the
result, and every body of the result must be a condition of it. A claim about base parameters
(`base test`, `base correct`) must be about the result's base parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from steelyard._files.access import read_capped
from steelyard._files.json_data import MAX_BYTES, RESULT_SCHEMA
from steelyard._files.json_text import parse_json
from steelyard._files.result_seal import refuse_changed, stated_hash
from steelyard.certificates.block_texts import block_document
from steelyard.certificates.bound import ROUNDING, Bound, compare_names, several
from steelyard.certificates.document import (
    ParsedCertificate,
    StatedCondition,
    hashes_of,
    parsed_conditions,
)
from steelyard.conic.blocks import Block
from steelyard.conic.exact_text import number, quoted
from steelyard.errors import ResultError, shown_path
from steelyard.knowledge.physical_blocks import full_consistency, sousa_consistency
from steelyard.model.model import RIGID_BODY
from steelyard.model.term_kinds import TERM_NAMES, term_kind
from steelyard.robot.inertia import PARAMETERS

OF = "the result"
Place = tuple[int, int]


class WrittenNumber(float):
    """A number of a JSON file that keeps the text in the file."""

    text: str

    def __new__(cls, text: str) -> WrittenNumber:
        """The binary number next to the text."""
        made = super().__new__(cls, text)
        made.text = text
        return made


def read_exactly(path: str | Path) -> dict[str, Any]:
    """The object in a result file, its numbers as written."""
    data = read_capped(path, MAX_BYTES, ResultError)
    where = shown_path(path)
    document = parse_json(data, where, ResultError, WrittenNumber)
    if not isinstance(document, dict) or document.get("schema") != RESULT_SCHEMA:
        raise ResultError(f"{where}: is not a result file, which has the schema '{RESULT_SCHEMA}'")
    return document


def bound_to_result(
    document: Mapping[str, Any],
    certificate: ParsedCertificate,
    result: Mapping[str, Any],
    base: Mapping[Place, Fraction] | None = None,
) -> Bound:
    """Whether a certificate is about the digits of this result.

    result : the object in its file, with numbers as `read_exactly` gives them, or as floats.
    base : the entries of K, where a robot was given; the conditions are then compared there, too.
    """
    try:
        return _bound(document, certificate, result, base)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as failure:
        raise ResultError(f"the result is damaged; {type(failure).__name__}: {failure}") from None


def _bound(
    document: Mapping[str, Any],
    certificate: ParsedCertificate,
    result: Mapping[str, Any],
    base: Mapping[Place, Fraction] | None,
) -> Bound:
    found = _seal(result)
    if document["hashes"].get("model") != result["model"]["hash"]:
        words = "it is for another model than the result: their hashes differ"
        found += Bound(problems=(words,))
    columns = [str(column["name"]) for column in result["model"]["columns"]]
    names = compare_names(certificate.parameters, columns, "parameters", OF)
    found += names
    if "beta" in certificate.vectors:
        return found + _base_digits(document, certificate, result)
    if certificate.kind == "infeasible" or names.problems:
        return found
    found += _summary(document, certificate, result)
    found += _digits(certificate, result)
    K = base
    if certificate.K is not None:
        stated = document.get("base_parameters") or ()
        found += compare_names(stated, _base_names(result), "base parameters", OF)
        K = {(row, column): value for row, column, value in certificate.K}
    if K is not None and not found.problems:
        found += _image(certificate, result, K)
    return found if base is not None else found + _bodies(certificate, result)


def _seal(result: Mapping[str, Any]) -> Bound:
    """Whether the result is as it was written."""
    if stated_hash(result) is None:
        words = "the result has no hash of its digits: it is of an earlier version, or was changed"
        return Bound(cautions=(words,))
    try:
        refuse_changed(result, OF, ResultError)
    except ResultError:
        words = (
            "the result was changed after it was written: its digits, verdict or other content do "
            "not match their hash"
        )
        return Bound(problems=(words,))
    if stated_hash(result, "document") is None:
        words = (
            "the hash of the result covers its parameters alone, as in earlier versions: its "
            "verdict, errors and findings may have been changed"
        )
        return Bound(cautions=(words,))
    return Bound()


def _summary(
    document: Mapping[str, Any], certificate: ParsedCertificate, result: Mapping[str, Any]
) -> Bound:
    """Whether the result names this certificate as its own."""
    stated = result["certificate"]
    if stated is None:
        return Bound(problems=("the result states no certificate",))
    hashes = {**hashes_of(document), "model": document["hashes"].get("model")}
    hashes.pop("files", None)  # of files that are written when the result is known
    wrong = [name for name, value in hashes.items() if stated["hashes"].get(name) != value]
    if stated["kind"] != certificate.kind:
        wrong.append("kind")
    if stated["conditions"] != len(certificate.blocks):
        wrong.append("number of conditions")
    for key in ("value", "gap"):
        proven = certificate.stated.get(key)
        if stated[key] != (None if proven is None else float(proven)):
            wrong.append(key)
    if wrong:
        words = f"the result states another certificate as its own: {', '.join(wrong)} differ"
        return Bound(problems=(words,))
    return Bound(confirmed=("the result names this certificate as its own",))


def _digits(certificate: ParsedCertificate, result: Mapping[str, Any]) -> Bound:
    """Whether theta are the standard parameters of the result, digit for digit."""
    standard = result["standard"]
    if standard is None:
        return Bound(problems=("the result has no standard parameters",))
    entries = standard["parameters"]
    names = compare_names(
        certificate.parameters, [str(one["name"]) for one in entries], "parameters", OF
    )
    if names.problems:
        return names
    theta = certificate.vectors["theta"]
    as_written = [_exact(one["value"]) for one in entries]
    as_binary = [Fraction(float(one["value"])) for one in entries]
    if theta in (as_written, as_binary):
        how = "digit for digit" if theta == as_written else "as binary numbers"
        return Bound(confirmed=(f"the {len(theta)} parameters are those of the result, {how}",))
    different = [
        name
        for name, x, y, z in zip(certificate.parameters, theta, as_written, as_binary, strict=True)
        if x not in (y, z)
    ]
    return Bound(problems=(f"the digits are not those of the result: {several(different)}",))


def _base_digits(
    document: Mapping[str, Any], certificate: ParsedCertificate, result: Mapping[str, Any]
) -> Bound:
    """Whether beta are the base parameters of the result."""
    stated = document.get("base_parameters") or ()
    names = compare_names(stated, _base_names(result), "base parameters", OF)
    if names.problems:
        return names
    given = [Fraction(float(one["predicts_with"])) for one in result["estimate"]["parameters"]]
    pairs = zip(stated, certificate.vectors["beta"], given, strict=True)
    different = [name for name, x, y in pairs if x != y]
    if different:
        words = f"the base parameters are not those of the result: {several(different)}"
        return Bound(problems=(words,))
    return Bound(confirmed=(f"the {len(given)} base parameters are those of the result",))


def _image(
    certificate: ParsedCertificate, result: Mapping[str, Any], K: Mapping[Place, Fraction]
) -> Bound:
    """Whether the base parameters that the result predicts with are K theta, up to rounding."""
    theta = certificate.vectors["theta"]
    entries = result["estimate"]["parameters"]
    sums, sizes = [Fraction(0)] * len(entries), [Fraction(0)] * len(entries)
    for (row, column), value in K.items():
        sums[row] += value * theta[column]
        sizes[row] += abs(value * theta[column])
    different = []
    for one, exact, size in zip(entries, sums, sizes, strict=True):
        shown = (one["predicts_with"], one["value"])
        if any(x is not None and abs(_exact(x) - exact) > ROUNDING * size for x in shown):
            different.append(str(one["name"]))
    if different:
        words = (
            f"base parameters of the result are not K times its parameters: {several(different)}"
        )
        return Bound(problems=(words,))
    return Bound(confirmed=("the base parameters of the result are K times its parameters",))


def _bodies(certificate: ParsedCertificate, result: Mapping[str, Any]) -> Bound:
    """Whether every body must be physical, and no drive or friction term negative."""
    columns = result["model"]["columns"]
    weaker: list[str] = []
    missing: list[str] = []
    terms = [
        str(column["name"])
        for at, column in enumerate(columns)
        if column["kind"] in TERM_NAMES
        and not term_kind(column["kind"]).may_be_negative
        and not any(_is_sign(one, at) for one in certificate.blocks)
    ]
    for at, column in enumerate(columns):
        if column["kind"] == RIGID_BODY and column["symbol"] == PARAMETERS[0]:
            full = _stated(full_consistency(None, at))
            weak = _stated(sousa_consistency(None, at))
            own = [one for one in certificate.blocks if set(one.columns) >= {*range(at, at + 10)}]
            if any(_is_massless(one, at) or _demands(one, full) for one in own):
                continue
            is_weak = any(_demands(one, weak) for one in own)
            (weaker if is_weak else missing).append(str(column["owner"]))
    problems, cautions = [], []
    if missing:
        problems.append(f"no condition says that {several(missing)} must be physical")
    if weaker:
        words = "meet the 6×6 condition only, which does not imply a mass density"
        cautions.append(f"the bodies {several(weaker)} {words}")
    if terms:
        cautions.append(f"no condition keeps {several(terms)} from being negative")
    n = sum(column["kind"] == RIGID_BODY for column in columns) // len(PARAMETERS)
    confirmed = () if missing or weaker else (f"its conditions make all {n} bodies physical",)
    return Bound(confirmed, tuple(problems), tuple(cautions))


def _stated(block: Block) -> StatedCondition:
    """A condition as a certificate states it."""
    return parsed_conditions([block_document(block)], max(block.columns) + 1)[0]


def _demands(one: StatedCondition, wanted: StatedCondition) -> bool:
    """Whether a condition is this one, possibly with a margin: b = -margin times the unit."""
    if (one.kind, one.columns, one.A) != (wanted.kind, wanted.columns, wanted.A):
        return False
    margin = -one.b[0]
    unit = [weight == 1 for weight in wanted.weights]
    return margin >= 0 and one.b == [-margin if own else Fraction(0) for own in unit]


def _is_massless(one: StatedCondition, first: int) -> bool:
    """Whether a condition sets all ten parameters of a body to zero."""
    if one.kind != "zero" or one.columns != tuple(range(first, first + 10)) or any(one.b):
        return False
    rows = [[Fraction(int(i == j)) for j in range(10)] for i in range(10)]
    return [list(row) for row in one.A] == rows


def _is_sign(one: StatedCondition, column: int) -> bool:
    """Whether a condition says that this parameter is not negative, or more."""
    if one.kind == "zero" and one.columns == (column,) and len(one.b) == 1:
        return one.A[0][0] != 0 and -one.b[0] / one.A[0][0] >= 0
    return (
        one.kind == "nonnegative"
        and one.columns == (column,)
        and any(row[0] > 0 and b <= 0 for row, b in zip(one.A, one.b, strict=True))
    )


def _base_names(result: Mapping[str, Any]) -> Sequence[str]:
    return [str(one["name"]) for one in result["estimate"]["parameters"]]


def _exact(value: Any) -> Fraction:
    """The number that a result states, in the decimals of its text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.60} is not a number")
    text = value.text if isinstance(value, WrittenNumber) else repr(value)
    return number(text, f"the result, {quoted(text)},")
