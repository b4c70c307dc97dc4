"""A solver's duals made exact; all exact proofs of this package use it.

A solver finds u and duals z_k in the dual cones with

    sum_k A_kᵀ z_k = G u

up to rounding. `make_exact` turns that into an equation of rational numbers. The duals of most
blocks are moved inside their cones and then kept; u is changed to balance exactly what no other
dual can; the rest is added to the duals of *absorbing* blocks, changed as little as possible.
`in_cones` then checks without tolerance that all duals are still in their cones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard.conic import exact
from steelyard.conic.blocks import Block, entries_of, inward, matrix_of, triangle_index
from steelyard.conic.connected import connected

Array = NDArray[np.float64]
Equation = tuple[dict[int, Fraction], Fraction]
DUAL_DIGITS = 14
"""Decimal digits to which a solver's duals are rounded before they are made exact."""


@dataclass(frozen=True, eq=False)
class ExactMap:
    """The product G of matrices of floats, taken as rational numbers."""

    factors: tuple[Array, ...]

    def image(self, u: Sequence[Fraction]) -> list[Fraction]:
        """G u."""
        for matrix in reversed(self.factors):
            u = exact_product(matrix, u)
        return list(u)

    def row(self, index: int) -> dict[int, Fraction]:
        """One row of G, its zeros left out."""
        row = {index: Fraction(1)}
        for matrix in self.factors:
            product: dict[int, Fraction] = {}
            for k, x in row.items():
                for i in np.flatnonzero(matrix[k]).tolist():
                    product[i] = product.get(i, Fraction(0)) + x * Fraction(float(matrix[k, i]))
            row = {i: x for i, x in product.items() if x != 0}
        return row


@dataclass(frozen=True, eq=False)
class ExactDuals:
    """Rational u and duals with sum_k A_kᵀ z_k = G u exactly.

    left : per column, G u minus the sum over the blocks that do not absorb.
    """

    u: list[Fraction]
    duals: list[list[Fraction]]
    left: list[Fraction]


def make_exact(
    blocks: Sequence[Block],
    duals: Sequence[Sequence[Fraction]],
    absorbing: Mapping[int, Sequence[int]],
    n_columns: int,
    *,
    G: ExactMap | None = None,
    u: Sequence[Fraction] = (),
    later: Collection[int] = (),
    sizes: Sequence[Array] | None = None,
) -> ExactDuals | None:
    """Duals near the given ones, and u near the given one, that balance exactly.

    duals : rational numbers; those of blocks that do not absorb stay as they are.
    absorbing : for each block that absorbs, the entries of its dual that may change; the others
        become zero. If G is given, these blocks have no columns in common.
    later : columns that the caller balances. Columns without an absorbing block are balanced by
        u alone.
    sizes : typical sizes of the entries, used as units of a change.

    Returns None if the equations have no such solution.
    """
    z = [
        [x if k not in absorbing or at in set(absorbing[k]) else Fraction(0)
         for at, x in enumerate(dual)]
        for k, dual in enumerate(duals)
    ]  # fmt: skip
    others = [Fraction(0)] * n_columns
    for k, block in enumerate(blocks):
        if k not in absorbing:
            for column, value in zip(block.columns, exact_adjoint(block, z[k]), strict=True):
                others[column] += value
    taken = {column for k in absorbing for column in blocks[k].columns} | set(later)
    alone = [column for column in range(n_columns) if column not in taken]
    exact_u = list(u)
    left = [-value for value in others]
    if G is not None:
        exact_u = meet(_conditions_on_u(G, blocks, absorbing, alone, others), exact_u)
        left = [a + b for a, b in zip(G.image(exact_u), left, strict=True)]
    if any(left[column] != 0 for column in alone):
        return None
    absorbers = list(absorbing)
    for group in connected([blocks[k] for k in absorbers]):
        own = [absorbers[i] for i in group]
        found = balanced(
            [blocks[k] for k in own],
            [z[k] for k in own],
            [absorbing[k] for k in own],
            dict(enumerate(left)),
            None if sizes is None else [sizes[k] for k in own],
        )
        if found is None:
            return None
        for k, dual in zip(own, found, strict=True):
            z[k] = dual
    return ExactDuals(exact_u, z, left)


