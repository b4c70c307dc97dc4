"""URDF files: real ones against Pinocchio, malformed and hostile ones give one-line errors."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from poses import link_poses, random_positions
from robot_files import example_urdfs

from steelyard._files.limits import (
    MAX_XML_ATTRIBUTES,
    MAX_XML_BYTES,
    MAX_XML_DEPTH,
    MAX_XML_ELEMENTS,
)
from steelyard.errors import RobotError
from steelyard.robot.inertia import to_com
from steelyard.robot.parts import Mimic
from steelyard.robot.robot import Robot

# Files of example-robot-data that are not valid robots, with the error message.
REFUSED = {
    "ur_description/urdf/ur3.urdf": "has no links",
    "alex_description/urdf/alex_psyonic_hands.urdf": "mimics 'index_q1', which does not exist",
}
INERTIAL = (
    '<inertial><mass value="2"/><origin xyz="0.1 0 0"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)


def relative(path: Path) -> str:
    return "/".join(path.parts[path.parts.index("robots") + 1 :])


def two_links(
    joint: str = "", link: str = INERTIAL, kind: str = "revolute", extra: str = ""
) -> str:
    return (
        f'<robot name="r"><link name="base"/><link name="arm">{link}</link>'
        f'<joint name="elbow" type="{kind}"><parent link="base"/><child link="arm"/>{joint}</joint>'
        f"{extra}</robot>"
    )


def refusal(text: str | bytes, **options: object) -> str:
    with pytest.raises(RobotError) as caught:
        Robot.from_urdf_text(text, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


def test_real_files_agree_with_pinocchio() -> None:
    """All URDFs of example-robot-data: joints, limits, masses and link poses are Pinocchio's."""
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(0)
    files = example_urdfs()
    assert len(files) >= 60
    n_links = 0
    for path in files:
        if relative(path) == "ur_description/urdf/ur3.urdf":
            continue
        model = pin.buildModelFromUrdf(str(path))
        robot = Robot.from_urdf(path, mimics=False)
        assert sorted(robot.joint_names) == sorted(list(model.names)[1:]), path
        data = model.createData()
        positions = random_positions(robot, rng)
        pin.framesForwardKinematics(model, data, pinocchio_q(model, positions))
        for name, T in link_poses(robot, positions).items():
            frame = model.getFrameId(name, pin.FrameType.BODY)
            assert np.abs(data.oMf[frame].homogeneous - T).max() < 1e-12, (path, name)
            n_links += 1
        compare_limits(robot, model, path)
        # Pinocchio puts the root's mass on its universe joint and leaves it out of the total.
        masses = sum(link.inertial[0] for link in robot.links if link.inertial is not None)
        total = pin.computeTotalMass(model) + model.inertias[0].mass
        assert masses == pytest.approx(total, rel=1e-12, abs=1e-12), path
    assert n_links > 2000


def pinocchio_q(model: object, positions: dict[str, float]) -> np.ndarray:
    q = np.zeros(model.nq)  # type: ignore[attr-defined]
    for name, position in positions.items():
        joint = model.joints[model.getJointId(name)]  # type: ignore[attr-defined]
        if joint.nq == 2:  # Pinocchio's unbounded joint: cosine and sine
            q[joint.idx_q : joint.idx_q + 2] = np.cos(position), np.sin(position)
        else:
            q[joint.idx_q] = position
    return q


def compare_limits(robot: Robot, model: object, path: Path) -> None:
    for joint in robot.free_joints:
        index = model.joints[model.getJointId(joint.name)]  # type: ignore[attr-defined]
        limits = joint.limits
        if joint.kind == "continuous":
            assert (limits.lower, limits.upper) == (None, None)
        elif limits.lower is None:
            # Where a file states neither limit, Pinocchio takes both for 0.
            assert model.lowerPositionLimit[index.idx_q] == 0.0  # type: ignore[attr-defined]
            assert model.upperPositionLimit[index.idx_q] == 0.0  # type: ignore[attr-defined]
        else:
            assert limits.lower == model.lowerPositionLimit[index.idx_q], path  # type: ignore[attr-defined]
            assert limits.upper == model.upperPositionLimit[index.idx_q], path  # type: ignore[attr-defined]
        for stated, theirs in (
            (limits.velocity, model.velocityLimit[index.idx_v]),  # type: ignore[attr-defined]
            (limits.effort, model.effortLimit[index.idx_v]),  # type: ignore[attr-defined]
        ):
            assert stated == theirs if np.isfinite(theirs) else stated is None, (path, joint.name)


