"""Check a certificate with nothing but integers and fractions.

No solver, no floating point and no library beyond Python's own take part: what the file says is
read as rational numbers, and every claim is computed again from them (``docs/certificates.md`` has
the mathematics). Three kinds of claim can be proven:

``feasible``    parameters theta meet every condition (and, if stated, K theta = beta);
``infeasible``  no theta with K theta = beta meets them all;
``optimal``     theta meets them all, and no other theta fits the data better than by a stated gap.

A file from a stranger gives a verdict or one clear error: sizes, digits and the amount of
arithmetic are limited.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt, lcm
from pathlib import Path
from typing import Any

from steelyard import exact
from steelyard.errors import SteelyardError

SCHEMA = "steelyard.certificate/1"
KINDS = ("feasible", "infeasible", "optimal")
CONES = ("zero", "nonnegative", "second_order", "psd")

MAX_BYTES = 64 * 2**20
MAX_DIGITS = 10_000  # of one number
MAX_NUMBERS = 2_000_000  # in one certificate
MAX_BLOCKS = 100_000
MAX_PARAMETERS = 100_000
MAX_MATRIX = 64  # rows of a psd block
MAX_NAME = 2_000
MAX_WORK = 2 * 10**9  # steps on 64-bit pieces of numbers: some ten seconds for long numbers

Vector = list[Fraction]


class CertificateError(SteelyardError):
    """A certificate cannot be read, or is too large to be checked."""


@dataclass(frozen=True)
class Verdict:
    """What checking a certificate found.

    valid : every claim holds and no hash differs. words : the finding in one sentence.
    details : what was computed, as plain data; ``problems`` lists what does not hold.
    """

    valid: bool
    kind: str
    words: str
    details: Mapping[str, Any] = field(default_factory=dict)


def verify(
    source: str | Path | Mapping[str, Any],
    *,
    model: str | None = None,
    constraints: str | None = None,
) -> Verdict:
    """Check a certificate, given as a path or as the object in the file.

    model, constraints : hashes that the certificate must have been made for.
    """
    document = source if isinstance(source, Mapping) else read_certificate(source)
    certificate = parse(document)
    problems = hash_problems(document, model, constraints)
    work = Work()
    found = _CHECKS[certificate.kind](certificate, work)
    problems += found.problems
    details = {
        "parameters": len(certificate.parameters),
        "conditions": len(certificate.blocks),
        **found.details,
        "problems": problems,
    }
    words = found.words if not problems else f"invalid: {'; '.join(problems[:5])}"
    if len(problems) > 5:
        words += f"; and {len(problems) - 5} more"
    return Verdict(not problems, certificate.kind, words, details)


# --- reading --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """``A theta[columns] + b`` lies in a cone (see `steelyard.cones`)."""

    name: str
    kind: str
    columns: tuple[int, ...]
    A: tuple[Vector, ...]
    b: Vector

    @property
    def weights(self) -> list[int]:
        """How often each entry counts in a pairing: twice off the diagonal of a psd block."""
        if self.kind != "psd":
            return [1] * len(self.b)
        return [1 if i == j else 2 for j in range(matrix_rows(len(self.b))) for i in range(j + 1)]


@dataclass(frozen=True)
class Certificate:
    """A certificate's content, as numbers."""

    kind: str
    parameters: tuple[str, ...]
    blocks: tuple[Condition, ...]
    K: tuple[tuple[int, int, Fraction], ...] | None
    vectors: Mapping[str, Vector]
    R: tuple[Vector, ...]
    duals: tuple[Vector, ...]
    stated: Mapping[str, Fraction]


