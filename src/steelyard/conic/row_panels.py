"""Products with a large matrix of which many entries are zeros: a staircase, or blocks of rows.

The rows of a robot's fit are the triangular factor of the data, which starts at the first column
of a link and reads on to the last, and the pulls, which know the columns of one link only. Cut into
panels of neighbouring rows, each with the range of its columns that are not zero, the products F x,
Fᵀ r and FᵀF take between a half and a third of the operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

OVERHEAD = 4000
"""Entries that are multiplied in the time that one more product of matrices takes to start."""
WIDTH = 112
"""Columns of FᵀF that are computed in one product."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Rows that are zero outside of a range of columns; block is the part inside, a view."""

    rows: slice
    columns: slice
    block: Array


@dataclass(frozen=True, eq=False)
class RowPanels:
    """A matrix F (n_rows, n) and its panels, from the first row to the last."""

    F: Array
    panels: tuple[Panel, ...]

    def times(self, x: Array) -> Array:
        """F x (n_rows,), or (n_rows, k) for a matrix."""
        out = np.zeros((len(self.F), *x.shape[1:]))
        for panel in self.panels:
            np.matmul(panel.block, x[panel.columns], out=out[panel.rows])
        return out

    def back(self, r: Array) -> Array:
        """Fᵀ r (n,)."""
        out = np.zeros(self.F.shape[1])
        for panel in self.panels:
            out[panel.columns] += r[panel.rows] @ panel.block
        return out

    def upper_gram(self) -> Array:
        """FᵀF (n, n) on and above the diagonal; below it are zeros, or more of FᵀF."""
        n = self.F.shape[1]
        out = np.zeros((n, n))
        for begin in range(0, n, WIDTH):
            end = min(begin + WIDTH, n)
            for k, run in enumerate(self._runs(begin, end)):
                rows = slice(run[0].rows.start, run[-1].rows.stop)
                last = max(panel.columns.stop for panel in run)
                own, others = self.F[rows, begin:end], self.F[rows, begin:last]
                place = out[begin:end, begin:last]
                if k:
                    place += own.T @ others
                else:
                    np.matmul(own.T, others, out=place)
        return out

    def _runs(self, begin: int, end: int) -> list[list[Panel]]:
        """Panels that have entries in these columns, neighbours together."""
        out: list[list[Panel]] = []
        for panel in self.panels:
            if panel.columns.start >= end or panel.columns.stop <= begin:
                continue
            if out and out[-1][-1].rows.stop == panel.rows.start:
                out[-1].append(panel)
            else:
                out.append([panel])
        return out


def times_columns(F: Array, T: Array) -> Array:
    """F T (n_rows, k) for a matrix T (n, k) most of whose columns have a single entry."""
    single = np.count_nonzero(T, axis=0) == 1
    place = (T != 0.0).argmax(axis=0)
    out = F[:, place] * T[place, np.arange(T.shape[1])]
    others = np.flatnonzero(~single)
    out[:, others] = row_panels(F).times(T[:, others])
    return np.asarray(out)


def row_panels(F: Array) -> RowPanels:
    """The panels of a matrix; rows of zeros are in none."""
    filled = F != 0.0
    n = F.shape[1]
    first = filled.argmax(axis=1) if n else np.zeros(len(F), dtype=int)
    last = n - filled[:, ::-1].argmax(axis=1) if n else first
    empty = ~filled.any(axis=1)
    panels: list[Panel] = []
    begin = low = high = used = 0
    for row, (a, b, none) in enumerate(
        zip(first.tolist(), last.tolist(), empty.tolist(), strict=True)
    ):
        wide = (row + 1 - begin) * (max(high, b) - min(low, a))
        if row > begin and (none or wide > used + (b - a) + OVERHEAD):
            panels.append(_panel(F, begin, row, low, high))
            begin = row
        if none:
            begin = row + 1
            used = 0
        elif row == begin:
            low, high, used = a, b, b - a
        else:
            low, high, used = min(low, a), max(high, b), used + b - a
    if begin < len(F):
        panels.append(_panel(F, begin, len(F), low, high))
    return RowPanels(F, tuple(panels))


def _panel(F: Array, begin: int, end: int, low: int, high: int) -> Panel:
    rows, columns = slice(begin, end), slice(low, high)
    return Panel(rows, columns, F[rows, columns])
