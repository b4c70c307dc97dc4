"""MJCF files against MuJoCo itself, and what is not passed to its compiler."""

from __future__ import annotations

import contextlib
import struct
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from poses import link_poses, random_positions
from robot_files import example_urdfs

from steelyard.errors import MissingDependencyError, RobotError
from steelyard.robot.inertia import to_com
from steelyard.robot.parts import Mimic
from steelyard.robot.robot import Robot

mujoco = pytest.importorskip("mujoco")

ARM = """
<mujoco model="arm">
  <compiler angle="degree" autolimits="true"/>
  <option gravity="1 2 -9"/>
  <default><geom density="700"/><default class="big"><joint damping="3" armature="2"/></default>
  </default>
  <asset><texture name="t" file="../../x.png" type="2d"/><material name="m" texture="t"/></asset>
  <worldbody>
    <light pos="0 0 3"/><geom type="plane" size="1 1 1" material="m"/>
    <body name="base" pos="0.1 0.2 0.3" euler="10 20 30">
      <geom type="box" size="0.1 0.2 0.3" material="m"/>
      <body name="upper" pos="0 0 0.4" quat="0.5 0.1 0.7 -0.2">
        <joint name="shoulder_x" class="big" axis="1 0 0.2" pos="0.1 0 0" ref="20" range="-90 45"/>
        <joint name="shoulder_y" axis="0 1 0" pos="0 0.3 0.1"/>
        <joint name="lift" type="slide" axis="0 0.3 1" ref="0.2" pos="1 2 3" range="-1 2"/>
        <inertial pos="0.1 0 0.2" mass="2" fullinertia="0.3 0.4 0.5 0.01 0.02 0.03"/>
        <geom type="mesh" mesh="absent"/>
        <frame pos="0 1 0" euler="0 0 45">
          <body name="fore" pos="0.3 0 0">
            <joint name="elbow" axis="0 0 1"/>
            <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0.1"/>
            <geom type="sphere" size="0.1" pos="0.3 0 0"/>
            <site name="tip"/><camera/>
          </body>
        </frame>
      </body>
      <body name="other" pos="0 1 0"><joint name="wheel"/><geom size="0.2" pos="0.1 0 0"/></body>
    </body>
  </worldbody>
  <sensor><jointpos joint="elbow"/></sensor>
  <keyframe><key qpos="0 0 0 0 0"/></keyframe>
  <contact><exclude body1="base" body2="upper"/></contact>
  <actuator>
    <motor joint="elbow" gear="50" ctrlrange="-2 1"/>
    <position joint="wheel" kp="100" forcerange="-3 4" gear="2"/>
    <motor joint="wheel" forcerange="-1 1" gear="-3"/>
    <motor joint="lift"/>
  </actuator>
</mujoco>
"""
BODY = (
    '<mujoco><worldbody><body name="b"><joint name="j"/><geom size="0.1"/></body></worldbody>'
    "{}</mujoco>"
)


