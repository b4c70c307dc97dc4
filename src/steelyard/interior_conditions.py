"""Semidefinite conditions side by side in arrays, as the interior-point method works on them.

S = A x + b and its dual Z are kept in the scaling of Nesterov and Todd, in which both are the
same diagonal matrix:  R⁻¹ S R⁻ᵀ = Rᵀ Z R = diag(lam).  Conditions on one number (1×1) are the bulk
of a robot's, so they have a form of their own, with vectors in place of stacks of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
INSIDE = 0.1
"""Smallest eigenvalue at the start, where conditions are written in units of their own size."""


@dataclass(frozen=True, eq=False)
class Condition:
    """``sum_j x[columns[j]] A[j] + b`` is positive semidefinite.

    A : (n_columns, d, d) and b : (d, d), symmetric; d = 1 for a number that is not negative.
    floor : weight of its log-determinant in the objective, 0 for none.
    """

    columns: tuple[int, ...]
    A: Array
    b: Array
    floor: float = 0.0


def arranged(conditions: Sequence[Condition]) -> list[Conditions]:
    """The conditions in as few stacks as their sizes allow."""
    numbers = [k for k, one in enumerate(conditions) if one.b.shape[0] == 1]
    stacks: dict[tuple[int, int], list[int]] = {}
    for k, one in enumerate(conditions):
        if one.b.shape[0] > 1:
            stacks.setdefault((one.b.shape[0], len(one.columns)), []).append(k)
    groups: list[Conditions] = [Matrices(members, conditions) for members in stacks.values()]
    return [*groups, Numbers(numbers, conditions)] if numbers else groups


class Numbers:
    """Conditions ``a·x + b >= 0``, one per row, with sparse rows."""

    def __init__(self, members: Sequence[int], conditions: Sequence[Condition]) -> None:
        chosen = [conditions[k] for k in members]
        self.members = tuple(members)
        self.b = np.array([one.b[0, 0] for one in chosen])
        self.floor = np.array([one.floor for one in chosen])
        self.row = np.repeat(np.arange(len(chosen)), [len(one.columns) for one in chosen])
        self.column = np.concatenate([np.array(one.columns, dtype=np.int64) for one in chosen])
        self.weight = np.concatenate([one.A[:, 0, 0] for one in chosen])
        # every pair of entries of a row meets in the Newton matrix
        pairs = [
            (k, i, j, a * b)
            for k, one in enumerate(chosen)
            for i, a in zip(one.columns, one.A[:, 0, 0], strict=True)
            for j, b in zip(one.columns, one.A[:, 0, 0], strict=True)
        ]
        self.pair_row, self.pair_i, self.pair_j = (
            np.array([pair[k] for pair in pairs], dtype=np.int64) for k in range(3)
        )
        self.pair_weight = np.array([pair[3] for pair in pairs])
        self.scaling = self.Z = np.ones(len(chosen))  # R = sqrt(scaling)
        self.dS = self.dZ = np.zeros(len(chosen))

    def linear(self, step: Array) -> Array:
        """A step (k,)."""
        return np.asarray(
            np.bincount(self.row, self.weight * step[self.column], len(self.b)), dtype=float
        )

    def add_adjoint(self, out: Array, values: Array, sign: float) -> None:
        """Add sign × A*(values) to ``out`` (n,)."""
        out += np.bincount(self.column, sign * self.weight * values[self.row], len(out))

    def begin(self, x: Array, above: float) -> None:
        """S from x, pushed inside where it must be; Z so that all products are alike."""
        value = self.linear(x) + self.b
        self.S = pushed_inside(value[:, None, None])[:, 0, 0]
        self.Z = (self.floor + above) / self.S
        self._settle()

    def _settle(self) -> None:
        self.lam = np.sqrt(self.S * self.Z)
        self.scaling = np.sqrt(self.S / self.Z)

    def look(self, x: Array) -> None:
        """Residuals at x."""
        self.away = self.linear(x) + self.b - self.S
        self.violation = float(np.max(np.abs(self.away)))
        products = self.lam**2
        self.excess = float(np.sum(np.abs(products - self.floor)))
        self.dimension = len(self.b)
        kept = self.floor > 0.0
        self.gap = float(np.sum(products[~kept]))
        ratio = products[kept] / self.floor[kept]
        self.off_floor = float(np.max(np.abs(ratio - 1.0), initial=0.0))

    def add_hessian(self, H: Array) -> None:
        """Add A* W⁻² A to the Newton matrix."""
        values = self.pair_weight * (1.0 / self.scaling**2)[self.pair_row]
        np.add.at(H, (self.pair_i, self.pair_j), values)

    def add_curvature(self, out: Array, step: Array, sign: float) -> None:
        """Add sign × A*(W⁻² A(step)) to ``out``."""
        self.add_adjoint(out, self.linear(step) / self.scaling**2, sign)

    def aim(self, above: float, correct: bool = False) -> None:
        """Set the change of the products that is wished for; see `Matrices.aim`."""
        wish = self.floor + above - self.lam**2
        if correct:
            wish = wish - self.dS * self.dZ
        self.wish = wish / self.lam

    def add_pull(self, out: Array) -> None:
        """Add what the wish and the violation ask of x to the right-hand side."""
        self.add_adjoint(out, (self.wish - self.away / self.scaling) / self.scaling, 1.0)

    def follow(self, step: Array) -> None:
        """Scaled steps of S and Z that go with a step of x."""
        self.dS = (self.linear(step) + self.away) / self.scaling
        self.dZ = self.wish - self.dS

    def reach(self) -> float:
        """Longest step, in steps, that keeps S and Z inside."""
        lowest = float(min(np.min(self.dS / self.lam), np.min(self.dZ / self.lam)))
        return -1.0 / lowest if lowest < 0.0 else np.inf

    def advance(self, length: float) -> None:
        """Take the step."""
        self.S = (self.lam + length * self.dS) * self.scaling
        self.Z = (self.lam + length * self.dZ) / self.scaling
        self._settle()


class Matrices:
    """Conditions of one size d and one number of columns p, stacked: A (k, p, d²)."""

    def __init__(self, members: Sequence[int], conditions: Sequence[Condition]) -> None:
        chosen = [conditions[k] for k in members]
        self.members = tuple(members)
        self.columns = np.array([one.columns for one in chosen], dtype=np.int64)
        k, p = self.columns.shape
        d = self.d = chosen[0].b.shape[0]
        self.A = np.array([one.A for one in chosen]).reshape(k, p, d * d)
        self.b = np.array([one.b for one in chosen])
        self.floor = np.array([one.floor for one in chosen])
        self.unit = np.eye(d)
        self.R = self.inverse = self.Z = np.broadcast_to(self.unit, (k, d, d))
        self.dS = self.dZ = np.zeros((k, d, d))

    def linear(self, step: Array) -> Array:
        """A step (k, d, d)."""
        return np.asarray(step[self.columns][:, None, :] @ self.A).reshape(self.b.shape)

    def add_adjoint(self, out: Array, values: Array, sign: float) -> None:
        """Add sign × A*(values) to ``out`` (n,)."""
        k = len(self.columns)
        np.add.at(out, self.columns, sign * (self.A @ values.reshape(k, -1, 1))[:, :, 0])

    def begin(self, x: Array, above: float) -> None:
        """S from x, pushed inside where it must be; Z so that all products are alike."""
        S = pushed_inside(self.linear(x) + self.b)
        self._rescale(S, (self.floor + above)[:, None, None] * np.linalg.inv(S))

    def _rescale(self, S: Array, Z: Array) -> None:
        """Update the scaling, given S and Z in the present one: few digits are lost on the way."""
        Ls, Lz = np.linalg.cholesky(np.stack([S, Z]))
        U, self.lam, Vt = np.linalg.svd(turned(Lz) @ Ls)
        root = np.sqrt(self.lam)
        self.R = self.R @ ((Ls @ turned(Vt)) / root[:, None, :])
        self.inverse = (turned(U) @ turned(Lz) / root[:, :, None]) @ self.inverse
        self.S = (self.R * self.lam[:, None, :]) @ turned(self.R)
        self.Z = (turned(self.inverse) * self.lam[:, None, :]) @ self.inverse
        self.diagonal = self.lam[:, :, None] * self.unit

    def look(self, x: Array) -> None:
        """Residuals at x."""
        away = self.linear(x) + self.b - self.S
        self.violation = float(np.max(np.abs(away)))
        self.away = self.inverse @ away @ turned(self.inverse)
        products = self.lam**2
        self.excess = float(np.sum(np.abs(products - self.floor[:, None])))
        self.dimension = products.size
        kept = self.floor > 0.0
        self.gap = float(np.sum(products[~kept]))
        ratio = products[kept] / self.floor[kept][:, None]
        self.off_floor = float(np.max(np.abs(ratio - 1.0), initial=0.0))

    def add_hessian(self, H: Array) -> None:
        """Add A* (W⁻¹ · W⁻¹) A to the Newton matrix, W = R Rᵀ."""
        k, p, _ = self.A.shape
        inverse = self.inverse[:, None]
        B = (inverse @ self.A.reshape(k, p, self.d, self.d) @ turned(inverse)).reshape(k, p, -1)
        np.add.at(H, (self.columns[:, :, None], self.columns[:, None, :]), B @ turned(B))

    def add_curvature(self, out: Array, step: Array, sign: float) -> None:
        """Add sign × A*(W⁻¹ A(step) W⁻¹) to ``out``."""
        inner = self.inverse @ self.linear(step) @ turned(self.inverse)
        self.add_adjoint(out, turned(self.inverse) @ inner @ self.inverse, sign)

    def aim(self, above: float, correct: bool = False) -> None:
        """Set the change of the products that is wished for: to the floor plus ``above``.

        correct : with the second-order term of the predictor's steps.
        """
        wanted = self.floor + above
        wish = wanted[:, None, None] * self.unit - self.diagonal**2
        if correct:
            product = self.dS @ self.dZ
            wish = wish - 0.5 * (product + turned(product))
        self.wish = 2.0 * wish / (self.lam[:, :, None] + self.lam[:, None, :])

    def add_pull(self, out: Array) -> None:
        """Add what the wish and the violation ask of x to the right-hand side."""
        self.add_adjoint(out, turned(self.inverse) @ (self.wish - self.away) @ self.inverse, 1.0)

    def follow(self, step: Array) -> None:
        """Scaled steps of S and Z that go with a step of x."""
        self.dS = self.inverse @ self.linear(step) @ turned(self.inverse) + self.away
        self.dZ = self.wish - self.dS

    def reach(self) -> float:
        """Longest step, in steps, that keeps S and Z inside."""
        root = np.sqrt(self.lam)
        both = np.stack([self.dS, self.dZ]) / (root[:, :, None] * root[:, None, :])
        lowest = float(np.linalg.eigvalsh(both)[..., 0].min())
        return -1.0 / lowest if lowest < 0.0 else np.inf

    def advance(self, length: float) -> None:
        """Take the step."""
        S, Z = self.diagonal + length * self.dS, self.diagonal + length * self.dZ
        self._rescale(0.5 * (S + turned(S)), 0.5 * (Z + turned(Z)))


Conditions = Numbers | Matrices


def turned(M: Array) -> Array:
    """The transpose of every matrix of a stack."""
    return np.swapaxes(M, -1, -2)


def pushed_inside(M: Array) -> Array:
    """M (k, d, d) moved by a multiple of the unit matrix until no eigenvalue is small."""
    low = np.linalg.eigvalsh(M)[:, 0]
    shift = np.maximum(INSIDE - low, 0.0)
    return np.asarray(M + shift[:, None, None] * np.eye(M.shape[1]))
