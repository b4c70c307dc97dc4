"""What differs between two robots: one thing is changed, and that one alone is reported."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from robot_files import example_urdfs
from scipy.spatial.transform import Rotation
from seeds import every
from small_arm import URDF

from steelyard.errors import RobotError
from steelyard.robot.differences import robot_differences
from steelyard.robot.joint_dynamics import JointDynamics
from steelyard.robot.parts import Joint, Limits, Link, Mimic
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.testing.random_robots import random_body, random_robot, random_rotation

ARM = Robot.from_urdf_text(URDF)


def with_joint(robot: Robot, joint: Joint) -> Robot:
    """The robot with this joint in place of its own of the same name."""
    return replace(robot, joints=tuple(joint if j.name == joint.name else j for j in robot.joints))


def moved(joint: Joint, way: np.ndarray, turn: np.ndarray) -> Joint:
    """The joint, its frame moved by a vector (m) and turned by a rotation (3, 3)."""
    placement = np.array(joint.placement)
    placement[:3, 3] += way
    placement[:3, :3] = placement[:3, :3] @ turn
    return replace(joint, placement=frozen_array(placement, (4, 4)))


@every("seed", range(60))
def test_a_robot_is_equal_to_itself_and_only_the_changed_link_differs(seed):
    """Over random robots: no difference to itself; another body is told for its link alone."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 4, fixed=0.5, mimic=0.3, floating_base=bool(seed % 2))
    assert not robot_differences(robot, robot).differ
    k = int(rng.integers(len(robot.links)))
    link = Link(robot.links[k].name, frozen_array(random_body(rng), (10,)))
    other = replace(robot, links=(*robot.links[:k], link, *robot.links[k + 1 :]))
    found = robot_differences(robot, other)
    assert [change.name for change in found.links] == [link.name]
    assert found.joints == ()
    assert found.mass[1] - found.mass[0] == pytest.approx(
        link.inertial[0] - robot.links[k].inertial[0]
    )
    back = robot_differences(other, robot)
    assert [change.name for change in back.links] == [link.name]
    assert back.mass == found.mass[::-1]


