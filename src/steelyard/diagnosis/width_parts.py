"""Parts of a log for several widths of Coulomb friction, from one pass over its samples.

Widths change the columns of Coulomb friction only. The factor of [W, Coulomb columns of the other
widths, tau] therefore holds the factors of every width: that of one width is the triangle of its
own columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.left_out import Parts, channel_factors, joined, part_members, triangles
from steelyard.model.base_map import BaseMap
from steelyard.model.kernels import term_values
from steelyard.model.model import Model
from steelyard.model.term_signals import TermSignals
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.regression.regression import Regression
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Placed:
    """Where a Coulomb term acts: on which torque row, with which weight; ``slot`` tells the terms
    of one row apart, ``column`` is its base parameter.
    """

    term: str
    row: int
    weight: float
    slot: int
    column: int


@dataclass(frozen=True)
class WidthColumns:
    """Extra columns of a regression: the Coulomb columns of ``n_others`` widths."""

    placed: tuple[Placed, ...]
    n_others: int

    @property
    def n_slots(self) -> int:
        """Coulomb terms on a row, at most."""
        return 1 + max(one.slot for one in self.placed)

    @property
    def extra(self) -> ExtraColumns:
        """The columns, from the signals that `carried` adds to a motion."""
        names = tuple(
            f"width {k}, slot {slot}" for k in range(self.n_others) for slot in range(self.n_slots)
        )
        return ExtraColumns(names, self._values)

    def carried(self, motion: Motion, others: Sequence[TermSignals]) -> Motion:
        """The motion with the signals of the other widths beside its own."""
        given = [] if motion.friction is None else [motion.friction]
        renamed = [
            TermSignals(tuple(_name(term, k) for term in one.names), one.values)
            for k, one in enumerate(others)
        ]
        both = [*given, *renamed]
        names = tuple(name for one in both for name in one.names)
        return replace(motion, friction=TermSignals(names, np.hstack([x.values for x in both])))

    def _values(self, motion: Motion) -> Array:
        assert motion.friction is not None
        place = {name: k for k, name in enumerate(motion.friction.names)}
        out = np.zeros((*motion.v.shape, self.n_others * self.n_slots))
        for one in self.placed:
            for k in range(self.n_others):
                signal = motion.friction.values[:, place[_name(one.term, k)]]
                out[:, one.row, k * self.n_slots + one.slot] = one.weight * signal
        return out

    def parts(
        self,
        regression: Regression,
        sigma: Array,
        edges: NDArray[np.int64],
        rows: Sequence[int],
    ) -> list[Parts]:
        """The parts of the model's own width, then those of the others; see `parts_from`.

        regression : with the columns `extra`. rows : the torque row of each of its groups.
        """
        members = part_members(regression, edges)
        counts = np.array([regression.counts[one].sum(axis=0) for one in members], dtype=float)
        columns = tuple(group.columns for group in regression.groups)
        together = channel_factors(regression, sigma, members)
        out = []
        for k in range(-1, self.n_others):
            channels = tuple(
                triangles(factors[:, :, self._own(row, own, k)])
                for factors, row, own in zip(together, rows, columns, strict=True)
            )
            out.append(
                Parts(joined(channels, columns, regression.base.rank), channels, columns, counts)
            )
        return out

    def _own(self, row: int, columns: tuple[int, ...], k: int) -> list[int]:
        """Columns of a group's factor that belong to width k; -1 for the model's own."""
        n = len(columns)
        own = [*range(n), n + self.n_others * self.n_slots]
        if k >= 0:
            for one in self.placed:
                if one.row == row:
                    own[columns.index(one.column)] = n + k * self.n_slots + one.slot
        return own


def width_columns(
    model: Model, base: BaseMap, rows: Sequence[int], n_others: int
) -> WidthColumns | None:
    """Columns for ``n_others`` more widths of the Coulomb terms on these torque rows; None if one
    of these terms is no base parameter of its own, or there is none.
    """
    arrays = model.term_arrays
    place = {column: k for k, column in enumerate(base.independent)}
    taken: dict[int, int] = {}
    placed = []
    for term in model.jumping_terms:
        t = arrays.names.index(term.name)
        entries = [
            (int(arrays.row[entry]), float(arrays.weight[entry]))
            for entry in range(arrays.start[t], arrays.start[t + 1])
            if arrays.row[entry] in rows
        ]
        column = place.get(int(arrays.column[t]))
        if not entries:
            continue
        if column is None:
            return None
        for row, weight in entries:
            slot = taken.get(row, 0)
            taken[row] = slot + 1
            placed.append(Placed(term.name, row, weight, slot, column))
    return WidthColumns(tuple(placed), n_others) if placed else None


def friction_signals(model: Model, motion: Motion) -> TermSignals:
    """The factors of the Coulomb terms along a motion: filtered where it has them so."""
    if motion.friction is not None:
        return motion.friction
    names = tuple(term.name for term in model.jumping_terms)
    values = term_values(model, motion.q, motion.v, motion.a)
    return TermSignals(names, values[[model.term_arrays.names.index(name) for name in names]].T)


def _name(term: str, k: int) -> str:
    return f"{term} of width {k}"
