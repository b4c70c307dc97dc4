"""A motion through the positions of a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import LogError, SignalError
from steelyard.logs.log import Log
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]
DEGREE = 5  # makes acceleration and its derivative continuous


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
    def _spline(self) -> Any:
        from scipy.interpolate import make_interp_spline

        return make_interp_spline(self.time - self.time[0], self.q, k=DEGREE)

    def evaluate(self, time: ArrayLike, run: str = "sampled") -> Motion:
        """Position, velocity and acceleration at these times (s) after the first point.

        Before the first and after the last point the robot stands still there.
        """
        asked = np.atleast_1d(np.asarray(time, dtype=float))
        inside = np.clip(asked, 0.0, self.duration_s)
        q, v, a = (np.asarray(self._spline(inside, order)) for order in range(3))
        v[inside != asked] = 0.0
        a[inside != asked] = 0.0
        return Motion(asked, q, v, a, run)


def trajectory_from_log(log: Log) -> SampledTrajectory:
    """The motion through the positions of a log."""
    joints = tuple(joint for joint, quantity in log.signals if quantity == "position")
    if not joints:
        raise LogError(f"'{log.name}' has no position of any joint; a motion needs them")
    q = np.column_stack([log.signal(joint, "position") for joint in joints])
    return SampledTrajectory(joints, log.time, q)
