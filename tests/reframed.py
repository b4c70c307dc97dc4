"""The same robot with other link frames, or in other units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.inertia import transform
from steelyard.robot.tree import Robot, frozen_array
from steelyard.testing import random_pose


def with_other_frames(robot: Robot, rng: np.random.Generator) -> tuple[Robot, dict]:
    """The robot with random link frames, and each link's new frame in its old one (4, 4)."""
    T_old_new = {link.name: random_pose(rng) for link in robot.links}
    T_old_new[robot.links[0].name] = np.eye(4)
    links = tuple(
        replace(
            link,
            inertial=None
            if link.inertial is None
            else frozen_array(transform(link.inertial, np.linalg.inv(T_old_new[link.name])), (10,)),
        )
        for link in robot.links
    )
    joints = tuple(
        replace(
            joint,
            placement=frozen_array(
                np.linalg.inv(T_old_new[joint.parent]) @ joint.placement, (4, 4)
            ),
            child_offset=frozen_array(joint.child_offset @ T_old_new[joint.child], (4, 4)),
        )
        for joint in robot.joints
    )
    return replace(robot, links=links, joints=joints), T_old_new


def in_other_units(robot: Robot, mass: float, length: float) -> Robot:
    """The robot with its masses and lengths multiplied; its joints must turn, not slide."""
    body = mass * np.array([1.0] + [length] * 3 + [length**2] * 6)

    def longer(T):
        T = np.array(T)
        T[:3, 3] *= length
        return frozen_array(T, (4, 4))

    links = tuple(
        replace(
            link,
            inertial=None if link.inertial is None else frozen_array(body * link.inertial, (10,)),
        )
        for link in robot.links
    )
    joints = tuple(
        replace(joint, placement=longer(joint.placement), child_offset=longer(joint.child_offset))
        for joint in robot.joints
    )
    gravity = frozen_array(length * np.array(robot.gravity), (3,))
    return replace(robot, links=links, joints=joints, gravity=gravity)
