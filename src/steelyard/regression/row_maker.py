"""What turns samples into rows of a regression: the protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.regression.equation import Equation
from steelyard.regression.regression import RowGroup
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]
Parts = tuple[Array, ...]
"""Arrays of the same length, one entry for each row, or for each sample that gives rows."""


class RowMaker(Protocol):
    """Makes the rows [W extra y] of an equation, in two steps.

    `take` sees every chunk in the order of time. The function that it returns, called with the rows
    of one time block, gives what is kept of them until there are enough; `tables` makes the rows of
    that. Both are called on any thread, and must not change the maker.

    extra : names of columns between those of the model and the right-hand side.
    needs_acceleration : whether a motion must have accelerations.
    """

    equation: Equation
    groups: tuple[RowGroup, ...]
    extra: tuple[str, ...]
    needs_acceleration: bool

    def take(self, motion: Motion, tau: Array) -> tuple[Array, Callable[[slice], Parts]]:
        """The time (n,) s of the rows that this chunk completes, and what gives parts of them.

        tau : (n_samples, nv) N m or N, NaN where it is missing.
        """
        ...

    def tables(self, parts: Parts, filtered: tuple[str, ...]) -> list[Array]:
        """[W extra y] of each group, transposed: (n_columns, n); NaN in the last line if missing.

        filtered : names of the terms whose friction comes filtered.
        """
        ...

    def why_none(self) -> str:
        """Why no row was made."""
        ...
