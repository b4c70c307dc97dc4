"""One triangular factor from those of many row groups, each of which has only some of the columns.

A joint's torque depends on the links that it carries: in the order of the columns, from the base
outwards, its factor starts at its own link. Joined from the outermost joint inwards, each factor
changes only the last rows and columns of the result, and is itself a trapezoid. For a chain of n
joints this takes a sixth of the operations of one QR of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.regression._lapack import PANEL, absorb_rows

Array = NDArray[np.float64]


def staircase_triangle(
    factors: Sequence[Array], columns: Sequence[Sequence[int]], weights: Array, n: int
) -> Array:
    """Triangular factor (n + 1, n + 1) of all groups' rows [W tau], weighted.

    factors : per group (k + 1, k + 1), upper triangular. columns : per group k indices below n,
    increasing.
    """
    R = np.zeros((n + 1, n + 1), order="F")
    work = np.empty(2 * PANEL * (n + 1))
    first = [own[0] if len(own) else n for own in columns]
    for g in sorted(range(len(factors)), key=lambda g: -first[g]):
        begin, k = first[g], len(columns[g])
        rows = np.zeros((k + 1, n + 1 - begin), order="F")
        rows[:, [*(c - begin for c in columns[g]), n - begin]] = weights[g] * factors[g]
        absorb_rows(R[begin:, begin:], rows.ctypes.data, k + 1, k + 1, work, trapezoid=k + 1)
    return np.ascontiguousarray(np.triu(R))
