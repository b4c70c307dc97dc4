"""Signals that replace the laws of some terms, such as a friction that was filtered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TermSignals:
    """The factors of some terms' parameters over time.

    names : of the terms, such as ("elbow.fc",). values : (n_samples, n_names), without unit for
    Coulomb friction.

    A low-pass filter changes the jump of friction at a reversal. Where the measured torque was
    filtered, its friction columns are these: the law, filtered alike.
    """

    names: tuple[str, ...]
    values: Array

    def __getitem__(self, rows: slice) -> TermSignals:
        return TermSignals(self.names, self.values[rows])
