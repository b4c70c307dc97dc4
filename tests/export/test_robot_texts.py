"""New URDF, MJCF and SDF texts hold the robot as other programs read it."""

from __future__ import annotations

import importlib
import importlib.util
import os
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest
from exact_second import in_cone, pair
from project import ROOT
from robot_files import example_urdfs
from sdf_reader import pinocchio_model_of_sdf

from steelyard.errors import ModelError, RobotError
from steelyard.export._joint_values import joint_values
from steelyard.export._link_texts import inertial_texts, phi_body
from steelyard.export.identified_robot import IdentifiedRobot, identified_robot
from steelyard.export.mjcf_text import mjcf_text, mjcf_text_notes
from steelyard.export.sdf import sdf_text, sdf_text_notes
from steelyard.export.urdf_text import urdf_text, urdf_text_notes
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.terms import Term, joint_terms
from steelyard.robot.inertia import from_com
from steelyard.robot.parts import Joint, Limits, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.testing.random_robots import random_body, random_pose, random_robot

TEXTS = {"urdf": urdf_text, "mjcf": mjcf_text, "sdf": sdf_text}


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The engines of `benchmarks/run.py export`."""
    for library in ("pinocchio", "mujoco", "idyntree"):
        pytest.importorskip(library)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("engines")


@pytest.fixture
def export_cases(engines: ModuleType) -> ModuleType:
    """The robots of that benchmark."""
    return importlib.import_module("export_cases")


def identified(robot: Robot, seed: int = 0) -> IdentifiedRobot:
    """The robot of the file, with random terms."""
    model = Model(robot)
    theta = model.prior_theta()
    rng = np.random.default_rng(seed)
    for k, column in enumerate(model.columns):
        if column.term_kind is not None:
            theta[k] = rng.uniform(0.1, 1.0)
    return identified_robot(model, theta)


def dh_robot() -> Robot:
    """Standard Denavit-Hartenberg: the frames of the links come after their joints."""
    rng = np.random.default_rng(5)
    rows = [
        {"alpha": 1.2, "a": 0.3, "d": 0.1, "theta": 0.4, "inertial": random_body(rng)},
        {"alpha": -0.7, "a": 0.2, "kind": "prismatic", "inertial": random_body(rng)},
        {"alpha": np.pi / 2, "d": 0.2, "inertial": random_body(rng)},
    ]
    return Robot.from_dh(rows, convention="standard")


def sparse_robot() -> Robot:
    """Massless links: a fixed frame that carries a joint, one between two joints, one at the end,
    and one whose mass is on a link fixed to it; one joint is locked.
    """
    rng = np.random.default_rng(6)

    def joint(name: str, kind, parent: str, child: str) -> Joint:
        axis = rng.normal(size=3)
        return Joint(
            name,
            kind,
            parent,
            child,
            placement=frozen_array(random_pose(rng), (4, 4)),
            axis=frozen_array(axis / np.linalg.norm(axis), (3,)),
            child_offset=frozen_array(random_pose(rng), (4, 4)),
        )

    bodies = ("arm", "hand", "wrist", "load", "locked")
    names = ("base", "mount", "arm", "between", "hand", "tip", "wrist", "shell", "load", "locked")
    links = [
        Link(name, frozen_array(random_body(rng), (10,)) if name in bodies else None)
        for name in names
    ]
    joints = [
        joint("fix", "fixed", "base", "mount"),
        joint("j1", "revolute", "mount", "arm"),
        joint("j2", "continuous", "arm", "between"),
        joint("j3", "prismatic", "between", "hand"),
        joint("j4", "revolute", "hand", "tip"),
        joint("j5", "revolute", "arm", "wrist"),
        joint("j6", "continuous", "wrist", "shell"),
        joint("fix_load", "fixed", "shell", "load"),
        joint("j7", "revolute", "wrist", "locked"),
    ]
    return Robot("sparse", tuple(links), tuple(joints)).lock({"j7": 0.4})


def random_case(seed: int) -> Robot:
    rng = np.random.default_rng(seed)
    return random_robot(
        rng, int(rng.integers(2, 6)), mimic=0.3, fixed=0.4, floating_base=seed % 3 == 2
    )


ROBOTS = {
    "dh": dh_robot,
    "sparse": sparse_robot,
    **{f"random {seed}": (lambda seed=seed: random_case(seed)) for seed in range(6)},
}


def sdf_torque(engines: ModuleType, export) -> np.ndarray:
    """Torques by Pinocchio of our second reading of the SDF."""
    import pinocchio as pin

    floating = export.robot.floating_base
    model = pinocchio_model_of_sdf(export.text, floating=floating)
    model.gravity.linear = np.array(export.robot.gravity)
    data = model.createData()
    states = engines.free_states(export)
    joints = [model.joints[model.getJointId(name)] for name in states.names]
    at = [joint.idx_v for joint in joints]
    base, torques = [], []
    for s in range(len(states.q)):
        q, v, a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        if floating:
            q[:7], v[:6], a[:6] = export.q[s, :7], states.base_v[s], states.base_a[s]
        q[[joint.idx_q for joint in joints]], v[at], a[at] = states.q[s], states.v[s], states.a[s]
        tau = pin.rnea(model, data, q, v, a)
        base.append(tau[: 6 if floating else 0])
        torques.append(tau[at])
    return states.combined(np.array(base), np.array(torques))


@pytest.mark.parametrize("name", ROBOTS)
def test_engines_compute_our_torques(engines, name):
    """Trees, slides, fixed and mimic joints, floating bases, frames away from joints, massless
    and locked links: every engine computes our torques from every text that it reads.
    """
    found = identified(ROBOTS[name]())
    rng = np.random.default_rng(0)
    # a joint that carries 1e-12 kg, where an engine needs a mass, has torques of that size
    most = 1e-6 if name == "sparse" else 1e-9
    for form, write in TEXTS.items():
        export = engines.export_at(name, form, write(found), found, rng)
        for engine in engines.ENGINES:
            if (engine.name, form, name) == ("pinocchio", "mjcf", "sparse"):
                continue  # Pinocchio makes one composite joint of two joints on a body
            if form in engine.forms:
                theirs = engine.torque(export)
                armature = form in engine.with_armature
                assert engines.disagreement(export, theirs, armature=armature) < most, engine.name
        if form == "sdf":
            theirs = sdf_torque(engines, export)
            assert engines.disagreement(export, theirs, armature=False) < most


def test_real_robots_in_every_engine(export_cases, engines, monkeypatch):
    """A reduced version of `benchmarks/run.py export`, with Drake where its variable names one."""
    example_urdfs()
    benchmark = importlib.import_module("export")
    exports = [
        *export_cases.random_exports(2, seed=1),
        *export_cases.real_exports(("panda", "kinova", "finger_edu", "ur5_gripper")),
    ]
    figures = benchmark.compare(exports, with_drake="STEELYARD_DRAKE_PYTHON" in os.environ)
    assert figures["exports"] == 6 + 16
    assert figures["rejected"] == 0
    assert figures["engines_agree"] < 1e-8


def test_the_comparison_notices_wrong_texts(engines):
    """Engines that check inertias reject one that is not physical; a wrong mass disagrees."""
    found = identified(random_robot(np.random.default_rng(7), 2, chain=True, fixed=0.0))
    rng = np.random.default_rng(0)
    (mass, inertia) = inertials_of("urdf", urdf_text(found))[1]
    broken = urdf_text(found).replace(f'ixx="{inertia[0]}"', 'ixx="9"')
    heavier = urdf_text(found).replace(f'value="{mass}"', f'value="{1.001 * float(mass)}"')
    for engine in engines.ENGINES:
        export = engines.export_at("heavier", "urdf", heavier, found, rng)
        armature = "urdf" in engine.with_armature
        assert engines.disagreement(export, engine.torque(export), armature=armature) > 1e-5
        if engine.name != "pinocchio":  # which checks nothing
            with pytest.raises(engines.RejectedError):
                engine.torque(engines.export_at("broken", "urdf", broken, found, rng))


@pytest.mark.parametrize("name", ROBOTS)
def test_our_readers_read_the_same_robot(tmp_path, name):
    """The torques of the text, read again, are those of the estimate."""
    found = identified(ROBOTS[name]())
    (tmp_path / "robot.xml").write_text(mjcf_text(found))
    texts = [
        Robot.from_urdf_text(
            urdf_text(found),
            gravity=found.robot.gravity,
            floating_base=found.robot.floating_base,
        )
    ]
    if importlib.util.find_spec("mujoco"):
        texts.append(Robot.from_mjcf(tmp_path / "robot.xml"))
    q, v, a = random_states(np.random.default_rng(0), found.robot, 10)
    rigid = [column.term_kind is None for column in found.model.columns]
    ours = torque(found.model, np.where(rigid, found.theta, 0.0), q, v, a)
    for robot in texts:
        again = Model(robot, terms=())
        order = [found.model.channels.index(channel) for channel in again.channels]
        base = 7 if robot.floating_base else 0
        joints = [found.robot.joint_names.index(joint) for joint in robot.joint_names]
        q_again = np.hstack([q[:, :base], q[:, base:][:, joints]])
        theirs = torque(again, again.prior_theta(), q_again, v[:, order], a[:, order])
        assert np.abs(theirs - ours[:, order]).max() < 1e-9 * np.abs(ours).max()
        assert np.allclose(robot.gravity, found.robot.gravity)
        for joint in robot.free_joints:
            stated = found.robot.joint(joint.name).limits
            assert joint.limits.effort in (stated.effort, 1e9)
            if joint.kind != "continuous" and stated.lower is not None:
                assert (joint.limits.lower, joint.limits.upper) == (stated.lower, stated.upper)


def inertials_of(form: str, text: str) -> list[tuple[str, list[str]]]:
    """Mass and inertia xx xy xz yy yz zz of every inertial of a text."""
    entries = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    found = []
    for one in ElementTree.fromstring(text).iter("inertial"):
        if form == "mjcf":
            xx, yy, zz, xy, xz, yz = one.attrib["fullinertia"].split()
            found.append((one.attrib["mass"], [xx, xy, xz, yy, yz, zz]))
        elif form == "sdf":
            inertia = [one.findtext(f"inertia/{entry}", "") for entry in entries]
            found.append((one.findtext("mass", ""), inertia))
        else:
            inertia = [one.find("inertia").attrib[entry] for entry in entries]
            found.append((one.find("mass").attrib["value"], inertia))
    return found


def is_exactly_physical(mass: str, inertia: list[str]) -> bool:
    """By a second exact implementation: tr(I) 1 - 2 I is positive semidefinite, mass positive."""
    xx, xy, xz, yy, yz, zz = (pair(text) for text in inertia)

    def combined(*terms: tuple[int, tuple[int, int]]) -> tuple[int, int]:
        top, bottom = 0, 1
        for factor, (a, b) in terms:
            top, bottom = top * b + factor * a * bottom, bottom * b
        return top, bottom

    triangle = [
        combined((1, yy), (1, zz), (-1, xx)),
        combined((-2, xy)),
        combined((1, xx), (1, zz), (-1, yy)),
        combined((-2, xz)),
        combined((-2, yz)),
        combined((1, xx), (1, yy), (-1, zz)),
    ]
    return pair(mass)[0] > 0 and in_cone("psd", triangle)


@pytest.mark.parametrize("form", TEXTS)
def test_digits_are_exactly_physical(form):
    """Flat, needle-shaped and pointlike bodies are physical with the digits written, and MuJoCo
    takes them.
    """
    rng = np.random.default_rng(8)
    for seed in range(12):
        robot = random_robot(np.random.default_rng(seed), 3, fixed=0.0)
        model = Model(robot)
        theta = model.prior_theta()
        for first in model.first_column_of_body:
            R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            extent = 10.0 ** rng.uniform(-4.0, 1.5, size=3) * rng.integers(0, 2, size=3)
            second = R @ np.diag(extent**2) @ R.T
            body = np.trace(second) * np.eye(3) - second
            theta[first : first + 10] = from_com(1.5, rng.normal(size=3), body)
        text = TEXTS[form](identified_robot(model, theta))
        written = inertials_of(form, text)
        assert len(written) == 4
        assert all(is_exactly_physical(*one) for one in written)
        if form == "mjcf":
            mujoco = pytest.importorskip("mujoco")
            mujoco.MjModel.from_xml_string(text)


def test_mujoco_takes_bodies_at_the_limit_of_what_is_physical():
    """Hundreds of flat, needle-shaped and pointlike bodies pass its check, which has rounding
    errors: without a margin, one of 200 does not.
    """
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(0)
    bodies = []
    for _ in range(600):
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        extent = 10.0 ** rng.uniform(-4.0, 1.5, size=3) * rng.integers(0, 2, size=3)
        second = R @ np.diag(extent**2) @ R.T
        phi = from_com(1.5, rng.normal(size=3), np.trace(second) * np.eye(3) - second)
        body = phi_body(phi, "body")
        assert body is not None
        texts = inertial_texts(body, "body", margins=True)
        full = " ".join(texts.full)
        bodies.append(
            f'<body><inertial pos="0 0 0" mass="{texts.mass}" fullinertia="{full}"/></body>'
        )
    text = f"<mujoco><worldbody>{''.join(bodies)}</worldbody></mujoco>"
    assert mujoco.MjModel.from_xml_string(text).nbody == 601


def test_notes_and_comment_say_what_a_format_cannot_hold():
    """Drive inertia and offsets by joint and value; gravity, missing meshes; frames and masses."""
    found = identified(sparse_robot())
    inertia = found.term_values("drive_inertia")["j1"]
    urdf = {note.code: note.words for note in urdf_text_notes(found)}
    assert f"j1 {inertia:.6g} kg m²" in urdf["urdf-without-drive-inertia"]
    assert "arm" in urdf["urdf-link-frames"]
    mjcf = {note.code: note.words for note in mjcf_text_notes(found)}
    assert "mjcf-without-drive-inertia" not in mjcf
    assert f"j1 {found.term_values('offset')['j1']:.6g} N m" in mjcf["mjcf-without-offset"]
    assert mjcf["mjcf-joined-links"].endswith(": between")
    assert mjcf["mjcf-massless-links"].endswith(" tip")
    sdf = {note.code: note.words for note in sdf_text_notes(found)}
    assert sdf["sdf-massless-links"].endswith(" between, tip, shell")
    for write, notes in zip(TEXTS.values(), (urdf, mjcf, sdf), strict=True):
        comment = " ".join(write(found).split("-->")[0].split())
        assert "Meshes, collision shapes, actuators and sensors are not in this file." in comment
        assert all(" ".join(words.split()) in comment for words in notes.values())
    tilted = replace(found.robot, gravity=frozen_array((1.0, 0.0, -9.0), (3,)))
    assert "1 0 -9 m/s^2" in urdf_text(identified(tilted))


def test_damping_friction_and_armature_are_those_of_the_joint():
    """A term of a motor whose gear is stated acts on the joint through the gear ratio."""
    robot = random_robot(np.random.default_rng(0), 1, chain=True, prismatic=0.0, fixed=0.0)
    terms = tuple(
        Term(kind, "motor", (("joint_1", -3.0),))
        for kind in ("drive_inertia", "viscous", "coulomb")
    )
    model = Model(robot, terms)
    values = {"motor.Ia": 0.1, "motor.fv": 0.2, "motor.fc": 0.5}
    found = identified_robot(model, model.theta(values))
    dynamics = ElementTree.fromstring(urdf_text(found)).find("joint/dynamics")
    assert dynamics is not None
    assert float(dynamics.attrib["damping"]) == pytest.approx(1.8)
    assert float(dynamics.attrib["friction"]) == pytest.approx(1.5)
    joint = ElementTree.fromstring(mjcf_text(found)).find(".//joint")
    assert joint is not None
    assert float(joint.attrib["armature"]) == pytest.approx(0.9)
    assert float(joint.attrib["damping"]) == pytest.approx(1.8)
    assert float(joint.attrib["frictionloss"]) == pytest.approx(1.5)
    speed = np.array([[0.7]])
    ours = torque(model, found.theta, 0 * speed, speed, 0 * speed)
    still = torque(model, found.theta, 0 * speed, 0 * speed, 0 * speed)
    alone = torque(Model(robot, ()), model.prior_theta()[:10], 0 * speed, speed, 0 * speed)
    rest = torque(Model(robot, ()), model.prior_theta()[:10], 0 * speed, 0 * speed, 0 * speed)
    assert (ours - still) - (alone - rest) == pytest.approx(1.8 * 0.7 + 1.5)


def test_names_are_escaped_and_reserved_ones_refused(tmp_path):
    """Characters that XML uses survive; SDF renames a joint that has the name of a link."""
    robot = random_robot(np.random.default_rng(1), 2, chain=True, fixed=0.0)
    odd = {"link_1": "a<b>&\"c'", "link_2": "b -- c"}
    links = tuple(replace(link, name=odd.get(link.name, link.name)) for link in robot.links)
    joints = tuple(
        replace(
            joint,
            name="b -- c" if joint.name == "joint_2" else joint.name,
            parent=odd.get(joint.parent, joint.parent),
            child=odd[joint.child],
        )
        for joint in robot.joints
    )
    found = identified(Robot("x -- y", links, joints))
    again = Robot.from_urdf_text(urdf_text(found))
    assert [link.name for link in again.links] == ["base", *odd.values()]
    root = ElementTree.fromstring(sdf_text(found))
    names = [element.attrib["name"] for element in root.findall("model/joint")]
    assert names == ["base_weld", "joint_1", "b -- c_joint"]
    for bad in ("world", "a::b", "__x__"):
        changed = replace(robot.links[2], name=bad)
        moved = replace(robot.joints[1], child=bad)
        reserved = Robot("r", (*robot.links[:2], changed), (robot.joints[0], moved))
        with pytest.raises(RobotError, match=f"reserves the name '{bad}'"):
            sdf_text(identified(reserved))


def test_what_is_not_physical_is_refused():
    """A link that is not identified, and a friction of the wrong sign, are refused by name."""
    robot = random_robot(np.random.default_rng(2), 2, chain=True, fixed=0.0)
    base = robot.links[0].inertial
    assert base is not None
    broken = replace(
        robot.links[0], inertial=frozen_array(base * np.r_[1, np.ones(3), -np.ones(6)], (10,))
    )
    found = identified(replace(robot, links=(broken, *robot.links[1:])))
    for write in TEXTS.values():
        with pytest.raises(ModelError, match="base"):
            write(found)
    model = Model(robot, joint_terms(["joint_1"], ("viscous",)))
    found = identified_robot(model, model.theta({"joint_1.fv": -0.2}))
    for write in TEXTS.values():
        with pytest.raises(ModelError, match=r"'joint_1': its viscous friction is -0\.2"):
            write(found)


def test_missing_limits():
    """URDF gets the limits that it requires; a joint without any turns freely."""
    robot = random_robot(np.random.default_rng(3), 3, chain=True, fixed=0.0, prismatic=0.0)
    kinds = ("revolute", "prismatic", "revolute")
    limits = (Limits(), Limits(), Limits(lower=-1.0))
    joints = tuple(
        replace(joint, kind=kind, limits=limit)
        for joint, kind, limit in zip(robot.joints, kinds, limits, strict=True)
    )
    found = identified(replace(robot, joints=joints))
    read = {joint.name: joint for joint in Robot.from_urdf_text(urdf_text(found)).joints}
    assert read["joint_1"].kind == "continuous"
    assert (read["joint_2"].limits.lower, read["joint_2"].limits.upper) == (-1e9, 1e9)
    assert (read["joint_3"].limits.lower, read["joint_3"].limits.upper) == (-1.0, 1e9)
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(mjcf_text(found))
    assert list(model.jnt_limited) == [0, 0, 1]
    assert list(model.jnt_range[2]) == [-1.0, 1e9]


def test_a_chain_that_is_too_deep_for_mjcf_is_refused():
    """One line, no recursion error."""
    rng = np.random.default_rng(4)
    found = identified(random_robot(rng, 205, chain=True, fixed=0.0))
    with pytest.raises(RobotError, match="too deep for MJCF"):
        mjcf_text(found)
    assert len(ElementTree.fromstring(sdf_text(found)).findall("model/link")) == 206


def test_texts_of_a_robot_from_mjcf(tmp_path: Path):
    """Two joints on one body, joints away from the body's origin and references survive."""
    pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(
        """<mujoco><worldbody><body name="upper" pos="0 0 0.4" euler="10 20 30">
        <joint name="x" axis="1 0 0.2" pos="0.1 0 0" ref="20"/>
        <joint name="y" axis="0 1 0" pos="0 0.3 0.1"/>
        <joint name="z" type="slide" axis="0 0.3 1" ref="0.2"/><geom size="0.1" pos="0 0.1 0.2"/>
        </body></worldbody></mujoco>"""
    )
    found = identified(Robot.from_mjcf(path))
    (tmp_path / "new.xml").write_text(mjcf_text(found))
    assert mjcf_text(found).count("<body") == 1
    again = Robot.from_mjcf(tmp_path / "new.xml")
    assert [link.name for link in again.links] == [link.name for link in found.robot.links]
    one, two = Model(found.robot, ()), Model(again, ())
    q, v, a = random_states(np.random.default_rng(0), found.robot, 10)
    ours = torque(one, one.prior_theta(), q, v, a)
    assert np.abs(torque(two, two.prior_theta(), q, v, a) - ours).max() < 1e-9 * np.abs(ours).max()


