"""Denavit-Hartenberg tables against matrix products written out here."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poses import link_poses

from steelyard.errors import RobotError
from steelyard.robot.formats.dh import DHRow
from steelyard.robot.parts import Limits
from steelyard.robot.robot import Robot

# The seven-link WAM arm: alpha, a, d (Sousa and Cortesão 2014, Table 2), standard convention.
WAM = (
    (-pi / 2, 0.0, 0.0),
    (pi / 2, 0.0, 0.0),
    (-pi / 2, 0.045, 0.55),
    (pi / 2, -0.045, 0.0),
    (-pi / 2, 0.0, 0.3),
    (pi / 2, 0.0, 0.0),
    (0.0, 0.0, 0.06),
)
# The Panda arm: alpha, a, d in the modified convention, as its maker states them.
PANDA = (
    (0.0, 0.0, 0.333),
    (-pi / 2, 0.0, 0.0),
    (pi / 2, 0.0, 0.316),
    (pi / 2, 0.0825, 0.0),
    (-pi / 2, -0.0825, 0.384),
    (pi / 2, 0.0, 0.0),
    (pi / 2, 0.088, 0.0),
)
NUMBER = st.floats(-4.0, 4.0)
ROW = st.tuples(NUMBER, NUMBER, NUMBER, NUMBER, st.sampled_from(["revolute", "prismatic"]), NUMBER)


def standard(alpha: float, a: float, d: float, theta: float) -> np.ndarray:
    """The standard matrix as textbooks print it."""
    return np.array(
        [
            [cos(theta), -sin(theta) * cos(alpha), sin(theta) * sin(alpha), a * cos(theta)],
            [sin(theta), cos(theta) * cos(alpha), -cos(theta) * sin(alpha), a * sin(theta)],
            [0.0, sin(alpha), cos(alpha), d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def modified(alpha: float, a: float, d: float, theta: float) -> np.ndarray:
    """The modified matrix as textbooks print it."""
    return np.array(
        [
            [cos(theta), -sin(theta), 0.0, a],
            [sin(theta) * cos(alpha), cos(theta) * cos(alpha), -sin(alpha), -d * sin(alpha)],
            [sin(theta) * sin(alpha), cos(theta) * sin(alpha), cos(alpha), d * cos(alpha)],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@pytest.mark.parametrize(
    ("table", "convention", "matrix"),
    [(WAM, "standard", standard), (PANDA, "modified", modified)],
    ids=["wam", "panda"],
)
def test_published_arms(table, convention, matrix) -> None:
    """Poses of all links of the WAM and the Panda equal the products of the matrices."""
    robot = Robot.from_dh(
        [{"alpha": alpha, "a": a, "d": d} for alpha, a, d in table], convention=convention
    )
    assert robot.joint_names == tuple(f"joint_{k}" for k in range(1, 8))
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = rng.uniform(-3.0, 3.0, 7)
        poses = link_poses(robot, dict(zip(robot.joint_names, q, strict=True)))
        T = np.eye(4)
        for k, ((alpha, a, d), position) in enumerate(zip(table, q, strict=True), start=1):
            T = T @ matrix(alpha, a, d, position)
            assert np.abs(poses[f"link_{k}"] - T).max() < 1e-14


def test_panda_flange_at_zero() -> None:
    """At zero the Panda's last frame is at x 0.088 m, z 0.333 + 0.316 + 0.384 m."""
    rows = [DHRow(alpha=alpha, a=a, d=d) for alpha, a, d in PANDA]
    robot = Robot.from_dh(rows, convention="modified")
    T = link_poses(robot, dict.fromkeys(robot.joint_names, 0.0))["link_7"]
    assert T[:3, 3] == pytest.approx([0.088, 0.0, 1.033], abs=1e-15)
    assert T[:3, :3].tolist() == np.diag([1.0, -1.0, -1.0]).tolist()


@given(st.lists(ROW, min_size=1, max_size=6), st.sampled_from(["standard", "modified"]))
@settings(deadline=None)
def test_random_tables(rows, convention: str) -> None:
    """q is added to theta of a revolute and to d of a prismatic row, in both conventions."""
    matrix = standard if convention == "standard" else modified
    robot = Robot.from_dh(
        [DHRow(alpha, a, d, theta, kind) for alpha, a, d, theta, kind, _ in rows],
        convention=convention,
    )
    positions = {f"joint_{k}": row[-1] for k, row in enumerate(rows, start=1)}
    poses = link_poses(robot, positions)
    T = np.eye(4)
    for k, (alpha, a, d, theta, kind, q) in enumerate(rows, start=1):
        slides = kind == "prismatic"
        T = T @ matrix(alpha, a, d + q * slides, theta + q * (not slides))
        assert np.abs(poses[f"link_{k}"] - T).max() < 1e-12


def test_right_angles_leave_no_residue() -> None:
    """An alpha of pi/2 gives zeros and ones, so that combinations of parameters stay clean."""
    robot = Robot.from_dh([DHRow(alpha=-pi / 2, a=0.5)], convention="standard")
    assert set(np.abs(robot.joint("joint_1").child_offset).ravel()) == {0.0, 0.5, 1.0}


def test_names_limits_and_inertials() -> None:
    """Rows may name joint and link and state limits and an inertial in the DH frame."""
    row = {"name": "elbow", "link": "forearm", "limits": Limits(lower=-1.0), "inertial": range(10)}
    robot = Robot.from_dh([row, {}], convention="standard", gravity=(0, 9.81, 0), name="arm")
    assert robot.joint_names == ("elbow", "joint_2")
    assert [link.name for link in robot.links] == ["base", "forearm", "link_2"]
    assert robot.joint("elbow").limits.lower == -1.0
    inertial = robot.link("forearm").inertial
    assert inertial is not None
    assert inertial.tolist() == list(range(10))
    assert robot.link("link_2").inertial is None
    assert robot.gravity.tolist() == [0.0, 9.81, 0.0]


@pytest.mark.parametrize(
    ("rows", "convention", "expected"),
    [
        ([{}], "classic", "convention 'classic' is not known; it is standard or modified"),
        ([], "standard", "has no rows"),
        ({"a": 1}, "standard", "is a list of rows"),
        (3, "standard", "is a list of rows"),
        ([1.0], "standard", "DH row 1 is a float"),
        ([{}, {"alfa": 1}], "standard", r"DH row 2 has a field 'alfa' \(did you mean 'alpha'\?\)"),
        ([{"d": np.inf}], "standard", "DH row 1: d is 'inf'; it must be a finite number"),
        ([{"a": "1"}], "standard", "DH row 1: a is '1'"),
        ([{"theta": None}], "standard", "DH row 1: theta is 'None'"),
        ([{"kind": "ball"}], "standard", "kind is 'ball'; it is revolute or prismatic"),
        ([{"name": "a\nb"}], "standard", "a name is visible text"),
        ([{"limits": (0, 1)}], "standard", "limits must be a Limits"),
        ([{"inertial": [1, 2]}], "standard", "inertial must be ten finite numbers"),
        ([{"name": "x"}, {"name": "x"}], "standard", "two joints named 'x'"),
    ],
)
def test_bad_tables(rows: object, convention: str, expected: str) -> None:
    """A bad table is refused in one line that names the row."""
    with pytest.raises(RobotError, match=expected) as caught:
        Robot.from_dh(rows, convention=convention)
    assert "\n" not in str(caught.value)
