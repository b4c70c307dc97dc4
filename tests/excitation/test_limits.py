"""Limits of a motion: from file and user, and of joints that mimic others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.errors import SteelyardError
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.limits import motion_limits
from steelyard.excitation.motions.fourier import FourierTrajectory
from steelyard.excitation.stated_parameters import stated_parameters
from steelyard.model.model import Model
from steelyard.robot.joint_dynamics import JointDynamics
from steelyard.robot.parts import Limits, Mimic
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_robot


def robot_with(*limits: Limits, mimic: Mimic | None = None) -> Robot:
    robot = random_robot(np.random.default_rng(0), len(limits), chain=True, prismatic=0, fixed=0)
    joints = [
        replace(joint, kind="revolute", limits=own)
        for joint, own in zip(robot.joints, limits, strict=True)
    ]
    if mimic is not None:
        joints[-1] = replace(joints[-1], mimic=mimic)
    return replace(robot, joints=tuple(joints))


OWN = Limits(-1.0, 1.0, velocity=2.0, effort=50.0)


def test_a_value_replaces_that_of_the_file():
    robot = robot_with(OWN, OWN)
    limits = motion_limits(robot, velocity={"joint_2": 1.0}, upper=0.5, jerk=30.0)
    assert limits.velocity.tolist() == [2.0, 1.0]
    assert limits.upper.tolist() == [0.5, 0.5]
    assert limits.torque.tolist() == [50.0, 50.0]
    # full speed in half a second where no acceleration is stated
    assert limits.acceleration.tolist() == [4.0, 2.0]
    assert limits.assumed == ("joint_1", "joint_2")


@pytest.mark.parametrize("factor", [2.0, -2.0])
def test_limits_of_a_joint_that_mimics_stay(factor):
    """An option for the leading joint does not replace what the follower's file entry says."""
    robot = robot_with(OWN, OWN, mimic=Mimic("joint_1", factor, 0.1))
    for limits in (
        motion_limits(robot),
        motion_limits(robot, velocity=2.0, lower=-1.0, upper=1.0),
        motion_limits(robot, velocity={"joint_1": 9.0}, lower=-3.0, upper=3.0),
    ):
        for q in (limits.lower[0], limits.upper[0]):
            assert abs(factor * q + 0.1) <= 1.0 + 1e-12
        assert limits.velocity[0] == 1.0


def test_zeros_in_a_file_are_not_limits():
    robot = robot_with(Limits(-1.0, 1.0, velocity=0.0, effort=0.0))
    with pytest.raises(SteelyardError, match=r"'joint_1' has no speed limit.*--velocity"):
        motion_limits(robot)
    assert motion_limits(robot, velocity=1.0).torque[0] == np.inf


@pytest.mark.parametrize("name", ["lower", "upper", "velocity", "acceleration", "jerk", "torque"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none(name, value):
    robot = robot_with(OWN)
    if name in ("jerk", "torque") and value == np.inf:
        assert motion_limits(robot, **{name: value}).of(name)[0] == np.inf
        return
    with pytest.raises(SteelyardError, match=r"'joint_1'.*must be a finite number"):
        motion_limits(robot, **{name: value})


def test_unknown_joints_are_named_with_the_option():
    with pytest.raises(SteelyardError, match=r"--range .* names 'joint_9'"):
        motion_limits(robot_with(OWN), lower={"joint_9": 0.0})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"period_s": 1e6}, "period_s is 1e"),
        ({"harmonics": 3000}, "harmonics is 3000"),
        ({"rate_hz": 1e9}, "rate_hz is 1e"),
        ({"periods": 100_000}, "fewer or shorter periods"),
        ({"rounds": 0}, "rounds is 0"),
    ],
)
def test_settings_that_would_take_forever(changes, words):
    with pytest.raises(SteelyardError, match=words):
        DesignSettings(**changes)


def test_harmonics_are_bounded():
    zeros = np.zeros((1, 100_000))
    with pytest.raises(SteelyardError, match="at most 200"):
        FourierTrajectory(("j",), 1.0, zeros, zeros, np.zeros(1))


def test_friction_that_a_file_states():
    model = Model(robot_with(OWN, OWN))
    theta = stated_parameters(model, {"joint_2": JointDynamics(0.5, 2.0, 0.1)})
    found = dict(zip(model.column_names, theta, strict=True))
    assert [found[f"joint_2.{symbol}"] for symbol in ("fv", "fc", "Ia", "fo")] == [0.5, 2, 0.1, 0]
    assert found["joint_1.fc"] == 0.0
