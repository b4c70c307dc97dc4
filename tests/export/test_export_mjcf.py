"""An MJCF with identified parameters: a small edit that MuJoCo reads as the estimate."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from steelyard.errors import ModelError, RobotError
from steelyard.export._digits import exactly_physical
from steelyard.export._xml_source import (
    RemoveAttribute,
    SetAttribute,
    apply_edits,
    read_document,
)
from steelyard.export.identified_robot import IdentifiedRobot, identified_robot
from steelyard.export.mjcf import identified_mjcf
from steelyard.export.mjcf_text import mjcf_text
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.terms import coupled_terms, joint_terms
from steelyard.robot.inertia import from_com
from steelyard.robot.right_angles import rounded_angles, turn_joints
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_body, random_robot

mujoco = pytest.importorskip("mujoco")

ARM = """<?xml version="1.0"?>
<!-- an arm -->
<mujoco model="arm">
  <compiler angle="degree" autolimits="true"{settings}/>
  <option gravity="1 2 -9"/>
  <default><joint damping="0.5"/><default class="big"><joint armature="2"  frictionloss='1'/>
  </default></default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="base" pos="0.1 0.2 0.3" euler="10 20 30">
      <geom type="box" size="0.1 0.2 0.3"/>
      <body name="upper" pos="0 0 0.4" quat="0.5 0.1 0.7 -0.2" childclass="big">
        <joint name="shoulder_x" axis="1 0 0.2" pos="0.1 0 0" ref="20" range="-90 45"/>
        <joint name="shoulder_y" axis="0 1 0" pos="0 0.3 0.1" armature="0.1"/>
        <inertial pos="0.1 0  0.2" mass="2.0" fullinertia="0.3 0.4 0.5 0.01 0.02 0.03"/>
        <geom type="sphere" size="0.3"/>
        <frame pos="0 1 0" euler="0 0 45">
          <body pos="0.3 0 0"> <!-- no name -->
            <joint axis="0 0 1"/>
            <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0.1"/>
            <body name="tool" pos="0 0 0.1"><geom size="0.02"/>
              <inertial pos="0 0 0.05" mass="0.3" diaginertia="0.001 0.001 0.0005" quat="1 1 0 0"/>
            </body>
          </body>
        </frame>
      </body>
      <body name="other" pos="0 1 0"><joint name="wheel" type="slide"/>
        <inertial pos="0 0 0" euler="0 0 30" mass="1" diaginertia="0.1 0.2 0.25"/></body>
    </body>
  </worldbody>
</mujoco>
"""
PLAIN = ARM.format(settings="")


def robot_in(folder: Path, text: str = PLAIN) -> Robot:
    path = folder / "arm.xml"
    path.write_text(text)
    return Robot.from_mjcf(path)


def perturbed(model: Model, seed: int = 0, attached="keep") -> IdentifiedRobot:
    """Each body scaled, with a random body in addition; terms random."""
    rng = np.random.default_rng(seed)
    theta = model.prior_theta()
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        if theta[first] and "shoulder" not in body.name:
            theta[first : first + 10] *= rng.uniform(1.1, 1.6)
            theta[first : first + 10] += random_body(rng, (0.1, 0.2))
    for k, column in enumerate(model.columns):
        if column.term_kind is not None:
            theta[k] = rng.uniform(0.1, 1.0)
    return identified_robot(model, theta, attached=attached)


def mujoco_inverse(data: bytes, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Torques by MuJoCo from the new file: armature and damping included, no friction loss."""
    model = mujoco.MjModel.from_xml_string(data.decode())
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    state = mujoco.MjData(model)
    out = []
    for row in zip(q, v, a, strict=True):
        state.qpos[:], state.qvel[:], state.qacc[:] = row
        mujoco.mj_inverse(model, state)
        out.append(state.qfrc_inverse.copy())
    return np.array(out)


