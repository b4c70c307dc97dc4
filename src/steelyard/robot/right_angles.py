"""Joint angles that a file rounds: 1.5708 where a right angle is meant.

Axes that are parallel or perpendicular make parameters of a robot dependent. In a file that writes
1.5708 for pi/2 they are so up to 4e-6 only: the dependent parameters then count as base
parameters, and no motion determines them. Turning the joint's frame onto the multiple of pi/4 that
is meant makes them dependent again. Whether it does so is decided where base parameters are known:
:mod:`steelyard.model.right_angles`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from steelyard.robot.parts import Joint, Triple, TurnedJoint
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array

NEAR = 1e-5
"""Angles closer than this (rad) to a multiple of pi/4 count as rounded."""
EXACT = 1e-11
"""Angles closer than this, such as 1.57079632679, are exact enough: no base parameter depends on
the difference."""


def rounded_angles(robot: Robot) -> tuple[TurnedJoint, ...]:
    """Joints with angles that are close to a multiple of pi/4 but not equal to it."""
    found = []
    for joint in robot.joints:
        if joint.origin is None:
            continue
        roll, pitch, yaw = (_meant(angle) for angle in joint.origin.rpy)
        if (roll, pitch, yaw) != joint.origin.rpy:
            found.append(TurnedJoint(joint.name, joint.origin.rpy, (roll, pitch, yaw)))
    return tuple(found)


def turn_joints(robot: Robot, turned: Iterable[TurnedJoint]) -> Robot:
    """The robot with exactly these joints turned, whichever it has turned now.

    A joint that the robot does not have, or whose angles are not those of ``before``, stays as it
    is. A joint that is locked is turned as it would have been before.
    """
    joints = {joint.name: joint for joint in robot.joints}
    for done in robot.turned:
        joints[done.joint] = _turned(joints[done.joint], done.before)
    applied = []
    for wanted in turned:
        joint = joints.get(wanted.joint)
        if joint is not None and joint.origin is not None and joint.origin.rpy == wanted.before:
            joints[wanted.joint] = _turned(joint, wanted.after)
            applied.append(wanted)
    return replace(robot, joints=tuple(joints.values()), turned=tuple(applied))


def _meant(angle: float) -> float:
    """The multiple of pi/4 that is closer than ``NEAR``, or the angle itself."""
    eighths = round(angle / (math.pi / 4.0))
    exact = eighths * (math.pi / 4.0)
    return exact if EXACT < abs(angle - exact) < NEAR else angle


def _turned(joint: Joint, rpy: Triple) -> Joint:
    """The joint with these angles of its frame in the parent's."""
    assert joint.origin is not None
    origin = replace(joint.origin, rpy=rpy)
    stated, wanted = joint.origin.pose, origin.pose
    if np.abs(joint.placement - stated).max() < 1e-12:
        return replace(joint, placement=wanted, origin=origin)
    # a joint that is locked, or has a reference position: a motion follows the frame
    placement = wanted @ np.linalg.inv(stated) @ joint.placement
    return replace(joint, placement=frozen_array(placement, (4, 4)), origin=origin)
