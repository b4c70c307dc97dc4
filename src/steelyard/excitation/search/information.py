"""The information matrix of a motion, and gradients of functions of it by the motion.

    M = prior + sum over torque rows r of  (W_r / noise_r)ᵀ (W_r / noise_r)

on base columns that are divided by their scale. Only entries that the tree allows to differ from
zero are computed and multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
    def _rows(self) -> tuple[tuple[IntArray, IntArray], ...]:
        """Per torque row: the rows of the table whose columns count, and their places in M."""
        place = {column: k for k, column in enumerate(self.columns)}
        rows = []
        start = 0
        for group in row_groups(self.model, self.base):
            counted = [k for k, c in enumerate(group.columns) if c in place]
            places = [place[group.columns[k]] for k in counted]
            rows.append(
                (np.array(counted, dtype=np.int64) + start, np.array(places, dtype=np.int64))
            )
            start += len(group.columns)
        return tuple(rows)

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
        M = np.zeros((n, n)) if self.prior is None else self.prior.copy()
        for row, (slots, places) in enumerate(self._rows):
            if len(slots):
                block = table[slots]
                weight = times / self.noise[row] ** 2
                scale = self.scale[places]
                M[np.ix_(places, places)] += (block @ block.T) * (weight * scale[:, None] * scale)
        return M

    def slope(self, table: Array, by_matrix: Array) -> Array:
        """From the slope df/dM (n_columns, n_columns) to df/dtable (n_slots, n_samples)."""
        out = np.zeros_like(table)
        for row, (slots, places) in enumerate(self._rows):
            if len(slots):
                weight = 2.0 / self.noise[row] ** 2
                scale = self.scale[places]
                block = by_matrix[np.ix_(places, places)] * (weight * scale[:, None] * scale)
                out[slots] = block @ table[slots]
        return out

    def torque(self, table: Array, beta: Array) -> Array:
        """Torques (nv, n_samples) of the base parameters beta (n_base,)."""
        row, column = self._base_of_slot
        tau = np.zeros((self.model.nv, table.shape[1]))
        for r in range(self.model.nv):
            mine = row == r
            tau[r] = beta[column[mine]] @ table[mine]
        return tau

    def torque_slope(self, by_torque: Array, beta: Array) -> Array:
        """From df/dtau (nv, n_samples) to df/dtable (n_slots, n_samples)."""
        row, column = self._base_of_slot
        return np.asarray(beta[column][:, None] * by_torque[row])

    def gradient(self, q: Array, v: Array, a: Array, by_table: Array) -> tuple[Array, Array, Array]:
        """From df/dtable to the gradients (n_samples, nv) by q, v and a."""
        return gradient_of_slots(
            self.model, q, v, a, self._slot, len(q), 1, np.ascontiguousarray(by_table).reshape(-1)
        )