def smooth(found: IdentifiedRobot) -> np.ndarray:
    """theta without Coulomb friction and offsets."""
    lost = [column.kind in ("coulomb", "offset") for column in found.model.columns]
    return np.where(lost, 0.0, found.theta)


@pytest.mark.parametrize("attached", ["keep", "lump"])
def test_mujoco_computes_our_torques_from_the_new_file(tmp_path, attached):
    """mj_inverse with armature and damping equals our torque, at 50 states."""
    found = perturbed(Model(robot_in(tmp_path)), attached=attached)
    written = identified_mjcf(found, tmp_path / "arm.xml")
    q, v, a = random_states(np.random.default_rng(1), found.robot, 50)
    ours = torque(found.model, smooth(found), q, v, a)
    theirs = mujoco_inverse(written.data, q, v, a)
    assert np.abs(theirs - ours).max() < 1e-9 * np.abs(ours).max()
    model = mujoco.MjModel.from_xml_string(written.data.decode())
    assert model.dof_frictionloss == pytest.approx(list(found.term_values("coulomb").values()))


def test_everything_else_stays(tmp_path):
    """Only lines with an inertial, a joint or a body that gets an inertial change."""
    found = perturbed(Model(robot_in(tmp_path)))
    written = identified_mjcf(found, PLAIN.encode())
    new = written.data.decode().splitlines()
    old = PLAIN.splitlines()
    assert len(new) == len(old) + 1  # the <inertial> of the body without one
    kept = [line for line in old if "inertial" not in line and "joint " not in line]
    assert [line for line in new if line in kept] == kept
    assert "<default><joint damping" in written.data.decode()
    assert {change.link for change in written.changes} >= {"upper", "body_3", "other"}


def test_unchanged_estimate_changes_nothing(tmp_path):
    """The parameters of the file itself, with and without its joint terms, leave every byte."""
    robot = robot_in(tmp_path)
    model = Model(robot, terms=())
    assert identified_mjcf(identified_robot(model, model.prior_theta()), PLAIN.encode()).data == (
        PLAIN.encode()
    )
    model = Model(robot, terms=joint_terms(robot.joint_names, ("drive_inertia", "viscous")))
    stated = {"shoulder_x": 2.0, "shoulder_y": 0.1, "joint_2": 2.0, "wheel": 0.0}
    values = {f"{name}.Ia": value for name, value in stated.items()}
    values |= {f"{name}.fv": 0.5 for name in stated}
    found = identified_robot(model, model.theta(values))
    assert identified_mjcf(found, PLAIN.encode()).data == PLAIN.encode()


def test_what_was_not_estimated_stays(tmp_path):
    """Armature, damping and friction loss of a joint without torque are those of the file."""
    model = Model(robot_in(tmp_path))
    theta = perturbed(model).theta
    lost = {column.name for column in model.columns if column.owner == "shoulder_y"}
    found = identified_robot(model, theta, not_estimated=lost)
    before = mujoco.MjModel.from_xml_string(PLAIN)
    written = identified_mjcf(found, PLAIN.encode())
    after = mujoco.MjModel.from_xml_string(written.data.decode())
    for name in ("dof_armature", "dof_damping", "dof_frictionloss"):
        for joint in ("shoulder_x", "shoulder_y", "wheel"):
            dof = before.joint(joint).dofadr[0]
            same = getattr(before, name)[dof] == getattr(after, name)[dof]
            assert same == (joint == "shoulder_y")


def test_digits_are_exactly_physical(tmp_path):
    """Flat and needle-shaped bodies pass an exact check, and that of MuJoCo."""
    robot = robot_in(tmp_path)
    rng = np.random.default_rng(3)
    model = Model(robot)
    for _ in range(10):
        theta = model.prior_theta()
        for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
            if body.name in ("upper", "other"):
                R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
                extent = rng.uniform(0.01, 0.3, size=3) * rng.integers(0, 2, size=3)
                second = R @ np.diag(extent**2) @ R.T
                flat = np.trace(second) * np.eye(3) - second
                theta[first : first + 10] = from_com(2.0, rng.normal(size=3), flat)
        written = identified_mjcf(identified_robot(model, theta), PLAIN.encode())
        mujoco.MjModel.from_xml_string(written.data.decode())
        for inertial in ElementTree.fromstring(written.data).iter("inertial"):
            if "fullinertia" in inertial.attrib:
                xx, yy, zz, xy, xz, yz = inertial.attrib["fullinertia"].split()
                assert exactly_physical(inertial.attrib["mass"], (xx, xy, xz, yy, yz, zz))


