"""Parts of a log for several widths of Coulomb friction, from one pass over its samples.

Widths change the columns of Coulomb friction only. The factor of [W, Coulomb columns of the other
widths, tau] therefore holds the factors of every width: that of one width is the triangle of its
own columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.left_out import ComparedRows, Parts, part_members, parts_from, triangles
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


def parts_of_widths(
    placed: Sequence[Placed],
    motion: Motion,
    others: Sequence[TermSignals],
    compressed: Callable[[Motion, ExtraColumns], Regression],
    compared: ComparedRows,
    sigma: Array,
    edges: NDArray[np.int64],
) -> list[Parts]:
    """The parts of the model's own width, then those of the others; see `parts_from`.

    placed : the Coulomb terms. others : their factors along the motion, for each of the other
    widths. compressed : the regression of a motion with extra columns, on the ``compared`` rows.
    """
    n_slots = 1 + max(one.slot for one in placed)
    n_extra = len(others) * n_slots
    columns = np.zeros((*motion.v.shape, n_extra))
    for one in placed:
        for k, each in enumerate(others):
            signal = each.values[:, each.names.index(one.term)]
            columns[:, one.row, k * n_slots + one.slot] = one.weight * signal
    names = tuple(f"width {k}, slot {s}" for k in range(len(others)) for s in range(n_slots))
    n_own = 0 if motion.friction is None else len(motion.friction.names)

    def values(part: Motion) -> Array:
        assert part.friction is not None
        return part.friction.values[:, n_own:].reshape(-1, *columns.shape[1:])

    regression = compressed(_carrying(motion, columns), ExtraColumns(names, values))
    members = part_members(regression, edges)
    together = parts_from(regression, sigma, members)
    out = []
    for k in range(-1, len(others)):
        channels = []
        for factors, row, own in zip(
            together.channels, compared.rows, together.columns, strict=True
        ):
            chosen = [*range(len(own)), len(own) + n_extra]
            for one in placed:
                if k >= 0 and one.row == row:
                    chosen[own.index(one.column)] = len(own) + k * n_slots + one.slot
            channels.append(triangles(factors[:, :, chosen]))
        out.append(replace(together, channels=tuple(channels)))
    return out


def _carrying(motion: Motion, columns: Array) -> Motion:
    """The motion with columns (n_samples, nv, n) behind its own friction, so that each part of it
    has those of its samples.
    """
    flat = columns.reshape(len(columns), -1)
    names = tuple(f"column {k}" for k in range(flat.shape[1]))
    if motion.friction is not None:
        names = (*motion.friction.names, *names)
        flat = np.hstack([motion.friction.values, flat])
    return replace(motion, friction=TermSignals(names, flat))


def placed_terms(model: Model, compared: ComparedRows) -> tuple[Placed, ...]:
    """Where the Coulomb terms act on the compared rows; nowhere if one of them is no base parameter
    of its own.
    """
    arrays = model.term_arrays
    place = {column: k for k, column in enumerate(compared.base.independent)}
    taken: dict[int, int] = {}
    placed = []
    for term in model.jumping_terms:
        t = arrays.names.index(term.name)
        for entry in range(arrays.start[t], arrays.start[t + 1]):
            row, column = int(arrays.row[entry]), int(arrays.column[t])
            if row not in compared.rows:
                continue
            if column not in place:
                return ()
            slot = taken.get(row, 0)
            taken[row] = slot + 1
            weight = float(arrays.weight[entry])
            placed.append(Placed(term.name, row, weight, slot, place[column]))
    return tuple(placed)


def friction_signals(model: Model, motion: Motion) -> TermSignals:
    """The factors of the Coulomb terms along a motion: filtered where it has them so."""
    if motion.friction is not None:
        return motion.friction
    names = tuple(term.name for term in model.jumping_terms)
    values = term_values(model, motion.q, motion.v, motion.a)
    return TermSignals(names, values[[model.term_arrays.names.index(name) for name in names]].T)
