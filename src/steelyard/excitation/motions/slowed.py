"""The same path at a lower speed, for a careful first run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError
from steelyard.excitation.extremes import Extremes
from steelyard.excitation.trajectory import Trajectory, motion_of
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]
CAREFUL_SPEEDS = (0.1, 0.3)
"""Shares of the speed of the versions for a first run."""
ROUNDING = 1.0 + 1e-14


@dataclass(frozen=True, eq=False)
class SlowedTrajectory:
    """q(t) = path(speed * t): the positions of another motion, in more time.

    Velocity, acceleration and jerk are multiplied by the first, second and third power of speed.
    """

    trajectory: Trajectory
    speed: float

    def __post_init__(self) -> None:
        if not 0.0 < self.speed <= 1.0:
            raise SignalError(f"speed is {self.speed}; it must be above 0 and at most 1")

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self.trajectory.joints

    @property
    def duration_s(self) -> float:
        """Time (s) from the beginning to the end."""
        return self.trajectory.duration_s / self.speed

    def derivative(self, time: ArrayLike, order: int) -> Array:
        """The derivative of this order (n_samples, n_joints) at these times (s)."""
        slow = self.speed * np.atleast_1d(np.asarray(time, dtype=float))
        return np.asarray(self.speed**order * self.trajectory.derivative(slow, order))

    def evaluate(self, time: ArrayLike, run: str = "slowed") -> Motion:
        """Position, velocity and acceleration at these times (s)."""
        return motion_of(self, time, run)

    def extremes(self) -> Extremes:
        """Bounds that hold at every time: those of the other motion, scaled."""
        found = self.trajectory.extremes()
        if self.speed == 1.0:
            return found
        velocity, acceleration, jerk = (
            self.speed**order * bound * ROUNDING
            for order, bound in enumerate((found.velocity, found.acceleration, found.jerk), 1)
        )
        return Extremes(found.joints, found.lower, found.upper, velocity, acceleration, jerk)