SETTINGS = (
    ' inertiafromgeom="true"',
    ' settotalmass="7"',
    ' balanceinertia="true"',
    ' boundmass="0.4" boundinertia="0.02"',
)


@pytest.mark.parametrize("settings", SETTINGS)
def test_settings_that_override_inertials_are_switched_off(tmp_path, settings):
    """MuJoCo computes our torques all the same, also of links that are kept; a note says so."""
    text = ARM.format(settings=settings)
    found = perturbed(Model(robot_in(tmp_path, text)))
    written = identified_mjcf(found, tmp_path / "arm.xml")
    assert written.notes[0].code == "mjcf-compiler-settings"
    for part in settings.split():
        name, value = part.split("=")
        assert name in written.notes[0].words
        assert f"{name}={value}" not in written.data.decode()
    q, v, a = random_states(np.random.default_rng(1), found.robot, 20)
    ours = torque(found.model, smooth(found), q, v, a)
    assert np.abs(mujoco_inverse(written.data, q, v, a) - ours).max() < 1e-9 * np.abs(ours).max()


def test_settings_that_mujoco_needs_to_read_the_file(tmp_path):
    """A link that the compiler balances, and a massless one that it bounds, are written out."""
    text = ARM.format(settings=' balanceinertia="true" boundmass="0.1" boundinertia="0.001"')
    text = text.replace('0.001 0.001 0.0005"', '0.001 0.001 0.006"').replace(
        '<inertial pos="0 0 0" euler="0 0 30" mass="1" diaginertia="0.1 0.2 0.25"/>', ""
    )
    robot = robot_in(tmp_path, text)
    bounded = robot.link("other").inertial
    assert bounded is not None
    assert bounded[0] == 0.1
    model = Model(robot)
    written = identified_mjcf(identified_robot(model, model.prior_theta()), text.encode())
    assert b"true" not in written.data.split(b"<option")[0].split(b"balanceinertia")[1]
    q, v, a = random_states(np.random.default_rng(1), robot, 20)
    ours = torque(Model(robot, ()), Model(robot, ()).prior_theta(), q, v, a)
    theirs = mujoco_inverse(written.data, q, v, a)
    assert np.abs(theirs - ours).max() < 1e-9 * np.abs(ours).max()


def test_notes_say_what_mjcf_cannot_hold(tmp_path):
    """Offsets, widths and coupled terms, by name and value; dynamics without a term."""
    robot = robot_in(tmp_path)
    terms = (
        *joint_terms(["shoulder_x", "wheel"], ("coulomb", "offset")),
        *coupled_terms("pair", {"shoulder_y": 1.0, "joint_2": -1.0}, ("viscous",)),
    )
    model = Model(robot, terms).with_widths({"wheel": 0.02})
    values = {"wheel.fo": 0.25, "pair.fv": 3.5, "shoulder_x.fc": 0.5, "wheel.fc": 0.75}
    written = identified_mjcf(identified_robot(model, model.theta(values)), PLAIN.encode())
    words = {note.code: note.words for note in written.notes}
    assert "wheel 0.25 N" in words["mjcf-without-offset"]
    assert "shoulder_x" not in words["mjcf-without-offset"]
    assert "wheel 0.02" in words["mjcf-without-width"]
    assert "pair.fv 3.5" in words["mjcf-without-couplings"]
    assert "damping 0.5 of shoulder_y" in words["mjcf-kept-dynamics"]
    assert "frictionloss 1 of joint_2" in words["mjcf-kept-dynamics"]