def read_certificate(path: str | Path) -> dict[str, Any]:
    """The object in a certificate's file, not yet checked."""
    try:
        if Path(path).is_dir():
            raise CertificateError(f"'{path}': is a folder, not a file")
        with Path(path).open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise CertificateError(f"'{path}': there is no such file") from None
    except OSError as failure:
        raise CertificateError(
            f"'{path}': cannot be read ({failure.strerror or failure})"
        ) from None
    if len(data) > MAX_BYTES:
        raise CertificateError(f"'{path}': is larger than {MAX_BYTES >> 20} MiB")
    try:
        document = json.loads(
            data, object_pairs_hook=_no_repeats, parse_float=_no_float, parse_constant=_no_float
        )
    except CertificateError as failure:
        raise CertificateError(f"'{path}': {failure}") from None
    except (ValueError, RecursionError) as failure:
        reason = str(failure).splitlines()[0][:200]
        raise CertificateError(f"'{path}': is not JSON ({reason})") from None
    if not isinstance(document, dict):
        raise CertificateError(f"'{path}': holds no certificate but a {type(document).__name__}")
    return document


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        raise CertificateError("an object names a key twice")
    return out


def _no_float(text: str) -> None:
    raise CertificateError(f"the number {text[:40]} stands outside quotes, where it is not exact")


class _Reader:
    """Turns a document's pieces into numbers, and counts them."""

    def __init__(self) -> None:
        self.n_numbers = 0

    def number(self, text: Any, where: str) -> Fraction:
        self.n_numbers += 1
        if self.n_numbers > MAX_NUMBERS:
            raise CertificateError(f"there are more than {MAX_NUMBERS} numbers")
        return number(text, where)

    def vector(self, values: Any, where: str, size: int | None = None) -> Vector:
        if not isinstance(values, list) or (size is not None and len(values) != size):
            length = f" of {len(values)}" if isinstance(values, list) else ""
            wanted = "numbers" if size is None else f"{size} numbers"
            raise CertificateError(
                f"{where} must be a list of {wanted}, not a {_is(values)}{length}"
            )
        return [self.number(value, where) for value in values]

    def condition(self, entry: Any, k: int, n: int) -> Condition:
        where = f"condition {k + 1}"
        if not isinstance(entry, Mapping):
            raise CertificateError(f"{where} is not an object")
        if set(entry) != {"name", "kind", "columns", "A", "b"}:
            raise CertificateError(f"{where} has {_keys(entry)}, not name, kind, columns, A, b")
        name, kind = name_of(entry.get("name"), f"the name of {where}"), entry.get("kind")
        if kind not in CONES:
            raise CertificateError(f"{where} has the kind {_is(kind)}, none of {', '.join(CONES)}")
        columns = entry.get("columns")
        if not isinstance(columns, list) or not all(_is_index(c, n) for c in columns):
            raise CertificateError(f"{where}: its columns must be indices below {n}")
        if len(set(columns)) != len(columns):
            raise CertificateError(f"{where} names a column twice")
        b = self.vector(entry.get("b"), f"b of {where}")
        rows = entry.get("A")
        if not b or not isinstance(rows, list) or len(rows) != len(b):
            raise CertificateError(
                f"{where}: A must have as many rows as b has entries, at least 1"
            )
        A = tuple(self.vector(row, f"A of {where}", len(columns)) for row in rows)
        if kind == "psd":
            size = matrix_rows(len(b))
            if size * (size + 1) // 2 != len(b) or size > MAX_MATRIX:
                raise CertificateError(
                    f"{where}: {len(b)} entries are no triangle of at most {MAX_MATRIX} rows"
                )
        return Condition(name, kind, tuple(columns), A, b)

    def sparse(self, entries: Any, n_rows: int, n: int) -> tuple[tuple[int, int, Fraction], ...]:
        if not isinstance(entries, list):
            raise CertificateError("K must be a list of [row, column, value]")
        out: dict[tuple[int, int], Fraction] = {}
        for entry in entries:
            if not isinstance(entry, list) or len(entry) != 3:
                raise CertificateError("K must be a list of [row, column, value]")
            row, column, value = entry
            if not _is_index(row, n_rows) or not _is_index(column, n) or (row, column) in out:
                raise CertificateError(
                    f"K has an entry at {_is(row)}, {_is(column)}: outside its {n_rows} rows and "
                    f"{n} columns, or there twice"
                )
            out[row, column] = self.number(value, "K")
        return tuple((row, column, value) for (row, column), value in out.items())


