"""Lock the joints of a robot that a log does not record, such as the fingers of a gripper."""

from __future__ import annotations

from steelyard.errors import LogError, listed
from steelyard.logs.log import Log
from steelyard.robot.parts import Joint
from steelyard.robot.robot import Robot
from steelyard.signals.numbered_joints import name_numbered_joints


def lock_unrecorded(robot: Robot, log: Log) -> Robot:
    """The robot with every joint locked of which the log has no column.

    A joint is recorded if a column is its own or that of a motor that drives it. The others are
    locked at 0 or, where their limits exclude 0, at the middle of the limits. A log may number its
    joints, see :mod:`steelyard.signals.numbered_joints`.
    """
    log, _ = name_numbered_joints(log, robot, fewer=True)
    positions = {
        joint.name: rest_position(joint)
        for joint in robot.free_joints
        if not _is_recorded(robot, joint.name, log)
    }
    if positions and len(positions) == len(robot.free_joints):
        raise LogError(
            f"log '{log.name}' records no joint of robot '{robot.name}', so that all would be "
            f"locked; the joints are {listed(positions)}, the log has "
            f"{listed(log.joints)}: name the columns, as with --map "
            f"{next(iter(positions))}.position=COLUMN"
        )
    return robot.lock(positions) if positions else robot


def rest_position(joint: Joint) -> float:
    """0 (rad or m) if the joint's limits allow it, or else their middle."""
    lower, upper = joint.limits.lower, joint.limits.upper
    if (lower is None or lower <= 0.0) and (upper is None or upper >= 0.0):
        return 0.0
    ends = [end for end in (lower, upper) if end is not None]
    return sum(ends) / len(ends)


def _is_recorded(robot: Robot, joint: str, log: Log) -> bool:
    motors = () if robot.transmission is None else robot.transmission.driving(joint)
    return joint in log.joints or any(motor.name in log.joints for motor in motors)
