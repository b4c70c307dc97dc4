"""Fits with a prior to some of the time blocks, or to blocks drawn several times.

The factor of the drawn blocks comes from that of all, R, without another QR: with rows B_k of
block k in coordinates in which R is orthonormal (Q_k = B_k R⁻¹, sum_k Q_kᵀ Q_k = 1), and its weight
w_k,

    Uᵀ U = sum_k w_k Q_kᵀ Q_k = 1 + sum_k (w_k - 1) Q_kᵀ Q_k,        factor = U R,

which keeps the digits as long as U is well conditioned. Otherwise, as where the blocks that are
left out are the only ones that determine a parameter, the factor is computed by QR.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.entropic import Metric, Placed, PriorProblem, Residuals
from steelyard.regression.regression import Regression, triangle

Array = NDArray[np.float64]
LEAST_PIVOT = 1e-3
"""Smallest pivot of U with which the factor has as many digits as that of a QR, but three."""
MOST_KEPT = 4_000_000
"""Numbers in the factors of all blocks up to which Qᵀ Q of each is kept (32 MB)."""
KEPT = 16
"""Draws whose residuals are kept for other weights of the prior."""


@dataclass(frozen=True, eq=False)
class DrawnFactors:
    """Triangular factors of time blocks, and of any draw of them.

    small : (n_blocks, n + 1, n + 1) factors of the blocks of [W tau]. whole : that of all of them.
    """

    small: Array
    whole: Array

    def factor(self, draw: Array) -> Array:
        """Factor (n + 1, n + 1) of blocks that count as often as ``draw`` (n_blocks,) says."""
        found = self._updated(draw)
        if found is not None:
            return found
        used = np.flatnonzero(draw > 0.0)
        rows = np.sqrt(draw[used])[:, None, None] * self.small[used]
        return triangle(rows.reshape(-1, rows.shape[2]))

    def joined(self, parts: Sequence[NDArray[np.int64]]) -> DrawnFactors:
        """The same with one factor for each part of the blocks, where only parts are left out."""
        n = self.small.shape[2]
        small = np.array([triangle(self.small[part].reshape(-1, n)) for part in parts])
        return DrawnFactors(small, self.whole)

    def main_difference(self) -> Array:
        """A coordinate (n_blocks,) along which the motions of blocks differ most.

        Blocks with alike postures, speeds and accelerations have alike WᵀW, columns in units of
        their own size: it is the first principal component of these, each as a share of its trace.
        """
        size = np.linalg.norm(self.whole[:, :-1], axis=0)
        W = self.small[:, :, :-1] / np.where(size > 0.0, size, 1.0)
        grams = np.swapaxes(W, 1, 2) @ W
        traces = np.trace(grams, axis1=1, axis2=2)
        alike = (grams / np.where(traces > 0.0, traces, 1.0)[:, None, None]).reshape(len(W), -1)
        left, spread, _ = np.linalg.svd(alike - alike.mean(axis=0), full_matrices=False)
        return np.asarray(left[:, 0] * spread[0])

    def _updated(self, draw: Array) -> Array | None:
        """The factor from that of all blocks; None where that would cost digits."""
        if not np.min(np.abs(np.diag(self.whole))) > 0.0:
            return None
        changed = np.flatnonzero(draw != 1.0)
        if not len(changed):
            return self.whole
        if self.small.size <= MOST_KEPT:
            G = np.tensordot(draw, self._grams, 1)
        elif 2 * len(changed) <= len(draw):
            Q = self._in_whole(self.small[changed])
            weights = np.repeat(draw[changed] - 1.0, self.small.shape[1])
            G = np.eye(len(self.whole)) + Q.T @ (weights[:, None] * Q)
        else:
            return None
        try:
            L = np.linalg.cholesky(G)
        except np.linalg.LinAlgError:
            return None
        if not np.min(np.diag(L)) > LEAST_PIVOT:
            return None
        return np.asarray(L.T @ self.whole)

    @cached_property
    def _grams(self) -> Array:
        """Qᵀ Q (n_blocks, n + 1, n + 1) of every block."""
        Q = self._in_whole(self.small).reshape(self.small.shape)
        return np.asarray(np.swapaxes(Q, 1, 2) @ Q)

    def _in_whole(self, blocks: Array) -> Array:
        """Q = B R⁻¹ (n_rows, n + 1) of blocks."""
        from scipy.linalg import solve_triangular

        rows = blocks.reshape(-1, self.small.shape[2])
        return np.asarray(solve_triangular(self.whole, rows.T, trans=1, check_finite=False).T)


@dataclass(frozen=True, eq=False)
class DrawnFits:
    """Fits with a prior to draws of time blocks; threads may share it.

    sigma : the unit of the residuals. K : (n_base, n_columns).
    """

    problem: PriorProblem
    factors: DrawnFactors
    sigma: float
    K: Array
    metric: Metric
    _kept: OrderedDict[bytes, Residuals] = field(
        default_factory=OrderedDict, init=False, repr=False
    )
    _whole: dict[tuple[float, float], Placed | None] = field(
        default_factory=dict, init=False, repr=False
    )
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_kept", "_whole", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # neither a lock nor what only saves time is pickled
        self.__dict__.update(state, _kept=OrderedDict(), _whole={}, _lock=Lock())

    def base_parameters(self, task: Array) -> Array:
        """Base parameters (n_base,) of gamma, the weight of terms and counts of drawn blocks
        (2 + n_blocks,); NaN where there is no solution.
        """
        gamma, terms = float(task[0]), float(task[1])
        try:
            data, near = self._residuals(task[2:]), self._fit_to_all(gamma, terms)
            placed = self.problem.solve_data(data, gamma, self.metric, terms, near)
        except EstimationError:
            return np.full(len(self.K), np.nan)
        return np.asarray(self.K @ placed.theta)

    def _fit_to_all(self, gamma: float, terms: float) -> Placed | None:
        """The fit to all blocks, from which those to most of them start; None if there is none.

        Every fit with these weights starts from it, whichever thread asks first.
        """
        key = (gamma, terms)
        with self._lock:
            if key in self._whole:
                return self._whole[key]
        factor = self.factors.whole / self.sigma
        data = self.problem.data(factor[:-1, :-1] @ self.K, factor[:-1, -1])
        try:
            found = self.problem.solve_data(data, gamma, self.metric, terms)
        except EstimationError:
            found = None
        with self._lock:
            self._whole[key] = found
        return found

    def _residuals(self, draw: Array) -> Residuals:
        """The residuals of a draw, which many weights of the prior share."""
        key = draw.tobytes()
        with self._lock:
            if key in self._kept:
                return self._kept[key]
        factor = self.factors.factor(draw) / self.sigma
        found = self.problem.data(factor[:-1, :-1] @ self.K, factor[:-1, -1])
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found


def drawn_factors(regression: Regression, weights: Array, whole: Array) -> DrawnFactors:
    """The factors of a regression's blocks, groups weighted (n_groups,). whole : that of all."""
    small = [
        triangle(regression.block_rows(block, weights)) for block in range(len(regression.keys))
    ]
    return DrawnFactors(np.array(small), whole)
