"""Limits of a motion: from the robot's file, replaced or added by the user's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RobotError, SignalError, did_you_mean, listed, shown
from steelyard.robot.parts import Joint
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]
PerJoint = float | Mapping[str, float]
"""One value for all joints, or values by joint name."""

SECONDS_TO_FULL_SPEED = 0.5
"""Where no acceleration limit is given: the time in which a joint may reach its speed limit."""
SECONDS_TO_FULL_ACCELERATION = 0.1
"""Where no jerk limit is given: the time in which moves from and to rest may reach theirs."""
FULL_TURN = np.pi
"""Half the range (rad) of a joint that turns without end."""


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of each joint, rad or m and s; infinite where there is none.

    joints : names. lower, upper : (n_joints,) of the position. velocity, acceleration, jerk :
    (n_joints,) of the absolute values. torque : (n_joints,) N m or N, of the absolute values.
    assumed : names of joints whose acceleration limit is not stated but follows from the speed
    limit.
    """

    joints: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    torque: Array
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.joints)
        for name in ("lower", "upper", "velocity", "acceleration", "jerk", "torque"):
            array = np.array(getattr(self, name), dtype=float)
            if array.shape != (n,):
                raise SignalError(f"{name} has shape {array.shape} for {n} joints")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        for j, joint in enumerate(self.joints):
            _check_joint(joint, self, j)

    def of(self, quantity: str) -> Array:
        """The limits (n_joints,) of one quantity."""
        return np.asarray(getattr(self, quantity))

    @property
    def middle(self) -> Array:
        """Middle (n_joints,) of the range of positions, rad or m."""
        return np.asarray(0.5 * (self.lower + self.upper))

    @property
    def half_range(self) -> Array:
        """Half (n_joints,) of the range of positions, rad or m."""
        return np.asarray(0.5 * (self.upper - self.lower))

    def of_joints(self, joints: tuple[str, ...]) -> MotionLimits:
        """The limits of these joints, in this order."""
        missing = [joint for joint in joints if joint not in self.joints]
        if missing:
            raise SignalError(
                f"there are no limits for {listed(missing)}; those given are for "
                f"{listed(self.joints)}"
            )
        place = [self.joints.index(joint) for joint in joints]
        names = ("lower", "upper", "velocity", "acceleration", "jerk", "torque")
        chosen = {name: self.of(name)[place] for name in names}
        assumed = tuple(joint for joint in self.assumed if joint in joints)
        return MotionLimits(tuple(joints), **chosen, assumed=assumed)

    @property
    def gentle_jerk(self) -> Array:
        """Jerk (n_joints,) of moves from and to rest, rad/s³ or m/s³: the limit or, where there is
        none, that of an acceleration that comes and goes in a tenth of a second.
        """
        gentle = self.acceleration / SECONDS_TO_FULL_ACCELERATION
        return np.asarray(np.where(np.isinf(self.jerk), gentle, self.jerk))

    def scaled(self, share: float) -> MotionLimits:
        """This share of every limit; ranges of positions shrink about their middle."""
        if not 0.0 < share <= 1.0:
            raise SignalError(f"share of the limits is {share}; it must be above 0 and at most 1")
        return replace(
            self,
            lower=self.middle - share * self.half_range,
            upper=self.middle + share * self.half_range,
            velocity=share * self.velocity,
            acceleration=share * self.acceleration,
            jerk=share * self.jerk,
            torque=share * self.torque,
        )


def motion_limits(
    robot: Robot,
    *,
    lower: PerJoint | None = None,
    upper: PerJoint | None = None,
    velocity: PerJoint | None = None,
    acceleration: PerJoint | None = None,
    jerk: PerJoint | None = None,
    torque: PerJoint | None = None,
) -> MotionLimits:
    """Limits of the free joints of a robot, from its file (or overlay) and these values.

    A value replaces that of the file, for all joints or for those it names; a joint also respects
    the limits of the joints that mimic it. A joint that turns without end gets ± pi rad. Speed
    limits, and position limits of other joints, must be known: a joint without them is an error.
    Where no acceleration is known, a joint may reach its speed limit in half a second.
    """
    given = {
        "lower": lower,
        "upper": upper,
        "velocity": velocity,
        "acceleration": acceleration,
        "jerk": jerk,
        "torque": torque,
    }
    _check_names(robot, given)
    assumed = []
    rows = []
    for joint in robot.free_joints:
        own = _filled_in(stated_limits(joint))
        values = {
            name: _chosen(value, joint.name, own.get(name), name) for name, value in given.items()
        }
        if joint.kind == "continuous":
            values["lower"] = -FULL_TURN if values["lower"] is None else values["lower"]
            values["upper"] = FULL_TURN if values["upper"] is None else values["upper"]
        for follower in followers_of(robot, joint):
            for name, limit in _filled_in(limits_for_leader(follower)).items():
                value = values[name]
                tighter = max if name == "lower" else min
                values[name] = limit if value is None else tighter(value, limit)
        for name in ("lower", "upper", "velocity"):
            if values[name] is None:
                raise RobotError(
                    f"joint '{joint.name}' has no {_WORDS[name]}, in its file or otherwise; give "
                    f"it with {_OPTIONS[name]}, or in an overlay"
                )
        if values["acceleration"] is None:
            values["acceleration"] = values["velocity"] / SECONDS_TO_FULL_SPEED  # type: ignore[operator]
            assumed.append(joint.name)
        rows.append([np.inf if values[name] is None else values[name] for name in given])
    low, high, speed, rate, jolt, effort = np.array(rows, dtype=float).reshape(-1, len(given)).T
    return MotionLimits(
        robot.joint_names, low, high, speed, rate, jolt, effort, assumed=tuple(assumed)
    )


