"""The robot's own URDF with identified parameters: what changes, what stays, what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from exact_links import exact_violators
from oracles import pinocchio_q, pinocchio_velocity_index, urdf_text
from robot_files import readable_urdfs
from small_arm import JOINT, LINK, URDF, true_theta

from steelyard.errors import ModelError, RobotError
from steelyard.export.identified_robot import IdentifiedRobot, identified_robot
from steelyard.export.identified_urdf import identified_urdf
from steelyard.export.joint_terms import joints_document
from steelyard.model.attached_links import RULES, AttachedRule
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.right_angles import with_right_angles
from steelyard.model.terms import Term, joint_terms
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_body, random_robot

TOOL = (
    LINK.format(name="tool", mass="0.3")
    + '\n  <joint name="flange" type="fixed"><parent link="fore"/><child link="tool"/>'
    '<origin xyz="0.2 0 0"/></joint>\n</robot>'
)
WITH_TOOL = URDF.replace("</robot>", TOOL)


def read_any(path: Path) -> Robot:
    """A robot of example-robot-data: with free mimics or a free base where it needs that."""
    try:
        robot = Robot.from_urdf(path)
    except RobotError:
        robot = Robot.from_urdf(path, mimics=False)
    return robot if robot.moving_joints else replace(robot, floating_base=True)


def stated_friction(data: bytes) -> dict[str, tuple[float, float]]:
    """Damping and friction of the joints that state them, read with ElementTree."""
    found = {}
    for joint in ElementTree.fromstring(data).findall("joint"):
        stated = joint.find("dynamics")
        if stated is not None:
            values = [float(stated.get(key, "0")) for key in ("damping", "friction")]
            found[joint.attrib["name"]] = (values[0], values[1])
    return found


def as_in_file(robot: Robot, data: bytes) -> IdentifiedRobot:
    """The robot with exactly the parameters of its file, friction included."""
    friction = stated_friction(data)
    followers = {joint.name for joint in robot.moving_joints if joint.mimic is not None}
    names = [] if followers & set(friction) else list(robot.joint_names)
    model = Model(robot, joint_terms(names, ["viscous", "coulomb"]))
    theta = model.prior_theta()
    for k, column in enumerate(model.columns):
        if column.kind in ("viscous", "coulomb"):
            stated = friction.get(column.owner, (0.0, 0.0))
            theta[k] = stated[0 if column.kind == "viscous" else 1]
    return identified_robot(model, theta)


def test_an_estimate_equal_to_the_file_changes_no_byte():
    """For the physical files of example-robot-data; the others are refused by a link."""
    same, refused, with_friction = 0, 0, 0
    for path in readable_urdfs():
        data = path.read_bytes()
        bad = exact_violators(data)
        robot = read_any(path)
        if bad:
            with pytest.raises(ModelError) as error:
                identified_urdf(as_in_file(robot, data), data)
            assert any(f"'{link}'" in str(error.value) for link in bad), path.name
            refused += 1
            continue
        written = identified_urdf(as_in_file(robot, data), data)
        assert written.data == data, (path.name, written.changes[:3])
        assert written.changes == ()
        same += 1
        with_friction += bool(stated_friction(data))
    assert (same, refused) == (49, 19)  # one of the 19 can be read without its mimics only
    assert with_friction > 10


def perturbed(model: Model, rng: np.random.Generator) -> np.ndarray:
    """Parameters with heavier bodies, and terms of all kinds."""
    theta = model.prior_theta()
    for first in model.first_column_of_body:
        mass = max(theta[first], 0.01)
        theta[first : first + 10] += random_body(rng, (0.2 * mass, mass), 0.1)
    for k, column in enumerate(model.columns):
        if column.term_kind is not None:
            theta[k] = rng.uniform(0.1, 2.0)
    return theta


def pinocchio_torques(data: bytes, robot: Robot, q, v, a) -> np.ndarray:
    """Rigid-body torques by Pinocchio's rnea, from the bytes of a URDF; no mimics."""
    import pinocchio as pin

    model = pin.buildModelFromXML(data.decode())
    model.gravity.linear = np.array(robot.gravity)
    rest = model.createData()
    index = pinocchio_velocity_index(robot, model)
    pin_q = pinocchio_q(robot, model, q)
    tau = np.empty_like(v)
    for s in range(len(q)):
        pin_v, pin_a = np.zeros(model.nv), np.zeros(model.nv)
        pin_v[index], pin_a[index] = v[s], a[s]
        tau[s] = pin.rnea(model, rest, pin_q[s], pin_v, pin_a)[index]
    return tau


