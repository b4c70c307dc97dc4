"""Angles that a file rounds are turned where that removes near-dependencies, and only there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from robot_files import example_urdfs
from seeds import every

from steelyard.errors import SteelyardError
from steelyard.identification.identify import identify
from steelyard.knowledge.overlay.read_robot import read_robot
from steelyard.model.base_map import base_map, sampled_regressor
from steelyard.model.dependent_columns import unit_columns
from steelyard.model.model import Model
from steelyard.model.right_angles import with_right_angles
from steelyard.robot.file_changes import brief_change_findings, change_findings
from steelyard.robot.right_angles import EXACT, NEAR, rounded_angles, turn_joints
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import rotation_rpy, rpy_of
from steelyard.simulation.builtin_arm import builtin_arm

LINK = """<link name="l{k}"><inertial><origin xyz="0.1 0.02 0.03"/><mass value="2"/>
  <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>"""
JOINT = """<joint name="j{k}" type="revolute"><parent link="l{before}"/><child link="l{k}"/>
  <origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="0 0 1"/>
  <limit lower="-2" upper="2" velocity="3" effort="50"/></joint>"""
CHANGED = {
    "hextilt_flying_arm_5": (42, 41),
    "so100": (60, 58),
    "so101": (60, 58),
    "xarm7": (70, 69),
}
"""Files of example-robot-data with up to ten joints that change, with their base parameters."""


def chain(angles, written) -> str:
    """A chain of hinges with these angles (n, 3), each written as text by ``written``."""
    parts = ['<robot name="chain"><link name="l0"/>']
    for k, rpy in enumerate(angles, 1):
        words = " ".join(written(float(angle)) for angle in rpy)
        parts.append(LINK.format(k=k))
        parts.append(JOINT.format(k=k, before=k - 1, xyz=f"0.1 {0.05 * k} 0.2", rpy=words))
    return "".join(parts) + "</robot>"


def same_joints(one: Robot, other: Robot) -> bool:
    """Whether all joint frames are equal bit by bit."""
    pairs = zip(one.joints, other.joints, strict=True)
    return all(a.placement.tobytes() == b.placement.tobytes() for a, b in pairs)


def test_the_files_of_real_robots():
    """Four of the small ones lose one or two base parameters; all others stay the same object."""
    changed = {}
    for path in example_urdfs():
        try:
            robot = Robot.from_urdf(path)
        except SteelyardError:
            continue  # wrong mimics
        if len(robot.joint_names) > 10:
            continue
        turned = with_right_angles(robot)
        if turned is robot:
            continue
        changed[path.stem] = tuple(base_map(Model(one)).rank for one in (robot, turned))
        assert rounded_angles(turned) == ()
        assert with_right_angles(turned) is turned
        moved = [abs(p - q) for t in turned.turned for p, q in zip(t.before, t.after, strict=True)]
        assert 0.0 < max(moved) < NEAR
    assert changed == CHANGED


def test_the_condition_of_the_xarm7():
    """Near-dependencies make the regressor of its base parameters all but singular."""
    (path,) = [path for path in example_urdfs() if path.stem == "xarm7"]
    as_written, turned = read_robot(path, keep_angles=True), read_robot(path)
    assert as_written.turned == ()
    conditions = []
    for robot in (as_written, turned):
        model = Model(robot)
        W, _ = unit_columns(model, sampled_regressor(model, seed=1))
        conditions.append(np.linalg.cond(W[:, list(base_map(model).independent)]))
    assert conditions[0] > 1e4 * conditions[1]
    (finding,) = change_findings(turned)
    assert (finding.level, finding.code) == ("info", "right-angles")
    for joint in turned.turned:
        assert joint.joint in finding.words
    assert "joint2 roll -1.5708 to -1.570796327 (by 3.7e-06 rad)" in finding.words
    assert "--keep-angles" in finding.words


@every("seed", range(20))
def test_rounded_angles_become_those_that_were_meant(seed):
    """Multiples of pi/4 written with 4 to 9 decimals give the robot of the exact angles."""
    rng = np.random.default_rng(seed)
    step = math.pi / 2 if seed % 2 else math.pi / 4
    angles = step * rng.integers(-4, 5, size=(4, 3))
    places = 4 + seed % 6
    exact = Robot.from_urdf_text(chain(angles, repr))
    rounded = Robot.from_urdf_text(chain(angles, lambda angle: f"{angle:.{places}f}"))
    assert rounded_angles(exact) == ()
    assert with_right_angles(exact) is exact
    turned = turn_joints(rounded, rounded_angles(rounded))
    assert same_joints(turned, exact)
    assert Model(turned).hash == Model(exact).hash
    assert same_joints(turn_joints(turned, ()), rounded)
    ranks = {one: base_map(Model(one)).rank for one in (exact, rounded)}
    chosen = with_right_angles(rounded)
    assert chosen is rounded if ranks[exact] == ranks[rounded] else same_joints(chosen, exact)


@every("seed", range(10))
def test_other_angles_stay(seed):
    """General angles, and those further than 1e-5 from a multiple, are kept whatever they do."""
    rng = np.random.default_rng(seed)
    angles = math.pi / 2 * rng.integers(-2, 3, size=(4, 3)) + rng.choice([-1, 1]) * 1.1 * NEAR
    for given in (angles, rng.uniform(-3, 3, size=(4, 3))):
        robot = Robot.from_urdf_text(chain(given, repr))
        assert rounded_angles(robot) == ()
        assert with_right_angles(robot) is robot
    almost = Robot.from_urdf_text(chain(np.full((3, 3), math.pi / 2 + 0.9 * EXACT), repr))
    assert rounded_angles(almost) == ()


@every("seed", range(10))
def test_turning_and_locking_commute(seed):
    """A joint may be locked before it is turned: the model is the same."""
    rng = np.random.default_rng(seed)
    angles = math.pi / 2 * rng.integers(-2, 3, size=(4, 3))
    text = chain(angles, lambda angle: f"{angle:.4f}")
    robot = Robot.from_urdf_text(text.replace('"j2" type="revolute"', '"j2" type="prismatic"'))
    turned, positions = rounded_angles(robot), {"j2": 0.13, "j3": 0.7}
    one = turn_joints(robot, turned).lock(positions)
    other = turn_joints(robot.lock(positions), turned)
    assert Model(one).hash == Model(other).hash
    assert Model(turn_joints(one, ())).hash == Model(robot.lock(positions)).hash


def test_joints_that_are_not_these_stay():
    """Angles of another file, a joint that is not there, and robots without a file."""
    robot = Robot.from_urdf_text(chain([(1.5708, 0, 0), (0, 1.5708, 0)], repr))
    other = Robot.from_urdf_text(chain([(1.571, 0, 0)], repr))
    assert turn_joints(other, rounded_angles(robot)).turned == ()
    table = Robot.from_dh([{"alpha": 1.5708}, {"alpha": 1.5708}], convention="standard")
    assert with_right_angles(table) is table
    assert with_right_angles(builtin_arm()).turned == ()


@every("seed", range(20))
def test_angles_of_a_matrix(seed):
    """rpy_of is the inverse of rotation_rpy, also at and next to a pitch of a right angle."""
    rng = np.random.default_rng(seed)
    roll, pitch, yaw = rng.uniform(-3, 3, size=3)
    for middle in (pitch, math.pi / 2, -math.pi / 2, 1.5708, -1.5708):
        R = rotation_rpy(roll, middle, yaw)
        assert np.abs(rotation_rpy(*rpy_of(R)) - R).max() < 1e-9


def test_mjcf_eulers_and_quaternions(tmp_path):
    """Both are turned as in a URDF, with a joint away from its body and a reference position."""
    pytest.importorskip("mujoco")

    def body(k, turn, inner):
        return (
            f'<body name="b{k}" pos="0.1 0.2 0.3" {turn}>'
            f'<joint name="j{k}" axis="0 0 1" pos="0.01 0 0.02" ref="0.3" range="-2 2"/>'
            f'<inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>{inner}</body>'
        )

    def robot(*turns):
        text = ""
        for k in range(len(turns), 0, -1):
            text = body(k, turns[k - 1], text)
        path = tmp_path / "arm.xml"
        path.write_text(
            '<mujoco><compiler angle="radian" eulerseq="XYZ"/><worldbody>'
            f"{text}</worldbody></mujoco>",
            encoding="utf-8",
        )
        return Robot.from_mjcf(path)

    quarter = math.pi / 2
    exact = robot('quat="1 0 0 0"', f'euler="{quarter!r} 0 0"', f'euler="{-quarter!r} 0 0"')
    rounded = robot('quat="1 0 2e-6 0"', 'euler="1.5708 0 0"', 'euler="-1.5708 0 0"')
    turned = with_right_angles(rounded)
    assert [joint.joint for joint in turned.turned] == ["j1", "j2", "j3"]
    assert Model(turned).hash == Model(exact).hash
    assert Model(rounded).hash != Model(exact).hash
    assert with_right_angles(exact) is exact


def test_identify_turns_unless_told_otherwise():
    """The estimate is of the turned robot, and says so."""
    from small_arm import arm_log

    robot = Robot.from_urdf_text(chain([(0, 0, 0), (1.5708, 0, 0), (-1.5708, 0, 0)], repr))
    log = arm_log(robot, 2)
    found = identify(robot, log, method="ols")
    kept = identify(robot, log, method="ols", keep_angles=True)
    assert kept.estimate.base.rank > found.estimate.base.rank
    assert "right-angles" in [f.code for f in found.findings]
    assert "right-angles" not in [f.code for f in kept.findings]
    assert [joint.joint for joint in found.model.robot.turned] == ["j2", "j3"]


def test_only_the_identification_lists_every_angle(tmp_path):
    """Summary, report, validation and export count the joints; the report has the list folded."""
    from small_arm import arm_log

    from steelyard import read_result, validate_result, write_outputs
    from steelyard.export.identified_robot import identified_robot
    from steelyard.export.mjcf_text import mjcf_text_notes

    robot = Robot.from_urdf_text(chain([(0, 0, 0), (1.5708, 0, 0), (-1.5708, 0, 0)], repr))
    log = arm_log(robot, 2)
    found = identify(robot, log, method="ols")
    full = "j2 roll 1.5708 to 1.570796327"
    brief = "angles of 2 joints, which the robot file rounds, are read as right angles"
    (note,) = [f.words for f in found.findings if f.code == "right-angles"]
    assert full in note
    text = " ".join(found.summary().split())
    assert brief in text
    assert full not in text
    files = write_outputs(found, tmp_path)
    page = files["report"].read_text("utf-8")
    assert f"A{brief[1:]}" in page
    folded = page.split("<details>", 1)
    assert full not in folded[0]
    assert full in folded[1].split("</details>")[0]
    held_out = validate_result(robot, read_result(files["result"]), arm_log(robot, 3))
    exported = identified_robot(found.model, found.model.prior_theta())
    for findings in (
        held_out.findings,
        mjcf_text_notes(exported),
        brief_change_findings(exported.robot),
    ):
        (words,) = [f.words for f in findings if f.code == "right-angles"]
        assert words.startswith(brief)
        assert full not in words