def test_rounded_angles_are_written(tmp_path):
    """A body turned onto a right angle is written turned, and read back so."""
    text = PLAIN.replace('quat="0.5 0.1 0.7 -0.2"', 'euler="90.0001 0 0"')
    robot = robot_in(tmp_path, text)
    joint = robot.joint("shoulder_x")
    turned = turn_joints(robot, rounded_angles(robot))
    assert [one.joint for one in turned.turned] == ["shoulder_x"]
    model = Model(turned)
    written = identified_mjcf(perturbed(model), text.encode())
    (tmp_path / "new.xml").write_bytes(written.data)
    again = Robot.from_mjcf(tmp_path / "new.xml")
    wanted = turned.joint("shoulder_x").pose(0.2)
    assert np.abs(again.joint("shoulder_x").pose(0.2) - wanted).max() < 1e-15
    assert np.abs(joint.pose(0.2) - wanted).max() > 1e-6
    assert b"90.0001" not in written.data


def test_joints_that_follow_others(tmp_path):
    """Drive inertia and friction of a follower are part of the leader's terms: it gets none."""
    text = (
        '<mujoco><default><joint type="slide" armature="0.1" damping="2"/></default><worldbody>'
        '<body name="left"><joint name="a"/><geom size="0.1"/></body>'
        '<body name="right"><joint name="b" axis="0 1 0"/><geom size="0.1"/></body></worldbody>'
        '<equality><joint joint1="a" joint2="b" polycoef="0.1 -0.5 0 0 0"/></equality></mujoco>'
    )
    robot = robot_in(tmp_path, text)
    assert robot.joint_names == ("b",)
    found = perturbed(Model(robot))
    written = identified_mjcf(found, text.encode())
    q, v, a = random_states(np.random.default_rng(0), robot, 5)
    G = np.array([[-0.5, 1.0]])
    theirs = mujoco_inverse(written.data, q @ G + [0.1, 0.0], v @ G, a @ G) @ G.T
    ours = torque(found.model, smooth(found), q, v, a)
    assert np.abs(theirs - ours).max() < 1e-9 * np.abs(ours).max()


@pytest.mark.parametrize("seed", range(8))
def test_random_robots(tmp_path, seed):
    """Trees with slides and fixed links: MuJoCo reads our torques, at 50 states,
    and writing the same again changes nothing.
    """
    rng = np.random.default_rng(seed)
    drawn = random_robot(rng, int(rng.integers(1, 6)), fixed=0.4)
    text = mjcf_text(identified_robot(Model(drawn, ()), Model(drawn, ()).prior_theta()))
    robot = robot_in(tmp_path, text)
    found = perturbed(Model(robot), seed)
    written = identified_mjcf(found, text.encode())
    q, v, a = random_states(rng, robot, 50)
    ours = torque(found.model, smooth(found), q, v, a)
    assert np.abs(mujoco_inverse(written.data, q, v, a) - ours).max() < 1e-9 * np.abs(ours).max()
    again = robot_in(tmp_path, written.data.decode())
    model = Model(again)
    terms = {
        column.name: found.theta[k]
        for k, column in enumerate(found.model.columns)
        if column.term_kind is not None
    }
    same = identified_mjcf(identified_robot(model, model.theta(terms)), written.data)
    assert same.data == written.data
    assert same.changes == ()


