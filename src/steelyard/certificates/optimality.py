"""Exact bounds on how much better other feasible parameters could fit the data.

For f(theta) = ½|z - R K theta|² and any u, ½|r|² >= uᵀ r - ½|u|² with r = z - R K theta gives

    f(theta) >= uᵀ z - ½|u|² - (Kᵀ Rᵀ u)ᵀ theta.

If -Kᵀ Rᵀ u = sum_k A_kᵀ z_k with duals z_k in the cones, every theta that meets the conditions has
f(theta) >= uᵀ z - ½|u|² - sum_k z_k · b_k: a bound that is sharp at the optimum, where u is the
residual. Here u and the duals of a solver are made exact. The rounding error on a body's columns
is added to the dual of its own consistency block. If that makes the dual indefinite, the dual of
the limit on the body's second moment is raised, which costs that amount times the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard.conic import exact
from steelyard.conic.blocks import Block, matrix_of
from steelyard.conic.exact_duals import (
    ExactMap,
    balanced,
    exact_product,
    fractions_of,
    in_cones,
    inside_cone,
    make_exact,
    paired_with_constants,
)
from steelyard.conic.exact_text import shortest_decimal
from steelyard.conic.problem import adjoint, conic_problem
from steelyard.conic.settle import failing
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.estimators.optimum_distance import relative_gap
from steelyard.model.base_map import BaseMap

Array = NDArray[np.float64]
ROOM = 1e-12  # distance of one-sided duals from zero, relative to the terms of their sum


@dataclass(frozen=True, eq=False)
class Optimality:
    """Exact numbers that bound how much better other feasible parameters could fit.

    theta : the parameters. u : (n_base,) and duals: see the module's equation.
    value : ½|z - R K theta|² + ½ rest. lower_bound : of all feasible parameters.
    """

    theta: tuple[Fraction, ...]
    u: tuple[Fraction, ...]
    duals: tuple[tuple[Fraction, ...], ...]
    rest: Fraction
    value: Fraction
    lower_bound: Fraction

    @property
    def gap(self) -> Fraction:
        """Upper bound of the distance of the value from the optimum."""
        return self.value - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the lower bound; infinite where the bound is not positive."""
        return relative_gap(float(self.gap), float(self.lower_bound))


def prove_gap(
    base: BaseMap,
    R: Array,
    z: Array,
    theta: Array,
    blocks: Sequence[Block],
    duals: Sequence[Array] | None,
    scale: Array,
    *,
    rest: float = 0.0,
) -> Optimality | None:
    """The best bound from the given duals or from a new solution without pull.

    R : (n_base, n_base) upper triangular and z : (n_base,) as in the fit. theta : (n_columns,)
    parameters that meet every block exactly. rest : sum of squared residuals that does not depend
    on the parameters, so that the gap can be compared with the whole. None if no exact bound was
    found.

    The proof is about theta as shortest decimals, as files have it; about the exact values of the
    floats if only these meet every block.
    """
    if failing(blocks, theta):
        return None
    x = exact_parameters(blocks, theta)
    value = Fraction(float(rest)) / 2 + _half_squares(_residual(R, z, exact_product(base.K, x)))
    starts: list[tuple[Array, Sequence[Array]]] = []
    if duals is not None:
        starts.append((z - R @ (base.K @ theta), duals))
    # without active conditions zero duals give the best bound, free of rounding
    starts.append((np.zeros(base.rank), [np.zeros(len(block.b)) for block in blocks]))
    for pull in (0.0, 1e-12):
        problem = conic_problem(
            len(scale), blocks, scale, F=R @ base.K, g=z, pull=pull / scale**2, towards=theta
        )
        try:
            solution = solve(problem)
        except EstimationError:  # the other starting points may still prove a bound
            continue
        if solution.status in ("solved", "stalled"):
            starts.append((z - R @ (base.K @ solution.theta), solution.duals))
    best: Optimality | None = None
    for u, near in starts:
        found = _exact_bound(base, R, z, blocks, u, near, scale)
        if found is None:
            continue
        u_exact, z_exact, bound = found
        bound += Fraction(float(rest)) / 2
        if best is None or bound > best.lower_bound:
            best = Optimality(x, u_exact, z_exact, Fraction(float(rest)), value, bound)
    return best