def parse(document: Mapping[str, Any]) -> Certificate:
    """The document's numbers, or one clear error."""
    if document.get("schema") != SCHEMA:
        raise CertificateError(
            f"this is no certificate: its schema is {_is(document.get('schema'))}, not '{SCHEMA}'"
        )
    kind = document.get("kind")
    if kind not in KINDS:
        raise CertificateError(f"the kind is {_is(kind)}, none of {', '.join(KINDS)}")
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
        raise CertificateError("K stands alone, or a vector of base parameters stands without K")
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
    return Certificate(kind, parameters, blocks, K, vectors, R, duals, stated)


_NEEDED = {
    "feasible": ("theta",),
    "infeasible": ("K", "beta", "y", "duals", "value"),
    "optimal": ("K", "R", "z", "rest", "theta", "u", "duals", "value", "lower_bound", "gap"),
}
_DECIMAL = re.compile(r"([+-]?)([0-9]+)(?:/([0-9]+)|(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,5}))?)")
_HEX = re.compile(r"([+-]?)0x([0-9a-f]+)(?:\.([0-9a-f]+))?p([+-]?[0-9]{1,5})")


def number(text: Any, where: str = "a number") -> Fraction:
    """The rational number that a text names: 3, -0.25, 1.5e-7, 22/7 or 0x1.8p-3."""
    if not isinstance(text, str):
        raise CertificateError(f"{where} has {_is(text)} where a number in quotes is needed")
    if len(text) > MAX_DIGITS:
        raise CertificateError(f"{where} has a number of more than {MAX_DIGITS} digits")
    found = _DECIMAL.fullmatch(text)
    if found is not None:
        sign, head, denominator, tail, power = found.groups()
        if denominator is not None:
            below = whole(denominator)
            if below == 0:
                raise CertificateError(f"{where} has {_is(text)}, which divides by zero")
            value = Fraction(whole(head), below)
        else:
            shift = int(power or 0) - len(tail or "")
            if abs(shift) > MAX_DIGITS:
                raise CertificateError(f"{where} has a number of more than {MAX_DIGITS} digits")
            digits = whole(head + (tail or ""))
            value = Fraction(digits * 10 ** max(shift, 0), 10 ** max(-shift, 0))
        return -value if sign == "-" else value
    found = _HEX.fullmatch(text)
    if found is None:
        raise CertificateError(f"{where} has {_is(text)}, which is no number")
    sign, head, tail, power = found.groups()
    shift = int(power) - 4 * len(tail or "")
    if abs(shift) > 3 * MAX_DIGITS:
        raise CertificateError(f"{where} has a number of more than {MAX_DIGITS} digits")
    value = Fraction(int(head + (tail or ""), 16) << max(shift, 0), 1 << max(-shift, 0))
    return -value if sign == "-" else value


def whole(digits: str) -> int:
    """A non-negative integer of any length: Python's own reading stops at 4,300 digits."""
    if len(digits) <= 4000:
        return int(digits)
    return whole(digits[:-4000]) * 10**4000 + int(digits[-4000:])


def name_of(value: Any, what: str) -> str:
    """A short text."""
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
    return ", ".join(_is(key) for key in list(value)[:20]) or "none"


def _quoted(text: str, mark: str = '"') -> str:
    cut = text[:100] + "..." if len(text) > 100 else text
    return f"{mark}{cut}{mark}" if cut.isprintable() else repr(cut)


def _is(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value, "'")
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) < 10**12:
        return str(value)
    return type(value).__name__


# --- hashes ---------------------------------------------------------------------------------


def canonical_hash(value: Any) -> str:
    """SHA-256 of a value's JSON with sorted keys, no spaces, and ASCII alone."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def hashes_of(document: Mapping[str, Any]) -> dict[str, str]:
    """The hashes of a document's constraints and digits."""
    digits = {
        key: document.get(key) for key in ("kind", "parameters", "base_parameters", "numbers")
    }
    return {
        "constraints": canonical_hash(document.get("constraints")),
        "digits": canonical_hash(digits),
    }


