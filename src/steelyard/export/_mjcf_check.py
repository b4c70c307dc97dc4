"""Is it the robot's own MJCF, and does MuJoCo read from the new one what was to be written?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RobotError, shown
from steelyard.export._link_texts import LinkBody
from steelyard.robot.formats.mjcf import mjcf_dynamics, read_mjcf
from steelyard.robot.inertia import from_com
from steelyard.robot.right_angles import turn_joints
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]
CLOSE = 1e-9
"""Relative difference between a written value and what MuJoCo reads."""
READING_NOISE = 1e-11
"""kg m²: MuJoCo finds the principal axes of an inertia up to about this."""


def check_same_robot(robot: Robot, before: Robot, where: str) -> None:
    """Refuse a file that is not the one that ``robot`` was read from.

    before : the robot in the file, before joints were turned and locked.
    """
    hint = "give the file that the robot was read from"
    unknown = [name for name in robot.locked if name not in {j.name for j in before.joints}]
    if unknown:
        raise RobotError(f"{where} has no joint {shown(unknown[0])}; {hint}")
    _compare_joints(robot, turn_joints(before, robot.turned), where, hint)


def _compare_joints(robot: Robot, other: Robot, where: str, hint: str) -> None:
    """Refuse another robot whose joints, after locking, are not those of ``robot``."""
    joints = {joint.name: joint for joint in other.lock(dict(robot.locked)).joints}
    for joint in robot.joints:
        found = joints.pop(joint.name, None)
        if found is None:
            raise RobotError(f"{where} has no joint {shown(joint.name)}; {hint}")
        if (found.kind, found.parent, found.child) != (joint.kind, joint.parent, joint.child):
            raise RobotError(f"{where}: joint {shown(joint.name)} connects other links; {hint}")
        if np.abs(found.pose(0.3) - joint.pose(0.3)).max() > CLOSE:
            raise RobotError(
                f"{where}: joint {shown(joint.name)} is in another place, or moves in another "
                f"direction, than that of the identified robot; {hint}"
            )
    for name in joints:
        raise RobotError(f"{where} has joint {shown(name)}, which the robot lacks; {hint}")


def check_written(
    robot: Robot,
    bodies: Mapping[str, LinkBody | None],
    before: Robot,
    attributes: Mapping[str, Mapping[str, float]],
    path: str,
    data: bytes,
) -> None:
    """Refuse the new bytes if MuJoCo reads other joints, inertials or joint dynamics from them.

    robot : the robot with its joints turned and locked as it was written.
    bodies : what was written; all other links of ``before`` must be unchanged.
    attributes : armature, damping and frictionloss by joint.
    """
    after = Robot.from_description(read_mjcf(path, data))
    hint = "the file has a setting that is not supported; write a new MJCF instead (mjcf_text)"
    _compare_joints(robot, after, "the written MJCF", hint)
    for link in before.links:
        wanted = _phi(link.inertial)
        if link.name in bodies:
            body = bodies[link.name]
            wanted = (
                np.zeros(10) if body is None else from_com(body.mass, body.com, body.inertia_com)
            )
        read = _phi(after.link(link.name).inertial)
        slack = CLOSE * np.abs(wanted) + CLOSE * np.abs(wanted[4:]).max() + READING_NOISE
        if (np.abs(read - wanted) > slack).any():
            raise RobotError(
                f"MuJoCo reads another inertial of body {shown(link.name)} than was written, "
                f"{read[0]:.6g} kg in place of {wanted[0]:.6g} kg: a setting of the file "
                "overrides it, which is not supported; write a new MJCF instead (mjcf_text)"
            )
    dynamics = mjcf_dynamics(path, data)
    for attribute, by_joint in attributes.items():
        for name, value in by_joint.items():
            got = getattr(dynamics[name], attribute)
            if abs(got - value) > CLOSE * abs(value):
                raise RobotError(
                    f"MuJoCo reads {attribute} {got:.6g} of joint {shown(name)} in place of "
                    f"{value:.6g}: another setting, such as springdamper, overrides it; remove "
                    "that from the file"
                )


def _phi(inertial: Array | None) -> Array:
    return np.zeros(10) if inertial is None else np.asarray(inertial)
