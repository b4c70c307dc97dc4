"""Known columns of a regression besides those of its model, such as the torque of a payload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RegressionError, listed
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExtraColumns:
    """Columns between those of the model and the torque: [W extra tau].

    names : one per column, such as ("payload",).
    values : from a motion to (n_samples, nv, n_names), torque rows in the order of
        ``Model.channels``, in N m (N) over the unit of the column's parameter. It is called with
        parts of a run, on any thread: its values for a sample must depend on that sample alone.

    A function, not an array: the columns of a part are computed when that part is compressed, so
    that a stream needs no more memory than its chunks.
    """

    names: tuple[str, ...]
    values: Callable[[Motion], Array]

    def __post_init__(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names):
            raise RegressionError(f"extra columns need unique names, not {listed(self.names)}")

    def of(self, motion: Motion) -> Array:
        """Values (n_samples, nv, n_names) for this motion, checked."""
        values = np.asarray(self.values(motion), dtype=float)
        expected = (*motion.v.shape, len(self.names))
        if values.shape != expected:
            raise RegressionError(
                f"run '{motion.run}': the extra columns {listed(self.names)} have shape "
                f"{values.shape}, not (n_samples, nv, n_names) = {expected}"
            )
        if not np.isfinite(values).all():
            row, _, column = np.argwhere(~np.isfinite(values))[0]
            raise RegressionError(
                f"run '{motion.run}': the extra column '{self.names[column]}' is not a finite "
                f"number at time {motion.time[row]:g} s"
            )
        return values