def test_floating_base(tmp_path):
    """A free body's inertial is written as any other."""
    text = (
        '<mujoco><worldbody><body name="trunk"><freejoint/><geom size="0.1"/>'
        '<body name="leg"><joint name="hip"/><geom size="0.05" pos="0 0 0.2"/></body></body>'
        "</worldbody></mujoco>"
    )
    robot = robot_in(tmp_path, text)
    found = perturbed(Model(robot))
    written = identified_mjcf(found, text.encode())
    (tmp_path / "new.xml").write_bytes(written.data)
    again = Robot.from_mjcf(tmp_path / "new.xml")
    for name in ("trunk", "leg"):
        assert again.link(name).inertial == pytest.approx(found.inertials[name], rel=1e-9)
    assert written.data.count(b"<inertial") == 2
    aligned = (
        '<mujoco><compiler alignfree="true"/><worldbody><body name="trunk"><freejoint/>'
        '<geom size="0.1" pos="0.1 0 0"/></body></worldbody></mujoco>'
    )
    found = perturbed(Model(robot_in(tmp_path, aligned)))
    with pytest.raises(RobotError, match="a setting of the file overrides it"):
        identified_mjcf(found, aligned.encode())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("wheel", "gear"), "has no joint 'wheel'"),
        (('axis="1 0 0.2"', 'axis="1 0 0.3"'), "'shoulder_x' is in another place"),
        (('<body name="other"', '<body name="another"'), "'wheel' connects other links"),
        (
            ('<joint name="wheel"', '<joint name="more"/><joint name="wheel"'),
            "connects other links",
        ),
        (("<worldbody>", '<include file="x"/><worldbody>'), "names another file"),
        (("<mujoco", "<robot"), "not XML"),
        (("frictionloss='1'", 'springdamper="0.1 1"'), "springdamper"),
    ],
)
def test_wrong_files_are_refused(tmp_path, change, words):
    """Another robot's file, and what would override a value, in one line."""
    found = perturbed(Model(robot_in(tmp_path)))
    text = PLAIN.replace(*change)
    assert text != PLAIN
    with pytest.raises(RobotError, match=words) as caught:
        identified_mjcf(found, text.encode())
    assert "\n" not in str(caught.value)


def test_bodies_that_mjcf_cannot_hold_are_refused(tmp_path):
    """Mass between two joints of one body, an unphysical drive, an inertial in a moved frame."""
    model = Model(robot_in(tmp_path))
    theta = perturbed(model).theta.copy()
    first = model.first_column_of_body[0]
    assert model.mechanism.bodies[0].name == "upper_shoulder_x"
    heavy = theta.copy()
    heavy[first : first + 10] = random_body(np.random.default_rng(0))
    with pytest.raises(RobotError, match="'upper_shoulder_x' is between two joints"):
        identified_mjcf(identified_robot(model, heavy), PLAIN.encode())
    theta[model.column_names.index("wheel.Ia")] = -0.1
    with pytest.raises(ModelError, match=r"'wheel': its drive inertia is -0\.1 kg"):
        identified_mjcf(identified_robot(model, theta), PLAIN.encode())
    inside = PLAIN.replace(
        '<inertial pos="0 0 0" euler', '<frame pos="1 0 0"><inertial pos="0 0 0" euler'
    )
    inside = inside.replace('0.25"/></body>', '0.25"/></frame></body>')
    found = perturbed(Model(robot_in(tmp_path, inside)))
    with pytest.raises(RobotError, match="'other' is inside a <frame>"):
        identified_mjcf(found, inside.encode())


def test_attributes_are_removed_replaced_and_added_in_place():
    """Every other byte stays: quotes, line breaks, comments, the order of attributes."""
    text = "<a>\n <!-- <b x='1'/> -->\n <b  x = '1'\n\ty=\"2\" z='3' /><c/></a>\n"
    document = read_document(text.encode(), "text")
    b, c = document.root.children
    edits = [
        RemoveAttribute(b, "x"),
        RemoveAttribute(b, "y", ("w", "4 5")),
        SetAttribute(b, "v", "6", last=True),
        SetAttribute(c, "u", "7", last=True),
    ]
    expected = '<a>\n <!-- <b x=\'1\'/> -->\n <b\n\tw="4 5" z=\'3\' v="6" /><c u="7"/></a>\n'
    assert apply_edits(document, edits).decode() == expected
    with pytest.raises(ValueError, match="no attribute"):
        apply_edits(document, [RemoveAttribute(c, "x")])