def hash_problems(
    document: Mapping[str, Any], model: str | None, constraints: str | None
) -> list[str]:
    """Every hash that is absent, or is not that of the content, or not the expected one."""
    stated = document.get("hashes")
    if not isinstance(stated, Mapping):
        raise CertificateError("the certificate has no hashes")
    problems = []
    if not re.fullmatch("[0-9a-f]{64}", str(stated.get("model"))):
        problems.append("the hash of the model is absent")
    elif model is not None and stated["model"] != model:
        problems.append("the hash of the model is not the expected one")
    for name, computed in hashes_of(document).items():
        if stated.get(name) != computed:
            problems.append(f"the hash of the {name} does not match")
    if constraints is not None and stated.get("constraints") != constraints:
        problems.append("the hash of the constraints is not the expected one")
    return problems


# --- arithmetic -----------------------------------------------------------------------------


class Work:
    """How much arithmetic is left before a certificate is refused as too long to check."""

    def __init__(self, limit: int = MAX_WORK) -> None:
        self.left = limit

    def spend(self, times: int, bits: int) -> None:
        """Account for ``times`` operations on numbers of this length."""
        self.left -= times * ((bits >> 6) + 1) ** 2
        if self.left < 0:
            raise CertificateError("its numbers are so long that checking it would take too much")

    def total(self, start: Fraction, pairs: Iterable[tuple[Fraction, Fraction]]) -> Fraction:
        """start + the sum of the products, exactly."""
        for a, b in pairs:
            if a and b:
                start += a * b
                self.spend(1, bits(a) + bits(b) + bits(start))
        return start

    def membership(self, kind: str, entries: Sequence[Fraction]) -> tuple[bool, bool]:
        """Whether entries lie in a cone, and whether strictly inside (an equation: as it holds)."""
        common = 1
        for x in entries:
            common = lcm(common, x.denominator)
            self.spend(1, common.bit_length())
        whole_entries = [x * common for x in entries]
        longest = max(bits(x) for x in whole_entries)
        if kind != "psd":
            self.spend(4 * len(entries), longest)
            inside = exact.in_cone(kind, whole_entries)
            return inside, inside and _strictly(kind, whole_entries)
        n = matrix_rows(len(entries))
        self.spend(2 * n**3, 2 * n * longest)  # a pivot is a ratio of determinants
        M = exact.symmetric(whole_entries)
        strict = exact.is_positive_definite(M)
        return strict or exact.is_psd(M), strict


def bits(x: Fraction) -> int:
    """Length of a rational number."""
    return x.numerator.bit_length() + x.denominator.bit_length()


def _strictly(kind: str, entries: Sequence[Fraction]) -> bool:
    if kind == "second_order":
        rest = sum((x * x for x in entries[1:]), Fraction(0))
        return entries[0] > 0 and entries[0] ** 2 > rest
    return kind == "zero" or all(x > 0 for x in entries)


@dataclass(frozen=True)
class _Found:
    words: str
    problems: list[str]
    details: dict[str, Any]


def _conditions(certificate: Certificate, work: Work) -> _Found:
    """Whether theta meets every condition."""
    theta = certificate.vectors["theta"]
    outside, edge = [], []
    for block in certificate.blocks:
        x = [theta[c] for c in block.columns]
        entries = [
            work.total(b, zip(row, x, strict=True)) for row, b in zip(block.A, block.b, strict=True)
        ]
        inside, strict = work.membership(block.kind, entries)
        if not inside:
            outside.append(block.name)
        elif not strict:
            edge.append(block.name)
    problems = [f"the condition {_quoted(name)} does not hold" for name in outside]
    how = "every condition strictly" if not edge else f"every condition, {len(edge)} with equality"
    return _Found(
        f"the parameters meet {how}", problems, {"strict": not edge, "with_equality": edge[:100]}
    )


def _feasible(certificate: Certificate, work: Work) -> _Found:
    found = _conditions(certificate, work)
    if certificate.K is None:
        return found
    if "beta" not in certificate.vectors:
        raise CertificateError("a feasible certificate with K needs beta")
    image = _image(certificate, work)
    wrong = [k for k, b in enumerate(certificate.vectors["beta"]) if image[k] != b]
    problems = [f"base parameter {k + 1} is not K theta" for k in wrong]
    return _Found(
        f"{found.words}, and have these base parameters exactly",
        found.problems + problems,
        found.details | {"base_parameters": len(image)},
    )


