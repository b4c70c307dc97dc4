"""The tree of links and joints: order, names, locking, and invalid trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poses import link_poses

from steelyard.errors import RobotError, did_you_mean, listed, one_line, shown
from steelyard.robot.parts import Joint, Link, Mimic
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import (
    frozen_array,
    rotation_about,
    rotation_quaternion,
    rotation_rpy,
    rotation_x,
    rotation_y,
    rotation_z,
    sin_cos,
)

ANGLES = st.floats(-20.0, 20.0)


def branching() -> Robot:
    """A base with two fingers, of which the second mimics the first, and an arm between."""
    links = tuple(Link(name) for name in ("tip", "base", "arm", "left", "right"))
    joints = (
        Joint("right", "prismatic", "arm", "right", mimic=Mimic("left", -1.0, 0.5)),
        Joint("arm", "revolute", "base", "arm"),
        Joint("left", "prismatic", "arm", "left"),
        Joint("tip", "fixed", "left", "tip"),
    )
    return Robot("hand", links, joints)


def test_order_is_depth_first() -> None:
    """Joints are ordered parents first, siblings in file order."""
    robot = branching()
    assert robot.root == "base"
    assert [j.name for j in robot.joints_from_root] == ["arm", "right", "left", "tip"]
    assert [j.name for j in robot.moving_joints] == ["arm", "right", "left"]
    assert robot.joint_names == ("arm", "left")


def test_unknown_names() -> None:
    """The error for an unknown joint or link lists the existing ones."""
    robot = branching()
    assert robot.joint("arm").child == "arm"
    assert robot.link("tip").name == "tip"
    with pytest.raises(RobotError, match=r"no joint 'lefd' \(did you mean 'left'\?\); its joints"):
        robot.joint("lefd")
    with pytest.raises(RobotError, match="no link 'qqq'; its links are tip, base"):
        robot.link("qqq")


@given(st.floats(-3, 3), st.floats(-3, 3))
@settings(deadline=None)
def test_locked_joints_keep_the_poses(arm: float, left: float) -> None:
    """Locking a joint with its mimics leaves every link where it was at that position."""
    robot = branching()
    before = link_poses(robot, {"arm": arm, "left": left})
    locked = robot.lock({"left": left})
    assert locked.joint_names == ("arm",)
    assert locked.joint("right").kind == "fixed"
    after = link_poses(locked, {"arm": arm})
    for name, T in before.items():
        assert np.abs(after[name] - T).max() < 1e-14


@pytest.mark.parametrize(
    ("positions", "why"),
    [
        ({"tip": 0.0}, "fixed already"),
        ({"right": 0.0}, "follows 'left'; lock that"),
        ({"arm": np.nan}, "cannot be locked at nan"),
        ({"nobody": 0.0}, "no joint 'nobody'"),
    ],
)
def test_what_cannot_be_locked(positions: dict[str, float], why: str) -> None:
    """A fixed, following or missing joint, or no position, cannot be locked."""
    with pytest.raises(RobotError, match=why):
        branching().lock(positions)


def test_robots_are_frozen() -> None:
    """Gravity and frames cannot be written to."""
    robot = branching()
    with pytest.raises(ValueError, match="read-only"):
        robot.gravity[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        robot.joint("arm").placement[0, 0] = 1.0


def test_mimic_of_a_fixed_joint() -> None:
    """A joint cannot mimic one that does not move independently."""
    links = tuple(Link(name) for name in "abc")
    joints = (
        Joint("still", "fixed", "a", "b"),
        Joint("follower", "revolute", "a", "c", mimic=Mimic("still")),
    )
    with pytest.raises(RobotError, match="mimics 'still', which is not a joint that moves"):
        Robot("r", links, joints)


def test_two_joints_of_one_name() -> None:
    """Joint names are unique."""
    joints = (Joint("j", "fixed", "a", "b"), Joint("j", "fixed", "a", "c"))
    with pytest.raises(RobotError, match="two joints named 'j'"):
        Robot("r", tuple(Link(name) for name in "abc"), joints)


@given(ANGLES)
@settings(deadline=None)
def test_elementary_rotations(angle: float) -> None:
    """Rotations about x, y, z are those about unit vectors."""
    for rotation, axis in ((rotation_x, 0), (rotation_y, 1), (rotation_z, 2)):
        expected = rotation_about(frozen_array(np.eye(3)[axis], (3,)), angle)
        assert np.abs(rotation(angle) - expected).max() < 1e-14


@given(ANGLES, ANGLES, ANGLES)
@settings(deadline=None)
def test_rpy_and_quaternions_agree_with_scipy(roll: float, pitch: float, yaw: float) -> None:
    """Roll, pitch, yaw and quaternions give SciPy's rotation matrices."""
    from scipy.spatial.transform import Rotation

    expected = Rotation.from_euler("xyz", [roll, pitch, yaw])
    assert np.abs(rotation_rpy(roll, pitch, yaw) - expected.as_matrix()).max() < 1e-14
    x, y, z, w = 3.0 * expected.as_quat()
    assert np.abs(rotation_quaternion(w, x, y, z) - expected.as_matrix()).max() < 1e-14


@given(st.integers(-8, 8), st.floats(1e-12, 1e-3))
@settings(deadline=None)
def test_only_right_angles_are_exact(quarter: int, away: float) -> None:
    """Multiples of pi/2 are exact; angles near them are not rounded to them."""
    angle = quarter * np.pi / 2
    s, c = sin_cos(float(angle))
    assert (abs(s), abs(c)) in ((0.0, 1.0), (1.0, 0.0))
    assert (s, c) == pytest.approx((np.sin(angle), np.cos(angle)), abs=1e-12)
    assert 0.0 not in sin_cos(float(angle + away))


def test_names_in_messages_are_short() -> None:
    """Long lists, long texts and line breaks are shortened in messages."""
    assert listed(str(i) for i in range(1000)).endswith("19 and 980 more")
    assert listed([]) == "none"
    assert len(shown("x" * 10**6)) < 100
    assert "\n" not in shown("a\nb")
    assert one_line("a\n\n b\x1b[2J\x9b") == "a; b?[2J?"
    assert did_you_mean("elbwo", ["elbow", "wrist"]) == " (did you mean 'elbow'?)"
    assert did_you_mean("q", ["elbow", "wrist"]) == ""
