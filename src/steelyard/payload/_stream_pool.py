"""All arrays of a payload stream in two blocks of memory, so that a call takes two arguments.

A compiled function that is called from Python spends about 0.1 µs on each array argument. A stream
has some twenty, which do not change from sample to sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FLOATS = (
    "time", "clock", "gate", "weight", "block", "rows", "work", "kin", "motion", "q", "v", "a",
    "measured", "numbers", "gravity", "T_body_frame", "state", "own", "wrench", "rest", "dead_band",
    "term_weight", "term_numbers", "knots", "values",
)  # fmt: skip
INTEGERS = ("counts", "tree", "body", "term_entries")
NAMES = (*FLOATS, *INTEGERS)
"""Arrays that a source may need, in the order in which the pool holds them."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Arrays of floats and of integers, each a view of its block.

    floats : (n,) all arrays of floats, one after the other.
    integers : (m,) the place of each of `NAMES`, three numbers each: offset, rows, columns; then
        the arrays of integers themselves.
    views : the arrays by name, with the shapes they were given in. Writing to one changes the pool.
    """

    floats: NDArray[np.float64]
    integers: NDArray[np.int64]
    views: Mapping[str, NDArray[Any]]

    @staticmethod
    def of(arrays: Mapping[str, ArrayLike]) -> Pool:
        """Copy arrays, with one or two dimensions each, into a pool; those not given are empty."""
        given = {name: np.asarray(arrays.get(name, np.zeros((0, 0)))) for name in NAMES}
        floats = np.zeros(sum(given[name].size for name in FLOATS))
        header = 3 * len(NAMES)
        integers = np.zeros(header + sum(given[name].size for name in INTEGERS), dtype=np.int64)
        views = {}
        for names, block, begin in ((FLOATS, floats, 0), (INTEGERS, integers, header)):
            for name in names:
                values = given[name]
                place = 3 * NAMES.index(name)
                integers[place : place + 3] = begin, *np.atleast_2d(values).shape
                view: NDArray[Any] = block[begin : begin + values.size].reshape(values.shape)
                view[...] = values
                views[name] = view
                begin += values.size
        return Pool(floats, integers, views)