_WORDS = {
    "lower": "lower position limit",
    "upper": "upper position limit",
    "velocity": "speed limit",
}
_OPTIONS = {
    "lower": "--range JOINT=LOWER:UPPER",
    "upper": "--range JOINT=LOWER:UPPER",
    "velocity": "--velocity VALUE or --velocity JOINT=VALUE",
}


def _check_names(robot: Robot, given: Mapping[str, PerJoint | None]) -> None:
    for name, value in given.items():
        if isinstance(value, Mapping):
            for joint in value:
                if joint not in robot.joint_names:
                    raise RobotError(
                        f"{_OPTIONS.get(name, f'--{name}')} names {shown(joint)}"
                        f"{did_you_mean(joint, robot.joint_names)}; "
                        f"the joints are {listed(robot.joint_names)}"
                    )


def _chosen(value: PerJoint | None, joint: str, stated: float | None, name: str) -> float | None:
    if isinstance(value, Mapping):
        value = value.get(joint)
    if value is None:
        return stated
    endless = name in ("jerk", "torque") and value == np.inf
    if not (np.isfinite(value) or endless):
        raise SignalError(
            f"joint '{joint}': {_OPTIONS.get(name, f'--{name}')} gives {value}; it must be a "
            "finite number"
        )
    return float(value)


def stated_limits(joint: Joint) -> dict[str, float]:
    """Limits that the file states of a joint, by name; rad or m and s, torque in N m or N."""
    limits = joint.limits
    found = {
        "lower": limits.lower,
        "upper": limits.upper,
        "velocity": limits.velocity,
        "acceleration": limits.acceleration,
        "torque": limits.effort,
    }
    return {name: value for name, value in found.items() if value is not None}


def followers_of(robot: Robot, joint: Joint) -> tuple[Joint, ...]:
    """The joints that mimic this one and move with it."""
    return tuple(
        one
        for one in robot.moving_joints
        if one.mimic is not None and one.mimic.joint == joint.name and one.mimic.multiplier != 0.0
    )


def limits_for_leader(follower: Joint) -> dict[str, float]:
    """Limits that the file states of a joint that mimics another, in the other's coordinate."""
    assert follower.mimic is not None
    factor, offset = follower.mimic.multiplier, follower.mimic.offset
    # dividing by a negative factor swaps the ends of the range
    ends = {"lower": "upper", "upper": "lower"} if factor < 0.0 else {}
    found = {}
    for name, value in stated_limits(follower).items():
        if name in ("lower", "upper"):
            found[ends.get(name, name)] = (value - offset) / factor
        elif name in ("velocity", "acceleration"):
            found[name] = value / abs(factor)
    return found


def _filled_in(limits: Mapping[str, float]) -> dict[str, float]:
    """Without limits of zero, which stand for those that nobody filled in."""
    ends = ("lower", "upper")
    return {name: value for name, value in limits.items() if name in ends or value != 0.0}


def _check_joint(joint: str, limits: MotionLimits, j: int) -> None:
    lower, upper = float(limits.lower[j]), float(limits.upper[j])
    if not (np.isfinite(lower) and np.isfinite(upper)):
        raise SignalError(f"joint '{joint}': its positions range from {lower:g} to {upper:g}")
    if not lower < upper:
        raise RobotError(
            f"joint '{joint}' cannot move: its positions range from {lower:g} to {upper:g}; "
            "correct its limits, or lock the joint"
        )
    for name in ("velocity", "acceleration", "jerk", "torque"):
        value = float(limits.of(name)[j])
        if not value > 0.0:
            raise RobotError(
                f"joint '{joint}' cannot move: its {name} limit is {value:g}; correct it, or lock "
                "the joint"
            )