def _image(certificate: Certificate, work: Work) -> Vector:
    """K theta."""
    out = [Fraction(0)] * max(len(certificate.vectors.get(k, ())) for k in ("beta", "z"))
    theta = certificate.vectors["theta"]
    for row, column, value in certificate.K or ():
        out[row] = work.total(out[row], [(value, theta[column])])
    return out


def _balance(certificate: Certificate, y: Vector, work: Work) -> tuple[list[str], Fraction]:
    """Problems with Kᵀ y = sum A_kᵀ z_k and z_k in the cones; and sum z_k · b_k."""
    left = [Fraction(0)] * len(certificate.parameters)
    for row, column, value in certificate.K or ():
        left[column] = work.total(left[column], [(value, y[row])])
    problems = []
    paired = Fraction(0)
    for block, dual in zip(certificate.blocks, certificate.duals, strict=True):
        if block.kind != "zero" and not work.membership(block.kind, dual)[0]:
            problems.append(f"the dual of the condition {_quoted(block.name)} is outside its cone")
        weighted = [weight * x for weight, x in zip(block.weights, dual, strict=True)]
        for place, column in enumerate(block.columns):
            pairs = ((-row[place], x) for row, x in zip(block.A, weighted, strict=True))
            left[column] = work.total(left[column], pairs)
        paired = work.total(paired, zip(weighted, block.b, strict=True))
    names = zip(certificate.parameters, left, strict=True)
    problems += [f"the duals do not balance at {_is(name)}" for name, x in names if x != 0]
    return problems, paired


def _infeasible(certificate: Certificate, work: Work) -> _Found:
    y, beta = certificate.vectors["y"], certificate.vectors["beta"]
    problems, paired = _balance(certificate, y, work)
    value = work.total(paired, zip(y, beta, strict=True))
    if value >= 0:
        problems.append(f"the duals prove nothing: their value is {about(value)}, not negative")
    if value != certificate.stated["value"]:
        problems.append("the stated value is not that of the duals")
    words = "no parameters with these base parameters meet all conditions"
    return _Found(words, problems, {"value": about(value), "base_parameters": len(y)})


def _optimal(certificate: Certificate, work: Work) -> _Found:
    """½|r|² >= uᵀ r - ½|u|² with r = z - R K theta, for every theta and any u."""
    found = _conditions(certificate, work)
    R, z, u = certificate.R, certificate.vectors["z"], certificate.vectors["u"]
    stated, half = certificate.stated, Fraction(1, 2)
    beta = _image(certificate, work)
    value = lower = half * stated["rest"]
    for i, row in enumerate(R):
        r = work.total(z[i], ((-x, b) for x, b in zip(row, beta[i:], strict=True)))
        value = work.total(value, [(half * r, r)])
    g = [Fraction(0)] * len(u)
    for i, row in enumerate(R):
        for j, x in enumerate(row, start=i):
            g[j] = work.total(g[j], [(-x, u[i])])
    problems, paired = _balance(certificate, g, work)
    lower = work.total(lower - paired, zip(u, z, strict=True))
    lower = work.total(lower, ((-half * x, x) for x in u))
    if value > stated["value"]:
        problems.append(f"the parameters' value is {about(value)}, above what is stated")
    if lower < stated["lower_bound"]:
        problems.append(f"the duals prove a bound of {about(lower)}, below what is stated")
    if stated["gap"] < stated["value"] - stated["lower_bound"]:
        problems.append("the stated gap is smaller than value - lower bound")
    words = (
        f"{found.words}, and no others that do have a value more than {about(stated['gap'])} "
        f"below theirs of {about(stated['value'])}"
    )
    details = {key: about(stated[key]) for key in ("value", "lower_bound", "gap")}
    return _Found(words, found.problems + problems, found.details | details)


def about(x: Fraction) -> str:
    """A rational number in a few digits."""
    try:
        near = float(x)
    except OverflowError:
        return "beyond 1e308" if x > 0 else "below -1e308"
    if near == 0.0 and x != 0:
        return "above 0 by less than 1e-300" if x > 0 else "below 0 by less than 1e-300"
    return f"{near:.6g}"


_CHECKS: dict[str, Callable[[Certificate, Work], _Found]] = {
    "feasible": _feasible,
    "infeasible": _infeasible,
    "optimal": _optimal,
}