@pytest.mark.parametrize("write", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", ["x---y", "--", "a->-->", "-" * 9])
def test_hyphens_in_a_name_do_not_break_the_comment(write, name):
    """XML allows no two hyphens in a row in a comment, and strict parsers refuse them."""
    model = Model(replace(random_robot(np.random.default_rng(1), 2), name=name))
    ElementTree.fromstring(write(identified_robot(model, model.prior_theta())))


@pytest.mark.parametrize("write", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("character", ["\0", "\x1b", "\ud800", "\uffff"])
def test_characters_that_xml_cannot_hold(write, character):
    """A robot's name is written without them; the name of a joint is refused."""
    robot = random_robot(np.random.default_rng(1), 2)
    model = Model(replace(robot, name=f"a{character}b"))
    text = write(identified_robot(model, model.prior_theta()))
    ElementTree.fromstring(text.encode())
    assert "a_b" in text
    joints = (replace(robot.joints[0], name=f"j{character}"), *robot.joints[1:])
    model = Model(replace(robot, joints=joints))
    with pytest.raises(RobotError, match="name"):
        write(identified_robot(model, model.prior_theta()))


def test_laws_that_a_robot_file_lacks_become_the_closest_and_are_named():
    """Rising friction counts as constant, friction in one direction as half of it in both, friction
    over a travel acts at once, the rest is left out; a note names each.
    """
    robots = (random_robot(np.random.default_rng(seed), 2, chain=True) for seed in range(50))
    robot = next(one for one in robots if one.free_joints[0].kind != "prismatic")
    joint = robot.joint_names[0]
    kinds = ("viscous", "coulomb", "load_coulomb", "stribeck", "asymmetric", "spring")
    terms = [
        replace(one, travel=0.01) if one.kind == "coulomb" else one
        for one in joint_terms([joint], kinds)
    ]
    terms.append(Term("rising", joint, ((joint, 1.0),), speed=0.2))
    model = Model(robot, tuple(terms))
    values = {"fv": 0.5, "fc": 1.0, "fl": 0.1, "fs": 0.3, "fa": 0.2, "ks": 2.0, "fr": 0.4}
    theta = model.theta({f"{joint}.{symbol}": x for symbol, x in values.items()})
    found = replace(identified(robot), model=model, theta=theta)
    held = joint_values(found)
    assert held.of("viscous") == {joint: pytest.approx(0.6)}
    assert held.of("coulomb") == {joint: pytest.approx(1.4)}
    note = next(one for one in mjcf_text_notes(found) if one.code == "mjcf-without-laws")
    for words in (
        f"{joint}.fc 1 N m acts at once, not over a travel of 0.01",
        f"{joint}.fr 0.4 N m (friction that rises with speed to a constant) counts as Coulomb",
        f"{joint}.fa 0.2 N m s/rad (additional viscous friction in one direction) counts as visc",
        f"{joint}.fl 0.1 (load-dependent Coulomb friction) is left out",
        f"{joint}.fs 0.3 N m (Stribeck friction) is left out",
        f"{joint}.ks 2 N m/rad (a spring) is left out",
    ):
        assert words in note.words
