"""Reading a certificate: its exact numbers and its hashes.

Uses Python's standard library only. Files may be untrusted: size, digits and counts are limited,
and what does not fit is refused with a one-line error.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

from steelyard._files.access import read_capped
from steelyard._files.json_text import parse_json
from steelyard._files.limits import MAX_JSON_BYTES as MAX_BYTES
from steelyard.certificates.drawn import N_PARAMETERS, DrawnBody
from steelyard.conic.exact_text import CertificateError, digits_of, number, shown_value
from steelyard.errors import shown_path

SCHEMA = "steelyard.certificate/1"
CERTIFICATE_KINDS = ("feasible", "infeasible", "optimal", "drawn")
CONES = ("zero", "nonnegative", "second_order", "psd")

MAX_NUMBERS = 2_000_000  # in one certificate
MAX_DIGIT_WORK = 2 * 10**8  # digits, and for long numbers more: a second for "1e9999"
MAX_BLOCKS = 100_000
MAX_PARAMETERS = 100_000
MAX_MATRIX = 64  # rows of a psd block
MAX_NAME = 2_000

Vector = list[Fraction]


@dataclass(frozen=True)
class StatedCondition:
    """``A theta[columns] + b`` lies in a cone (see `steelyard.conic.blocks`)."""

    name: str
    kind: str
    columns: tuple[int, ...]
    A: tuple[Vector, ...]
    b: Vector

    @property
    def weights(self) -> list[int]:
        """Weight of each entry in the inner product: 2 off the diagonal of a psd block, else 1."""
        if self.kind != "psd":
            return [1] * len(self.b)
        return [1 if i == j else 2 for j in range(matrix_rows(len(self.b))) for i in range(j + 1)]


@dataclass(frozen=True)
class ParsedCertificate:
    """The content of a certificate, parsed into exact numbers."""

    kind: str
    parameters: tuple[str, ...]
    blocks: tuple[StatedCondition, ...]
    K: tuple[tuple[int, int, Fraction], ...] | None
    vectors: Mapping[str, Vector]
    R: tuple[Vector, ...]
    duals: tuple[Vector, ...]
    stated: Mapping[str, Fraction]
    bodies: tuple[DrawnBody, ...] = ()


def read_certificate(path: str | Path) -> dict[str, Any]:
    """The JSON object in a certificate, not yet checked."""
    where = shown_path(path)
    data = read_capped(path, MAX_BYTES, CertificateError)
    if b'"steelyard.result/' in data[:200]:
        raise CertificateError(
            f"{where}: is a result, not a certificate; identify writes certificate.json"
        )

    def no_float(text: str) -> None:
        raise CertificateError(
            f"{where}: the number {text[:40]} is not in quotes, so it is not exact"
        )

    document = parse_json(data, where, CertificateError, no_float)
    if not isinstance(document, dict):
        raise CertificateError(f"{where}: holds a {type(document).__name__}, not a certificate")
    return document


class _Reader:
    """Turns a document's entries into numbers, and counts them."""

    def __init__(self) -> None:
        self.n_numbers = 0
        self.work = 0

    def number(self, text: Any, where: str) -> Fraction:
        """A number; long ones are charged with the square of their digits, as their arithmetic."""
        digits = digits_of(text, where)
        self.work += digits + digits * digits // 1000
        if self.work > MAX_DIGIT_WORK:
            raise CertificateError(f"{where}: reading numbers this long would take too long")
        return number(text, where)

    def count(self, more: int) -> None:
        """Count numbers before any of them is read."""
        self.n_numbers += more
        if self.n_numbers > MAX_NUMBERS:
            raise CertificateError(f"there are more than {MAX_NUMBERS} numbers")

    def vector(
        self, values: Any, where: str, size: int | None = None, *, counted: bool = False
    ) -> Vector:
        if not isinstance(values, list) or (size is not None and len(values) != size):
            length = f" of {len(values)}" if isinstance(values, list) else ""
            wanted = "numbers" if size is None else f"{size} numbers"
            raise CertificateError(
                f"{where} must be a list of {wanted}, not a {shown_value(values)}{length}"
            )
        if not counted:
            self.count(len(values))
        return [self.number(value, where) for value in values]

    def condition(self, entry: Any, k: int, n: int) -> StatedCondition:
        where = f"condition {k + 1}"
        if not isinstance(entry, Mapping):
            raise CertificateError(f"{where} is not an object")
        if set(entry) != {"name", "kind", "columns", "A", "b"}:
            raise CertificateError(f"{where} has {_keys(entry)}, not name, kind, columns, A, b")
        name, kind = name_of(entry.get("name"), f"the name of {where}"), entry.get("kind")
        if kind not in CONES:
            raise CertificateError(
                f"{where} has the kind {shown_value(kind)}, not one of {', '.join(CONES)}"
            )
        columns = entry.get("columns")
        if not isinstance(columns, list) or not all(_is_index(c, n) for c in columns):
            raise CertificateError(f"{where}: its columns must be indices below {n}")
        if len(set(columns)) != len(columns):
            raise CertificateError(f"{where} names a column twice")
        rows = entry.get("A")
        self.count(len(rows) * len(columns) if isinstance(rows, list) else 0)
        b = self.vector(entry.get("b"), f"b of {where}")
        if not b or not isinstance(rows, list) or len(rows) != len(b):
            raise CertificateError(
                f"{where}: A must have as many rows as b has entries, at least 1"
            )
        A = tuple(self.vector(row, f"A of {where}", len(columns), counted=True) for row in rows)
        if kind == "psd":
            size = matrix_rows(len(b))
            if size * (size + 1) // 2 != len(b) or size > MAX_MATRIX:
                raise CertificateError(
                    f"{where}: {len(b)} entries are not the upper triangle of a matrix of at most "
                    f"{MAX_MATRIX} rows"
                )
        return StatedCondition(name, kind, tuple(columns), A, b)

    def body(self, entry: Any, n: int) -> DrawnBody:
        if not isinstance(entry, Mapping) or set(entry) != {"first", "weight", "prior"}:
            raise CertificateError("a body must have first, weight and prior")
        if not _is_index(entry["first"], n - N_PARAMETERS + 1):
            raise CertificateError(f"a body's first column must leave room for ten below {n}")
        prior = self.vector(entry["prior"], "the prior of a body", N_PARAMETERS)
        weight = self.number(entry["weight"], "the weight of a body")
        return DrawnBody(entry["first"], weight, tuple(prior))

    def sparse(self, entries: Any, n_rows: int, n: int) -> tuple[tuple[int, int, Fraction], ...]:
        if not isinstance(entries, list):
            raise CertificateError("K must be a list of [row, column, value]")
        out: dict[tuple[int, int], Fraction] = {}
        self.count(len(entries))
        for entry in entries:
            if not isinstance(entry, list) or len(entry) != 3:
                raise CertificateError("K must be a list of [row, column, value]")
            row, column, value = entry
            if not _is_index(row, n_rows) or not _is_index(column, n) or (row, column) in out:
                raise CertificateError(
                    f"K has an entry at {shown_value(row)}, {shown_value(column)} that is outside "
                    f"its {n_rows} rows and {n} columns, or repeated"
                )
            out[row, column] = self.number(value, "K")
        return tuple((row, column, value) for (row, column), value in out.items())


