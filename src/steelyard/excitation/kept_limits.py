"""Does an existing motion keep the limits, the torques and the distances of a robot?

The motion is one that exists, a recording or somebody's plan, so that this is a report, not a
condition: everything is stated, also what is beyond its limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.collision.collision_distances import CollisionModel
from steelyard.excitation.extremes import Extremes, LimitCheck, check_limits
from steelyard.excitation.limits import MotionLimits
from steelyard.findings import Finding
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]

MOST_POSES = 1000
"""Poses of a motion at which distances are computed."""


@dataclass(frozen=True)
class ClosestApproach:
    """The smallest distance (m) at sampled poses, negative where solids overlap.

    pair : names of the two links or solids; None where no pair is checked, with an infinite
    distance. time_s : when. n_poses : how many poses were looked at. clearance_m : what was asked
    for.
    """

    smallest_m: float
    pair: tuple[str, str] | None
    time_s: float
    n_poses: int
    clearance_m: float

    @property
    def holds(self) -> bool:
        """Whether the distance was kept at these poses."""
        return self.smallest_m >= self.clearance_m


@dataclass(frozen=True, eq=False)
class KeptLimits:
    """Extremes of an existing motion beside limits.

    extremes : of the motion; infinite jerk where it was not looked at. at_every_time : whether
        they hold at every time (a plan), or are those of samples (a recording).
    torque : (n_joints,) largest absolute torque at samples, N m or N, joints as in the limits.
    torque_source : "measured", or "model" for that of the reference parameters.
    closest : None where collisions were not checked.
    """

    limits: MotionLimits
    extremes: Extremes
    at_every_time: bool
    torque: Array
    torque_source: str
    closest: ClosestApproach | None

    @cached_property
    def broken(self) -> tuple[LimitCheck, ...]:
        """Limits of position, velocity, acceleration and jerk that are not kept. An acceleration
        limit that nobody stated, but that was assumed, is not among them.
        """
        return tuple(
            check
            for check in check_limits(self.extremes, self.limits)
            if not check.holds
            and np.isfinite(check.bound)
            and not (check.quantity == "acceleration" and check.joint in self.limits.assumed)
        )

    @cached_property
    def beyond_assumed(self) -> tuple[LimitCheck, ...]:
        """Accelerations that are beyond a limit that was assumed."""
        return tuple(
            check
            for check in check_limits(self.extremes, self.limits)
            if not check.holds
            and check.quantity == "acceleration"
            and check.joint in self.limits.assumed
        )

    @property
    def torque_beyond(self) -> tuple[str, ...]:
        """Joints whose torque is beyond its limit."""
        beyond = self.torque > self.limits.torque
        return tuple(j for j, too_much in zip(self.limits.joints, beyond, strict=True) if too_much)

    @property
    def holds(self) -> bool:
        """Whether everything that was looked at is kept."""
        close = self.closest is not None and not self.closest.holds
        return not self.broken and not self.torque_beyond and not close

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is beyond its limit, one finding for each joint and quantity."""
        return (
            *(_beyond("warning", "beyond-limit", check, "") for check in self.broken),
            *(
                _beyond("info", "beyond-assumed-limit", check, ", which was assumed")
                for check in self.beyond_assumed
            ),
            *(self._torque_finding(joint) for joint in self.torque_beyond),
            *self._distance_findings(),
        )

    def _torque_finding(self, joint: str) -> Finding:
        j = self.limits.joints.index(joint)
        whose = "measured torque" if self.torque_source == "measured" else "torque by the model"
        return Finding(
            "warning",
            "torque-beyond-limit",
            f"joint '{joint}': the {whose} reaches {self.torque[j]:.4g}, beyond its limit "
            f"{self.limits.torque[j]:.4g}",
        )

    def _distance_findings(self) -> tuple[Finding, ...]:
        closest = self.closest
        if closest is None or closest.holds or closest.pair is None:
            return ()
        first, second = closest.pair
        how = (
            f"overlap by {-1000.0 * closest.smallest_m:.3g} mm"
            if closest.smallest_m < 0.0
            else f"come as close as {1000.0 * closest.smallest_m:.3g} mm"
        )
        words = (
            f"{first} and {second} {how} at {closest.time_s:.3g} s; "
            f"{1000.0 * closest.clearance_m:.3g} mm were asked for"
        )
        return (Finding("warning", "too-close", words),)


def _beyond(level: Literal["info", "warning"], code: str, check: LimitCheck, more: str) -> Finding:
    quantity = "position" if check.quantity in ("lower", "upper") else check.quantity
    return Finding(
        level,
        code,
        f"joint '{check.joint}': its {quantity} reaches {check.bound:.4g}, beyond its limit "
        f"{check.limit:.4g}{more}",
    )


def sampled_extremes(motion: Motion, joints: tuple[str, ...]) -> Extremes:
    """Extremes of the samples of a motion, whose columns are these joints; no jerk."""
    return Extremes(
        joints,
        motion.q.min(axis=0),
        motion.q.max(axis=0),
        np.abs(motion.v).max(axis=0),
        np.abs(motion.a).max(axis=0),
        np.full(len(joints), np.inf),
    )


def closest_approach(collision: CollisionModel, motion: Motion) -> ClosestApproach:
    """The smallest distance of a motion at evenly chosen samples, at most a thousand.

    motion : its columns are the joints of the collision model.
    """
    chosen = np.unique(np.linspace(0, len(motion) - 1, MOST_POSES).astype(int))
    if not collision.pairs:
        return ClosestApproach(np.inf, None, 0.0, len(chosen), collision.clearance_m)
    distances = collision.distances(motion.q[chosen])
    row, k = np.unravel_index(int(np.argmin(distances)), distances.shape)
    return ClosestApproach(
        float(distances[row, k]),
        collision.pairs[k].names,
        float(motion.time[chosen[row]] - motion.time[0]),
        len(chosen),
        collision.clearance_m,
    )
