"""YAML for xacro: PyYAML reads every number as a number, with the digits of the URDF."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from oracles import urdf_text
from project import EXAMPLES
from small_arm import URDF, true_theta

from steelyard.errors import RobotError
from steelyard.export.identified_robot import identified_robot
from steelyard.export.identified_urdf import identified_urdf
from steelyard.export.robot_file import RobotFile
from steelyard.export.yaml_text import parameters_yaml, yaml_number
from steelyard.model.model import Model
from steelyard.model.terms import Term, joint_terms
from steelyard.robot.right_angles import rounded_angles, turn_joints
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_robot

yaml = pytest.importorskip("yaml")


@pytest.mark.parametrize(
    "text",
    [
        "1e-5",
        "1E5",
        "010",
        "-.5",
        "+3",
        " 7 ",
        "1e-300",
        "-0",
        "12345678901234567890",
        "5.",
    ],
)
def test_numbers_are_numbers(text):
    """YAML 1.1 would read 1e-5 as text and 010 as eight; the exact value is kept."""
    written = yaml_number(text)
    assert Decimal(written) == Decimal(text.strip())
    read = yaml.safe_load(f"x: {written}")["x"]
    assert isinstance(read, float)
    assert read == float(text)


def test_links_and_joints_are_those_of_the_urdf():
    """Every inertial has the URDF's digits; terms are by joint, and couplings left out."""
    for seed in range(5):
        text = urdf_text(random_robot(np.random.default_rng(seed), 3, fixed=0.5))
        text = text.replace("link_1", "öß: {#1}").replace("joint_1", "null")
        robot = Robot.from_urdf_text(text)
        first, last = robot.joint_names[0], robot.joint_names[-1]
        terms = (
            *joint_terms(robot.joint_names, ["drive_inertia", "viscous"]),
            Term("coulomb", last, ((last, 1.0),), width=1e-6),
            Term("coulomb", "belt", ((first, 1.0), (last, 1.0))),
        )
        model = Model(robot, terms)
        theta = 1.1 * model.prior_theta()
        for k, column in enumerate(model.columns):
            theta[k] = theta[k] if column.term_kind is None else 1e-7 * (k + 1)
        found = identified_robot(model, theta)
        file = RobotFile(Path("arm.urdf"), text.encode())
        read = yaml.safe_load(parameters_yaml(found, file))
        root = ElementTree.fromstring(identified_urdf(found, text.encode()).data)
        inertials = {
            link.attrib["name"]: link.find("inertial")
            for link in root.findall("link")
            if link.find("inertial") is not None
        }
        assert set(read["links"]) == set(inertials)
        for name, stated in inertials.items():
            own = read["links"][name]
            assert own["mass"] == float(stated.find("mass").attrib["value"])
            xyz = stated.find("origin").attrib["xyz"].split()
            assert own["xyz"] == [float(x) for x in xyz]
            assert own["rpy"] == [0.0, 0.0, 0.0]
            expected = {key: float(x) for key, x in stated.find("inertia").attrib.items()}
            assert own["inertia"] == expected
        values = dict(zip(model.column_names, theta, strict=True))
        for joint in robot.joint_names:
            expected = {
                "damping": values[f"{joint}.fv"],
                "drive_inertia": values[f"{joint}.Ia"],
            }
            if joint == last:
                expected |= {"friction": values[f"{last}.fc"], "friction_width": 1e-6}
            assert read["joints"][joint] == expected


def test_the_example_reads_what_export_writes(tmp_path):
    """The YAML of the example is the arm's; with xacro installed, its URDF has these values."""
    model = Model(Robot.from_urdf_text(URDF))
    found = identified_robot(model, true_theta(model))
    text = parameters_yaml(found, RobotFile(Path("arm.urdf"), URDF.encode()))
    folder = EXAMPLES / "xacro"
    assert (folder / "arm.identified.yaml").read_text(encoding="utf-8") == text
    macros = (folder / "arm.urdf.xacro").read_text(encoding="utf-8")
    for key in ("mass", "xyz", "rpy", "inertia", "damping", "friction"):
        assert f"['{key}']" in macros
    xacro = pytest.importorskip("xacro")
    made = xacro.process_file(str(folder / "arm.urdf.xacro")).toxml()
    back = Model(Robot.from_urdf_text(made), ())
    rigid = [column.term_kind is None for column in model.columns]
    np.testing.assert_allclose(back.prior_theta(), found.theta[rigid], rtol=1e-12, atol=1e-15)


def test_turned_angles_are_in_it_and_mjcf_is_refused():
    """The inertials belong to turned joint frames; a robot from MJCF has no xacro."""
    arm = URDF.replace('rpy="0.3 0 0"', 'rpy="1.5708 0 0"')
    plain = Robot.from_urdf_text(arm)
    robot = turn_joints(plain, rounded_angles(plain))
    model = Model(robot)
    found = identified_robot(model, true_theta(model))
    read = yaml.safe_load(parameters_yaml(found, RobotFile(Path("arm.urdf"), arm.encode())))
    right = {"rpy": [math.pi / 2, 0.0, 0.0]}
    assert read["turned"] == {"shoulder": right, "elbow": right}
    with pytest.raises(RobotError, match=r"'arm\.xml' is MJCF"):
        parameters_yaml(found, RobotFile(Path("arm.xml"), b"<mujoco/>"))