def test_real_inertials_agree_with_pinocchio() -> None:
    """The 10-vector of each body is Pinocchio's, with fixed links carried into their parent."""
    pin = pytest.importorskip("pinocchio")
    from steelyard.robot.inertia import transform

    n_bodies = 0
    for path in example_urdfs():
        if relative(path) == "ur_description/urdf/ur3.urdf":
            continue
        model = pin.buildModelFromUrdf(str(path))
        robot = Robot.from_urdf(path, mimics=False)
        where = {robot.root: ("universe", np.eye(4))}
        bodies: dict[str, np.ndarray] = {}
        for joint in robot.joints_from_root:
            body, T = where[joint.parent]
            if joint.moves:
                where[joint.child] = (joint.name, np.eye(4))
            else:
                where[joint.child] = (body, T @ joint.pose(0.0))
        for link in robot.links:
            body, T = where[link.name]
            if link.inertial is not None and body != "universe":
                moved = transform(link.inertial, T)
                bodies[body] = bodies.get(body, np.zeros(10)) + moved
        for body, phi in bodies.items():
            inertia = model.inertias[model.getJointId(body)]
            theirs = inertia.toDynamicParameters()
            scale = max(1.0, float(np.abs(theirs).max()))
            assert np.abs(phi - theirs).max() < 1e-10 * scale, (path, body)
            n_bodies += 1
    assert n_bodies > 1000


def test_real_files_load_or_are_refused_by_name() -> None:
    """Two files of example-robot-data are not valid robots; the others load unchanged."""
    refused = {}
    for path in example_urdfs():
        try:
            Robot.from_urdf(path)
        except RobotError as error:
            refused[relative(path)] = str(error)
    assert refused.keys() == REFUSED.keys()
    for name, reason in REFUSED.items():
        assert reason in refused[name]
        assert "\n" not in refused[name]


def test_mimics_agree_with_pinocchio() -> None:
    """With mimics followed, joints and link poses of the real files are still Pinocchio's."""
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(1)
    n_files = 0
    for path in example_urdfs():
        if relative(path) in REFUSED or "<mimic" not in path.read_text(errors="replace"):
            continue
        robot = Robot.from_urdf(path)
        free = Robot.from_urdf(path, mimics=False)
        n_files += robot.joint_names != free.joint_names
        model = pin.buildModelFromUrdf(str(path))
        positions = random_positions(robot, rng)
        poses = link_poses(robot, positions)
        followed = dict(positions)
        for joint in robot.moving_joints:
            if joint.mimic is not None:
                m = joint.mimic
                followed[joint.name] = m.multiplier * positions[m.joint] + m.offset
        data = model.createData()
        pin.framesForwardKinematics(model, data, pinocchio_q(model, followed))
        for name, T in poses.items():
            frame = model.getFrameId(name, pin.FrameType.BODY)
            assert np.abs(data.oMf[frame].homogeneous - T).max() < 1e-12, (path, name)
    assert n_files >= 5


def test_inertial_frame_is_turned_and_moved() -> None:
    """An inertial stated in a rotated frame at the centre of mass is read in link axes."""
    link = (
        '<inertial><mass value="3"/><origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 -0.6"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="2.5"/></inertial>'
    )
    pin = pytest.importorskip("pinocchio")
    text = two_links(link=link, kind="continuous")
    phi = Robot.from_urdf_text(text).link("arm").inertial
    assert phi is not None
    theirs = pin.buildModelFromXML(text).inertias[1].toDynamicParameters()
    assert phi == pytest.approx(theirs, abs=1e-12)
    mass, com, _ = to_com(phi)
    assert (float(mass), *com) == pytest.approx((3.0, 0.1, -0.2, 0.3))


def test_right_angles_are_exact() -> None:
    """An rpy written as pi/2 gives zeros and ones, one written as 1.5708 does not."""
    exact = Robot.from_urdf_text(
        two_links('<origin rpy="1.5707963267948966 0 3.141592653589793"/>')
    )
    rotation = exact.joint("elbow").placement[:3, :3]
    assert set(np.abs(rotation).ravel()) == {0.0, 1.0}
    rounded = Robot.from_urdf_text(two_links('<origin rpy="1.5708 0 0"/>')).joint("elbow").placement
    assert 0.0 < abs(rounded[1, 1]) < 1e-5


