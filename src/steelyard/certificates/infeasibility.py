"""Exact proofs that no feasible robot has given base parameters.

If for some y and duals z_k in the dual cones

    Kᵀ y = sum_k A_kᵀ z_k        and        yᵀ beta + sum_k z_k · b_k < 0

then no theta with K theta = beta can meet all conditions: their inner products with z_k would give
0 <= sum_k z_k · (A_k theta + b_k) = yᵀ beta + sum_k z_k · b_k < 0.

A solver finds such duals approximately. Here they are made exact: y and the duals of the side
conditions are rounded, and the rest of Kᵀ y goes to the dual of each body's own psd block, a
rational matrix, which is then tested for positive semidefiniteness without tolerance. To pass the
test, the duals keep a distance from the boundary of their cones. If parameters without effect on
the torques force a dual onto a face of its cone, it keeps that distance within the face.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, inward, triangle_index
from steelyard.conic.exact_duals import (
    DUAL_DIGITS,
    ExactMap,
    exact_weights,
    fractions_of,
    in_cones,
    inside_cone,
    make_exact,
    paired_with_constants,
)
from steelyard.conic.problem import adjoint, conic_problem
from steelyard.conic.solver import solve
from steelyard.model.base_map import BaseMap

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
    base: BaseMap, beta: Array, blocks: Sequence[Block], scale: Array
) -> Infeasibility | None:
    """Exact duals that prove infeasibility, or None if none could be found.

    First, duals as far inside their cones as possible show on which faces they must lie. Then the
    duals of most negative value at a given distance from the boundary are made exact.
    """
    owner = pivot_blocks(blocks)
    # side conditions with a constant (such as a bound of 10,000) give the duals more room but make
    # their value less negative: first without them, then with
    for side_conditions in (False, True):
        search = DualSearch(base, blocks, owner, scale, side_conditions)
        inside, _ = search.with_default_terms(None)
        if inside is None:
            continue
        faces = {k: face(blocks[k], inside[k]) for k in sorted(set(owner.values()))}
        _, room = search.with_default_terms(faces)
        if room <= 0.0:
            continue
        for share in (1e-3, 1e-5, 1e-7, 1e-9, 1e-1):
            duals = search.strongest(beta, faces, share * room)
            if duals is None:
                continue
            proof = exact_certificate(base, beta, blocks, duals, faces)
            if proof is not None:
                return proof
    return None


def face(block: Block, inside: Array) -> list[int]:
    """Entries of a pivot block's dual that can be nonzero.

    Parameters without effect on the torques force rows of the dual to zero, such as the row of a
    mass that never acts. ``inside`` is a dual as far inside its cone as possible.
    """
    if block.kind != "psd":
        return list(range(len(block.b)))
    places = triangle_index(block.size)
    diagonal = {i: inside[at] for at, (i, j) in enumerate(places) if i == j}
    largest = max(diagonal.values())
    used = {i for i, value in diagonal.items() if value > 1e-6 * max(largest, 1e-300)}
    return [at for at, (i, j) in enumerate(places) if i in used and j in used]


def pivot_blocks(blocks: Sequence[Block]) -> dict[int, int]:
    """For every column, the block whose dual absorbs the rounding error there.

    The psd block of a body absorbs its ten columns, a one-column inequality its column, an
    equation its columns. A column without such a block must be balanced by y alone.
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


