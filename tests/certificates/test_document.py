"""Reading certificates: what is accepted, every refusal, and limits from both sides."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from exact_second import is_valid
from small_certificates import KINDS, POINTS, condition, small

from steelyard.certificates import document as module
from steelyard.certificates.document import (
    StatedCondition,
    canonical_hash,
    hash_problems,
    hashes_of,
    matrix_rows,
    name_of,
    parse,
    parsed_conditions,
    read_certificate,
)
from steelyard.certificates.verify import verify
from steelyard.conic.exact_text import CertificateError

N_NUMBERS = {"feasible": 4, "infeasible": 6, "optimal": 9, "drawn": 37}
"""Entries of A, b and the numbers of each small certificate, without those that stand alone."""


def edited(kind: str, *path: Any, to: Any) -> dict:
    """A small certificate with another value in one place."""
    document = small(kind)
    holder: Any = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = to
    return document


def refused(document: dict) -> str:
    """The one line with which a document is refused."""
    with pytest.raises(CertificateError) as failure:
        parse(document)
    assert "\n" not in str(failure.value)
    return str(failure.value)


# --- what is read -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_small_certificates_of_every_kind_hold(kind):
    """They are valid, also by the second implementation where that knows the kind."""
    document = small(kind)
    verdict = verify(document)
    assert verdict.valid, verdict.words
    assert verdict.kind == kind
    if kind != "drawn":
        assert is_valid(document)


def test_every_number_is_read_into_its_place():
    """The parsed certificate has the numbers of the document, exactly."""
    document = small("optimal")
    document["numbers"]["K"] = [[0, 1, "1/3"], [0, 0, "-0.25"]]
    document["constraints"].append(condition("b", "zero", (1, 0), (("1", "2"), ("3", "4"))))
    document["constraints"][1]["b"] = ["5", "6"]
    document["numbers"]["duals"].append(["7", "8"])
    found = parse(document)
    assert (found.kind, found.parameters) == ("optimal", ("a", "b"))
    assert list(found.K or ()) == [(0, 1, Fraction(1, 3)), (0, 0, Fraction(-1, 4))]
    assert found.vectors == {"theta": [0, 2], "z": [-1], "u": [-1]}
    assert found.R == ([1],)
    assert found.duals == ([1], [7, 8])
    half = Fraction(1, 2)
    assert found.stated == {"value": half, "rest": 0, "lower_bound": half, "gap": 0}
    assert found.bodies == ()
    assert found.blocks == (
        StatedCondition("a is not negative", "nonnegative", (0,), ([1],), [0]),
        StatedCondition("b", "zero", (1, 0), ([1, 2], [3, 4]), [5, 6]),
    )
    drawn = parse(small("drawn"))
    (body,) = drawn.bodies
    assert (body.first, body.weight, body.prior) == (0, 3, tuple(map(Fraction, POINTS)))
    assert drawn.vectors["pulls"] == [0] * 10
    feasible = parse(small("feasible"))
    assert (feasible.K, feasible.R, feasible.duals, feasible.stated) == (None, (), (), {})


def test_rows_of_r_shrink_from_the_diagonal_on():
    """R is upper triangular: each row has one entry less than the one before."""
    document = small("infeasible")
    document["kind"] = "optimal"
    document["numbers"] = {
        **small("optimal")["numbers"],
        **{"K": [[0, 0, "1"], [1, 1, "1"]], "R": [["1", "2"], ["3"]]},
        **{"z": ["1", "2"], "u": ["0", "0"]},
    }
    assert parse(document).R == ([1, 2], [3])
    document["numbers"]["R"] = [["1", "2"], ["0", "3"]]
    assert "each row of R, from its diagonal on must be a list of 1 numbers" in refused(document)
    document["numbers"]["R"] = [["1", "2"]]
    assert refused(document) == "R must have 2 rows"
    document["numbers"]["u"] = ["0"]
    assert refused(document) == "u must be a list of 2 numbers, not a list of 1"


def test_weights_and_rows_of_triangles():
    """Entries off the diagonal of a matrix count twice; n rows have n (n + 1) / 2 entries."""
    for n in range(1, 70):
        assert matrix_rows(n * (n + 1) // 2) == n
        assert matrix_rows(n * (n + 1) // 2 - 1) == n - 1
    psd = StatedCondition("", "psd", (0,), ([Fraction(0)],) * 6, [Fraction(0)] * 6)
    assert psd.weights == [1, 2, 1, 2, 2, 1]
    plain = StatedCondition("", "second_order", (0,), ([Fraction(0)],) * 3, [Fraction(0)] * 3)
    assert plain.weights == [1, 1, 1]


def test_a_feasible_certificate_may_state_base_parameters():
    """K and beta are optional for it, and only together."""
    document = small("feasible")
    document["numbers"] |= {"K": [[0, 0, "1"]], "beta": ["1"]}
    found = parse(document)
    assert (found.K, found.vectors["beta"]) == (((0, 0, 1),), [1])
    together = "K and the vectors of base parameters must be given together"
    for lacking in ("K", "beta"):
        other = small("feasible")
        other["numbers"] = {k: v for k, v in document["numbers"].items() if k != lacking}
        assert refused(other) == together


# --- what is refused --------------------------------------------------------------------------

ROWS = "condition 1: A must have as many rows as b has entries, at least 1"
COLUMNS = "condition 1: its columns must be indices below 2"
OF_K = "K must be a list of [row, column, value]"
ENTRY = "that is outside its 1 rows and 2 columns, or repeated"
BODY = "a body must have first, weight and prior"
ROOM = "a body's first column must leave room for ten below 10"
FIRST = ("constraints", 0)
REFUSALS: list[tuple[str, tuple, Any, str]] = [
    ("feasible", ("schema",), "other/1", "this is not a certificate: its schema is 'other/1'"),
    ("feasible", ("kind",), "magic", "the kind is 'magic', not one of feasible, infeasible, "),
    ("feasible", ("parameters",), {}, "the certificate has no parameters"),
    ("feasible", ("constraints",), None, "the certificate has no constraints"),
    ("feasible", ("numbers",), [], "the certificate has no numbers"),
    ("feasible", ("parameters", 0), 3, "a parameter's name must be a text of at most 2000"),
    ("infeasible", ("base_parameters",), "a", "base_parameters must be a list of at most 100000"),
    ("infeasible", ("base_parameters",), [None], "a base parameter's name must be a text"),
    ("feasible", FIRST, 3, "condition 1 is not an object"),
    ("feasible", (*FIRST, "more"), 3, "condition 1 has 'name', 'kind', 'columns', 'A', 'b', 'm"),
    ("feasible", (*FIRST, "name"), None, "the name of condition 1 must be a text of at most 2000"),
    ("feasible", (*FIRST, "kind"), "cube", "condition 1 has the kind 'cube', not one of zero, "),
    ("feasible", (*FIRST, "columns"), None, COLUMNS),
    ("feasible", (*FIRST, "columns"), (0,), COLUMNS),
    ("feasible", (*FIRST, "columns"), [2], COLUMNS),
    ("feasible", (*FIRST, "columns"), [-1], COLUMNS),
    ("feasible", (*FIRST, "columns"), [0, 2], COLUMNS),
    ("feasible", (*FIRST, "columns"), ["0"], COLUMNS),
    ("feasible", (*FIRST, "columns"), [False], COLUMNS),
    ("feasible", (*FIRST, "columns"), [0, 0], "condition 1 names a column twice"),
    ("feasible", (*FIRST, "A"), [], ROWS),
    ("feasible", (*FIRST, "A"), None, ROWS),
    ("feasible", (*FIRST, "A"), "1", ROWS),
    ("feasible", (*FIRST, "A"), [["1"], ["1"]], ROWS),
    ("feasible", (*FIRST, "b"), [], ROWS),
    ("feasible", (*FIRST, "b"), None, "b of condition 1 must be a list of numbers, not a nothing"),
    ("feasible", (*FIRST, "A", 0), ["1", "1"], "A of condition 1 must be a list of 1 numbers, not"),
    ("feasible", (*FIRST, "A", 0), [], "A of condition 1 must be a list of 1 numbers, not a list "),
    ("feasible", (*FIRST, "A", 0, 0), 1, "A of condition 1 has 1 instead of a number in quotes"),
    ("feasible", (*FIRST, "b", 0), "x", "b of condition 1 has 'x', which is not a number"),
    ("feasible", ("numbers", "theta"), ["1"], "theta must be a list of 2 numbers, not a list of 1"),
    ("feasible", ("numbers",), {}, "the numbers of kind 'feasible' are theta, K, beta, not none"),
    ("feasible", ("numbers", "y"), ["1"], "are theta, K, beta, not 'theta', 'y'"),
    ("infeasible", ("numbers", "theta"), ["1", "2"], "are K, beta, y, duals, value, not 'K', "),
    ("infeasible", ("numbers", "y"), ["1", "2"], "y must be a list of 1 numbers, not a list of 2"),
    ("infeasible", ("numbers", "K"), {}, OF_K),
    ("infeasible", ("numbers", "K", 0), (0, 0, "1"), OF_K),
    ("infeasible", ("numbers", "K", 0), [0, 0], OF_K),
    ("infeasible", ("numbers", "K", 0), [0, 0, "1", "1"], OF_K),
    ("infeasible", ("numbers", "K", 0), [1, 0, "1"], f"K has an entry at 1, 0 {ENTRY}"),
    ("infeasible", ("numbers", "K", 0), [0, 2, "1"], f"K has an entry at 0, 2 {ENTRY}"),
    ("infeasible", ("numbers", "K", 0), [0, -1, "1"], f"K has an entry at 0, -1 {ENTRY}"),
    ("infeasible", ("numbers", "K"), [[0, 0, "1"], [0, 0, "2"]], f"K has an entry at 0, 0 {ENTRY}"),
    ("infeasible", ("numbers", "K", 0), [0, 0, "y"], "K has 'y', which is not a number"),
    ("infeasible", ("numbers", "duals"), [], "there must be one dual for each of 1 conditions"),
    ("infeasible", ("numbers", "duals"), "1", "there must be one dual for each of 1 conditions"),
    ("infeasible", ("numbers", "duals", 0), ["1", "1"], "the dual of condition 1 must be a list"),
    ("infeasible", ("numbers", "value"), None, "value has nothing instead of a number in quotes"),
    ("optimal", ("numbers", "R"), {}, "R must have 1 rows"),
    ("optimal", ("numbers", "R"), [], "R must have 1 rows"),
    ("drawn", ("numbers", "bodies"), "x", "must be a list of at most 100000"),
    ("drawn", ("numbers", "bodies", 0), 5, BODY),
    ("drawn", ("numbers", "bodies", 0), [], BODY),
    ("drawn", ("numbers", "bodies", 0), {"first": 0}, BODY),
    ("drawn", ("numbers", "bodies", 0, "more"), 0, BODY),
    ("drawn", ("numbers", "bodies", 0, "first"), 1, ROOM),
    ("drawn", ("numbers", "bodies", 0, "first"), -1, ROOM),
    ("drawn", ("numbers", "bodies", 0, "prior"), ["1"] * 9, "the prior of a body must be a list"),
    ("drawn", ("numbers", "bodies", 0, "weight"), 3, "the weight of a body has 3 instead of a "),
    ("drawn", ("numbers", "pulls"), ["0"] * 9, "pulls must be a list of 10 numbers, not a list "),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path", "to", "words"), REFUSALS)
def test_one_wrong_entry_is_refused_with_its_place(kind, path, to, words):
    """Each is refused with a line that says where it is and what should be there."""
    assert words in refused(edited(kind, *path, to=to))


def test_of_many_wrong_keys_some_are_shown():
    """A hostile object of many keys does not fill a page."""
    said = refused(edited("feasible", "numbers", to={f"k{i}": 0 for i in range(25)}))
    assert "'k19'" in said
    assert "'k20'" not in said


@pytest.mark.parametrize("n_entries", range(1, 11))
def test_matrices_have_whole_triangles(n_entries):
    """1, 3, 6 and 10 entries are symmetric matrices; other counts are refused."""
    entry = condition("M", "psd", (0,), (("1",),) * n_entries, ("0",) * n_entries)
    if n_entries in (1, 3, 6, 10):
        assert len(parsed_conditions([entry], 1)[0].b) == n_entries
    else:
        with pytest.raises(CertificateError, match=f"{n_entries} entries are not the upper"):
            parsed_conditions([entry], 1)


# --- limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_is_counted_once_and_before_it_is_read(kind, monkeypatch):
    """With a limit of just as many numbers it is read; with one less it is refused."""
    monkeypatch.setattr(module, "MAX_NUMBERS", N_NUMBERS[kind])
    parse(small(kind))
    monkeypatch.setattr(module, "MAX_NUMBERS", N_NUMBERS[kind] - 1)
    assert refused(small(kind)) == f"there are more than {N_NUMBERS[kind] - 1} numbers"


def test_a_condition_counts_rows_times_columns(monkeypatch):
    """Three rows of two columns are six numbers, beside three constants."""
    entry = condition("c", "nonnegative", (0, 1), (("1", "2"),) * 3, ("0",) * 3)
    monkeypatch.setattr(module, "MAX_NUMBERS", 9)
    assert len(parsed_conditions([entry], 2)[0].A) == 3
    monkeypatch.setattr(module, "MAX_NUMBERS", 8)
    with pytest.raises(CertificateError, match="more than 8 numbers"):
        parsed_conditions([entry], 2)


def test_counts_are_limited_before_what_is_counted_is_read():
    """Two million numbers, a hundred thousand names and conditions, from both sides."""
    rows: list[None] = [None] * 2_000_000
    assert refused(edited("feasible", *FIRST, to={**condition(), "A": rows, "b": []})) == ROWS
    rows.append(None)
    too_many = refused(edited("feasible", *FIRST, to={**condition(), "A": rows, "b": []}))
    assert too_many == "there are more than 2000000 numbers"
    most = "there are more than 100000 parameters or 100000 conditions"
    junk: list[Any] = [None] * 100_000
    assert refused(edited("feasible", "constraints", to=junk)) == "condition 1 is not an object"
    assert "a parameter's name" in refused(edited("feasible", "parameters", to=junk))
    assert "a base parameter's name" in refused(edited("infeasible", "base_parameters", to=junk))
    assert refused(edited("drawn", "numbers", "bodies", to=junk)) == BODY
    junk.append(None)
    assert refused(edited("feasible", "constraints", to=junk)) == most
    assert refused(edited("feasible", "parameters", to=junk)) == most
    too_long = "base_parameters must be a list of at most 100000 names"
    assert refused(edited("infeasible", "base_parameters", to=junk)) == too_long
    assert refused(edited("drawn", "numbers", "bodies", to=junk)) == too_long


def test_names_and_matrices_are_limited():
    """Names of 2,000 characters and matrices of 64 rows are read, larger ones refused."""
    assert name_of("x" * 2_000, "it") == "x" * 2_000
    with pytest.raises(CertificateError, match="it must be a text of at most 2000 characters"):
        name_of("x" * 2_001, "it")
    for rows, fits in ((64, True), (65, False)):
        n = rows * (rows + 1) // 2
        entry = condition("M", "psd", (0,), (("1",),) * n, ("0",) * n)
        if fits:
            assert matrix_rows(len(parsed_conditions([entry], 1)[0].b)) == 64
        else:
            with pytest.raises(CertificateError, match="a matrix of at most 64 rows"):
                parsed_conditions([entry], 1)


def test_long_numbers_are_charged_with_the_square_of_their_digits():
    """A number of d digits costs d + d² / 1000: 1,816 times 1e9999 are read, and one more not;
    numbers of few digits cost their digits.
    """
    each = 6 + 9_999  # of "1e9999"
    assert 1_816 * (each + each**2 // 1_000) < 200_000_000 < 1_817 * (each + each**2 // 1_000)
    for n, fits in ((1_816, True), (1_817, False)):
        document = edited("feasible", "parameters", to=["p"] * n)
        document["numbers"] = {"theta": ["1e9999"] * n}
        if fits:
            assert len(parse(document).vectors["theta"]) == n
        else:
            assert refused(document) == "theta: reading numbers this long would take too long"


def test_the_digits_of_all_numbers_are_charged(monkeypatch):
    """With a limit of exactly its digits a certificate is read; with one less it is refused."""
    monkeypatch.setattr(module, "MAX_DIGIT_WORK", 4)
    parse(small("feasible"))
    monkeypatch.setattr(module, "MAX_DIGIT_WORK", 3)
    assert "theta: reading numbers this long" in refused(small("feasible"))


# --- files and hashes -------------------------------------------------------------------------


def test_a_file_is_read_as_it_was_written(tmp_path):
    """The object in the file; a decimal outside quotes is refused with its text."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps(small("optimal")))
    assert read_certificate(path) == small("optimal")
    path.write_text('{"a": 1.25}')
    with pytest.raises(CertificateError, match=r"c\.json': the number 1\.25 is not in quotes"):
        read_certificate(path)
    path.write_text("3")
    with pytest.raises(CertificateError, match=r"c\.json': holds a int, not a certificate"):
        read_certificate(path)