def parse(document: Mapping[str, Any]) -> ParsedCertificate:
    """The document's numbers; raises CertificateError if they are incomplete or malformed."""
    if document.get("schema") != SCHEMA:
        raise CertificateError(
            f"this is not a certificate: its schema is {shown_value(document.get('schema'))}, "
            f"not '{SCHEMA}'"
        )
    kind = document.get("kind")
    if kind not in CERTIFICATE_KINDS:
        raise CertificateError(
            f"the kind is {shown_value(kind)}, not one of {', '.join(CERTIFICATE_KINDS)}"
        )
    for key, what in (("parameters", list), ("constraints", list), ("numbers", dict)):
        if not isinstance(document.get(key), what):
            raise CertificateError(f"the certificate has no {key}")
    names = document["parameters"]
    if len(names) > MAX_PARAMETERS or len(document["constraints"]) > MAX_BLOCKS:
        raise CertificateError(
            f"there are more than {MAX_PARAMETERS} parameters or {MAX_BLOCKS} conditions"
        )
    parameters = tuple(name_of(name, "a parameter's name") for name in names)
    for name in _list_or_none(document.get("base_parameters")):
        name_of(name, "a base parameter's name")
    n = len(parameters)
    read = _Reader()
    blocks = tuple(read.condition(entry, k, n) for k, entry in enumerate(document["constraints"]))
    numbers = document["numbers"]
    needed = _NEEDED[kind]
    allowed = needed if kind != "feasible" else (*needed, "K", "beta")
    if not set(needed) <= set(numbers) <= set(allowed):
        raise CertificateError(
            f"the numbers of kind '{kind}' are {', '.join(allowed)}, not {_keys(numbers)}"
        )
    vectors: dict[str, Vector] = {}
    if "theta" in numbers:
        vectors["theta"] = read.vector(numbers["theta"], "theta", n)
    base_vectors = [key for key in ("beta", "y", "z", "u") if key in numbers]
    n_base = None
    for key in base_vectors:
        vectors[key] = read.vector(numbers[key], key, n_base)
        n_base = len(vectors[key])
    if ("K" in numbers) != (n_base is not None):
        raise CertificateError("K and the vectors of base parameters must be given together")
    K = read.sparse(numbers["K"], n_base, n) if n_base is not None else None
    R: tuple[Vector, ...] = ()
    if "R" in numbers:
        rows = numbers["R"]
        if not isinstance(rows, list) or len(rows) != n_base:
            raise CertificateError(f"R must have {n_base} rows")
        R = tuple(
            read.vector(row, "each row of R, from its diagonal on", len(rows) - i)
            for i, row in enumerate(rows)
        )
    duals: tuple[Vector, ...] = ()
    if "duals" in numbers:
        given = numbers["duals"]
        if not isinstance(given, list) or len(given) != len(blocks):
            raise CertificateError(f"there must be one dual for each of {len(blocks)} conditions")
        duals = tuple(
            read.vector(entries, f"the dual of condition {k + 1}", len(block.b))
            for k, (entries, block) in enumerate(zip(given, blocks, strict=True))
        )
    stated = {
        key: read.number(numbers[key], key)
        for key in ("value", "rest", "lower_bound", "gap")
        if key in numbers
    }
    bodies: tuple[DrawnBody, ...] = ()
    if kind == "drawn":
        bodies = tuple(read.body(entry, n) for entry in _list_or_none(numbers["bodies"]))
        vectors["pulls"] = read.vector(numbers["pulls"], "pulls", n)
    return ParsedCertificate(kind, parameters, blocks, K, vectors, R, duals, stated, bodies)


