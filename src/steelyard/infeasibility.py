"""Exact proofs that no robot has given base parameters.

If for some y and duals z_k in the dual cones

    Kᵀ y = sum_k A_kᵀ z_k        and        yᵀ beta + sum_k z_k · b_k < 0

then no theta with K theta = beta can meet all conditions: pairing them with z_k would give
0 <= sum_k z_k · (A_k theta + b_k) = yᵀ beta + sum_k z_k · b_k < 0.

A solver finds such duals approximately. Here they are made exact: y and the duals of the side
conditions are rounded, and for each body the dual of its own psd block is what is left of
Kᵀ y, a rational matrix, which is then tested for positive semidefiniteness without tolerance. To
survive that test y is first moved inside the dual cone by adding mean kinetic energy, a
combination of base parameters that pairs strictly positively with every moving body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard import exact
from steelyard.cones import Block, inward, triangle_index
from steelyard.conic import adjoint
from steelyard.identifiability import BaseMap

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """Exact numbers that prove infeasibility.

    y : one per base parameter. duals : per block, entries in the block's order.
    value : yᵀ beta + sum z_k · b_k, negative.
    """

    y: tuple[Fraction, ...]
    duals: tuple[tuple[Fraction, ...], ...]
    value: Fraction


def prove_infeasible(
    base: BaseMap, beta: Array, blocks: Sequence[Block], duals: Sequence[Array], scale: Array
) -> Infeasibility | None:
    """An exact certificate near the solver's duals, or None where there is none to be had."""
    owner = pivot_blocks(blocks)
    inner = inner_duals(base, blocks, owner, scale)
    faces = {k: face(blocks[k], inner[k]) for k in sorted(set(owner.values()))}
    for share in (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-2, 1e-1):
        mixed = [
            (1.0 - share) * np.asarray(dual) + share * inside
            for dual, inside in zip(duals, inner, strict=True)
        ]
        proof = make_exact(base, beta, blocks, mixed, owner, faces)
        if proof is not None:
            return proof
    return None


def face(block: Block, inside: Array) -> list[int]:
    """Entries of a pivot block's dual that can be different from zero.

    What no torque can show forces rows of the dual to be zero: a body's mass that never acts
    leaves the dual no row for the mass. ``inside`` is a dual as far inside as possible.
    """
    if block.kind != "psd":
        return list(range(len(block.b)))
    places = triangle_index(block.size)
    diagonal = {i: inside[at] for at, (i, j) in enumerate(places) if i == j}
    largest = max(diagonal.values())
    used = {i for i, value in diagonal.items() if value > 1e-6 * max(largest, 1e-300)}
    return [at for at, (i, j) in enumerate(places) if i in used and j in used]


def pivot_blocks(blocks: Sequence[Block]) -> dict[int, int]:
    """For every column, the block whose dual can absorb what rounding leaves there.

    A psd block of a body takes its ten columns, a one-column inequality its column, an
    equation its columns. A column without one must be met by y alone.
    """
    owner: dict[int, int] = {}
    for kind_order in ("zero", "psd", "nonnegative"):
        for k, block in enumerate(blocks):
            if block.kind != kind_order or any(c in owner for c in block.columns):
                continue
            if kind_order == "nonnegative" and len(block.columns) > 1:
                continue
            if np.linalg.matrix_rank(block.A) == len(block.columns):
                owner.update(dict.fromkeys(block.columns, k))
    return owner


def inner_duals(
    base: BaseMap, blocks: Sequence[Block], owner: dict[int, int], scale: Array
) -> list[Array]:
    """Duals well inside their cones: the best that the row space of K allows."""
    from steelyard.conic import conic_problem, solve

    # maximise t with z_k - t e_k in the dual cone, sum_k A_kᵀ z_k in the row space of K
    sizes = [len(block.b) for block in blocks]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n_dual = int(starts[-1])
    n_base = base.rank
    n = n_dual + n_base + 1
    balance = np.zeros((base.K.shape[1], n))
    unit = np.zeros(n)
    cones: list[Block] = []
    for k, block in enumerate(blocks):
        where = list(range(starts[k], starts[k + 1]))
        columns = list(block.columns)
        for at, place in enumerate(where):
            e = np.zeros(len(where))
            e[at] = 1.0
            balance[columns, place] += adjoint(block, e)
        if block.kind == "zero":
            continue
        direction = inward(block)
        unit[where] = direction
        # the pivot blocks need room; the others may stay at zero
        own = k in owner.values()
        A = np.column_stack([np.eye(len(where)), -direction if own else 0 * direction])
        cones.append(Block("dual", block.kind, (*where, n - 1), A, np.zeros(len(where))))
    balance[:, n_dual : n_dual + n_base] = -base.K.T
    balance *= scale[:, None]
    rows = np.max(np.abs(balance), axis=1) > 0
    cones.append(
        Block("balance", "zero", tuple(range(n)), balance[rows], np.zeros(int(rows.sum())))
    )
    cones.append(
        Block("bounded", "nonnegative", tuple(range(n_dual)), -unit[None, :n_dual], np.ones(1))
    )
    c = np.zeros(n)
    c[-1] = -1.0
    solution = solve(conic_problem(n, cones, np.ones(n), c=c), accuracy=1e-8)
    z = solution.theta
    return [z[starts[k] : starts[k + 1]] for k in range(len(blocks))]