def test_hashes_cover_what_is_claimed():
    """The hash of the digits changes with every member that it covers, and with terms; that of the
    constraints with those.
    """
    document = small("infeasible")
    known = hashes_of(document)
    for key in ("kind", "parameters", "base_parameters", "numbers", "terms"):
        other = hashes_of({**document, key: "other"})
        assert other["digits"] != known["digits"], key
        assert other["constraints"] == known["constraints"]
    assert hashes_of({**document, "constraints": []})["constraints"] != known["constraints"]
    assert hashes_of({**document, "robot": "other"}) == known
    assert canonical_hash({"b": "é", "a": [1]}) == canonical_hash({"a": [1], "b": "\u00e9"})
    # of {"a":[1]}, by sha256sum
    assert canonical_hash({"a": [1]}).startswith("ff5464c3")
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CertificateError, match="nested too deeply"):
        canonical_hash(deep)


def test_problems_of_hashes_are_told_apart():
    """Missing, wrong, and not the expected one."""
    document = small("feasible")
    own = document["hashes"]
    assert hash_problems(document, None, None) == []
    assert hash_problems(document, own["model"], own["constraints"]) == []
    other = "1" * 64
    assert hash_problems(document, other, None) == ["the hash of the model is not the expected one"]
    assert hash_problems(document, None, other) == [
        "the hash of the constraints is not the expected one"
    ]
    for wrong in (None, "", "0" * 63, "0" * 65, "G" * 64, 5):
        spoilt = {**document, "hashes": {**own, "model": wrong}}
        assert hash_problems(spoilt, "0" * 64, None) == ["the hash of the model is missing"]
    for name in ("constraints", "digits"):
        spoilt = {**document, "hashes": {**own, name: other}}
        assert hash_problems(spoilt, None, None) == [f"the hash of the {name} does not match"]
    for hashes in (None, [], "x"):
        with pytest.raises(CertificateError, match="the certificate has no hashes"):
            hash_problems({**document, "hashes": hashes}, None, None)