def exact_parameters(blocks: Sequence[Block], theta: Array) -> tuple[Fraction, ...]:
    """theta as its shortest decimals, or as binary numbers if only these meet every block."""
    x = tuple(Fraction(shortest_decimal(value)) for value in theta)
    return x if _meets(blocks, x) else tuple(Fraction(float(value)) for value in theta)


def _meets(blocks: Sequence[Block], x: Sequence[Fraction]) -> bool:
    """Whether every condition holds."""
    return all(
        exact.in_cone(
            block.kind,
            exact.affine(block.A.tolist(), block.b.tolist(), [x[c] for c in block.columns]),
        )
        for block in blocks
    )


def _exact_bound(
    base: BaseMap,
    R: Array,
    z: Array,
    blocks: Sequence[Block],
    u: Array,
    duals: Sequence[Array],
    scale: Array,
) -> tuple[tuple[Fraction, ...], tuple[tuple[Fraction, ...], ...], Fraction] | None:
    """u and duals near the given ones that balance exactly, and the bound they prove."""
    owners = _Owners(blocks, base.K.shape[1])
    fixed = [inside_cone(block, dual) for block, dual in zip(blocks, duals, strict=True)]
    u = _balanced(base, R, u, blocks, fixed, scale)
    for k in owners.one_sided:  # one of them absorbs the rest on its column, below
        fixed[k] = [Fraction(0)]
    others = np.zeros(base.K.shape[1])
    for k, block in enumerate(blocks):
        if k not in owners.whole:
            others[list(block.columns)] += adjoint(block, np.array(fixed[k], dtype=float))
    u = _with_room(base, R, u, owners, others, scale)
    balance = make_exact(
        blocks,
        fixed,
        {k: range(len(blocks[k].b)) for k in owners.whole},
        base.K.shape[1],
        G=ExactMap((base.K.T, -R.T)),
        u=fractions_of(u),
        later=owners.sides,
    )
    if balance is None:
        return None
    exact_u, z_exact, left = balance.u, balance.duals, balance.left
    for k, (bound, shift) in owners.shifts.items():
        added = _least_shift(z_exact[k], shift)
        if added is None:
            return None
        z_exact[k] = [x + added * s for x, s in zip(z_exact[k], shift, strict=True)]
        z_exact[bound][0] += added
    for column in owners.sides:
        if left[column] != 0:
            side = owners.side(column, left[column] > 0)
            if side is None:
                return None
            z_exact[side] = [left[column] / Fraction(float(blocks[side].A[0, 0]))]
    if not in_cones(blocks, z_exact):
        return None
    bound_value = sum(
        (a * Fraction(float(b)) for a, b in zip(exact_u, z, strict=True)), Fraction(0)
    ) - _half_squares(exact_u)
    bound_value -= paired_with_constants(blocks, z_exact)
    return tuple(exact_u), tuple(tuple(entries) for entries in z_exact), bound_value


class _Owners:
    """Which block's dual absorbs the rest on a column.

    whole : blocks of several columns, psd or equations. sides : per column, one-sided bounds on it
    alone. free : columns with neither, which u must balance alone. shifts : per psd block of
    ``whole``, a bound on the same columns, and the positive definite matrix that its dual adds to
    the block's dual.
    """

    def __init__(self, blocks: Sequence[Block], n_columns: int) -> None:
        owner: dict[int, int] = {}
        self.blocks = blocks
        for kind in ("psd", "zero"):
            for k, block in enumerate(blocks):
                if block.kind != kind or any(c in owner for c in block.columns):
                    continue
                if np.linalg.matrix_rank(block.A) == len(block.columns):
                    owner.update(dict.fromkeys(block.columns, k))
        self.whole = sorted(set(owner.values()))
        self.sides: dict[int, list[int]] = {}
        for k, block in enumerate(blocks):
            if block.kind == "nonnegative" and block.A.shape == (1, 1) and block.A[0, 0] != 0:
                column = block.columns[0]
                if column not in owner:
                    self.sides.setdefault(column, []).append(k)
        self.free = [c for c in range(n_columns) if c not in owner and c not in self.sides]
        self.one_sided = [k for sides in self.sides.values() for k in sides]
        self.shifts: dict[int, tuple[int, list[Fraction]]] = {}
        for k in self.whole:
            if blocks[k].kind == "psd":
                found = self._shift(k)
                if found is not None:
                    self.shifts[k] = found

    def side(self, column: int, positive: bool) -> int | None:
        """The tightest bound on a column with a coefficient of this sign; None if there is none."""
        fitting = [k for k in self.sides[column] if (self.blocks[k].A[0, 0] > 0) == positive]
        return min(
            fitting, key=lambda k: self.blocks[k].b[0] / abs(self.blocks[k].A[0, 0]), default=None
        )

    def _shift(self, k: int) -> tuple[int, list[Fraction]] | None:
        block = self.blocks[k]
        zero = [Fraction(0)] * len(block.b)
        for other, bound in enumerate(self.blocks):
            if bound.kind != "nonnegative" or len(bound.b) != 1 or bound.columns != block.columns:
                continue
            wanted = [-Fraction(float(x)) for x in bound.A[0]]
            of_column = dict(zip(block.columns, wanted, strict=True))
            found = balanced([block], [zero], [range(len(block.b))], of_column)
            shift = None if found is None else found[0]
            if shift is not None and exact.is_positive_definite(exact.symmetric(shift)):
                return other, shift
        return None