@pytest.mark.parametrize("axis", ["0 0 2", "0 0 1e-200", "0 0 1e200"])
def test_axis_is_normalised(axis: str) -> None:
    """An axis of any length becomes a unit vector."""
    joint = Robot.from_urdf_text(two_links(f'<axis xyz="{axis}"/>')).joint("elbow")
    assert joint.axis.tolist() == [0.0, 0.0, 1.0]


def test_axis_defaults_to_x() -> None:
    """A joint without an axis moves about x, as the format says."""
    assert Robot.from_urdf_text(two_links()).joint("elbow").axis.tolist() == [1.0, 0.0, 0.0]


def test_limits() -> None:
    """Stated limits are kept, unstated and infinite ones are None, one bound implies 0."""
    limit = '<limit lower="-1" upper="2" velocity="3" effort="inf"/>'
    limits = Robot.from_urdf_text(two_links(limit)).joint("elbow").limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-1.0, 2.0, 3.0, None)
    assert limits.acceleration is None
    limits = Robot.from_urdf_text(two_links('<limit upper="2"/>')).joint("elbow").limits
    assert (limits.lower, limits.upper) == (0.0, 2.0)
    limits = Robot.from_urdf_text(two_links('<limit effort="1"/>')).joint("elbow").limits
    assert (limits.lower, limits.upper, limits.effort) == (None, None, 1.0)
    limits = Robot.from_urdf_text(two_links(limit, kind="continuous")).joint("elbow").limits
    assert (limits.lower, limits.upper, limits.velocity) == (None, None, 3.0)


def test_negative_mass_is_read() -> None:
    """A negative mass is read: whether links are physical is checked elsewhere."""
    robot = Robot.from_urdf_text(two_links(link=INERTIAL.replace('value="2"', 'value="-2"')))
    phi = robot.link("arm").inertial
    assert phi is not None
    assert phi[0] == -2.0


def test_link_without_inertial() -> None:
    """A link that states no inertial has none, which is not a mass of zero."""
    assert Robot.from_urdf_text(two_links(link="")).link("arm").inertial is None


def test_gravity_is_selectable() -> None:
    """Gravity is standard unless given, and must be three finite numbers."""
    assert Robot.from_urdf_text(two_links()).gravity.tolist() == [0.0, 0.0, -9.81]
    assert Robot.from_urdf_text(two_links(), gravity=(9.81, 0, 0)).gravity.tolist() == [
        9.81,
        0.0,
        0.0,
    ]
    for bad in ((1, 2), (1, 2, np.nan), "down", 9.81):
        assert "three finite numbers" in refusal(two_links(), gravity=bad)


def test_floating_joint_at_the_root() -> None:
    """A floating joint between the world and the robot makes a floating base."""
    text = (
        '<robot name="r"><link name="world"/><link name="base"/><link name="arm"/>'
        '<joint name="free" type="floating"><parent link="world"/><child link="base"/></joint>'
        '<joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/></joint>'
        "</robot>"
    )
    robot = Robot.from_urdf_text(text)
    assert robot.floating_base
    assert robot.root == "base"
    assert robot.joint_names == ("elbow",)
    assert Robot.from_urdf_text(two_links(), floating_base=True).floating_base
    inside = text.replace("revolute", "floating")
    assert "joint 'free' and joint 'elbow' are both floating" in refusal(inside)
    beside = text.replace('<parent link="base"/>', '<parent link="world"/>')
    assert "the one joint of the root" in refusal(beside)


def test_mimic_chains_are_resolved() -> None:
    """A mimic of a mimic follows the independent joint."""
    joints = "".join(
        f'<link name="l{i}"/><joint name="j{i}" type="revolute"><parent link="arm"/>'
        f'<child link="l{i}"/><mimic joint="{master}" multiplier="{m}" offset="{o}"/></joint>'
        for i, master, m, o in ((1, "j2", 2, 0.5), (2, "elbow", -3, 0.25))
    )
    robot = Robot.from_urdf_text(two_links(extra=joints))
    assert robot.joint_names == ("elbow",)
    assert robot.joint("j1").mimic == Mimic("elbow", -6.0, 2 * 0.25 + 0.5)
    circle = joints.replace('mimic joint="elbow"', 'mimic joint="j1"')
    assert "circle" in refusal(two_links(extra=circle))
    assert Robot.from_urdf_text(two_links(extra=circle), mimics=False).joint_names == (
        "elbow",
        "j1",
        "j2",
    )
    missing = refusal(two_links(extra=joints.replace('"elbow"', '"ellbow"')))
    assert "'ellbow', which does not exist" in missing
    assert "did you mean 'elbow'" in missing