def assert_same_torques(found: IdentifiedRobot, data: bytes, rng: np.random.Generator) -> None:
    """Pinocchio computes from the file what the parameters predict, at 50 random states."""
    robot = found.robot
    q, v, a = rng.normal(size=(3, 50, len(robot.joint_names)))
    bodies = Model(robot, ())
    rigid = found.theta[[column.term_kind is None for column in found.model.columns]]
    ours = torque(bodies, rigid, q, v, a)
    theirs = pinocchio_torques(data, robot, q, v, a)
    assert np.abs(theirs - ours).max() <= 1e-9 * np.abs(ours).max()


@pytest.mark.parametrize("rule", RULES)
def test_pinocchio_reads_the_identified_robot_from_real_files(rule: AttachedRule):
    """Files with links behind fixed joints, the Panda with its hand among them."""
    pytest.importorskip("pinocchio")
    names = {"panda.urdf", "kinova.urdf", "xarm7.urdf", "ur5_gripper.urdf", "z1.urdf", "iiwa7.urdf"}
    rng = np.random.default_rng(7)
    merged = []
    for path in readable_urdfs():
        if path.name not in names:
            continue
        data = path.read_bytes()
        robot = with_right_angles(Robot.from_urdf(path, mimics=False))
        model = Model(robot)
        found = identified_robot(model, perturbed(model, rng), attached=rule)
        written = identified_urdf(found, path).data
        assert exact_violators(written) == set()
        assert_same_torques(found, written, rng)
        friction = stated_friction(written)
        for kind, place in (("viscous", 0), ("coulomb", 1)):
            for joint, value in found.term_values(kind).items():
                assert friction[joint][place] == pytest.approx(value, rel=1e-11)
        if found.attached:
            merged.append(path.name)
        # a second time there is nothing left to change
        again = Model(Robot.from_urdf_text(written, mimics=False), model.terms)
        theta = again.prior_theta()
        theta[[c.term_kind is not None for c in again.columns]] = found.theta[
            [c.term_kind is not None for c in model.columns]
        ]
        assert identified_urdf(identified_robot(again, theta), written).data == written
        assert written != data
    assert "panda.urdf" in merged
    assert len(merged) >= 3


@pytest.mark.parametrize("rule", RULES)
def test_pinocchio_reads_the_identified_robot_from_random_files(rule: AttachedRule):
    """Trees with tools on fixed joints; links without an inertial get one, emptied ones zeros."""
    pytest.importorskip("pinocchio")
    emptied, added = 0, 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        text = urdf_text(random_robot(rng, 4, fixed=0.5))
        text = re.sub(r'(<link name="link_3">)\n<inertial>.*', r"\1", text)
        robot = Robot.from_urdf_text(text)
        model = Model(robot)
        found = identified_robot(model, perturbed(model, rng), attached=rule)
        written = identified_urdf(found, text.encode())
        assert exact_violators(written.data) == set()
        assert_same_torques(found, written.data, rng)
        after = {link.name: link.inertial for link in Robot.from_urdf_text(written.data).links}
        for one in found.attached:
            for name in one.emptied:
                emptied += 1
                assert not np.any(after[name])
            for name in one.kept:
                assert np.array_equal(after[name], robot.link(name).inertial)
        added += any(change.what == "inertial" for change in written.changes)
    assert bool(emptied) == (rule == "lump")
    assert added > 10


def outside_numbers(text: str) -> str:
    """A file without the inertials and <dynamics>, to compare the rest."""
    return re.sub(r"<inertial>.*?</inertial>|\s*<dynamics[^>]*/>", "", text, flags=re.DOTALL)


