"""What every motion plan can do: give its state at any time, and bounds that hold at all times."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.excitation.extremes import Extremes
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]


class Trajectory(Protocol):
    """A motion of named joints, known with its derivatives at any time."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, in the order of the columns that `evaluate` returns."""

    @property
    def duration_s(self) -> float:
        """Time (s) from the beginning to the end; one period of a motion that repeats."""

    def derivative(self, time: ArrayLike, order: int) -> Array:
        """The derivative of this order (n_samples, n_joints) at these times (s): 0 for positions,
        3 for jerk.
        """

    def evaluate(self, time: ArrayLike) -> Motion:
        """Position, velocity and acceleration at these times (s)."""

    def extremes(self) -> Extremes:
        """Bounds on position, velocity, acceleration and jerk that hold at every time."""


def motion_of(trajectory: Trajectory, time: ArrayLike, run: str) -> Motion:
    """The state of a trajectory at these times (s) as a `Motion`."""
    time = np.atleast_1d(np.asarray(time, dtype=float))
    q, v, a = (trajectory.derivative(time, order) for order in range(3))
    return Motion(time, q, v, a, run)
