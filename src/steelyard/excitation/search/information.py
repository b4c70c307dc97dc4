"""The information matrix of a motion, and gradients of functions of it by the motion.

    M = prior + sum over torque rows r of  (W_r / noise_r)ᵀ (W_r / noise_r)

on base columns that are divided by their scale. Only entries that the tree allows to differ from
zero are computed and multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.model.base_map import BaseMap
from steelyard.model.kernels import fill_regressor
from steelyard.model.model import Model
from steelyard.model.torque_gradient import gradient_of_slots
from steelyard.regression.torque_rows import row_groups

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Information:
    """What a motion of a model tells about some of its base parameters.

    columns : indices of the base parameters that count (into ``base.independent``).
    noise : (nv,) standard deviation of each torque, N m or N. scale : (n_columns,) of each base
    parameter: the columns are multiplied by it, so that the parameters are numbers near one.
    prior : (n_columns, n_columns) information that is there before, in the scaled parameters.
    """

    model: Model
    base: BaseMap
    columns: tuple[int, ...]
    noise: Array
    scale: Array
    prior: Array | None = None

    def __post_init__(self) -> None:
        n = len(self.columns)
        if self.noise.shape != (self.model.nv,) or not np.all(self.noise > 0.0):
            raise SignalError("the noise of every torque must be a positive number")
        if self.scale.shape != (n,) or not np.all(self.scale > 0.0):
            raise SignalError("the scale of every base parameter must be a positive number")
        if self.prior is not None and self.prior.shape != (n, n):
            raise SignalError(f"the prior has shape {self.prior.shape}; {(n, n)} is needed")

    @cached_property
    def _blocks(self) -> tuple[slice, ...]:
        """Per torque row: its rows of the table, one for each base parameter that affects it."""
        sizes = [len(group.columns) for group in row_groups(self.model, self.base)]
        ends = np.cumsum([0, *sizes])
        return tuple(slice(a, b) for a, b in pairwise(ends.tolist()))

    @cached_property
    def _products(self) -> tuple[IntArray, Array]:
        """Products of two entries of one torque row, the rows one after the other: their places
        (n_products,) in the flat M, and what they are multiplied with; zero for those of columns
        that do not count.
        """
        n = len(self.columns)
        place = np.zeros(self.base.rank, dtype=np.int64)
        scale = np.zeros(self.base.rank)
        place[list(self.columns)] = np.arange(n)
        scale[list(self.columns)] = self.scale
        places, factors = [], []
        for group, noise in zip(row_groups(self.model, self.base), self.noise, strict=True):
            columns = list(group.columns)
            places.append((place[columns][:, None] * n + place[columns]).ravel())
            own = scale[columns] / noise
            factors.append((own[:, None] * own).ravel())
        return np.concatenate(places), np.concatenate(factors)

    @cached_property
    def _slot(self) -> IntArray:
        """Row of the table (n_slots, n_samples) of each entry of the regressor."""
        slot = np.full((self.model.nv, len(self.model.columns)), -1, dtype=np.int64)
        start = 0
        for row, group in enumerate(row_groups(self.model, self.base)):
            for k, column in enumerate(group.columns):
                slot[row, self.base.independent[column]] = start + k
            start += len(group.columns)
        return slot

    @cached_property
    def _base_of_slot(self) -> tuple[IntArray, IntArray]:
        """Torque row and base column (n_slots,) of each row of the table."""
        groups = row_groups(self.model, self.base)
        row = [r for r, group in enumerate(groups) for _ in group.columns]
        column = [c for group in groups for c in group.columns]
        return np.array(row, dtype=np.int64), np.array(column, dtype=np.int64)

    def table(self, q: Array, v: Array, a: Array) -> Array:
        """The entries of the base regressor (n_slots, n_samples), row after row of torque."""
        n_slots = len(self._base_of_slot[0])
        out = np.zeros(n_slots * len(q))
        fill_regressor(self.model, q, v, a, self._slot, len(q), 1, out)
        return out.reshape(n_slots, len(q))

    def matrix(self, table: Array, times: float = 1.0) -> Array:
        """M (n_columns, n_columns) of a table whose samples count this many times."""
        n = len(self.columns)
        places, factors = self._products
        products = np.concatenate(
            [(table[block] @ table[block].T).ravel() for block in self._blocks]
        )
        summed = np.bincount(places, weights=products * (times * factors), minlength=n * n)
        M = np.asarray(summed, dtype=float).reshape(n, n)
        return M if self.prior is None else M + self.prior

    def slope(self, table: Array, by_matrix: Array) -> Array:
        """From the slope df/dM (n_columns, n_columns) to df/dtable (n_slots, n_samples)."""
        places, factors = self._products
        by_product = 2.0 * by_matrix.ravel()[places] * factors
        out = np.empty_like(table)
        start = 0
        for block in self._blocks:
            size = block.stop - block.start
            square = by_product[start : start + size**2].reshape(size, size)
            np.matmul(square, table[block], out=out[block])
            start += size**2
        return out

    def torque(self, table: Array, beta: Array) -> Array:
        """Torques (nv, n_samples) of the base parameters beta (n_base,)."""
        _, column = self._base_of_slot
        weights = beta[column]
        return np.array([weights[block] @ table[block] for block in self._blocks])

    def torque_slope(self, by_torque: Array, beta: Array) -> Array:
        """From df/dtau (nv, n_samples) to df/dtable (n_slots, n_samples)."""
        row, column = self._base_of_slot
        return np.asarray(beta[column][:, None] * by_torque[row])

    def gradient(self, q: Array, v: Array, a: Array, by_table: Array) -> tuple[Array, Array, Array]:
        """From df/dtable to the gradients (n_samples, nv) by q, v and a."""
        return gradient_of_slots(
            self.model, q, v, a, self._slot, len(q), 1, np.ascontiguousarray(by_table).reshape(-1)
        )