def test_only_inertials_and_dynamics_change():
    """A file with comments, odd spacing and other sections keeps them."""
    text = WITH_TOOL.replace(
        "</robot>", "\n<!-- <link/> & -->\n<gazebo  reference='tool' />\n</robot>"
    )
    model = Model(Robot.from_urdf_text(text))
    found = identified_robot(model, true_theta(model))
    written = identified_urdf(found, text.encode()).data.decode()
    assert outside_numbers(written) == outside_numbers(text)
    tool = re.compile(r'<link name="tool">.*?</link>', re.DOTALL)
    assert tool.search(written)[0] == tool.search(text)[0]
    lumped = identified_robot(model, true_theta(model), attached="lump")
    assert (
        '<mass value="0"/>' in tool.search(identified_urdf(lumped, text.encode()).data.decode())[0]
    )


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "latin-1"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_encodings_and_line_ends_are_kept(codec, line_end):
    """New elements are written in the file's encoding, with its line ends."""
    body = URDF.replace("elbow", "Ellenbögen").replace("\n", line_end)

    def written(encoding: str) -> str:
        data = f'<?xml version="1.0" encoding="{encoding}"?>{body}'.encode(encoding)
        robot = Robot.from_urdf_text(data)
        model = Model(robot)
        found = identified_robot(model, true_theta(model))
        new = identified_urdf(found, data, drake=True).data
        assert Robot.from_urdf_text(new).joint_names == ("shoulder", "Ellenbögen")
        return new.decode(encoding).split("?>", 1)[1]

    text = written(codec)
    assert text == written("utf-8")
    assert text.count("<dynamics") == 2
    assert ("\r" in text) == (line_end == "\r\n")
    assert not re.search("(?<!\r)\n", text) or line_end == "\n"


# --- friction and drive inertia ---------------------------------------------------------------


def with_values(robot: Robot, terms: tuple[Term, ...], values: dict[str, float]) -> IdentifiedRobot:
    """The robot with the inertials of its file, and these terms."""
    model = Model(robot, terms)
    return identified_robot(model, model.theta(values))


def test_dynamics_are_replaced_or_inserted_and_other_attributes_kept():
    """A joint without such a term keeps what its file states."""
    text = URDF.replace(
        '<limit lower="-2.5" upper="2.5" velocity="3" effort="50"/></joint>',
        '<dynamics  spring_stiffness="3" friction = "0.50" damping=\'7\'/></joint>',
        1,
    )
    robot = Robot.from_urdf_text(text)
    terms = (*joint_terms(["shoulder"], ["coulomb"]), *joint_terms(["elbow"], ["viscous"]))
    found = with_values(robot, terms, {"shoulder.fc": 0.25, "elbow.fv": 1.5})
    written = identified_urdf(found, text.encode())
    new = written.data.decode()
    assert '<dynamics  spring_stiffness="3" friction = "0.25" damping=\'7\'/>' in new
    assert (
        '<limit lower="-2.5" upper="2.5" velocity="3" effort="50"/>\n    <dynamics damping="1.5"/>'
        in new
    )
    assert [(c.joint, c.what, c.before, c.after) for c in written.changes] == [
        ("elbow", "dynamics damping", None, "1.5"),
        ("shoulder", "dynamics friction", "0.50", "0.25"),
    ]
    same = with_values(robot, terms, {"shoulder.fc": 0.5, "elbow.fv": 0.0})
    assert identified_urdf(same, text.encode()).data == text.encode()


def test_terms_of_a_geared_motor_are_those_of_its_joint():
    """Along one joint with weight w: w² times viscous friction, |w| times Coulomb friction."""
    robot = Robot.from_urdf_text(URDF)
    motor = (("elbow", -3.0),)
    both = (("shoulder", 1.0), ("elbow", 1.0))
    terms = (
        Term("viscous", "m2", motor),
        Term("coulomb", "m2", motor),
        Term("viscous", "belt", both),
        *joint_terms(["elbow"], ["viscous"]),
    )
    values = {"m2.fv": 0.1, "m2.fc": 0.2, "belt.fv": 5.0, "elbow.fv": 0.05}
    found = with_values(robot, terms, values)
    written = identified_urdf(found, URDF.encode()).data
    friction = stated_friction(written)
    assert set(friction) == {"elbow"}
    model = Model(robot, joint_terms(["elbow"], ["viscous", "coulomb"]))
    as_written = model.theta({"elbow.fv": friction["elbow"][0], "elbow.fc": friction["elbow"][1]})
    theta = found.theta.copy()
    theta[[name == "belt.fv" for name in found.model.column_names]] = 0.0
    q, v, a = np.random.default_rng(0).normal(size=(3, 20, 2))
    expected = torque(found.model, theta, q, v, a)
    np.testing.assert_allclose(torque(model, as_written, q, v, a), expected, rtol=1e-12)
    negative = with_values(robot, terms, {**values, "m2.fc": -0.1})
    with pytest.raises(ModelError, match=r"its Coulomb friction is -0\.\d+ N m, which is not"):
        identified_urdf(negative, URDF.encode())


