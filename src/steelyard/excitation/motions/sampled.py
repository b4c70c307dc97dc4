"""A motion through the positions of a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError, SignalError
from steelyard.excitation.extremes import Extremes
from steelyard.excitation.motions.polynomial import PolynomialTrajectory
from steelyard.excitation.motions.spline import spline
from steelyard.excitation.trajectory import motion_of
from steelyard.logs.log import Log
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]
DEGREE: Literal[5] = 5  # makes acceleration and its derivative continuous


@dataclass(frozen=True, eq=False)
class SampledTrajectory:
    """Positions at given times, interpolated by a spline of fifth degree.

    joints : one name per column of q.
    time : (n_points,) s, increasing. q : (n_points, n_joints) rad or m.
    """

    joints: tuple[str, ...]
    time: Array
    q: Array

    def __post_init__(self) -> None:
        if self.q.shape != (len(self.time), len(self.joints)):
            raise SignalError(
                f"q has shape {self.q.shape} for {len(self.time)} points of "
                f"{len(self.joints)} joints"
            )
        if len(self.time) <= DEGREE:
            raise SignalError(
                f"a motion of {len(self.time)} points is too short; at least {DEGREE + 1} are "
                "needed"
            )
        if not np.isfinite(self.q).all():
            row, column = np.argwhere(~np.isfinite(self.q))[0]
            raise SignalError(
                f"the motion of joint '{self.joints[column]}' is missing at "
                f"{self.time[row]:g} s (row {row + 1})"
            )

    @property
    def duration_s(self) -> float:
        """Time from the first to the last point (s)."""
        return float(self.time[-1] - self.time[0])

    @cached_property
    def pieces(self) -> PolynomialTrajectory:
        """The spline, as polynomials between each two points."""
        return spline(self.joints, self.time, self.q, DEGREE, ends="free")

    def evaluate(self, time: ArrayLike, run: str = "sampled") -> Motion:
        """Position, velocity and acceleration at these times (s) after the first point.

        Before the first and after the last point the robot stands still there.
        """
        return motion_of(self, time, run)

    def derivative(self, time: ArrayLike, order: int) -> Array:
        """The derivative of this order (n_samples, n_joints) at these times (s)."""
        return self.pieces.derivative(time, order)

    def extremes(self) -> Extremes:
        """Bounds on the spline that hold from the first to the last point."""
        return self.pieces.extremes()


def trajectory_from_log(log: Log) -> SampledTrajectory:
    """The motion through the positions of a log."""
    joints = tuple(joint for joint, quantity in log.signals if quantity == "position")
    if not joints:
        raise LogError(f"'{log.name}' has no position of any joint; a motion needs them")
    q = np.column_stack([log.signal(joint, "position") for joint in joints])
    return SampledTrajectory(joints, log.time, q)