def balanced(
    blocks: Sequence[Block],
    z: Sequence[Sequence[Fraction]],
    free: Sequence[Sequence[int]],
    wanted: Mapping[int, Fraction],
    sizes: Sequence[Array] | None = None,
) -> list[list[Fraction]] | None:
    """Duals near ``z`` with sum A_kᵀ z_k = wanted exactly, changed on their free entries only.

    wanted : per column. The change is the smallest in the norm of the inner product, or in units
    of ``sizes``. Returns None if the equations have no solution.
    """
    used = sorted({column for block in blocks for column in block.columns})
    place = {column: row for row, column in enumerate(used)}
    entries = [(k, at) for k, kept in enumerate(free) for at in kept]
    rows = [[Fraction(0)] * len(entries) for _ in used]
    rest = [wanted[column] for column in used]
    for block, dual in zip(blocks, z, strict=True):
        for column, value in zip(block.columns, exact_adjoint(block, dual), strict=True):
            rest[place[column]] -= value
    inverse_weights = []
    for position, (k, at) in enumerate(entries):
        block, weight = blocks[k], exact_weights(blocks[k])[at]
        for j, column in enumerate(block.columns):
            if block.A[at, j] != 0.0:
                rows[place[column]][position] += weight * Fraction(float(block.A[at, j]))
        size = None if sizes is None else 1.0 / sizes[k][at] ** 2
        inverse_weights.append(
            Fraction(1, weight) if size is None else Fraction(float(f"{size:.3g}"))
        )
    gram = [
        [sum((e * a * b for e, a, b in zip(inverse_weights, one, other) if a and b), Fraction(0))
         for other in rows]
        for one in rows
    ]  # fmt: skip
    factors = exact.solve_consistent(gram, rest)
    if factors is None:
        return None
    out = [list(dual) for dual in z]
    for position, (k, at) in enumerate(entries):
        change = sum((f * row[position] for f, row in zip(factors, rows)), Fraction(0))
        out[k][at] += inverse_weights[position] * change
    return out


def _conditions_on_u(
    G: ExactMap,
    blocks: Sequence[Block],
    absorbing: Mapping[int, Sequence[int]],
    alone: Sequence[int],
    others: Sequence[Fraction],
) -> list[Equation]:
    """Linear equations that u must satisfy exactly, so that the absorbing duals can balance G u."""
    directions: list[dict[int, Fraction]] = []
    for k, entries in absorbing.items():
        block, weights = blocks[k], exact_weights(blocks[k])
        rows = [[weights[at] * Fraction(float(x)) for x in block.A[at]] for at in entries]
        for v in exact.null_space(rows, block.A.shape[1]):
            directions.append({c: x for c, x in zip(block.columns, v, strict=True) if x != 0})
    directions.extend({column: Fraction(1)} for column in alone)
    equations = []
    for direction in directions:
        coefficients: dict[int, Fraction] = {}
        right = Fraction(0)
        for column, x in direction.items():
            right += x * others[column]
            for i, factor in G.row(column).items():
                coefficients[i] = coefficients.get(i, Fraction(0)) + x * factor
        coefficients = {i: x for i, x in coefficients.items() if x != 0}
        if coefficients or right != 0:
            equations.append((coefficients, right))
    return equations


def meet(equations: Sequence[Equation], y: Sequence[Fraction]) -> list[Fraction]:
    """y with its pivot entries changed so that it satisfies the equations exactly."""
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


def in_cones(blocks: Sequence[Block], duals: Sequence[Sequence[Fraction]]) -> bool:
    """Whether every dual is in its dual cone, exactly; duals of equations are unrestricted."""
    return all(
        block.kind == "zero" or exact.in_cone(block.kind, dual)
        for block, dual in zip(blocks, duals, strict=True)
    )


def inside_cone(block: Block, dual: Array) -> list[Fraction]:
    """A solver's dual, moved to lie exactly in its cone."""
    dual = np.asarray(dual, dtype=float)
    if block.kind == "nonnegative":
        dual = np.maximum(dual, 0.0)
    if block.kind in ("zero", "nonnegative") or not dual.any():
        return fractions_of(dual)
    if block.kind == "psd":
        values, vectors = np.linalg.eigh(matrix_of(dual))
        dual = entries_of((vectors * np.maximum(values, 0.0)) @ vectors.T)
    room = 1e-15 * max(float(np.max(np.abs(dual))), 1e-300)
    while True:
        entries = fractions_of(dual + room * inward(block))
        if exact.in_cone(block.kind, entries):
            return entries
        room *= 8.0


def fractions_of(values: Array, digits: int | None = None) -> list[Fraction]:
    """Floats as rational numbers, first rounded to ``digits`` decimal digits if given."""
    if digits is None:
        return [Fraction(float(x)) for x in values]
    return [Fraction(float(f"{x:.{digits}g}")) for x in values]


def exact_product(M: Array, x: Sequence[Fraction]) -> list[Fraction]:
    """M x, exactly."""
    out = [Fraction(0)] * len(M)
    for row, column in zip(*np.nonzero(M), strict=True):
        if x[column] != 0:
            out[row] += Fraction(float(M[row, column])) * x[column]
    return out


def paired_with_constants(blocks: Sequence[Block], duals: Sequence[Sequence[Fraction]]) -> Fraction:
    """sum_k z_k · b_k, exactly."""
    pairs = zip(blocks, duals, strict=True)
    return sum((exact_pairing(b, dual, fractions_of(b.b)) for b, dual in pairs), Fraction(0))


def exact_weights(block: Block) -> list[int]:
    """Weight of each entry in the inner product: 2 off the diagonal of a psd block, else 1."""
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
