"""Poses of links, composed from the robot's joints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.robot.robot import Robot

Array = NDArray[np.float64]


def link_poses(robot: Robot, q: Mapping[str, float]) -> dict[str, Array]:
    """T_root_link (4, 4) of every link, with free joints at ``q`` and mimics following."""
    poses = {robot.root: np.eye(4)}
    for joint in robot.joints_from_root:
        if joint.mimic is not None:
            position = joint.mimic.multiplier * q[joint.mimic.joint] + joint.mimic.offset
        else:
            position = q[joint.name] if joint.moves else 0.0
        poses[joint.child] = poses[joint.parent] @ joint.pose(position)
    return poses


def random_positions(robot: Robot, rng: np.random.Generator) -> dict[str, float]:
    """A position for each free joint, in [-1.5, 1.5] rad or m."""
    return {name: float(rng.uniform(-1.5, 1.5)) for name in robot.joint_names}
