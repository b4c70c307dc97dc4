"""Denavit-Hartenberg tables as TOML files: the same robots as from rows, and refusals by name."""

from __future__ import annotations

import json

import numpy as np
import pytest
from paper_robots import puma_arm, wam
from project import ROOT

from steelyard import Robot
from steelyard.cli import main
from steelyard.errors import RobotError
from steelyard.knowledge.overlay.read_robot import read_robot
from steelyard.logs.reading import read_log
from steelyard.model.base_map import base_map
from steelyard.model.model import Model

SIMULATED = ["--friction", "0.5", "1", "--drive-inertia", "0.05", "--torque-noise", "0.05"]
SIMULATED += ["--rate-hz", "200", "--duration-s", "8"]
ARM = """
dh = "modified"
name = "two links"
angles = "deg"
gravity = [0.0, 0.0, -9.0]
[[joint]]
name = "shoulder"
link = "upper"
inertial = [2.5, 0.25, 0.05, 0.075, 0.04, 0.001, 0.08, 0.0, 0.0, 0.07]
lower = -150
upper = 150.0
velocity = 180.0
effort = 80
[[joint]]
name = "elbow"
alpha = -90.0
a = 0.3
inertial = [1.5, 0.15, 0.03, 0.04, 0.03, 0.001, 0.05, 0.0, 0.0, 0.05]
lower = -150.0
upper = 150.0
velocity = 180.0
[[joint]]
kind = "prismatic"
theta = 90.0
lower = 0.0
upper = 0.4
velocity = 0.5
acceleration = 2.0
inertial = [0.5, 0.0, 0.0, 0.04, 0.008, 0.0, 0.008, 0.0, 0.0, 0.001]
"""


@pytest.mark.parametrize(("name", "expected"), [("wam", wam()), ("puma", puma_arm())])
def test_the_examples_are_the_robots_of_the_papers(name, expected):
    """The files in examples/robots have the tables, and so the base parameters, of the papers."""
    path = ROOT / "examples" / "robots" / f"{name}.toml"
    found = read_robot(path)
    for one, other in zip(found.joints, expected.joints, strict=True):
        np.testing.assert_allclose(one.placement, other.placement, atol=1e-15)
        np.testing.assert_allclose(one.child_offset, other.child_offset, atol=1e-15)
    ours, theirs = base_map(Model(found)), base_map(Model(expected))
    assert ours.combinations("papers") == theirs.combinations("papers")