@every("seed", range(60))
def test_known_motions_of_joints_are_found(seed):
    """A joint that is moved by a vector and turned by an angle: both are found, of it alone."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 4, fixed=0.5)
    joint = robot.joints[int(rng.integers(len(robot.joints)))]
    way, angle = rng.normal(size=3), float(rng.uniform(0.001, 179.0))
    unit = random_rotation(rng)[0]
    turn = Rotation.from_rotvec(np.deg2rad(angle) * unit).as_matrix()
    other = with_joint(robot, moved(joint, way, turn))
    for found, sign in (
        (robot_differences(robot, other), 1.0),
        (robot_differences(other, robot), -1.0),
    ):
        assert found.links == ()
        (change,) = found.joints
        assert change.name == joint.name
        assert change.moved == pytest.approx(sign * way)
        assert change.turned_deg == pytest.approx(angle, rel=1e-6)
        assert change.axis_turned_deg is None
        assert change.axis_moved is None
        assert change.texts == ()
        assert change.numbers == ()


@every("seed", range(30))
def test_a_joint_is_compared_by_what_it_does(seed):
    """The same motion written with another joint frame (a child offset) is no difference; an axis
    that is moved across itself is one, and along itself is none.
    """
    rng = np.random.default_rng(seed)
    joint = Joint("hinge", "revolute", "a", "b", axis=frozen_array(random_rotation(rng)[0], (3,)))
    robot = Robot("hinge", (Link("a"), Link("b")), (joint,))
    turn, place = np.eye(4), np.eye(4)
    turn[:3, :3] = random_rotation(rng)
    place[:3, 3] = rng.normal() * joint.axis
    frame = place @ turn  # of the joint, in the child link
    same = replace(
        joint,
        placement=frozen_array(frame, (4, 4)),
        axis=frozen_array(turn[:3, :3].T @ joint.axis, (3,)),
        child_offset=frozen_array(np.linalg.inv(frame), (4, 4)),
    )
    for q in (-1.0, 0.3, 2.0):
        assert same.pose(q) == pytest.approx(joint.pose(q), abs=1e-12)
    assert not robot_differences(robot, with_joint(robot, same)).differ
    way = np.cross(joint.axis, rng.normal(size=3))
    there, back = np.eye(4), np.eye(4)
    there[:3, 3], back[:3, 3] = way, -way
    aside = replace(
        joint, placement=frozen_array(there, (4, 4)), child_offset=frozen_array(back, (4, 4))
    )
    (change,) = robot_differences(robot, with_joint(robot, aside)).joints
    assert change.moved is None
    assert change.axis_moved == pytest.approx(way)
    assert change.words.startswith("axis moved ")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "continuous"}, "type revolute -> continuous"),
        ({"axis": frozen_array((0, 0, -1), (3,))}, "axis turned 180.0 deg"),
        (
            {"limits": Limits(-2.5, 2.0, None, 50.0)},
            "upper limit 2.50 -> 2.00 rad, velocity limit 3 -> none rad/s",
        ),
        ({"mimic": Mimic("shoulder")}, "mimics none -> 'shoulder'"),
        ({"parent": "ground"}, "parent upper -> ground"),
    ],
)
def test_every_fact_about_a_joint(changes, words):
    """Kind, axis, limits, mimic and ends of a joint are told in words."""
    other = with_joint(ARM, replace(ARM.joint("elbow"), **changes))
    found = robot_differences(ARM, other)
    assert found.lines == (f"joint 'elbow': {words}",)
    assert robot_differences(other, ARM).differ


def test_mimics_of_one_joint_are_compared_by_their_numbers():
    """Another multiplier or offset is a difference."""
    first, second = (
        with_joint(ARM, replace(ARM.joint("elbow"), mimic=Mimic("shoulder", *numbers)))
        for numbers in ((2.0, 0.1), (-2.0, 0.1))
    )
    assert robot_differences(first, second).lines == (
        "joint 'elbow': mimic multiplier 2.00 -> -2.00",
    )
    assert not robot_differences(first, first).differ


def test_dynamics_are_compared_where_both_are_known():
    """Damping, friction and armature differ; an armature of zero is as none."""
    a = {"elbow": JointDynamics(0.5, 0.1), "shoulder": JointDynamics()}
    b = {"elbow": JointDynamics(0.5, 0.2, 0.01), "shoulder": JointDynamics(0.0, 0.0, 0.0)}
    found = robot_differences(ARM, ARM, dynamics=(a, b))
    assert found.lines == (
        "joint 'elbow': friction 0.100 -> 0.200 N m, armature none -> 0.01 kg m²",
    )
    assert not robot_differences(ARM, ARM, dynamics=(a, {})).differ


def test_links_and_joints_of_one_robot_gravity_and_base():
    """What only one of them has is listed by name; gravity and the kind of base too."""
    hand = Link("hand", frozen_array(random_body(np.random.default_rng(0)), (10,)))
    mount = Joint("mount", "fixed", "fore", "hand")
    other = replace(
        ARM,
        links=(*ARM.links, hand),
        joints=(*ARM.joints, mount),
        gravity=frozen_array((0, 0, 9.81), (3,)),
        floating_base=True,
    )
    found = robot_differences(ARM, other)
    assert found.links_only_in_b == ("hand",)
    assert found.joints_only_in_b == ("mount",)
    assert "links only in b: 'hand'" in found.lines
    assert "gravity: 0, 0, -9.81 -> 0, 0, 9.81 m/s²" in found.lines
    assert "base: fixed -> floating" in found.lines
    assert not found.different_robots
    assert "links only in a: 'hand'" in robot_differences(other, ARM).lines


def test_robots_with_other_names_are_different_robots():
    """A hint where fewer than half of the links of the smaller robot are in the other."""
    renamed = Robot.from_urdf_text(URDF.replace('"fore"', '"lower"').replace('"upper"', '"arm"'))
    assert robot_differences(ARM, renamed).different_robots
    assert robot_differences(renamed, ARM).different_robots
    one = Robot.from_urdf_text(URDF.replace('"fore"', '"lower"'))
    assert not robot_differences(ARM, one).different_robots


def test_digits_say_what_is_equal():
    """A mass with another ninth digit is equal, unless twelve digits are compared; impossible
    digits are refused.
    """
    other = Robot.from_urdf_text(URDF.replace('value="2.5"', 'value="2.50000001"'))
    assert not robot_differences(ARM, other).differ
    lines = robot_differences(ARM, other, digits=12).lines
    assert lines[0] == "link 'upper': mass 2.50000000 -> 2.50000001 kg"
    for digits in (0, 16, True, 2.5):
        with pytest.raises(RobotError, match="digits is"):
            robot_differences(ARM, ARM, digits=digits)


def test_urdf_and_mujocos_own_mjcf_of_it(tmp_path):
    """MuJoCo's conversion of a URDF to MJCF has the same links and joint frames, to its digits."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    mujoco.mj_saveLastXML(str(path), mujoco.MjModel.from_xml_string(URDF))
    found = robot_differences(ARM, Robot.from_mjcf(path), digits=4)
    assert found.links == ()
    assert (found.links_only_in_a, found.links_only_in_b) == (("ground",), ("world",))
    for change in found.joints:
        assert {text.what for text in change.texts} <= {"parent"}
        assert {number.what for number in change.numbers} == {"velocity limit"}
        assert (change.moved, change.turned_deg, change.axis_moved) == (None, None, None)
        assert change.axis_turned_deg is None


def test_a_real_file_with_one_digit_changed():
    """In a Panda, another mass of one link is the only difference."""
    path = next(path for path in example_urdfs() if path.name == "panda.urdf")
    text = path.read_text(encoding="utf-8")
    robot = Robot.from_urdf_text(text)
    k = text.index("<mass value=", text.index('<link name="panda_link4"'))
    mass = text[k : text.index("/>", k)]
    other = Robot.from_urdf_text(text[:k] + '<mass value="9.5"' + text[k + len(mass) :])
    found = robot_differences(robot, other)
    assert [change.name for change in found.links] == ["panda_link4"]
    assert found.links[0].words.endswith("-> 9.50 kg")
    assert found.joints == ()