def parsed_conditions(entries: Sequence[Any], n: int) -> tuple[StatedCondition, ...]:
    """Conditions on ``n`` parameters, as a certificate states them."""
    read = _Reader()
    return tuple(read.condition(entry, k, n) for k, entry in enumerate(entries))


_NEEDED = {
    "feasible": ("theta",),
    "infeasible": ("K", "beta", "y", "duals", "value"),
    "optimal": ("K", "R", "z", "rest", "theta", "u", "duals", "value", "lower_bound", "gap"),
    "drawn": ("K", "R", "z", "theta", "u", "duals", "bodies", "pulls", "gap"),
}


def name_of(value: Any, what: str) -> str:
    """A name: a text of at most ``MAX_NAME`` characters."""
    if not isinstance(value, str) or len(value) > MAX_NAME:
        raise CertificateError(f"{what} must be a text of at most {MAX_NAME} characters")
    return value


def matrix_rows(n_entries: int) -> int:
    """n with n (n + 1) / 2 entries in its triangle."""
    return (isqrt(8 * n_entries + 1) - 1) // 2


def _is_index(value: Any, n: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < n


def _list_or_none(value: Any) -> list[Any]:
    if value is not None and (not isinstance(value, list) or len(value) > MAX_PARAMETERS):
        raise CertificateError(f"base_parameters must be a list of at most {MAX_PARAMETERS} names")
    return value or []


def _keys(value: Mapping[str, Any]) -> str:
    return ", ".join(shown_value(key) for key in list(value)[:20]) or "none"


def canonical_hash(value: Any) -> str:
    """SHA-256 of a value's JSON with sorted keys, no spaces, and ASCII characters only."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    except RecursionError:
        raise CertificateError("lists and objects are nested too deeply") from None
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def hashes_of(document: Mapping[str, Any]) -> dict[str, str]:
    """The hashes of a document's constraints and digits, and of its list of files if it has one."""
    digits = {
        key: document.get(key) for key in ("kind", "parameters", "base_parameters", "numbers")
    }
    if "terms" in document:
        digits["terms"] = document["terms"]
    hashes = {
        "constraints": canonical_hash(document.get("constraints")),
        "digits": canonical_hash(digits),
    }
    if "files" in document:
        hashes["files"] = canonical_hash(document["files"])
    return hashes


def hash_problems(
    document: Mapping[str, Any], model: str | None, constraints: str | None
) -> list[str]:
    """Problems: hashes that are missing, or differ from the content's or the expected ones."""
    stated = document.get("hashes")
    if not isinstance(stated, Mapping):
        raise CertificateError("the certificate has no hashes")
    problems = []
    if not re.fullmatch("[0-9a-f]{64}", str(stated.get("model"))):
        problems.append("the hash of the model is missing")
    elif model is not None and stated["model"] != model:
        problems.append("the hash of the model is not the expected one")
    for name, computed in hashes_of(document).items():
        if stated.get(name) != computed and not (name == "files" and name not in stated):
            problems.append(f"the hash of the {name} does not match")
    if "files" in stated and "files" not in document:
        problems.append("its list of files was removed: their hash is there, the list is not")
    if constraints is not None and stated.get("constraints") != constraints:
        problems.append("the hash of the constraints is not the expected one")
    return problems
