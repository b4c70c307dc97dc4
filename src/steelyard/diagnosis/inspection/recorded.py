"""The signals of a log as the detectors look at them: as recorded, by joint of the robot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.logs.log import Log
from steelyard.robot.parts import Joint
from steelyard.robot.robot import Robot
from steelyard.signals.outliers import in_periods, left_out

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]

PLOTTED = ("position", "torque")
"""The quantities that every fit uses."""
MOVING, FAST = 0.1, 0.5
"""A joint moves, or is fast, where its speed is more than this share of its rms speed."""
SMOOTHED_S = 0.05
"""Time (s) over which a speed is averaged to see whether a joint moves."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A log beside its robot.

    name : of the log. time : (n_samples,) s. joints : of the robot, those that move and of which
    the log has a position. raw : (joint, quantity) -> (n_samples,) as recorded.
    signals : the same with NaN in the place of outliers. outliers : masks of those.
    """

    name: str
    robot: Robot
    time: Array
    joints: tuple[Joint, ...]
    raw: Mapping[Key, Array]
    signals: Mapping[Key, Array]
    outliers: Mapping[Key, Mask]

    @staticmethod
    def of(log: Log, robot: Robot) -> Recorded:
        """The log beside the robot; joints are matched by name."""
        joints = tuple(one for one in robot.free_joints if (one.name, "position") in log.signals)
        names = {joint.name for joint in joints}
        raw = {key: values for key, values in log.signals.items() if key[0] in names}
        turning = {joint.name for joint in joints if joint.kind != "prismatic"}
        signals, outliers = left_out(log.time, raw, turning)
        return Recorded(log.name, robot, log.time, joints, raw, signals, outliers)

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def period_s(self) -> float:
        """Median time (s) between rows."""
        return float(np.median(np.diff(self.time)))

    @cached_property
    def stamps(self) -> Array:
        """Time stamps (n_samples,) in periods."""
        return in_periods(self.time)

    def of_quantity(self, quantity: str) -> Iterator[tuple[Joint, Array]]:
        """Each joint that has this quantity, with its samples (n_samples,) without outliers."""
        for joint in self.joints:
            if (joint.name, quantity) in self.signals:
                yield joint, self.signals[joint.name, quantity]

    @cached_property
    def speeds(self) -> Mapping[str, Array]:
        """By joint, its speed (n_samples,) in rad or m a period, averaged over a few samples."""
        n = max(1, min(round(SMOOTHED_S / self.period_s), 50, len(self) // 8))
        return {joint.name: _speed(self.stamps, q, n) for joint, q in self.of_quantity("position")}

    @cached_property
    def usual_speeds(self) -> Mapping[str, float]:
        """By joint, its rms speed in rad or m a period; jumps count little."""
        return {
            joint: float(np.sqrt(np.mean(np.minimum(speed, np.percentile(speed, 98.0)) ** 2)))
            for joint, speed in self.speeds.items()
        }

    def faster(self, joint: str, share: float) -> Mask:
        """Where (n_samples,) a joint is faster than a share of its rms speed."""
        usual = self.usual_speeds[joint]
        return self.speeds[joint] > share * usual if usual > 0.0 else np.zeros(len(self), bool)

    @cached_property
    def in_motion(self) -> Mask:
        """Where (n_samples,) at least one joint moves."""
        return np.any(
            [np.zeros(len(self), bool), *(self.faster(joint, MOVING) for joint in self.speeds)],
            axis=0,
        )

    @cached_property
    def fresh(self) -> Mask:
        """Rows (n_samples,) in which at least one signal differs from the row before."""
        out = np.zeros(len(self), bool)
        out[0] = True
        for values in self.raw.values():
            out[1:] |= values[1:] != values[:-1]
        return out


def _speed(stamps: Array, q: Array, n: int) -> Array:
    """Speed (n_samples,) of a position in rad or m a period, over ``n`` samples to either side."""
    known = np.isfinite(q)
    if np.count_nonzero(known) < 2 or len(q) < 2 * n + 2:
        return np.zeros(len(q))
    filled = q if known.all() else np.interp(stamps, stamps[known], q[known])
    wide = np.abs(filled[2 * n :] - filled[: -2 * n]) / (stamps[2 * n :] - stamps[: -2 * n])
    return np.concatenate([np.full(n, wide[0]), wide, np.full(n, wide[-1])])