def test_long_chain_loads() -> None:
    """5,000 links in a row load, and so do 5,000 mimics that follow the next one each."""
    n = 5000
    links = "".join(f'<link name="l{i}"/>' for i in range(n + 1))
    joint = (
        '<joint name="j{0}" type="revolute"><parent link="l{0}"/><child link="l{1}"/>{2}</joint>'
    )
    chain = "".join(joint.format(i, i + 1, "") for i in range(n))
    assert len(Robot.from_urdf_text(f"<robot>{links}{chain}</robot>").joint_names) == n
    mimic = '<mimic joint="j{}"/>'
    chain = "".join(
        joint.format(i, i + 1, mimic.format(i + 1) if i < n - 1 else "") for i in range(n)
    )
    assert Robot.from_urdf_text(f"<robot>{links}{chain}</robot>").joint_names == (f"j{n - 1}",)


NUMBERS = ("nan", "inf", "1,5", "", "1_0", "0x10", "1e999", "\u0663", "one", "1 2", "${m}")


@pytest.mark.parametrize("text", NUMBERS)
def test_bad_mass(text: str) -> None:
    """A mass that is not a finite decimal number is refused, naming the link or the xacro."""
    message = refusal(two_links(link=INERTIAL.replace('value="2"', f'value="{text}"')))
    assert "xacro" in message if "$" in text else "link 'arm': mass" in message


PLACES = {
    "link 'arm': origin xyz": two_links(link=INERTIAL.replace("0.1 0 0", "{}")),
    "link 'arm': inertia ixy": two_links(link=INERTIAL.replace('ixy="0"', 'ixy="{}"')),
    "joint 'elbow': origin rpy": two_links('<origin rpy="{}"/>'),
    "joint 'elbow': axis": two_links('<axis xyz="{}"/>'),
    "joint 'elbow': limit lower": two_links('<limit lower="{}"/>'),
    "joint 'elbow': limit velocity": two_links('<limit velocity="{}"/>'),
    "joint 'elbow': mimic offset": two_links('<mimic joint="x" offset="{}"/>'),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", ["nan", "1,5", "x y z", "1 2 nan", "1 2", "9" * 100000])
def test_bad_numbers_name_their_place(place: str, text: str) -> None:
    """Every number that is read is checked, and the message says whose it is."""
    assert place in refusal(PLACES[place].replace("{}", text))


INERTIA_TAG = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
MALFORMED = {
    "states no mass": two_links(link=f"<inertial>{INERTIA_TAG}</inertial>"),
    "link 'arm': its <inertial> in line 1 states no mass": two_links(
        link=f"<inertial><mass/>{INERTIA_TAG}</inertial>"
    ),
    "link 'arm': its <inertial> in line 1 has a mass but no <inertia>": two_links(
        link='<inertial><mass value="1"/></inertial>'
    ),
    "<inertia> in line 1 has no 'iyz'": two_links(link=INERTIAL.replace('iyz="0" ', "")),
    "too large to work with": two_links(
        link=INERTIAL.replace('"2"', '"1e300"').replace("0.1 0 0", "1e10 0 0")
    ),
    "axis is 0 0 0": two_links('<axis xyz="0 0 0"/>'),
    "<axis> in line 1 has no 'xyz'": two_links("<axis/>"),
    "lower limit 2.0 is above its upper limit 1.0": two_links('<limit lower="2" upper="1"/>'),
    "limit effort is -1.0": two_links('<limit effort="-1"/>'),
    "joint 'elbow' is of type 'planar'": two_links(kind="planar"),
    "did you mean 'revolute'": two_links(kind="Revolute"),
    "joint 'elbow': <joint> in line 1 has no 'type'": two_links().replace(' type="revolute"', ""),
    "joint 'elbow' in line 1 has no <child>": two_links().replace('<child link="arm"/>', ""),
    "<parent> in line 1 has no 'link'": two_links().replace('<parent link="base"/>', "<parent/>"),
    "parent link 'bass', which does not exist (did you mean 'base'?)": two_links().replace(
        'parent link="base"', 'parent link="bass"'
    ),
    "two links named 'arm'": two_links(extra='<link name="arm"/>'),
    "2 root links, base, stray": two_links(extra='<link name="stray"/>'),
    "<link> in line 1 has the name ''": two_links(extra="<link/>"),
    "has the name 'a\\nb'": two_links(extra='<link name="a&#10;b"/>'),
    "root element <sdf>, not <robot>": "<sdf/>",
    "read it as MJCF": "<mujoco/>",
    "has no links": "<robot/>",
    "is not XML": "solid mesh",
    "is not XML: mismatched tag": "<robot><link></robot>",
    "is not XML: unknown encoding": b'<?xml version="1.0" encoding="martian"?><robot/>',
}


@pytest.mark.parametrize("expected", MALFORMED)
def test_malformed_files(expected: str) -> None:
    """Each malformed file gets one line that says what and where."""
    assert expected in refusal(MALFORMED[expected])


def test_loops_are_refused() -> None:
    """Loops with and without a root are refused, naming the joints."""
    second = '<joint name="again" type="fixed"><parent link="base"/><child link="arm"/></joint>'
    message = refusal(two_links(extra=second))
    assert "child of two joints, 'elbow' and 'again'" in message
    assert "take 'again' out of the file, and the torques of elbow out of the log" in message
    assert "(a measured wrench at a floating base)" in message
    back = '<joint name="back" type="fixed"><parent link="arm"/><child link="base"/></joint>'
    assert "joints elbow, back form loops" in refusal(two_links(extra=back))
    assert "joints elbow, back form a loop that is not connected to root link 'c'" in refusal(
        two_links(extra=back + '<link name="c"/>')
    )


@pytest.mark.parametrize(
    "document",
    [
        '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"/>',
        '<!DOCTYPE r SYSTEM "file:///etc/hostname"><robot/>',
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]><robot name="&x;"/>',
        "<!DOCTYPE robot><robot/>",
    ],
)
def test_entities_are_refused(document: str) -> None:
    """Any document type declaration is refused before entities are expanded or fetched."""
    assert "document type declarations and entities are refused" in refusal(document)


