"""The TOML overlay: what it changes, and what it is told when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import OverlayError
from steelyard.knowledge.overlay.apply import apply_overlay
from steelyard.knowledge.overlay.overlay import Coupling, Overlay
from steelyard.knowledge.overlay.toml_file import parse_overlay, read_overlay
from steelyard.robot.parts import Joint, Limits, Link, Mimic
from steelyard.robot.robot import Robot

FULL = """
gravity = [0, 9.81, 0.0]
floating_base = true
terms = ["drive_inertia", "viscous", "coulomb"]

[locked]
finger = 0.25

[joint.j1]
acceleration = 20
velocity = 2.5
terms = ["viscous", "offset"]

[joint.j2]
lower = -0.5

[[coupling]]
name = "wrist"
direction = { j1 = 1.0, j2 = -1 }
terms = ["coulomb"]
"""


def arm() -> Robot:
    links = tuple(Link(f"l{i}") for i in range(6))
    joints = (
        Joint("j1", "revolute", "l0", "l1", limits=Limits(-1.0, 1.0, 3.0, 10.0)),
        Joint("j2", "revolute", "l1", "l2", limits=Limits(-2.0, 2.0)),
        Joint("finger", "prismatic", "l2", "l3"),
        Joint("other", "prismatic", "l2", "l4", mimic=Mimic("finger")),
        Joint("mount", "fixed", "l2", "l5"),
    )
    return Robot("arm", links, joints)


def test_everything_at_once() -> None:
    """A full overlay changes the robot as it says and keeps the terms as data."""
    overlay = parse_overlay(FULL)
    assert overlay.default_terms == ("drive_inertia", "viscous", "coulomb")
    assert dict(overlay.joint_terms) == {"j1": ("viscous", "offset")}
    assert overlay.couplings == (Coupling("wrist", (("j1", 1.0), ("j2", -1.0)), ("coulomb",)),)
    robot = apply_overlay(arm(), overlay)
    assert robot.gravity.tolist() == [0.0, 9.81, 0.0]
    assert robot.floating_base
    assert robot.joint_names == ("j1", "j2")
    assert robot.joint("other").kind == "fixed"
    assert robot.joint("finger").placement[2, 3] == 0.25
    assert robot.joint("j1").limits == Limits(-1.0, 1.0, 2.5, 10.0, 20.0)
    assert robot.joint("j2").limits == Limits(-0.5, 2.0)


def test_empty_overlay_changes_nothing() -> None:
    """An empty file says nothing, and the robot stays as it is."""
    overlay = parse_overlay("")
    assert overlay == Overlay()
    robot = apply_overlay(arm(), overlay)
    assert robot.joint_names == ("j1", "j2", "finger")
    assert robot.gravity.tolist() == [0.0, 0.0, -9.81]
    assert not robot.floating_base


def test_floating_base_can_be_taken_away() -> None:
    """An overlay may fix the base of a robot whose file lets it float."""
    floating = Robot("r", arm().links, arm().joints, floating_base=True)
    assert not apply_overlay(floating, parse_overlay("floating_base = false")).floating_base
    assert apply_overlay(floating, parse_overlay("")).floating_base


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gravitty = [0, 0, 1]", "key gravitty is not known (did you mean 'gravity'?); the keys"),
        ("x = 1", "the keys here are gravity, floating_base, terms, locked, joint, coupling"),
        ("gravity = [0, 0]", "key gravity is an array of 2; it must be an array of 3 numbers"),
        ("gravity = 9.81", "key gravity is a number"),
        ("gravity = [0, 0, nan]", "key gravity[2] is not finite"),
        ('gravity = [0, 0, "1"]', "key gravity[2] is text; it must be a number"),
        ("gravity = [0, 0, true]", "key gravity[2] is true or false; it must be a number"),
        (f"gravity = [0, 0, {'9' * 400}]", "key gravity[2] is not finite"),
        ("floating_base = 1", "key floating_base is a number; it must be true or false"),
        ('terms = "viscous"', "key terms is text; it must be an array of drive_inertia"),
        ('terms = ["viscos"]', "terms[0] is 'viscos', which is no term (did you mean 'viscous'?)"),
        ('terms = ["viscous", "viscous"]', "key terms names 'viscous' twice"),
        ("terms = [1]", "key terms[0] is a number"),
        ("locked = 1", "key locked is a number; it must be a table"),
        ('[locked]\nj1 = "x"', "key locked.j1 is text"),
        ("[locked]\n'a b' = inf", "key locked.'a b' is not finite"),
        ("joint = []", "key joint is an array"),
        ("[joint]\nj1 = 3", "key joint.j1 is a number; it must be a table"),
        ("[joint.j1]\nacc = 1", "key joint.j1.acc is not known"),
        ("[joint.j1]\nacceleration = -1", "key joint.j1.acceleration is -1.0; it must not be neg"),
        ("[joint.j1]\nvelocity = 2000-01-01", "key joint.j1.velocity is date"),
        ('[joint.j1]\nterms = ["x"]', "key joint.j1.terms[0] is 'x', which is no term"),
        ("[coupling]\nname = 'w'", "write each one as [[coupling]]"),
        ("[[coupling]]\nname = 'w'", "coupling[0] has no direction"),
        ("[[coupling]]\nname='w'\nx=1", "key coupling[0].x is not known"),
        (
            "[[coupling]]\nname='w'\ndirection={}\nterms=['viscous']",
            "must give joints weights that are not 0",
        ),
        (
            "[[coupling]]\nname='w'\ndirection={j1=0}\nterms=['viscous']",
            "must give joints weights that are not 0",
        ),
        (
            "[[coupling]]\nname='w'\ndirection={j1='1'}\nterms=['viscous']",
            "key coupling[0].direction.j1 is text",
        ),
        ("[[coupling]]\nname='w'\ndirection={j1=1}\nterms=[]", "key coupling[0].terms is empty"),
        ("[[coupling]]\nname=''\ndirection={j1=1}\nterms=['viscous']", "coupling[0].name must"),
        (
            "[[coupling]]\nname='w'\ndirection={j1=1}\nterms=['viscous']\n" * 2,
            "two couplings are named 'w'",
        ),
        ("gravity = ", "is not TOML: Invalid value"),
        ("a = 1\na = 2", "is not TOML: Cannot overwrite a value"),
        ("a = " + "[" * 100_000, "is not TOML: nested too deeply"),
        ("a = " + "9" * 5000, "is not TOML"),
    ],
)
def test_bad_overlays(text: str, expected: str) -> None:
    """What does not fit is refused in one line with its key and the keys that are known."""
    with pytest.raises(OverlayError) as caught:
        parse_overlay(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[joint.fingr]\nvelocity = 1\n[joint.j1]\nvelocity = 1",
            "names joint 'fingr', which the robot does not have (did you mean 'finger'?); "
            "it names fingr, j1; "
            "the moving joints of robot 'arm' are j1, j2, finger, other",
        ),
        ("[locked]\nmount = 0", "names joint 'mount', which is fixed"),
        ("[locked]\nother = 0", "it only follows joint 'finger'"),
        ("[joint.other]\nterms = ['viscous']", "it only follows joint 'finger'"),
        (
            "[locked]\nj1 = 0\n[joint.j1]\nterms = ['viscous']",
            "locks joint 'j1' and gives it terms",
        ),
        ("[joint.j1]\nlower = 1.5", "its lower limit 1.5 above its upper limit 1.0"),
        (
            "[[coupling]]\nname='j1'\ndirection={j2=1}\nterms=['viscous']",
            "coupling 'j1' has the name of a joint",
        ),
        (
            "[[coupling]]\nname='w'\ndirection={j1=1, elbow=1}\nterms=['viscous']",
            "names joint 'elbow'",
        ),
    ],
)
def test_overlays_of_another_robot(text: str, expected: str) -> None:
    """An overlay that does not fit the robot is refused with the names of both sides."""
    with pytest.raises(OverlayError) as caught:
        apply_overlay(arm(), parse_overlay(text))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files(tmp_path: Path) -> None:
    """An overlay is read from a file, and what is no file is refused in one line."""
    path = tmp_path / "arm.toml"
    path.write_text(FULL)
    overlay = read_overlay(path)
    assert overlay.source == str(path)
    assert overlay.gravity == (0.0, 9.81, 0.0)
    (tmp_path / "bad.toml").write_text("gravity = 1")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large.toml").write_bytes(b"#" * (2**20 + 1))
    for name, expected in {
        "bad.toml": r"bad\.toml': key gravity",
        "binary.toml": "is not UTF-8 text",
        "large.toml": "larger than 1 MiB",
        "nowhere.toml": "does not exist",
        "": "is a folder",
    }.items():
        with pytest.raises(OverlayError, match=expected) as caught:
            read_overlay(tmp_path / name)
        assert "\n" not in str(caught.value)
