"""Torque rows that are sums of the model's own rows, such as the torques of motors with gears."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RegressionError
from steelyard.regression.regression import RowGroup
from steelyard.robot.transmission import Transmission

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowMixing:
    """Row m of the regression is the sum over j of weights[m, j] times row j of the model.

    names : one per row of the regression.
    weights : (n_rows, nv), columns in the order of ``Model.channels``. Where one of the torques
        that a row uses is missing, the row is missing.
    """

    names: tuple[str, ...]
    weights: Array

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or len(self.weights) != len(self.names):
            raise RegressionError(
                f"the weights of {len(self.names)} mixed rows have shape {self.weights.shape}"
            )
        if not np.isfinite(self.weights).all():
            raise RegressionError("the weights of mixed rows must be finite numbers")

    def parts(self, row: int) -> list[tuple[int, float]]:
        """The model's rows that this row uses, with their weights."""
        return [(int(j), float(self.weights[row, j])) for j in np.flatnonzero(self.weights[row])]

    def groups(self, channels: Sequence[RowGroup]) -> tuple[RowGroup, ...]:
        """Row groups of the mixed rows: each has all columns of the rows (``channels``) it uses."""
        if self.weights.shape[1] != len(channels):
            raise RegressionError(
                f"the mixed rows have weights for {self.weights.shape[1]} torques, but the model "
                f"has {len(channels)}"
            )
        return tuple(
            RowGroup(
                name, tuple(sorted({c for j, _ in self.parts(row) for c in channels[j].columns}))
            )
            for row, name in enumerate(self.names)
        )


def motor_rows(transmission: Transmission, channels: Sequence[str]) -> RowMixing:
    """Rows of motor torques instead of joint torques.

    v_motor = T v, so that the power tau·v is tau_motor·v_motor: tau_motor = T⁻ᵀ tau.
    """
    return RowMixing(transmission.motor_names, transmission.to_joints(channels).T)