def make_exact(
    base: BaseMap,
    beta: Array,
    blocks: Sequence[Block],
    duals: Sequence[Array],
    owner: dict[int, int],
    faces: dict[int, list[int]],
) -> Infeasibility | None:
    """Round, absorb the rest exactly, and test exactly."""
    z = [[Fraction(float(f"{x:.14g}")) for x in dual] for dual in duals]
    others = [Fraction(0)] * base.K.shape[1]
    for k, block in enumerate(blocks):
        if k not in faces:
            for column, value in zip(block.columns, exact_adjoint(block, z[k]), strict=True):
                others[column] += value
    target = np.zeros(base.K.shape[1])
    for block, dual in zip(blocks, duals, strict=True):
        target[list(block.columns)] += adjoint(block, dual)
    # least squares over all columns: K may have large factors, which reading y off the base
    # columns alone would turn into large errors elsewhere
    near = np.linalg.lstsq(base.K.T, target, rcond=None)[0]
    y = [Fraction(float(f"{x:.14g}")) for x in near]
    y = meet(conditions_on_y(base, blocks, owner, faces, others), y)
    left = [-value for value in others]
    for row in range(base.rank):
        if y[row] != 0:
            for column in np.flatnonzero(base.K[row]).tolist():
                left[column] += Fraction(float(base.K[row, column])) * y[row]
    for k, places in faces.items():
        found = absorb(blocks[k], z[k], [left[c] for c in blocks[k].columns], places)
        if found is None:
            return None
        z[k] = found
    if any(left[c] != 0 for c in range(len(left)) if c not in owner):
        return None
    for block, entries in zip(blocks, z, strict=True):
        if block.kind != "zero" and not exact.in_cone(block.kind, entries):
            return None
    value = sum((a * Fraction(float(b)) for a, b in zip(y, beta, strict=True)), Fraction(0))
    for block, entries in zip(blocks, z, strict=True):
        value += exact_pairing(block, entries, [Fraction(float(x)) for x in block.b])
    if value >= 0:
        return None
    return Infeasibility(tuple(y), tuple(tuple(entries) for entries in z), value)


Equation = tuple[dict[int, Fraction], Fraction]


def conditions_on_y(
    base: BaseMap,
    blocks: Sequence[Block],
    owner: dict[int, int],
    faces: dict[int, list[int]],
    others: Sequence[Fraction],
) -> list[Equation]:
    """Linear equations that y must meet exactly, so that the faces can balance Kᵀ y."""
    directions: list[dict[int, Fraction]] = []
    for k, entries in faces.items():
        block = blocks[k]
        weights = exact_weights(block)
        rows = [[weights[at] * Fraction(float(x)) for x in block.A[at]] for at in entries]
        for v in exact.null_space(rows, block.A.shape[1]):
            directions.append({c: x for c, x in zip(block.columns, v, strict=True) if x != 0})
    directions.extend({c: Fraction(1)} for c in range(base.K.shape[1]) if c not in owner)
    equations = []
    for direction in directions:
        coefficients: dict[int, Fraction] = {}
        right = Fraction(0)
        for c, x in direction.items():
            right += x * others[c]
            for row in np.flatnonzero(base.K[:, c]):
                coefficients[int(row)] = coefficients.get(int(row), Fraction(0)) + x * Fraction(
                    float(base.K[row, c])
                )
        coefficients = {row: x for row, x in coefficients.items() if x != 0}
        if coefficients or right != 0:
            equations.append((coefficients, right))
    return equations


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