@dataclass(frozen=True, eq=False)
class DualSearch:
    """Conic problems over duals z and y with Kᵀ y = sum A_kᵀ z_k.

    Variables: the entries of all duals, then y, then a common distance t from the boundary. Duals
    are normalised by the sum of their traces. side_conditions : whether blocks other than the
    pivots may have nonzero duals.
    """

    base: BaseMap
    blocks: Sequence[Block]
    owner: dict[int, int]
    scale: Array
    side_conditions: bool

    @cached_property
    def starts(self) -> list[int]:
        """Index of the first entry of each block's dual, then of y."""
        return [0, *np.cumsum([len(block.b) for block in self.blocks]).tolist()]

    @cached_property
    def n(self) -> int:
        """Number of variables."""
        return self.starts[-1] + self.base.rank + 1

    def with_default_terms(
        self, faces: dict[int, list[int]] | None
    ) -> tuple[list[Array] | None, float]:
        """Duals as far inside their cones (or faces) as possible, and their distance from the
        boundary. If a dual is forced onto a face, the distance is zero, but an interior-point
        solver still ends in the middle of the face, which shows which face it is.
        """
        c = np.zeros(self.n)
        c[-1] = -1.0
        values = self._solve(self._cones(faces, None), c)
        if values is None:
            return None, 0.0
        return self._split(values), float(values[-1])

    def strongest(
        self, beta: Array, faces: dict[int, list[int]], floor: float
    ) -> list[Array] | None:
        """Duals of the most negative value on these faces, ``floor`` away from the boundary."""
        c = np.zeros(self.n)
        n_dual = self.starts[-1]
        c[n_dual : n_dual + self.base.rank] = beta
        for k, block in enumerate(self.blocks):
            weights = np.array(exact_weights(block), dtype=float)
            c[self.starts[k] : self.starts[k + 1]] = weights * block.b
        # duals of equations are unrestricted: without a bound the value could be minus infinity
        enough = Block("nonnegative", tuple(range(self.n)), c[None, :], np.ones(1))
        values = self._solve([*self._cones(faces, floor), enough], c)
        return None if values is None else self._split(values)

    def _split(self, values: Array) -> list[Array]:
        return [values[self.starts[k] : self.starts[k + 1]] for k in range(len(self.blocks))]

    def _solve(self, cones: list[Block], c: Array) -> Array | None:
        size = np.max(np.abs(c))
        problem = conic_problem(self.n, cones, np.ones(self.n), c=c / (size or 1.0))
        solution = solve(problem, accuracy=1e-10)
        return solution.theta if solution.status in ("solved", "stalled") else None

    def _cones(self, faces: dict[int, list[int]] | None, floor: float | None) -> list[Block]:
        cones: list[Block] = [self._balance()]
        total = np.zeros(self.starts[-1])
        for k, block in enumerate(self.blocks):
            where = tuple(range(self.starts[k], self.starts[k + 1]))
            one = np.eye(len(where))
            if block.kind == "zero":
                continue
            pivot = k in self.owner.values()
            if not pivot and not self.side_conditions:
                cones.append(Block("zero", where, one, np.zeros(len(where))))
                continue
            direction = inward(block)
            total[list(where)] = direction
            allowed = list(range(len(where)))
            if faces is not None and pivot:
                allowed = faces[k]
                rest = [at for at in range(len(where)) if at not in allowed]
                if rest:
                    cones.append(Block("zero", where, one[rest], np.zeros(len(rest))))
            step = np.zeros(len(where))
            step[allowed] = direction[allowed] if pivot else 0.0
            A = np.column_stack([one, -step])
            columns = (*where, self.n - 1)
            if block.kind == "psd" and len(allowed) < len(where):
                A = A[allowed]  # the face is itself a smaller psd cone
            cones.append(Block(block.kind, columns, A, np.zeros(len(A))))
        everything = tuple(range(self.starts[-1]))
        cones.append(Block("nonnegative", everything, -total[None, :], np.ones(1)))
        if floor is not None:
            last = (self.n - 1,)
            cones.append(Block("zero", last, np.ones((1, 1)), np.array([-floor])))
        return cones

    def _balance(self) -> Block:
        """Kᵀ y = sum A_kᵀ z_k, each row in the units of its parameter."""
        A = np.zeros((self.base.K.shape[1], self.n))
        for k, block in enumerate(self.blocks):
            weights = np.array(exact_weights(block), dtype=float)
            where = slice(self.starts[k], self.starts[k + 1])
            A[list(block.columns), where] += (weights[:, None] * block.A).T
        n_dual = self.starts[-1]
        A[:, n_dual : n_dual + self.base.rank] = -self.base.K.T
        A *= self.scale[:, None]
        A = A[np.any(A != 0.0, axis=1)]
        A /= np.max(np.abs(A), axis=1, keepdims=True)
        return Block("zero", tuple(range(self.n)), A, np.zeros(len(A)))


def exact_certificate(
    base: BaseMap,
    beta: Array,
    blocks: Sequence[Block],
    duals: Sequence[Array],
    faces: dict[int, list[int]],
) -> Infeasibility | None:
    """The duals rounded, balanced exactly and tested exactly; None if the test fails."""
    tiny = 1e-12 * max(float(np.max(np.abs(dual), initial=0.0)) for dual in duals)
    duals = [np.where(np.abs(dual) > tiny, dual, 0.0) for dual in duals]
    target = np.zeros(base.K.shape[1])
    for block, dual in zip(blocks, duals, strict=True):
        target[list(block.columns)] += adjoint(block, dual)
    # least squares over all columns: K may have large factors, so taking y from the base columns
    # alone would cause large errors elsewhere
    near: Array = np.asarray(np.linalg.lstsq(base.K.T, target, rcond=None)[0], dtype=float)
    balance = make_exact(
        blocks,
        [
            fractions_of(dual, DUAL_DIGITS) if k in faces else inside_cone(block, dual)
            for k, (block, dual) in enumerate(zip(blocks, duals, strict=True))
        ],
        faces,
        base.K.shape[1],
        G=ExactMap((base.K.T,)),
        u=fractions_of(near, DUAL_DIGITS),
    )
    if balance is None or not in_cones(blocks, balance.duals):
        return None
    y, z = balance.u, balance.duals
    value = sum((a * Fraction(float(b)) for a, b in zip(y, beta, strict=True)), Fraction(0))
    value += paired_with_constants(blocks, z)
    if value >= 0:
        return None
    return Infeasibility(tuple(y), tuple(tuple(entries) for entries in z), value)
