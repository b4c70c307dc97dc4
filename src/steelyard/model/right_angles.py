"""Turn rounded joint angles where that removes near-dependencies of the base parameters."""

from __future__ import annotations

from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.robot.right_angles import rounded_angles, turn_joints
from steelyard.robot.robot import Robot


def with_right_angles(robot: Robot) -> Robot:
    """The robot with joint angles close to a multiple of pi/4 turned onto it.

    Only if the robot then has fewer base parameters: with the default terms, those that it loses
    are determined by rounding errors of its file alone. Otherwise the same robot is returned.
    """
    rounded = rounded_angles(robot)
    if not rounded or not (robot.moving_joints or robot.floating_base):
        return robot
    turned = turn_joints(robot, (*robot.turned, *rounded))
    before, after = (base_map(Model(one)).rank for one in (robot, turned))
    return turned if after < before else robot
