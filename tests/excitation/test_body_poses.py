"""Poses of bodies: those of Pinocchio, and of a robot's own joints."""

from __future__ import annotations

import numpy as np
import pytest
from solid_robots import link_poses

from steelyard.excitation.collision.body_poses import ancestors, body_poses, joints_between
from steelyard.model.mechanism import mechanism_of
from steelyard.robot.formats.dh import read_dh
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_robot


def test_poses_are_pinocchios():
    """On random trees every body is where Pinocchio has it."""
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(0)
    for _ in range(5):
        robot = random_robot(rng, 6)
        mechanism = mechanism_of(robot)
        q = rng.normal(size=(4, 6))
        found = body_poses(mechanism, q)
        truth = link_poses(robot, q, {body.name for body in mechanism.bodies})
        for i, body in enumerate(mechanism.bodies):
            T = np.array([poses[body.name] for poses in truth])
            np.testing.assert_allclose(found.rotation[i], T[:, :3, :3], atol=1e-12)
            np.testing.assert_allclose(found.position[i], T[:, :3, 3], atol=1e-12)


def test_poses_with_mimics_and_axes_away_from_origins():
    """With mimic joints, and link frames after their joints, poses are products of the joints'."""
    rng = np.random.default_rng(1)
    rows = [{"a": 0.3, "alpha": 1.1, "d": 0.2, "theta": 0.1} for _ in range(3)]
    robots = [random_robot(rng, 5, mimic=0.5) for _ in range(4)]
    robots.append(Robot.from_description(read_dh(rows, convention="standard")))
    for robot in robots:
        mechanism = mechanism_of(robot)
        q = rng.normal(size=(3, len(robot.joint_names)))
        found = body_poses(mechanism, q)
        for s in range(3):
            position = dict(zip(robot.joint_names, q[s], strict=True))
            where = {robot.root: np.eye(4)}
            for joint in robot.joints_from_root:
                mimic = joint.mimic
                at = position.get(joint.name, 0.0)
                if mimic is not None:
                    at = mimic.multiplier * position[mimic.joint] + mimic.offset
                where[joint.child] = where[joint.parent] @ joint.pose(at)
            for i, body in enumerate(mechanism.bodies):
                T = where[body.name]
                np.testing.assert_allclose(found.rotation[i, s], T[:3, :3], atol=1e-12)
                np.testing.assert_allclose(found.position[i, s], T[:3, 3], atol=1e-12)


def test_joints_between_two_bodies():
    """On a tree, only the joints below the last common body are between two bodies."""
    robot = random_robot(np.random.default_rng(3), 8, fixed=0.0)
    mechanism = mechanism_of(robot)
    for i in range(-1, 8):
        for j in range(-1, 8):
            first, second = joints_between(mechanism, i, j)
            assert set(first) == set(ancestors(mechanism, i)) - set(ancestors(mechanism, j))
            assert set(second) == set(ancestors(mechanism, j)) - set(ancestors(mechanism, i))