def test_billion_laughs() -> None:
    """Ten entities of ten entities each are refused, not expanded."""
    entities = '<!ENTITY e0 "ha">' + "".join(
        f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 11)
    )
    assert "refused" in refusal(f'<!DOCTYPE r [{entities}]><robot name="&e10;"/>')


def test_undefined_entity_is_not_xml() -> None:
    """A reference to an undeclared entity is refused."""
    assert "is not XML: undefined entity" in refusal('<robot name="&x;"/>')


def test_caps() -> None:
    """Depth, number of elements and of attributes, and size are capped."""
    n = 200_000
    assert f"deeper than {MAX_XML_DEPTH}" in refusal(
        "<robot>" + "<a>" * n + "</a>" * n + "</robot>"
    )
    assert f"deeper than {MAX_XML_DEPTH}" in refusal("<a>" * n)
    assert f"{MAX_XML_ELEMENTS} elements" in refusal(
        f"<robot>{'<a/>' * (MAX_XML_ELEMENTS + 1)}</robot>"
    )
    attributes = " ".join(f"a{i}=''" for i in range(MAX_XML_ATTRIBUTES + 1))
    assert f"more than {MAX_XML_ATTRIBUTES} attributes" in refusal(f"<robot {attributes}/>")
    assert "larger than 64 MiB" in refusal(b" " * (MAX_XML_BYTES + 1))
    nested = "<a>" * (MAX_XML_DEPTH - 1) + "</a>" * (MAX_XML_DEPTH - 1)
    assert Robot.from_urdf_text(two_links(extra=nested)).joint_names == ("elbow",)


def test_xacro(tmp_path: Path) -> None:
    """Unprocessed xacro is refused with the command to run; unused xacro namespaces are not."""
    source = tmp_path / "arm.urdf.xacro"
    source.write_text(two_links())
    with pytest.raises(RobotError, match=r"run: xacro .*arm\.urdf\.xacro > .*arm\.urdf$"):
        Robot.from_urdf(source)
    assert "run: xacro robot.urdf.xacro > robot.urdf" in refusal(
        two_links(extra='<xacro:include filename="x"/>')
    )
    assert "run: xacro" in refusal(two_links('<origin xyz="${length} 0 0"/>'))
    leftover = two_links().replace('name="r"', 'name="r" xmlns:xacro="http://ros.org/wiki/xacro"')
    assert Robot.from_urdf_text(leftover + "<!-- ${x} <xacro:if/> -->").joint_names == ("elbow",)