def read_text(folder: Path, text: str) -> Robot:
    path = folder / "robot.xml"
    path.write_text(text)
    return Robot.from_mjcf(path)


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(RobotError) as caught:
        read_text(folder, text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def loadable(text: str) -> str:
    """The test's own texts without the files that they name but do not have."""
    root = ElementTree.fromstring(text)
    for asset in root.findall("asset"):
        root.remove(asset)
    for body in root.iter():
        for geom in body.findall("geom"):
            geom.attrib.pop("material", None)
            if "mesh" in geom.attrib:
                body.remove(geom)
    return ElementTree.tostring(root, encoding="unicode")


def compare(robot: Robot, model: object, rng: np.random.Generator) -> None:
    """Link poses at random positions and inertials of all bodies are MuJoCo's."""
    data = mujoco.MjData(model)
    for _ in range(5):
        positions = random_positions(robot, rng)
        T_world_root = np.eye(4)
        if robot.floating_base:
            quaternion = rng.normal(size=4)
            data.qpos[:7] = np.r_[rng.normal(size=3), quaternion / np.linalg.norm(quaternion)]
        for name, position in positions.items():
            data.qpos[model.joint(name).qposadr[0]] = position  # type: ignore[attr-defined]
        mujoco.mj_kinematics(model, data)
        if robot.floating_base:
            T_world_root[:3, :3] = data.body(robot.root).xmat.reshape(3, 3)
            T_world_root[:3, 3] = data.body(robot.root).xpos
        poses = link_poses(robot, positions)
        for link in robot.links:
            if link.name not in body_names(model):
                assert link.inertial is None
                continue
            body = data.body(link.name)
            T = T_world_root @ poses[link.name]
            assert np.abs(T[:3, :3] - body.xmat.reshape(3, 3)).max() < 1e-12, link.name
            assert np.abs(T[:3, 3] - body.xpos).max() < 1e-12 * max(1, np.abs(T).max()), link.name
            if link.inertial is None:
                assert model.body(link.name).mass[0] == 0.0  # type: ignore[attr-defined]
                continue
            mass, com, inertia_com = to_com(link.inertial)
            assert mass == pytest.approx(body_of(model, link.name).mass[0], rel=1e-13)
            assert T[:3, :3] @ com + T[:3, 3] == pytest.approx(body.xipos, abs=1e-10)
            principal = body.ximat.reshape(3, 3)
            theirs = principal @ np.diag(body_of(model, link.name).inertia) @ principal.T
            ours = T[:3, :3] @ inertia_com @ T[:3, :3].T
            assert np.abs(ours - theirs).max() < 1e-10 * max(1.0, np.abs(theirs).max())


def body_names(model: object) -> set[str]:
    return {model.body(i).name for i in range(model.nbody)}  # type: ignore[attr-defined]


def body_of(model: object, name: str) -> object:
    return model.body(name)  # type: ignore[attr-defined]


def test_arm_is_mujocos(tmp_path: Path) -> None:
    """Joints off their body's origin, several on one body, references and frames are MuJoCo's."""
    robot = read_text(tmp_path, ARM)
    compare(robot, mujoco.MjModel.from_xml_string(loadable(ARM)), np.random.default_rng(0))
    assert robot.name == "arm"
    assert robot.root == "world"
    assert robot.gravity.tolist() == [1.0, 2.0, -9.0]
    assert robot.joint_names == ("shoulder_x", "shoulder_y", "lift", "elbow", "wheel")
    assert robot.joint("base_fixed").kind == "fixed"
    assert [link.name for link in robot.links if "upper" in link.name] == [
        "upper_shoulder_x",
        "upper_shoulder_y",
        "upper",
    ]


def random_mjcf(rng: np.random.Generator) -> str:
    """A random tree with zero to three hinges and slides on a body, perhaps on a free trunk."""

    def vector(n: int) -> str:
        return " ".join(repr(float(x)) for x in rng.normal(size=n))

    n_bodies = int(rng.integers(1, 9))
    bodies = [ElementTree.Element("worldbody")]
    free = rng.random() < 0.5
    for i in range(n_bodies):
        parent = bodies[min(i, 1)] if free and i < 2 else bodies[rng.integers(free, len(bodies))]
        body = ElementTree.SubElement(parent, "body", name=f"b{i}", pos=vector(3), quat=vector(4))
        bodies.append(body)
        if free and i == 0:
            ElementTree.SubElement(body, "freejoint")
        for k in range(0 if free and i == 0 else int(rng.integers(0, 4))):
            ElementTree.SubElement(
                body,
                "joint",
                name=f"j{i}{k}",
                type=str(rng.choice(["hinge", "slide"])),
                pos=vector(3),
                axis=vector(3),
                ref=vector(1),
            )
        if rng.random() < 0.5:
            a, b = rng.uniform(0.1, 1.0, 2).tolist()
            c = float(rng.uniform(abs(a - b), a + b))
            ElementTree.SubElement(
                body,
                "inertial",
                pos=vector(3),
                quat=vector(4),
                mass=repr(float(rng.uniform(0.1, 9.0))),
                diaginertia=f"{a!r} {b!r} {c!r}",
            )
        ElementTree.SubElement(body, "geom", type="box", size="0.1 0.2 0.3", pos=vector(3))
    root = ElementTree.Element("mujoco")
    ElementTree.SubElement(root, "compiler", angle="radian")
    root.append(bodies[0])
    return ElementTree.tostring(root, encoding="unicode")


def test_random_trees(tmp_path: Path) -> None:
    """Poses and inertials of 100 random trees are MuJoCo's."""
    n_joints = n_floating = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        text = random_mjcf(rng)
        robot = read_text(tmp_path, text)
        compare(robot, mujoco.MjModel.from_xml_string(text), rng)
        n_joints += len(robot.joint_names)
        n_floating += robot.floating_base
    assert n_joints > 200
    assert 20 < n_floating < 80


def test_limits(tmp_path: Path) -> None:
    """Ranges become position limits, and the actuators of a joint its effort limit."""
    robot = read_text(tmp_path, ARM)
    shoulder = robot.joint("shoulder_x")
    assert (shoulder.limits.lower, shoulder.limits.upper) == pytest.approx((-np.pi / 2, np.pi / 4))
    assert shoulder.kind == "revolute"
    assert robot.joint("elbow").kind == "continuous"
    assert robot.joint("elbow").limits.lower is None
    assert robot.joint("elbow").limits.effort == 100.0
    assert robot.joint("wheel").limits.effort == 2 * 4 + 3 * 1
    assert robot.joint("lift").limits.effort is None
    assert (robot.joint("lift").limits.lower, robot.joint("lift").limits.upper) == (-1.0, 2.0)
    capped = BODY.format('<actuator><motor joint="j" ctrlrange="-9 9" gear="2"/></actuator>')
    capped = capped.replace('name="j"', 'name="j" actuatorfrcrange="-5 7"')
    assert read_text(tmp_path, capped).joint("j").limits.effort == 7.0


def test_floating_base(tmp_path: Path) -> None:
    """A free joint at the root makes a floating base; bodies fixed to the world are left out."""
    text = """<mujoco><worldbody><body name="table"><geom size="1"/></body>
    <body name="trunk" pos="1 2 3"><freejoint/><geom size="0.2"/>
    <body name="leg" pos="0.1 0 0"><joint name="hip" axis="0 1 0" pos="0 0 0.1"/>
    <geom type="capsule" size="0.1" fromto="0 0 0 0 0 -1"/></body></body></worldbody></mujoco>"""
    robot = read_text(tmp_path, text)
    assert robot.floating_base
    assert robot.root == "trunk"
    assert robot.joint_names == ("hip",)
    compare(robot, mujoco.MjModel.from_xml_string(text), np.random.default_rng(1))
    two = text.replace('<body name="table">', '<body name="ball"><freejoint/>')
    assert "bodies ball, trunk move independently" in refusal(tmp_path, two)
    arm = text.replace('<body name="table">', '<body name="arm"><joint/>')
    assert "bodies arm, trunk move independently" in refusal(tmp_path, arm)


def test_real_robots(tmp_path: Path) -> None:
    """Robots of example-robot-data, converted to MJCF by MuJoCo, have its poses."""
    names = (
        "ur5_robot",
        "anymal",
        "talos_left_arm",
        "kinova",
        "hyq_no_sensors",
        "allegro_left_hand",
    )
    n_robots = 0
    for file in example_urdfs():
        if file.stem not in names:
            continue
        # MuJoCo opens meshes, drops names of fused links, and refuses unphysical links.
        root = ElementTree.parse(file).getroot()
        for link in root.iter("link"):
            for tag in ("visual", "collision"):
                for shape in link.findall(tag):
                    link.remove(shape)
        compiler = ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler")
        compiler.attrib.update(
            fusestatic="false", balanceinertia="true", boundmass="0.01", boundinertia="0.01"
        )
        urdf = ElementTree.tostring(root, encoding="unicode")
        spec = mujoco.MjSpec.from_string(urdf)
        spec.compile()
        text = spec.to_xml()
        robot = read_text(tmp_path, text)
        compare(robot, mujoco.MjModel.from_xml_string(text), np.random.default_rng(2))
        assert set(robot.joint_names) == set(Robot.from_urdf_text(urdf, mimics=False).joint_names)
        n_robots += 1
    assert n_robots >= 6


def test_joint_equalities(tmp_path: Path) -> None:
    """A linear equality makes a mimic, one on a single joint locks it, as in MuJoCo."""
    text = """<mujoco><compiler angle="radian"/><worldbody>
    <body name="a"><joint name="x" ref="0.3"/><geom size="0.1"/></body>
    <body name="b"><joint name="y" ref="0.7"/><geom size="0.1"/></body>
    <body name="c"><joint name="z" ref="0.2"/><geom size="0.1"/></body></worldbody>
    <equality><joint joint1="y" joint2="x" polycoef="0.1 2 0 0 0"/>
    <joint joint1="z" polycoef="0.5 0 0 0 0"/></equality></mujoco>"""
    robot = read_text(tmp_path, text)
    assert robot.joint_names == ("x",)
    mimic = robot.joint("y").mimic
    assert mimic is not None
    q = 1.1
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = q, mimic.multiplier * q + mimic.offset, 0.2 + 0.5
    mujoco.mj_forward(model, data)
    assert data.ne == 2
    assert np.abs(data.efc_pos[:2]).max() < 1e-14  # MuJoCo finds that both equalities hold
    for name, T in link_poses(robot, {"x": q}).items():
        assert np.abs(T[:3, :3] - data.body(name).xmat.reshape(3, 3)).max() < 1e-14
    assert mimic == Mimic("x", 2.0, pytest.approx(0.7 + 0.1 - 2 * 0.3))
    bent = refusal(tmp_path, text.replace("0.1 2 0 0 0", "0.1 2 1 0 0"))
    assert "joint 'y' follows 'x' by a polynomial" in bent
    inactive = text.replace("<joint joint1", '<joint active="false" joint1')
    assert read_text(tmp_path, inactive).joint_names == ("x", "y", "z")


def test_gravity_switched_off(tmp_path: Path) -> None:
    """A file that disables gravity has none."""
    robot = read_text(tmp_path, BODY.format('<option><flag gravity="disable"/></option>'))
    assert robot.gravity.tolist() == [0.0, 0.0, 0.0]


def test_nameless_bodies_and_joints(tmp_path: Path) -> None:
    """Bodies and joints without a name get a number."""
    robot = read_text(tmp_path, BODY.replace(' name="b"', "").replace(' name="j"', "").format(""))
    assert [link.name for link in robot.links] == ["world", "body_1"]
    assert robot.joint_names == ("joint_0",)


def tetrahedron() -> bytes:
    """A binary STL of the corner (0,0,0), (1,0,0), (0,1,0), (0,0,1): volume 1/6 m³."""
    corners = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    data = bytes(80) + struct.pack("<I", len(faces))
    for face in faces:
        data += struct.pack("<3f", 0, 0, 0)
        data += b"".join(struct.pack("<3f", *corners[i]) for i in face) + bytes(2)
    return data


MESH = """<mujoco>{}<asset><mesh file="{}"/></asset><worldbody><body name="b"><joint/>
<geom type="mesh" mesh="corner"/></body></worldbody></mujoco>"""


def test_mass_from_a_mesh(tmp_path: Path) -> None:
    """A mesh beside the file gives its mass; compiler directories and strippath are honoured."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "corner.stl").write_bytes(tetrahedron())
    for compiler, file in (
        ("", "parts/corner.stl"),
        ('<compiler meshdir="parts"/>', "corner.stl"),
        ('<compiler assetdir="parts" strippath="true"/>', "/elsewhere/corner.stl"),
        ("", f"{tmp_path}/parts/corner.stl"),
    ):
        inertial = read_text(tmp_path, MESH.format(compiler, file)).link("b").inertial
        assert inertial is not None
        mass, com, _ = to_com(inertial)
        assert mass == pytest.approx(1000 / 6)
        assert com == pytest.approx([0.25, 0.25, 0.25])


def test_meshes_outside_are_not_opened(tmp_path: Path) -> None:
    """A mesh outside the file's folder, also through a link, is refused with its name."""
    inside = tmp_path / "robot"
    inside.mkdir()
    (tmp_path / "corner.stl").write_bytes(tetrahedron())
    assert "mesh 'corner' is in" in refusal(inside, MESH.format("", "../corner.stl"))
    assert "outside the folder" in refusal(inside, MESH.format("", f"{tmp_path}/corner.stl"))
    up = '<compiler meshdir=".."/>'
    assert "outside the folder" in refusal(inside, MESH.format(up, "corner.stl"))
    try:
        (inside / "corner.stl").symlink_to(tmp_path / "corner.stl")
    except OSError:
        pytest.skip("this system has no symbolic links")
    assert "outside the folder" in refusal(inside, MESH.format("", "corner.stl"))
    assert "does not exist" in refusal(inside, MESH.format("", "sub/corner.stl"))
    assert "supported formats are" in refusal(inside, MESH.format("", "/etc/corner.passwd"))


def test_stated_inertials_need_no_mesh(tmp_path: Path) -> None:
    """Meshes of a body with an inertial are not opened, unless inertiafromgeom is "true"."""
    stated = MESH.replace(
        "<joint/>", '<joint/><inertial mass="3" pos="0 0 0" diaginertia="1 1 1"/>'
    )
    inertial = read_text(tmp_path, stated.format("", "nowhere/corner.stl")).link("b").inertial
    assert inertial is not None
    assert inertial[0] == 3.0
    insist = '<compiler inertiafromgeom="true"/>'
    assert "mesh 'corner'" in refusal(tmp_path, stated.format(insist, "nowhere/corner.stl"))


def test_height_fields_are_left_out(tmp_path: Path) -> None:
    """Terrain that needs a file has no mass and is not read."""
    terrain = '<asset><hfield name="h" file="/nowhere.png" size="1 1 1 1"/></asset>'
    text = BODY.format(terrain).replace(
        "<worldbody>", '<worldbody><geom type="hfield" hfield="h"/>'
    )
    assert read_text(tmp_path, text).joint_names == ("j",)


INCLUDE = '<include file="other.xml"/>'
REFUSED = {
    "<include> in line 1 names another file": BODY.format(INCLUDE),
    "plugins are not loaded": BODY.format('<extension><plugin plugin="x"/></extension>'),
    "<replicate> in line 1 cannot be read inside <worldbody>": BODY.format("").replace(
        "<worldbody>", '<worldbody><replicate count="1000000000"><body/></replicate>'
    ),
    "<composite> in line 1": BODY.format("").replace("<geom", "<composite/><geom"),
    "<flexcomp> in line 1": BODY.format("").replace("<geom", "<flexcomp/><geom"),
    "<attach> in line 1": BODY.format("").replace("<geom", '<attach model="m"/><geom'),
    "<model> in line 1": BODY.format('<asset><model file="other.xml"/></asset>'),
    "<deformable> in line 1": BODY.format("<deformable/>"),
    "joint 'j' is a ball joint": BODY.format("").replace('name="j"', 'name="j" type="ball"'),
    "equality <connect> 'loop' in line 1 closes a loop": BODY.format(
        '<equality><connect name="loop" body1="b" anchor="0 0 0"/></equality>'
    ),
    "equality <weld> in line 1": BODY.format('<equality><weld body1="b"/></equality>'),
    "has axis='0 0 nan'; numbers must be finite": BODY.format("").replace(
        'name="j"', 'name="j" axis="0 0 nan"'
    ),
    "<geom> in line 1 has mass='inf'": BODY.format("").replace("<geom", '<geom mass="inf"'),
    "MuJoCo cannot compile": BODY.format("").replace('name="j"', 'name="j" axis="0 0 0"'),
    "its mass or inertia is not finite": BODY.format("").replace('size="0.1"', 'size="1e200"'),
    "a body has the name 'a\\nb'": BODY.format("").replace('name="b"', 'name="a&#10;b"'),
    "read it as URDF": "<robot/>",
    "is not XML": "<mujoco>",
    "document type declarations": '<!DOCTYPE x [<!ENTITY e "x">]><mujoco model="&e;"/>',
    "nested deeper than": "<mujoco><worldbody>" + "<body>" * 200_000,
    "built in": BODY.format('<asset><mesh name="s" builtin="sphere" params="9"/></asset>').replace(
        "<geom", '<geom type="mesh" mesh="s"/><geom'
    ),
}


@pytest.mark.parametrize("expected", REFUSED)
def test_refusals(expected: str, tmp_path: Path) -> None:
    """References to other files, and anything but a tree of hinges and slides, are refused."""
    assert expected in refusal(tmp_path, REFUSED[expected])


def test_included_file_is_not_read(tmp_path: Path) -> None:
    """An include is refused even where the file exists and is harmless."""
    (tmp_path / "other.xml").write_text("<mujoco/>")
    assert "is not followed" in refusal(tmp_path, BODY.format(INCLUDE))


def test_messages_keep_the_files_lines(tmp_path: Path) -> None:
    """MuJoCo's error names the line in the user's file, not in the rewritten source."""
    text = "<mujoco>\n<visual>\n\n</visual>\n<worldbody>\n<body>\n<joint\n axis='0 0 x'/>\n"
    assert "line 7" in refusal(tmp_path, text + "<geom size='1'/></body></worldbody></mujoco>")


def test_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where MuJoCo would warn, nothing is printed or logged, and the user's handler stays."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    # Two hinges on one axis: the inertia matrix is singular, and MuJoCo warns.
    collinear = BODY.format("").replace("<joint", '<joint name="i"/><joint')
    for text in (ARM, collinear, REFUSED["has axis='0 0 nan'; numbers must be finite"]):
        with contextlib.suppress(RobotError):
            read_text(tmp_path, text)
    assert list(folder.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    warnings: list[str] = []
    handler = warnings.append
    mujoco.set_mju_user_warning(handler)
    try:
        read_text(tmp_path, collinear)
        assert mujoco.get_mju_user_warning() is handler
        assert warnings == []
    finally:
        mujoco.set_mju_user_warning(None)


def test_mujoco_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without MuJoCo the message says what to install."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'steelyard\[mujoco\]'"):
        read_text(tmp_path, BODY.format(""))


def test_dynamics_that_nothing_uses_are_noted(tmp_path):
    """Armature, damping, friction loss and springs of joints are noted by joint, zeros are not."""
    body = "<body><joint name='{0}' {1}/><geom size='.1' mass='1'/>{2}</body>"
    inner = body.format("elbow", "damping='2' frictionloss='0.3'", "")
    path = tmp_path / "arm.xml"
    path.write_text(
        "<mujoco><worldbody>"
        + body.format("shoulder", "armature='0.1' damping='1'", inner)
        + "</worldbody></mujoco>"
    )
    (note,) = Robot.from_mjcf(path).notes
    assert "armature of shoulder; damping of shoulder, elbow; frictionloss of elbow" in note
    path.write_text(
        "<mujoco><worldbody>" + body.format("shoulder", "", "") + "</worldbody></mujoco>"
    )
    assert Robot.from_mjcf(path).notes == ()
