"""Rows of joint torques: one for each sample and joint.

A row group is a torque of the model with the base parameters that affect it, or a sum of several
(`RowMixing`); known columns (`ExtraColumns`) may be added to those of the model.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from steelyard.model.base_map import BaseMap
from steelyard.model.kernels import fill_regressor
from steelyard.model.model import Model
from steelyard.model.term_signals import TermSignals
from steelyard.regression.equation import TORQUE
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.regression.regression import RowGroup
from steelyard.regression.row_maker import Parts
from steelyard.regression.row_mixing import RowMixing
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]


def row_groups(model: Model, base: BaseMap) -> tuple[RowGroup, ...]:
    """The base columns that affect each torque row, from the shape of the tree."""
    affects = np.zeros((model.nv, len(model.columns)), dtype=bool)
    mechanism = model.mechanism
    for i, first in enumerate(model.first_column_of_body):
        affects[mechanism.path[i, : mechanism.path_length[i]], first : first + 10] = True
    terms = model.term_arrays
    for k, column in enumerate(terms.column):
        affects[terms.row[terms.start[k] : terms.start[k + 1]], column] = True
    base_affects = affects[:, list(base.independent)]
    return tuple(
        RowGroup(name, tuple(int(i) for i in np.flatnonzero(base_affects[row])))
        for row, name in enumerate(model.channels)
    )


class TorqueRows:
    """Makes rows of torques; see `steelyard.regression.row_maker.RowMaker`."""

    equation = TORQUE
    needs_acceleration = True

    def __init__(
        self,
        model: Model,
        base: BaseMap,
        extra: ExtraColumns | None = None,
        mixing: RowMixing | None = None,
    ) -> None:
        self.model = model
        self.columns_of = extra
        self.extra = () if extra is None else extra.names
        self.mixing = mixing
        self.channels = row_groups(model, base)
        self.groups = self.channels if mixing is None else mixing.groups(self.channels)
        # where the kernel puts the entry of row r and column c: one channel after the other,
        # each with its columns, then the extra ones, then its torque
        self.slot = np.full((model.nv, len(model.columns)), -1, dtype=np.int64)
        self.start: list[int] = []
        self.used = np.ones(model.nv, dtype=bool)
        if mixing is not None:
            self.used = np.any(mixing.weights != 0.0, axis=0)
        n = 0
        for row, channel in enumerate(self.channels):
            self.start.append(n)
            if not self.used[row]:
                continue
            for place, column in enumerate(channel.columns):
                self.slot[row, base.independent[column]] = n + place
            n += self._width(channel)
        self.n_slots = n

    def take(self, motion: Motion, tau: Array) -> tuple[Array, Callable[[slice], Parts]]:
        """Every sample is complete."""

        def part(rows: slice) -> Parts:
            """q, v, a, tau, the extra columns (n_samples, nv, n_extra) and the filtered friction
            (n_samples, n_filtered).
            """
            mine, torques = motion[rows], tau[rows]
            n = len(torques)
            extra = np.empty((*torques.shape, 0))
            if self.columns_of is not None:
                extra = self.columns_of.of(mine)
            friction = np.empty((n, 0)) if mine.friction is None else mine.friction.values
            return mine.q, mine.v, mine.a, torques, extra, friction

        return motion.time, part

    def tables(self, parts: Parts, filtered: tuple[str, ...]) -> list[Array]:
        """[W extra tau] of each group."""
        q, v, a, tau, extra, friction = parts
        n = len(q)
        table = np.zeros(self.n_slots * n)
        given = TermSignals(filtered, friction) if filtered else None
        fill_regressor(self.model, q, v, a, self.slot, n, 1, table, given)
        columns = table.reshape(self.n_slots, n)
        of_channel = []
        for row, channel in enumerate(self.channels):
            if not self.used[row]:
                of_channel.append(columns[:0])
                continue
            first, width = self.start[row], self._width(channel)
            mine = columns[first : first + width]
            mine[len(channel.columns) : -1] = extra[:, row].T
            mine[-1] = tau[:, row]
            of_channel.append(mine)
        if self.mixing is None:
            return of_channel
        return [self._mixed(row, of_channel) for row in range(len(self.groups))]

    def why_none(self) -> str:
        """There is a row for every sample."""
        return "there are no samples to compress"

    def _width(self, group: RowGroup) -> int:
        """Columns of [W_g extra_g tau_g]."""
        return len(group.columns) + len(self.extra) + 1

    def _mixed(self, row: int, of_channel: list[Array]) -> Array:
        """[W extra tau] of a mixed row, transposed (n_columns, n_samples), from the channels'."""
        assert self.mixing is not None
        group = self.groups[row]
        place = {column: k for k, column in enumerate(group.columns)}
        mixed = np.zeros((self._width(group), of_channel[0].shape[1]))
        last = range(len(place), self._width(group))
        for j, weight in self.mixing.parts(row):
            mixed[[*(place[c] for c in self.channels[j].columns), *last]] += weight * of_channel[j]
        return mixed