def test_files_that_are_not_urdf(tmp_path: Path) -> None:
    """A missing file, a folder, an empty, blank and binary file each give a one-line error."""
    (tmp_path / "empty.urdf").touch()
    (tmp_path / "blank.urdf").write_text(" \n")
    (tmp_path / "binary.urdf").write_bytes(bytes(range(256)))
    for name, expected in {
        "nowhere.urdf": "does not exist",
        "": "is a folder",
        "empty.urdf": "is empty",
        "blank.urdf": "is empty",
        "binary.urdf": "is not XML",
        "a\0b": "cannot be read",
        "empty.urdf/x.urdf": "cannot be read",
        "x" * 5000: "cannot be read",
    }.items():
        with pytest.raises(RobotError, match=expected) as caught:
            Robot.from_urdf(f"{tmp_path}/{name}")
        assert "\n" not in str(caught.value)


def test_file_is_named_in_messages(tmp_path: Path) -> None:
    """Errors inside a file state the file's name, and a robot has the path of its file."""
    path = tmp_path / "arm.urdf"
    path.write_text(two_links('<axis xyz="0 0 0"/>'))
    with pytest.raises(RobotError, match=r"arm\.urdf': joint 'elbow'"):
        Robot.from_urdf(path)
    path.write_text(two_links().replace(' name="r"', ""))
    robot = Robot.from_urdf(path)
    assert (robot.name, robot.source) == ("arm", str(path))


def test_the_bytes_of_the_file_are_recorded(tmp_path: Path) -> None:
    """Their SHA-256, or that of the text in UTF-8."""
    data = b"\xef\xbb\xbf" + two_links().encode() + b"\r\n"
    path = tmp_path / "arm.urdf"
    path.write_bytes(data)
    assert Robot.from_urdf(path).source_sha256 == hashlib.sha256(data).hexdigest()
    text = two_links().replace('name="r"', 'name="ä"')
    expected = hashlib.sha256(text.encode()).hexdigest()
    assert Robot.from_urdf_text(text).source_sha256 == expected
    assert Robot.from_urdf_text(text).lock({"elbow": 0.1}).source_sha256 == expected


def test_meshes_are_never_opened(tmp_path: Path) -> None:
    """Meshes are not opened: one that would block for ever does not."""
    import os

    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(tmp_path / "mesh.stl")
    path = tmp_path / "arm.urdf"
    mesh = f'<geometry><mesh filename="{tmp_path}/mesh.stl"/></geometry>'
    path.write_text(two_links(link=f"<visual>{mesh}</visual><collision>{mesh}</collision>"))
    assert Robot.from_urdf(path).joint_names == ("elbow",)
    with pytest.raises(RobotError, match="not a regular file"):
        Robot.from_urdf(tmp_path / "mesh.stl")


def test_other_encodings() -> None:
    """A file in UTF-16 or with a byte order mark is XML like any other."""
    text = two_links().replace("elbow", "ellenbögen")
    for data in (
        text.encode("utf-8-sig"),
        text.encode("utf-16"),
        ('<?xml version="1.0" encoding="latin-1"?>' + text).encode("latin-1"),
    ):
        assert Robot.from_urdf_text(data).joint_names == ("ellenbögen",)


def test_repeated_elements_are_noted_and_the_first_is_used() -> None:
    """Of repeated elements the first is used, as in urdfdom, with a note."""
    twice = INERTIAL.replace('"2"', '"7"')
    robot = Robot.from_urdf_text(two_links(link=INERTIAL + twice))
    assert robot.link("arm").inertial[0] == 2.0
    assert len(robot.notes) == 1
    assert "link 'arm' has 2 <inertial> elements" in robot.notes[0]
    assert Robot.from_urdf_text(two_links()).notes == ()


def test_dynamics_that_nothing_uses_are_noted():
    """Damping or friction of a moving joint is noted by joint; zeros and fixed joints are not."""
    one = '<robot name="r"><link name="a"/><link name="b"/><joint name="{0}" type="{1}">'
    rest = '<parent link="a"/><child link="b"/><dynamics {2}/></joint></robot>'

    def notes(kind: str, stated: str) -> tuple[str, ...]:
        return Robot.from_urdf_text((one + rest).format("elbow", kind, stated)).notes

    (note,) = notes("continuous", 'damping="0.0" friction="1.5"')
    assert "<dynamics> states damping or friction of elbow, which is not used" in note
    assert len(notes("continuous", 'damping="some"')) == 1
    assert notes("continuous", 'damping="0.0" friction="0"') == ()
    assert notes("fixed", 'damping="1.0"') == ()