def test_every_key_has_its_effect(tmp_path):
    """Angles in degrees, limits of revolute joints with them; gravity, names, inertials."""
    path = tmp_path / "arm.toml"
    path.write_text(ARM, encoding="utf-8")
    robot = Robot.from_dh_file(path)
    rows = [
        {"name": "shoulder", "link": "upper"},
        {"name": "elbow", "alpha": -np.pi / 2, "a": 0.3},
        {"kind": "prismatic", "theta": np.pi / 2},
    ]
    expected = Robot.from_dh(rows, convention="modified")
    assert (robot.name, robot.joint_names) == ("two links", ("shoulder", "elbow", "joint_3"))
    assert [link.name for link in robot.links] == ["base", "upper", "link_2", "link_3"]
    np.testing.assert_array_equal(robot.gravity, [0.0, 0.0, -9.0])
    for one, other in zip(robot.joints, expected.joints, strict=True):
        np.testing.assert_allclose(one.placement, other.placement, atol=1e-15)
        assert one.kind == other.kind
    first, _, slide = (joint.limits for joint in robot.joints)
    assert first.lower == pytest.approx(-np.radians(150.0))
    assert first.velocity == pytest.approx(np.pi)
    assert first.effort == 80.0
    assert (slide.lower, slide.upper, slide.velocity, slide.acceleration) == (0.0, 0.4, 0.5, 2.0)
    np.testing.assert_array_equal(robot.link("link_3").inertial[:4], [0.5, 0.0, 0.0, 0.04])
    text = ARM.replace('angles = "deg"', "").replace("alpha = -90.0", "alpha = -1.25")
    path.write_text(text, encoding="utf-8")
    turned = Robot.from_dh_file(path).joints[1].placement
    np.testing.assert_allclose(turned[1, 1], np.cos(-1.25), atol=1e-15)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("dh = ", "is not TOML"),
        ("name = 'arm'", "there is no key 'dh'"),
        ("dh = 'craig'\n[[joint]]", "DH convention 'craig' is not known"),
        ("dh = 'standard'", "has no rows"),
        ("dh = 'standard'\njoints = []", "has a key 'joints'.*joint"),
        ("dh = 'standard'\njoint = 3", "write each row as"),
        ("dh = 'standard'\njoint = [3]", "DH row 1 is a int"),
        ("dh = 'standard'\nangles = 'grad'\n[[joint]]", "angles is 'grad'; it is rad or deg"),
        ("dh = 'standard'\nname = 3\n[[joint]]", "name is '3'"),
        ("dh = 'standard'\ngravity = [1.0]\n[[joint]]", "gravity"),
        ("dh = 'standard'\n[[joint]]\nalfa = 1.0", "DH row 1 has a key 'alfa'.*alpha"),
        ("dh = 'standard'\n[[joint]]\nalpha = 'x'", "DH row 1: alpha is 'x'"),
        ("dh = 'standard'\n[[joint]]\nalpha = inf", "DH row 1: alpha is 'inf'"),
        ("dh = 'standard'\n[[joint]]\nlower = 'x'", "DH row 1: lower is 'x'"),
        ("dh = 'standard'\n[[joint]]\nvelocity = -1.0", "velocity is -1.0; it must not be neg"),
        ("dh = 'standard'\n[[joint]]\na = 1e300", "m from its parent's frame"),
        ("dh = 'standard'\n[[joint]]\ninertial = [1.0]", "inertial must be ten finite numbers"),
        ("dh = 'standard'\n[[joint]]\nkind = 'screw'", "kind is 'screw'"),
        ("dh = 'standard'\n[[joint]]\nname = ''", "a name is visible text"),
        ("dh = 'standard'\n" + "[[joint]]\n" * 6001, "has 6001 joints; at most 6000"),
        ("a" + ".a" * 5000 + " = 1", "a key of more than 30 parts"),
        ("dh = " + "[" * 20_000, "is not TOML: nested too deeply"),
        ("dh = 1" + "0" * 9000, "is not TOML"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(tmp_path, text, words):
    """One line with the file, the row and the key, for damaged and hostile files alike."""
    path = tmp_path / "arm.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RobotError, match=words) as refused:
        read_robot(path)
    assert "\n" not in str(refused.value)
    assert "arm.toml" in str(refused.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    """Not UTF-8, named with the byte."""
    path = tmp_path / "arm.toml"
    path.write_bytes(b"dh = '\xff'")
    with pytest.raises(RobotError, match="not UTF-8 text: byte 6"):
        Robot.from_dh_file(path)


def test_every_command_that_takes_a_robot_takes_a_table(tmp_path, capsys):
    """Check, simulate, identify, validate, verify, export and diff, on one robot."""
    path, out = tmp_path / "arm.toml", tmp_path / "out"
    path.write_text(ARM, encoding="utf-8")
    runs = [tmp_path / "one.csv", tmp_path / "two.csv"]
    commands = [
        ["check", path],
        *(
            ["simulate", path, "-o", run, *SIMULATED, "--seed", seed]
            for seed, run in enumerate(runs)
        ),
        ["logs", "check", path, runs[0]],
        ["identify", path, runs[0], "-o", out, "--resamples", 0, "--no-ranges"],
        ["validate", path, out, runs[1]],
        ["verify", out / "certificate.json", "--result", out, "--robot", path],
        ["export", out, "--robot", path, "--to", "urdf", "-o", tmp_path / "arm.urdf"],
        ["diff", path, path],
    ]
    for command in commands:
        assert main([str(word) for word in command]) == 0, capsys.readouterr().err
    assert len(read_log(runs[0]).time) == 1601
    assert Robot.from_urdf(tmp_path / "arm.urdf").joint_names == ("shoulder", "elbow", "joint_3")
    capsys.readouterr()
    assert main(["check", "--fix", str(tmp_path / "fixed.urdf"), str(path)]) == 2
    assert "is a Denavit-Hartenberg table, and --fix writes URDF only" in capsys.readouterr().err


def test_base_list_prints_the_combinations_of_the_table(capsys):
    """The 69 combinations of Sousa and Cortesão's Table 3, before any log, in both styles."""
    path = str(ROOT / "examples" / "robots" / "wam.toml")
    expected = base_map(Model(wam()))
    assert main(["base", "list", path, "--style", "papers", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_base"], found["n_parameters"]) == (69, 98)
    words = [one["combination"] for one in found["base_parameters"]]
    assert words == list(expected.combinations("papers"))
    # rows 18, 29 and 31 of the paper, without the terms of joints that it lists elsewhere
    assert "L_3yy - 0.002025 m_3 + L_4zz - 0.00405 (m_4 + m_5 + m_6 + m_7)" in words
    assert "l_4x - 0.045 (m_4 + m_5 + m_6 + m_7)" in words
    assert "link_1.m" in found["without_effect"]
    assert main(["base", "list", path, "--order", "pinocchio", "--json"]) == 0
    other = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in other["base_parameters"]] != [
        one["name"] for one in found["base_parameters"]
    ]
    assert main(["base", "list", path]) == 0
    text = capsys.readouterr().out
    assert "69 base parameters of 98 parameters of robot 'wam'" in text
    assert "without effect on any torque: link_1.m" in text