def test_friction_of_a_follower_belongs_to_the_joint_that_it_follows():
    """What the file states for the follower would count twice, and is set to zero."""
    mimic = '<mimic joint="shoulder"/><dynamics damping="0.3" friction="0"/></joint>'
    text = mimic.join(URDF.rsplit("</joint>", 1))
    robot = Robot.from_urdf_text(text)
    terms = joint_terms(["shoulder"], ["viscous"])
    written = identified_urdf(with_values(robot, terms, {"shoulder.fv": 2.0}), text.encode()).data
    assert stated_friction(written) == {"shoulder": (2.0, 0.0), "elbow": (0.0, 0.0)}


def test_locked_joints_stay_as_in_the_file():
    """Their angles, axis and <dynamics> are not touched; what they carry is one body."""
    text = WITH_TOOL.replace("</joint>", '<dynamics damping="0.3"/></joint>')
    robot = Robot.from_urdf_text(text).lock({"elbow": 0.7})
    model = Model(robot)
    for rule in RULES:
        found = identified_robot(model, true_theta(model), attached=rule)
        written = identified_urdf(found, text.encode()).data
        assert stated_friction(written)["elbow"] == (0.3, 0.0)
        back = Robot.from_urdf_text(written).lock({"elbow": 0.7})
        sizes = np.abs(found.theta).max()
        rigid = [column.term_kind is None for column in model.columns]
        gap = Model(back).prior_theta()[rigid] - found.theta[rigid]
        assert np.abs(gap).max() < 1e-11 * sizes


TRANSMISSION = """
  <transmission name="t1"><type>SimpleTransmission</type><joint name="shoulder"/>
    <actuator name="m1">{inside}</actuator></transmission>
</robot>"""


@pytest.mark.parametrize(
    ("inside", "rotor", "ratio"),
    [
        ("", "0.5", "1"),
        ('<drake:gear_ratio value="10"/>', "0.005", "10"),
        ('<drake:rotor_inertia value="3"/><drake:gear_ratio value="10"/>', "0.005", "10"),
        ("<mechanicalReduction>1</mechanicalReduction>", "0.5", "1"),
    ],
)
def test_drive_inertia_as_drake_states_it(inside, rotor, ratio):
    """Existing transmissions are used, with their gear ratio; others are added at the end."""
    text = URDF.replace("</robot>", TRANSMISSION.format(inside=inside))
    declared = ' xmlns:drake="https://drake.mit.edu"'
    if "drake" in inside:
        text = text.replace("<robot", f"<robot{declared}", 1)
    text = text.replace("elbow", "Küken &amp; Co")
    robot = Robot.from_urdf_text(text)
    terms = joint_terms(robot.joint_names, ["drive_inertia"])
    found = with_values(robot, terms, {"shoulder.Ia": 0.5, "Küken & Co.Ia": 0.25})
    assert identified_urdf(found, text.encode()).data == text.encode()
    new = identified_urdf(found, text.encode(), drake=True).data
    assert new.decode().count(declared) == 1
    space = "{https://drake.mit.edu}"
    first, second = ElementTree.fromstring(new).findall("transmission")
    for transmission, joint, values in (
        (first, "shoulder", (rotor, ratio)),
        (second, "Küken & Co", ("0.25", "1")),
    ):
        assert transmission.find("joint").attrib["name"] == joint
        actuator = transmission.find("actuator")
        for tag, value in zip(("rotor_inertia", "gear_ratio"), values, strict=True):
            assert [e.attrib["value"] for e in actuator.findall(space + tag)] == [value]
    assert first.find("actuator").attrib["name"] == "m1"
    assert "SimpleTransmission" in second.find("type").text


