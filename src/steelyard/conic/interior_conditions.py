"""Semidefinite conditions stacked in arrays, for the interior-point method.

S = A x + b and its dual Z are kept in the Nesterov-Todd scaling, in which both are the same
diagonal matrix:  R⁻¹ S R⁻ᵀ = Rᵀ Z R = diag(lam).  Most conditions of a robot are on one number
(1×1), so these have a class of their own (`Numbers`), with vectors instead of stacked matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
INSIDE = 0.1
"""Smallest eigenvalue of S at the start, in units of the condition's own size."""


@dataclass(frozen=True, eq=False)
class MatrixCondition:
    """``sum_j x[columns[j]] A[j] + b`` is positive semidefinite.

    A : (n_columns, d, d) and b : (d, d), symmetric; d = 1 for a non-negative number.
    floor : weight of -log det in the objective, 0 for an ordinary condition.
    """

    columns: tuple[int, ...]
    A: Array
    b: Array
    floor: float = 0.0


def arranged(conditions: Sequence[MatrixCondition], n: int) -> list[Conditions]:
    """The conditions on n variables, stacked by size and number of columns."""
    numbers = [k for k, one in enumerate(conditions) if one.b.shape[0] == 1]
    stacks: dict[tuple[int, int], list[int]] = {}
    for k, one in enumerate(conditions):
        if one.b.shape[0] > 1:
            stacks.setdefault((one.b.shape[0], len(one.columns)), []).append(k)
    groups: list[Conditions] = [Matrices(members, conditions, n) for members in stacks.values()]
    return [*groups, Numbers(numbers, conditions, n)] if numbers else groups


class Numbers:
    """Conditions ``a·x + b >= 0``, one per row, with sparse rows."""

    def __init__(
        self, members: Sequence[int], conditions: Sequence[MatrixCondition], n: int
    ) -> None:
        chosen = [conditions[k] for k in members]
        self.members = tuple(members)
        self.n = n
        self.b = np.array([one.b[0, 0] for one in chosen])
        self.floor = np.array([one.floor for one in chosen])
        self.kept = self.floor > 0.0
        lengths = np.array([len(one.columns) for one in chosen], dtype=np.int64)
        self.row = np.repeat(np.arange(len(chosen)), lengths)
        self.column = np.concatenate([np.array(one.columns, dtype=np.int64) for one in chosen])
        self.weight = np.concatenate([one.A[:, 0, 0] for one in chosen])
        # every pair of entries of a row adds one entry to the Newton matrix
        ends = np.cumsum(lengths)
        one, other = (
            np.concatenate(
                [part(np.arange(e - k, e), k) for e, k in zip(ends, lengths, strict=True)]
            )
            for part in (np.repeat, np.tile)
        )
        self.pair_row = self.row[one]
        self.pair_weight = self.weight[one] * self.weight[other]
        self.place, self.pair_place = np.unique(
            self.column[one] * n + self.column[other], return_inverse=True
        )
        self.dimension = len(chosen)
        self.n_ordinary = int(np.count_nonzero(~self.kept))
        self.dS = self.dZ = self.second = np.zeros(len(chosen))

    def linear(self, step: Array) -> Array:
        """The linear map A at a step (k,)."""
        return _summed(self.row, self.weight * step[self.column], len(self.b))

    def begin(self, x: Array, above: float) -> None:
        """Initial S from x, shifted to be positive definite; Z with S Z = (floor + above) 1."""
        value = self.linear(x) + self.b
        self.S = pushed_inside(value[:, None, None])[:, 0, 0]
        self.Z = (self.floor + above) / self.S
        self._update_scaling()

    def _update_scaling(self) -> None:
        self.products = self.S * self.Z
        self.lam = np.sqrt(self.products)
        self.scaling = np.sqrt(self.S / self.Z)  # R²
        self.scaled = self.weight / self.scaling[self.row]

    def look(self, x: Array, gradient: Array) -> None:
        """Compute the residuals at x; subtract A*(Z) from the gradient."""
        gradient -= _summed(self.column, self.weight * self.Z[self.row], self.n)
        away = self.linear(x) + self.b - self.S
        self.violation = float((np.abs(away) / np.maximum(self.S, 1.0)).max())
        self.away = away / self.scaling
        self.excess = float(np.abs(self.products - self.floor).sum())
        self.gap, self.off_floor = _distances(self.products[:, None], self.floor, self.kept)
        S = self.S[self.kept]
        self.divergence = float(self.floor[self.kept] @ (S - np.log(S) - 1.0))

    def add_hessian(self, H: Array) -> None:
        """Add A* W⁻² A to the Newton matrix."""
        values = self.pair_weight / self.scaling[self.pair_row] ** 2
        H.reshape(-1)[self.place] += _summed(self.pair_place, values, len(self.place))

    def add_curvature(self, out: Array, step: Array, sign: float) -> None:
        """Add sign × A*(W⁻² A(step)) to ``out``."""
        self._add(out, sign * self._along(step))

    def aim(self, above: float, least: float = 0.0, correct: float = 0.0) -> None:
        """Set the wanted change of the products S Z; see `Matrices.aim`."""
        change = self.floor + np.where(self.kept, above, max(above, least)) - self.products
        if correct:
            change -= correct * self.second
        self.wanted_change = change / self.lam

    def add_pull(self, out: Array) -> None:
        """Add the wanted change and the violation to the Newton right-hand side."""
        self._add(out, self.wanted_change - self.away)

    def follow(self, step: Array) -> None:
        """Set the scaled steps of S and Z that belong to a step of x."""
        self.dS = self._along(step) + self.away
        self.dZ = self.wanted_change - self.dS

    def remember(self) -> None:
        """Store the second-order term dS dZ of the predictor, for the corrector."""
        self.second = self.dS * self.dZ

    def reach(self) -> float:
        """Largest step length (1 is a full step) that keeps S and Z positive semidefinite."""
        lowest = float((np.minimum(self.dS, self.dZ) / self.lam).min())
        return -1.0 / lowest if lowest < 0.0 else np.inf

    def advance(self, length: float) -> None:
        """Take the step."""
        self.S = (self.lam + length * self.dS) * self.scaling
        self.Z = (self.lam + length * self.dZ) / self.scaling
        self._update_scaling()

    def _along(self, step: Array) -> Array:
        """The scaled change of S (k,) for a step of x."""
        return _summed(self.row, self.scaled * step[self.column], len(self.b))

    def _add(self, out: Array, values: Array) -> None:
        """Add the adjoint of `_along` at these values."""
        out += _summed(self.column, self.scaled * values[self.row], self.n)


