"""Exact proofs that a group of conditions cannot all hold.

A solver finds duals as far inside their cones as possible, on the entries that need not be zero.
They are rounded, corrected to ``sum_k A_kᵀ z_k = 0`` exactly and checked without tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, triangle_index
from steelyard.conic.common_slack import typical_entries
from steelyard.conic.exact_duals import (
    DUAL_DIGITS,
    exact_adjoint,
    exact_weights,
    fractions_of,
    in_cones,
    make_exact,
    paired_with_constants,
)
from steelyard.conic.problem import adjoint, conic_problem
from steelyard.conic.solver import solve

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConflictProof:
    """Exact duals, one tuple per block, and their negative value sum z_k · b_k."""

    duals: tuple[tuple[Fraction, ...], ...]
    value: Fraction


def proves(blocks: Sequence[Block], proof: ConflictProof) -> bool:
    """Whether the duals are in their cones, sum to zero (A*) and have a negative value, exactly."""
    balance: dict[int, Fraction] = {}
    for block, dual in zip(blocks, proof.duals, strict=True):
        for column, paired in zip(block.columns, exact_adjoint(block, dual), strict=True):
            balance[column] = balance.get(column, Fraction(0)) + paired
    value = paired_with_constants(blocks, proof.duals)
    return (
        in_cones(blocks, proof.duals)
        and not any(balance.values())
        and value == proof.value
        and value < 0
    )


def prove_conflict(blocks: Sequence[Block], scale: Array, amount: float) -> ConflictProof | None:
    """Exact duals that prove that these blocks cannot all hold, or None if none were found.

    amount : the common slack that would be needed, which sets the size of the duals.
    """
    found = inner_duals(blocks, scale, amount)
    if found is None:
        return None
    duals, free = found
    balance = make_exact(
        blocks,
        [fractions_of(dual, DUAL_DIGITS) for dual in duals],
        {k: np.flatnonzero(kept).tolist() for k, kept in enumerate(free)},
        1 + max(column for block in blocks for column in block.columns),
        sizes=[typical_entries(block, scale) for block in blocks],
    )
    if balance is None:
        return None
    z = balance.duals
    proof = ConflictProof(tuple(tuple(dual) for dual in z), paired_with_constants(blocks, z))
    return proof if proves(blocks, proof) else None


def inner_duals(
    blocks: Sequence[Block], scale: Array, amount: float
) -> tuple[list[Array], list[NDArray[np.bool_]]] | None:
    """Duals of value -amount inside their cones, and which of their entries need not be zero.

    maximise sum_i t_i  with  z_k - t_k in the dual cones, 0 <= t_i <= 1: this makes positive all
    entries of linear blocks and diagonals of psd blocks that can be positive.
    """
    used = sorted({column for block in blocks for column in block.columns})
    starts = np.concatenate([[0], np.cumsum([len(block.b) for block in blocks])]).astype(int)
    n = int(starts[-1])
    balance = np.zeros((len(used), n))
    value = np.zeros(n)
    sizes = [typical_entries(block, scale) for block in blocks]
    cones: list[Block] = []
    room: list[int] = []
    for k, block in enumerate(blocks):
        where = range(starts[k], starts[k + 1])
        rows = [used.index(column) for column in block.columns]
        weights = np.array(exact_weights(block), dtype=float)
        for at, place in enumerate(where):
            unit = np.zeros(len(block.b))
            unit[at] = 1.0 / sizes[k][at]
            balance[rows, place] += adjoint(block, unit)
        value[where.start : where.stop] = weights * block.b / sizes[k]
        if block.kind == "zero":
            continue
        inner = _inner_entries(block)
        own = range(n + len(room), n + len(room) + len(inner))
        room.extend(where[at] for at in inner)
        A = np.zeros((len(block.b), len(block.b) + len(inner)))
        A[:, : len(block.b)] = np.eye(len(block.b))
        A[inner, range(len(block.b), len(block.b) + len(inner))] = -1.0
        cones.append(Block(block.kind, (*where, *own), A, np.zeros(len(block.b))))
    total = n + len(room)
    extra = tuple(range(n, total))
    caps = np.vstack([np.eye(len(room)), -np.eye(len(room))])
    ends = np.concatenate([np.zeros(len(room)), np.ones(len(room))])
    balance *= scale[used][:, None]
    balance /= np.maximum(np.max(np.abs(balance), axis=1, initial=0.0), 1e-300)[:, None]
    cones.append(Block("zero", tuple(range(n)), balance, np.zeros(len(used))))
    size = max(float(np.max(np.abs(value))), 1e-300)
    right = np.array([amount / size])
    cones.append(Block("zero", tuple(range(n)), value[None] / size, right))
    if room:
        cones.append(Block("nonnegative", extra, caps, ends))
    c = np.zeros(total)
    c[n:] = -1.0
    pull = np.concatenate([np.full(n, 1e-9), np.zeros(len(room))])
    solution = solve(conic_problem(total, cones, np.ones(total), c=c, pull=pull), accuracy=1e-9)
    if solution.status not in ("solved", "stalled"):
        return None
    free = np.ones(n, dtype=bool)
    for at, place in enumerate(room):
        free[place] = solution.theta[n + at] > 1e-5
    duals, kept = [], []
    for k, block in enumerate(blocks):
        own_entries = slice(starts[k], starts[k + 1])
        duals.append(solution.theta[own_entries] / sizes[k])
        kept.append(_on_face(block, free[own_entries]))
    return duals, kept


def _inner_entries(block: Block) -> list[int]:
    """Entries that can be lowered one by one: all, the diagonal (psd), the first (second order)."""
    if block.kind == "psd":
        return [at for at, (i, j) in enumerate(triangle_index(block.size)) if i == j]
    return [0] if block.kind == "second_order" else list(range(len(block.b)))


def _on_face(block: Block, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Entries that can be nonzero, given which diagonal (or linear) entries can (``free``)."""
    if block.kind == "psd":
        places = triangle_index(block.size)
        diagonal = {i: bool(free[at]) for at, (i, j) in enumerate(places) if i == j}
        return np.array([diagonal[i] and diagonal[j] for i, j in places])
    return free
