"""A second, independent implementation of `verify`, by another algorithm.

Everything becomes integers over one common denominator. A symmetric matrix is positive
semidefinite if and only if all coefficients of det(t 1 + M) are non-negative (all eigenvalues are
real, so that no sign change means no positive root); they come from Faddeev and LeVerrier's
recursion. Nothing is shared with ``steelyard.conic.exact`` or ``steelyard.certificates.verify``.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from math import gcd

Pair = tuple[int, int]  # numerator, positive denominator


def pair(text: str) -> Pair:
    """Numerator and denominator of a number's text."""
    if "/" in text:
        top, bottom = text.split("/")
        return int(top), int(bottom)
    if "0x" in text:
        mantissa, power = text.replace("0x", "").split("p")
        head, _, tail = mantissa.partition(".")
        top, exponent = int(head + tail, 16), int(power) - 4 * len(tail)
        return (top * 2**exponent, 1) if exponent >= 0 else (top, 2**-exponent)
    return Decimal(text).as_integer_ratio()


class Scaled:
    """Numbers as integers over one common denominator."""

    def __init__(self, pairs: list[Pair]) -> None:
        self.below = 1
        for _, bottom in pairs:
            self.below = self.below // gcd(self.below, bottom) * bottom
        self.top = [top * (self.below // bottom) for top, bottom in pairs]


def dot(a: list[Pair], b: list[Pair]) -> Pair:
    """Sum of products."""
    one, two = Scaled(a), Scaled(b)
    return sum(x * y for x, y in zip(one.top, two.top, strict=True)), one.below * two.below


def add(*numbers: Pair) -> Pair:
    """Sum."""
    scaled = Scaled(list(numbers))
    return sum(scaled.top), scaled.below


def minus(x: Pair) -> Pair:
    """-x."""
    return -x[0], x[1]


def half(x: Pair) -> Pair:
    """x / 2."""
    return x[0], 2 * x[1]


def coefficients(M: list[list[int]]) -> list[int]:
    """Coefficients of det(t 1 + M) after the leading one."""
    n = len(M)
    out = []
    N = [[0] * n for _ in range(n)]
    last = 1
    for k in range(1, n + 1):
        # N <- M N + c_{k-1} 1 for the characteristic polynomial det(t 1 - M)
        N = [
            [sum(M[i][m] * N[m][j] for m in range(n)) + (last if i == j else 0) for j in range(n)]
            for i in range(n)
        ]
        trace = sum(M[i][m] * N[m][i] for i in range(n) for m in range(n))
        assert trace % k == 0
        last = -trace // k
        out.append(last if k % 2 == 0 else -last)
    return out


def triangle(entries: list[int]) -> list[list[int]]:
    """The symmetric matrix of an upper triangle, column by column."""
    n = 0
    while n * (n + 1) // 2 < len(entries):
        n += 1
    rows = [[entries[j * (j + 1) // 2 + i] for i in range(j + 1)] for j in range(n)]
    return [[rows[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def in_cone(kind: str, entries: list[Pair]) -> bool:
    """Cone membership."""
    top = Scaled(entries).top
    if kind == "zero":
        return not any(top)
    if kind == "nonnegative":
        return min(top) >= 0
    if kind == "second_order":
        return top[0] >= 0 and top[0] ** 2 - sum(x**2 for x in top[1:]) >= 0
    return all(c >= 0 for c in coefficients(triangle(top)))


def meets_conditions(document: dict) -> bool:
    """Whether theta is in every block."""
    theta = [pair(t) for t in document["numbers"]["theta"]]
    for block in document["constraints"]:
        x = [theta[c] for c in block["columns"]]
        entries = [
            add(pair(b), dot([pair(a) for a in row], x))
            for row, b in zip(block["A"], block["b"], strict=True)
        ]
        if not in_cone(block["kind"], entries):
            return False
    return True


def columns_of_K(document: dict) -> tuple[dict, dict]:
    """K by rows and by columns."""
    rows: dict[int, list] = {}
    columns: dict[int, list] = {}
    for row, column, value in document["numbers"]["K"]:
        rows.setdefault(row, []).append((column, pair(value)))
        columns.setdefault(column, []).append((row, pair(value)))
    return rows, columns


def times(sparse: dict, n: int, x: list[Pair]) -> list[Pair]:
    """A sparse matrix by its rows, times x."""
    out = []
    for k in range(n):
        entries = sparse.get(k, [])
        out.append(dot([v for _, v in entries], [x[at] for at, _ in entries]))
    return out


def duals_balance(document: dict, g: list[Pair]) -> bool:
    """Whether duals lie in their cones and sum to Kᵀ g."""
    n = len(document["parameters"])
    parts: list[list[Pair]] = [[] for _ in range(n)]
    for block, dual in zip(document["constraints"], document["numbers"]["duals"], strict=True):
        z = [pair(t) for t in dual]
        if block["kind"] != "zero" and not in_cone(block["kind"], z):
            return False
        z = doubled(block["kind"], z)
        for place, column in enumerate(block["columns"]):
            parts[column].append(dot([pair(row[place]) for row in block["A"]], z))
    wanted = times(columns_of_K(document)[1], n, g)
    return all(add(*part, minus(w))[0] == 0 for part, w in zip(parts, wanted, strict=True))


def doubled(kind: str, z: list[Pair]) -> list[Pair]:
    """Off-diagonal entries twice."""
    if kind != "psd":
        return z
    diagonal = {j * (j + 3) // 2 for j in range(len(z))}
    return [x if at in diagonal else (2 * x[0], x[1]) for at, x in enumerate(z)]


def paired(document: dict) -> Pair:
    """Sum over the blocks of z · b."""
    products = [
        dot(doubled(block["kind"], [pair(t) for t in dual]), [pair(t) for t in block["b"]])
        for block, dual in zip(document["constraints"], document["numbers"]["duals"], strict=True)
    ]
    return add((0, 1), *products)


def proves(document: dict) -> bool:
    """Whether the claim holds, hashes aside."""
    numbers = document["numbers"]
    sizes = {len(numbers[key]) for key in ("beta", "y", "z", "u", "R") if key in numbers}
    if len(numbers.get("theta", document["parameters"])) != len(document["parameters"]):
        return False
    if len(sizes) > 1 or any(row >= min(sizes) for row, _, _ in numbers.get("K", ())):
        return False
    if any(column >= len(document["parameters"]) for _, column, _ in numbers.get("K", ())):
        return False
    if document["kind"] == "feasible":
        if not meets_conditions(document):
            return False
        if "K" not in numbers:
            return True
        theta, beta = ([pair(t) for t in numbers[key]] for key in ("theta", "beta"))
        image = times(columns_of_K(document)[0], len(beta), theta)
        return all(add(a, minus(b))[0] == 0 for a, b in zip(image, beta, strict=True))
    if document["kind"] == "infeasible":
        y, beta = ([pair(t) for t in numbers[key]] for key in ("y", "beta"))
        value = add(dot(y, beta), paired(document))
        same = add(value, minus(pair(numbers["value"])))[0] == 0
        return value[0] < 0 and same and duals_balance(document, y)
    return meets_conditions(document) and bounds_hold(document)


def bounds_hold(document: dict) -> bool:
    """Whether value, lower bound and gap are what u, the duals and theta give, or weaker."""
    numbers = document["numbers"]
    z, u, theta = ([pair(t) for t in numbers[key]] for key in ("z", "u", "theta"))
    R = [[(0, 1)] * i + [pair(t) for t in row] for i, row in enumerate(numbers["R"])]
    beta = times(columns_of_K(document)[0], len(z), theta)
    r = [add(a, minus(dot(row, beta))) for a, row in zip(z, R, strict=True)]
    rest = half(pair(numbers["rest"]))
    value = add(half(dot(r, r)), rest)
    lower = add(dot(u, z), minus(half(dot(u, u))), rest, minus(paired(document)))
    g = [minus(dot([row[j] for row in R], u)) for j in range(len(z))]
    stated, bound, gap = (pair(numbers[key]) for key in ("value", "lower_bound", "gap"))
    return (
        add(stated, minus(value))[0] >= 0
        and add(lower, minus(bound))[0] >= 0
        and add(gap, minus(stated), bound)[0] >= 0
        and duals_balance(document, g)
    )


def seals(document: dict) -> dict[str, str]:
    """The hashes that the content should have."""
    digits = {k: document.get(k) for k in ("kind", "parameters", "base_parameters", "numbers")}
    digits |= {k: document[k] for k in ("terms",) if k in document}
    out = {}
    sealed = {"constraints": document["constraints"], "digits": digits}
    sealed |= {k: document[k] for k in ("files",) if k in document}
    for name, content in sealed.items():
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        out[name] = hashlib.sha256(text.encode()).hexdigest()
    return out


def resealed(document: dict) -> dict:
    """The document with fresh hashes."""
    return {**document, "hashes": {**document["hashes"], **seals(document)}}


def is_valid(document: dict) -> bool:
    """Whether the claim holds and the hashes match."""
    seal = {name: text for name, text in document["hashes"].items() if name != "model"}
    return seal == seals(document) and proves(document)