class Matrices:
    """Conditions of one size d and one number of columns p, stacked: A (k, p, d²)."""

    def __init__(
        self, members: Sequence[int], conditions: Sequence[MatrixCondition], n: int
    ) -> None:
        chosen = [conditions[k] for k in members]
        self.members = tuple(members)
        self.n = n
        self.columns = np.array([one.columns for one in chosen], dtype=np.int64)
        k = len(self.columns)
        d = self.d = chosen[0].b.shape[0]
        self.A = np.array([one.A for one in chosen])
        self.b = np.array([one.b for one in chosen])
        self.floor = np.array([one.floor for one in chosen])
        self.kept = self.floor > 0.0
        self.dimension = k * d
        self.n_ordinary = d * int(np.count_nonzero(~self.kept))
        self.flat = self.columns.ravel()
        places = self.columns[:, :, None] * n + self.columns[:, None, :]
        self.places = places.ravel()
        self.disjoint = len(np.unique(self.flat)) == len(self.flat)
        self.unit = np.eye(d)
        self.R = self.inverse = self.Z = np.broadcast_to(self.unit, (k, d, d))
        self.dS = self.dZ = self.second = np.zeros((k, d, d))

    def linear(self, step: Array) -> Array:
        """The linear map A at a step (k, d, d)."""
        return self._mapped(self.A.reshape(*self.columns.shape, -1), step)

    def begin(self, x: Array, above: float) -> None:
        """Initial S from x, shifted to be positive definite; Z with S Z = (floor + above) 1."""
        S = pushed_inside(self.linear(x) + self.b)
        self._rescale(S, (self.floor + above)[:, None, None] * np.linalg.inv(S))

    def _rescale(self, S: Array, Z: Array) -> None:
        """Update the scaling, given S and Z in the present scaling, which loses few digits."""
        Ls, Lz = np.linalg.cholesky(np.stack([S, Z]))
        U, self.lam, Vt = np.linalg.svd(turned(Lz) @ Ls)
        root = np.sqrt(self.lam)
        self.R = self.R @ ((Ls @ turned(Vt)) / root[:, None, :])
        self.inverse = (turned(U) @ turned(Lz) / root[:, :, None]) @ self.inverse
        self.S = (self.R * self.lam[:, None, :]) @ turned(self.R)
        self.Z = (turned(self.inverse) * self.lam[:, None, :]) @ self.inverse
        self.products = self.lam**2
        self.diagonal = self.lam[:, :, None] * self.unit

    def look(self, x: Array, gradient: Array) -> None:
        """Compute the residuals at x; subtract A*(Z) from the gradient."""
        k, p = self.columns.shape
        force = self.A.reshape(k, p, -1) @ self.Z.reshape(k, -1, 1)
        gradient -= _summed(self.flat, force.ravel(), self.n)
        away = self.linear(x) + self.b - self.S
        size = np.abs(self.S).max(axis=(1, 2))
        self.violation = float((np.abs(away).max(axis=(1, 2)) / np.maximum(size, 1.0)).max())
        self.away = self.inverse @ away @ turned(self.inverse)
        self.excess = float(np.abs(self.products - self.floor[:, None]).sum())
        self.gap, self.off_floor = _distances(self.products, self.floor, self.kept)
        S = self.S[self.kept]
        trace, logdet = np.trace(S, axis1=1, axis2=2), np.linalg.slogdet(S)[1]
        self.divergence = float(self.floor[self.kept] @ (trace - logdet - self.d))

    def add_hessian(self, H: Array) -> None:
        """Add A* (W⁻¹ · W⁻¹) A to the Newton matrix, W = R Rᵀ."""
        inverse = self.inverse[:, None]
        self.scaled = (inverse @ self.A @ turned(inverse)).reshape(*self.columns.shape, -1)
        values = (self.scaled @ turned(self.scaled)).ravel()
        if self.disjoint:
            H.reshape(-1)[self.places] += values
        else:
            np.add.at(H.reshape(-1), self.places, values)

    def add_curvature(self, out: Array, step: Array, sign: float) -> None:
        """Add sign × A*(W⁻¹ A(step) W⁻¹) to ``out``."""
        self._add(out, sign * self._mapped(self.scaled, step))

    def aim(self, above: float, least: float = 0.0, correct: float = 0.0) -> None:
        """Set the wanted change of the products S Z: to the floor plus ``above``.

        least : lower limit of that target for ordinary conditions.
        correct : share of the second-order term to subtract; see `remember`.
        """
        target = self.floor + np.where(self.kept, above, max(above, least))
        change = (target[:, None] - self.products)[:, :, None] * self.unit
        if correct:
            change -= correct * self.second
        self.wanted_change = 2.0 * change / (self.lam[:, :, None] + self.lam[:, None, :])

    def add_pull(self, out: Array) -> None:
        """Add the wanted change and the violation to the Newton right-hand side."""
        self._add(out, self.wanted_change - self.away)

    def follow(self, step: Array) -> None:
        """Set the scaled steps of S and Z that belong to a step of x."""
        self.dS = self._mapped(self.scaled, step) + self.away
        self.dZ = self.wanted_change - self.dS

    def remember(self) -> None:
        """Store the second-order term dS dZ of the predictor, for the corrector."""
        product = self.dS @ self.dZ
        self.second = 0.5 * (product + turned(product))

    def reach(self) -> float:
        """Largest step length (1 is a full step) that keeps S and Z positive semidefinite."""
        root = np.sqrt(self.lam)
        both = np.stack([self.dS, self.dZ]) / (root[:, :, None] * root[:, None, :])
        lowest = float(np.linalg.eigvalsh(both)[..., 0].min())
        return -1.0 / lowest if lowest < 0.0 else np.inf

    def advance(self, length: float) -> None:
        """Take the step."""
        S, Z = self.diagonal + length * self.dS, self.diagonal + length * self.dZ
        self._rescale(0.5 * (S + turned(S)), 0.5 * (Z + turned(Z)))

    def _mapped(self, coefficients: Array, step: Array) -> Array:
        """sum_j step_j coefficients_j (k, d, d), for coefficients (k, p, d²)."""
        out = step[self.columns][:, None, :] @ coefficients
        return np.asarray(out.reshape(self.b.shape))

    def _add(self, out: Array, values: Array) -> None:
        """Add the adjoint of the scaled map at these values (k, d, d)."""
        sums = self.scaled @ values.reshape(len(values), -1, 1)
        out += _summed(self.flat, sums.ravel(), self.n)


Conditions = Numbers | Matrices


def turned(M: Array) -> Array:
    """The transpose of every matrix of a stack."""
    return np.swapaxes(M, -1, -2)


def pushed_inside(M: Array) -> Array:
    """M (k, d, d) plus a multiple of the unit matrix, so that every eigenvalue is >= INSIDE."""
    low = np.linalg.eigvalsh(M)[:, 0]
    shift = np.maximum(INSIDE - low, 0.0)
    return np.asarray(M + shift[:, None, None] * np.eye(M.shape[1]))


def _summed(places: NDArray[np.int64], values: Array, n: int) -> Array:
    """Values summed at their places (n,)."""
    return np.asarray(np.bincount(places, values, n), dtype=float)


def _distances(products: Array, floor: Array, kept: NDArray[np.bool_]) -> tuple[float, float]:
    """Duality gap of products (k, d), and their largest relative distance from a floor (k,).

    kept : (k,) which floors are above zero.
    """
    targets = floor[kept][:, None]
    ratios = products[kept] / targets
    away = ratios - 1.0
    gap = products[~kept].sum() + (targets * (away - np.log(ratios))).sum()
    return float(gap), float(np.abs(away).max(initial=0.0))
