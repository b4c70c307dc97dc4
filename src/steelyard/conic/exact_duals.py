"""Duals in exact rational arithmetic: pairings, balances, and how rounding is absorbed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from steelyard.conic import exact
from steelyard.conic.blocks import Block, triangle_index

Equation = tuple[dict[int, Fraction], Fraction]


def meet(equations: Sequence[Equation], y: Sequence[Fraction]) -> list[Fraction]:
    """y changed as little as elimination allows, so that it meets the equations exactly."""
    out = list(y)
    solved: list[tuple[int, dict[int, Fraction], Fraction]] = []
    for coefficients, right in equations:
        row, value = dict(coefficients), right
        for pivot, known, known_right in solved:
            if pivot in row:
                factor = row.pop(pivot)
                for i, x in known.items():
                    row[i] = row.get(i, Fraction(0)) - factor * x
                value -= factor * known_right
        row = {i: x for i, x in row.items() if x != 0}
        if not row:
            continue
        pivot = max(row, key=lambda i: abs(row[i]))
        head = row.pop(pivot)
        solved.append((pivot, {i: x / head for i, x in row.items()}, value / head))
    for pivot, known, value in reversed(solved):
        out[pivot] = value - sum((x * out[i] for i, x in known.items()), Fraction(0))
    return out


def exact_weights(block: Block) -> list[int]:
    """How often each entry counts in a pairing: twice off the diagonal of a psd block."""
    if block.kind != "psd":
        return [1] * len(block.b)
    return [1 if i == j else 2 for i, j in triangle_index(block.size)]


def exact_adjoint(block: Block, dual: Sequence[Fraction]) -> list[Fraction]:
    """A*(dual), exactly."""
    weights = exact_weights(block)
    out = []
    for column in range(block.A.shape[1]):
        total = Fraction(0)
        for at, weight in enumerate(weights):
            coefficient = block.A[at, column]
            if coefficient != 0.0 and dual[at] != 0:
                total += weight * Fraction(float(coefficient)) * dual[at]
        out.append(total)
    return out


def exact_pairing(block: Block, dual: Sequence[Fraction], entries: Sequence[Fraction]) -> Fraction:
    """Inner product of a dual and a block's entries, exactly."""
    weights = exact_weights(block)
    products = (w * a * b for w, a, b in zip(weights, dual, entries, strict=True))
    return sum(products, Fraction(0))


def absorb(
    block: Block,
    dual: Sequence[Fraction],
    wanted: Sequence[Fraction],
    entries: Sequence[int],
) -> list[Fraction] | None:
    """The dual on these entries, near ``dual``, with A*(dual) = wanted exactly, if there is one.

    Moved along the block's own coefficients, which is the shortest way in the pairing's metric.
    """
    n = block.A.shape[1]
    weights = exact_weights(block)
    start = [x if at in set(entries) else Fraction(0) for at, x in enumerate(dual)]
    rest = [w - a for w, a in zip(wanted, exact_adjoint(block, start), strict=True)]
    columns = [[Fraction(float(block.A[at, k])) for at in entries] for k in range(n)]
    gram = [
        [
            sum((weights[at] * a * b for at, a, b in zip(entries, x, y, strict=True)), Fraction(0))
            for y in columns
        ]
        for x in columns
    ]
    coefficients = exact.solve_consistent(gram, rest)
    if coefficients is None:
        return None
    for k, coefficient in enumerate(coefficients):
        if coefficient != 0:
            for at, x in zip(entries, columns[k], strict=True):
                start[at] += coefficient * x
    return start