def _balanced(
    base: BaseMap,
    R: Array,
    u: Array,
    blocks: Sequence[Block],
    duals: Sequence[Sequence[Fraction]],
    scale: Array,
) -> Array:
    """u changed to balance these duals as well as floating point allows."""
    target = np.zeros(len(scale))
    for block, dual in zip(blocks, duals, strict=True):
        target[list(block.columns)] += adjoint(block, np.array(dual, dtype=float))
    G = -(R @ base.K).T * scale[:, None]
    change = np.linalg.lstsq(G, target * scale - G @ u, rcond=1e-13)[0]
    return np.asarray(u + change)


def _with_room(
    base: BaseMap, R: Array, u: Array, owners: _Owners, others: Array, scale: Array
) -> Array:
    """u changed a little, so that what one-sided bounds absorb certainly has the right sign."""
    one_sided = [c for c, sides in owners.sides.items() if len(_signs(owners, sides)) == 1]
    columns = [*one_sided, *owners.free]
    if not columns:
        return u
    G = -(R @ base.K[:, columns]).T * scale[columns, None]
    now = G @ u - others[columns] * scale[columns]
    room = ROOM * (np.abs(G) @ np.abs(u))
    wanted = np.zeros(len(columns))
    for place, column in enumerate(one_sided):
        sign = next(iter(_signs(owners, owners.sides[column])))
        wanted[place] = sign * max(sign * now[place], room[place])
    change = np.linalg.lstsq(G, wanted - now, rcond=1e-12)[0]
    return np.asarray(u + change)


def _signs(owners: _Owners, sides: Sequence[int]) -> set[float]:
    return {float(np.sign(owners.blocks[k].A[0, 0])) for k in sides}


def _least_shift(entries: Sequence[Fraction], shift: Sequence[Fraction]) -> Fraction | None:
    """About the smallest s >= 0 that makes entries + s shift positive semidefinite, exactly."""
    if exact.is_psd(exact.symmetric(entries)):
        return Fraction(0)
    L = np.linalg.cholesky(matrix_of(np.array(shift, dtype=float)))
    M = np.linalg.solve(L, np.linalg.solve(L, matrix_of(np.array(entries, dtype=float))).T)
    size = float(np.max(np.abs(M)))
    s = max(-float(np.linalg.eigvalsh(M)[0]) * (1.0 + 1e-9), 1e-17 * size)
    for _ in range(60):
        exact_s = Fraction(s)
        moved = [x + exact_s * y for x, y in zip(entries, shift, strict=True)]
        if exact.is_psd(exact.symmetric(moved)):
            return exact_s
        s *= 1.5
    return None


def _residual(R: Array, z: Array, beta: Sequence[Fraction]) -> list[Fraction]:
    """z - R beta, exactly."""
    return [a - b for a, b in zip(fractions_of(z), exact_product(R, beta), strict=True)]


def _half_squares(values: Sequence[Fraction]) -> Fraction:
    return sum((x * x for x in values), Fraction(0)) / 2