def test_the_terms_of_all_joints_are_plain_data():
    """Those that URDF holds and those that it cannot; couplings by their direction."""
    text = '<mimic joint="shoulder" multiplier="2"/></joint>'.join(URDF.rsplit("</joint>", 1))
    robot = Robot.from_urdf_text(text)
    along = (("shoulder", 2.0),)
    terms = (
        Term("coulomb", "shoulder", (("shoulder", 1.0),), width=0.02),
        *joint_terms(["shoulder"], ["offset"]),
        Term("drive_inertia", "motor", along),
    )
    found = with_values(robot, terms, {"shoulder.fc": 0.5, "shoulder.fo": -0.1, "motor.Ia": 3.0})
    document = joints_document(found, "arm.urdf", "0" * 64)
    (joint,) = document["joints"]
    assert joint["name"] == "shoulder"
    coulomb, offset = joint["terms"]
    assert (coulomb["value"], coulomb["unit"], coulomb["width"]) == (0.5, "N m", 0.02)
    assert (coulomb["in_urdf"], offset["in_urdf"]) == ("friction", None)
    assert (offset["kind"], offset["value"], offset["torque"]) == ("offset", -0.1, "value")
    (motor,) = document["couplings"]
    assert (motor["name"], motor["direction"]) == ("motor", {"shoulder": 2.0})
    assert motor["terms"][0]["value"] == 3.0
    assert document["followers"] == [
        {"name": "elbow", "follows": "shoulder", "multiplier": 2.0, "offset": 0.0}
    ]
    # the formulas give the torques of the model
    v, a = 0.01, 3.0
    speeds = {"joint": v, "motor": 2.0 * v}
    total = 0.5 * np.clip(speeds["joint"] / 0.02, -1, 1) - 0.1 + 2.0 * (3.0 * 2.0 * a)
    theta = found.theta.copy()
    theta[[column.term_kind is None for column in found.model.columns]] = 0.0
    at = (np.zeros((1, 1)), np.array([[v]]), np.array([[a]]))
    assert torque(found.model, theta, *at)[0, 0] == pytest.approx(total, rel=1e-12)


# --- refusals ---------------------------------------------------------------------------------

BROKEN = 'izz="0.9"'


def broken(link: str) -> str:
    """The arm with a tool, with an impossible inertia of one link; its base has one, too."""
    base = LINK.format(name="ground", mass="4")
    text = WITH_TOOL.replace('<link name="ground"/>', base)
    at = text.index(f'<link name="{link}">')
    return text[:at] + text[at:].replace('izz="0.025"', BROKEN, 1)


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("ground", r"\(it never moves\): run steelyard check --fix first$"),
        ("tool", r"\(it is kept\): run steelyard check --fix first, or give --attached lump$"),
    ],
)
def test_links_that_the_estimate_does_not_change_must_be_physical(link, why):
    """They are refused by name; lumping helps where they are emptied."""
    text = broken(link)
    model = Model(Robot.from_urdf_text(text))
    # physical bodies: those of the sound file, and what the broken link adds
    theta = Model(Robot.from_urdf_text(WITH_TOOL)).theta({})
    theta[[name.startswith("fore.I") and name[-2] == name[-1] for name in model.column_names]] += (
        2.0
    )
    found = identified_robot(model, theta)
    with pytest.raises(ModelError, match=f"link '{link}' of the file is not physical, .*{why}"):
        identified_urdf(found, text.encode())
    lumped = identified_robot(model, theta, attached="lump")
    if link == "tool":
        assert exact_violators(identified_urdf(lumped, text.encode()).data) == set()


def test_another_file_is_refused():
    """Other links, other joints, another geometry, or another format."""
    model = Model(Robot.from_urdf_text(URDF))
    found = identified_robot(model, true_theta(model))
    for text, words in (
        (URDF.replace("fore", "forearm"), "has no link 'fore', but robot 'small arm' has"),
        (URDF.replace("elbow", "ellbow"), "has no joint 'elbow', but robot 'small arm' has"),
        (URDF.replace("0.3 0 0", "0.31 0 0"), "the origin of joint 'shoulder' is not that of"),
        ("<mujoco/>", "not <robot>"),
    ):
        with pytest.raises(RobotError, match=words):
            identified_urdf(found, text.encode())


def test_turned_angles_are_written_once():
    """A joint angle of 1.5708 is written with all digits, and read back as the robot has it."""
    text = URDF.replace('rpy="0.3 0 0"', 'rpy="1.5708 0 0"')
    wrist = JOINT.format(name="wrist", parent="fore", child="hand", xyz="0.2 0 0", axis="0 0 1")
    hand = LINK.format(name="hand", mass="0.4")
    wrist = wrist.replace('rpy="0.3 0 0"', 'rpy="-1.5708 0 0"')
    text = text.replace("</robot>", f"{wrist}{hand}</robot>")
    robot = with_right_angles(Robot.from_urdf_text(text))
    assert robot.turned
    model = Model(robot)
    written = identified_urdf(identified_robot(model, true_theta(model)), text.encode())
    assert [c.joint for c in written.changes if c.what == "origin rpy"] == [
        joint.joint for joint in robot.turned
    ]
    back = Robot.from_urdf_text(written.data)
    assert Model(back, model.terms).hash == model.hash
