"""Points of mesh files: those that assimp reads, and clear errors for broken files."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hostile_meshes import GEOMETRY, MESHES, ball, collada, ply, stl, write_robot
from robot_files import example_urdfs
from stl_files import cube, write_stl

from steelyard.errors import MissingDependencyError, RobotError
from steelyard.excitation.collision import collision
from steelyard.excitation.collision.collision import collision_model
from steelyard.excitation.collision.mesh_points import load_coal, mesh_points
from steelyard.robot.robot import Robot


def as_rows(points: np.ndarray) -> set[tuple[float, ...]]:
    return set(map(tuple, np.round(points, 6).tolist()))


def test_points_are_those_of_assimp():
    """Binary STL files of example-robot-data have the points that coal reads through assimp."""
    coal = pytest.importorskip("coal")
    share = next(folder for folder in example_urdfs()[0].parents if folder.name == "share")
    robots = share / "example-robot-data" / "robots"
    names = ("panda_description/meshes/collision", "ur_description/meshes/ur5/collision")
    files = [file for name in names for file in sorted((robots / name).glob("*.stl"))]
    assert len(files) > 12
    for file in files:
        truth = np.array(coal.MeshLoader().load(str(file), np.ones(3)).vertices())
        assert as_rows(mesh_points(file, "arm")) == as_rows(truth)


def test_text_formats(tmp_path):
    """ASCII STL, OBJ and PLY files give the corners of a cube."""
    corners = as_rows(cube(0.5).reshape(-1, 3))
    binary = write_stl(tmp_path / "a.stl", cube(0.5))
    assert as_rows(mesh_points(binary, "arm")) == corners
    text = "solid cube\n"
    for triangle in cube(0.5):
        text += "facet normal 0 0 0\nouter loop\n"
        text += "".join(f"  vertex {x} {y} {z:e}\n" for x, y, z in triangle)
        text += "endloop\nendfacet\n"
    (tmp_path / "b.STL").write_text(text + "endsolid cube\n")
    assert as_rows(mesh_points(tmp_path / "b.STL", "arm")) == corners
    lines = ["mtllib ../secret.mtl", "vn 9 9 9", "vt 8 8"]
    lines += [f"v {x} {y} {z} 1.0" for x, y, z in corners]
    (tmp_path / "c.obj").write_text("\n".join([*lines, "f 1 2 3"]))
    assert as_rows(mesh_points(tmp_path / "c.obj", "arm")) == corners
    header = "ply\nformat ascii 1.0\nelement vertex 8\n"
    header += "".join(f"property float {axis}\n" for axis in "xyz")
    header += "element face 6\nproperty list uchar int vertex_indices\nend_header\n"
    rows = "".join(f"{x} {y} {z}\n" for x, y, z in sorted(corners))
    faces = "".join(f"3 {k} {k + 1} {k + 2}\n" for k in range(6))
    (tmp_path / "d.ply").write_text(header + rows + faces)
    assert as_rows(mesh_points(tmp_path / "d.ply", "arm")) == corners


def test_a_binary_file_may_begin_with_solid(tmp_path):
    """Many programs begin binary STL files with the word that marks text."""
    path = write_stl(tmp_path / "a.stl", cube(0.5))
    path.write_bytes(b"solid made by a program".ljust(80) + path.read_bytes()[80:])
    assert as_rows(mesh_points(path, "arm")) == as_rows(cube(0.5).reshape(-1, 3))


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.stl", b"solid nothing", "has no points"),
        ("a.stl", b"\0" * 80 + b"\5\0\0\0" + b"\0" * 60, "5 triangles need 334"),
        ("a.stl", b"", "cannot be read: it has 0 bytes"),
        ("a.stl", b"solid x\nvertex 1 2 three", "is not a number"),
        ("a.obj", b"f 1 2 3", "has no points"),
        ("a.obj", b"v 1 2 nan\nv 1 2 3", "not finite"),
        ("a.dae", b"<COLLADA/>", "has no scene"),
        ("a.dae", b"<robot/>", "not <COLLADA>"),
    ],
)
def test_broken_files_are_named(tmp_path, name, data, words):
    """A broken mesh is an error of one line with the link and the file."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RobotError, match=rf"link 'upper': mesh .*{name}' .*({words})"):
        mesh_points(tmp_path / name, "upper")


def test_missing_library_is_named(monkeypatch):
    """Without coal the error names the extra."""
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(MissingDependencyError, match=r"steelyard\[collision\]"):
        load_coal()


@pytest.mark.parametrize("order", ["little", "big"])
def test_binary_ply(tmp_path, order):
    """Numbers of other types and names may stand between the coordinates."""
    points = np.random.default_rng(1).normal(size=(20, 3))
    kinds = [("red", "u1"), ("z", "f8"), ("x", "f4"), ("y", "f8"), ("flag", "i2")]
    mark = "<" if order == "little" else ">"
    rows = np.zeros(20, [(name, mark + kind) for name, kind in kinds])
    for axis, name in enumerate("xyz"):
        rows[name] = points[:, axis]
    words = {"u1": "uchar", "f8": "double", "f4": "float", "i2": "int16"}
    fields = "".join(f"property {words[kind]} {name}\n" for name, kind in kinds)
    data = ply(20, fields, rows.tobytes() + b"\3faces", f"binary_{order}_endian")
    (tmp_path / "a.ply").write_bytes(data)
    assert np.allclose(mesh_points(tmp_path / "a.ply", "arm"), points, atol=1e-6)


def test_collada_files_of_robots_are_read_as_assimp_does():
    """Nodes, several geometries, and points that no face uses: the same boxes around the points."""
    coal = pytest.importorskip("coal")
    share = next(folder for folder in example_urdfs()[0].parents if folder.name == "share")
    robots = share / "example-robot-data" / "robots"
    names = ("tiago_description/meshes/torso", "ur_description/meshes/ur5/visual")
    names += ("z1_description/meshes/visual", "kinova_description/meshes")
    files = [file for name in names for file in sorted((robots / name).glob("*.dae"))]
    assert len(files) > 30
    for file in files:
        truth = np.array(coal.MeshLoader().load(str(file), np.ones(3)).vertices())
        found = mesh_points(file, "arm")
        size = np.ptp(truth, axis=0).max()
        for end in (np.min, np.max):
            assert np.allclose(end(found, axis=0), end(truth, axis=0), atol=1e-5 * size), file


def test_a_collada_scene_places_its_geometries(tmp_path):
    """Transforms in their order, nodes in nodes and from the library, as coal has them."""
    coal = pytest.importorskip("coal")
    moved = "<translate>10 0 0</translate><rotate>0 0 1 90</rotate><scale>2 3 4</scale>"
    inner = f"<node><matrix>1 0 0 5 0 1 0 6 0 0 1 7 0 0 0 1</matrix>{GEOMETRY}</node>"
    scene = f'<node>{moved}{GEOMETRY}{inner}<instance_node url="#n"/></node>'
    data = collada(nodes=f'<node id="n"><translate>0 0 9</translate>{GEOMETRY}</node>', scene=scene)
    (tmp_path / "a.dae").write_bytes(data)
    truth = np.array(coal.MeshLoader().load(str(tmp_path / "a.dae"), np.ones(3)).vertices())
    found = mesh_points(tmp_path / "a.dae", "arm")
    assert len(found) == len(truth) == 12
    order = [np.lexsort(np.round(points, 3).T) for points in (found, truth)]
    assert np.allclose(found[order[0]], truth[order[1]], atol=1e-5)


@pytest.mark.parametrize("what", MESHES)
def test_meshes_of_an_attacker(tmp_path, what):
    """Each is refused by name, before a library sees it; no process ends, nothing fills memory."""
    name, make, words = MESHES[what]
    urdf = write_robot(tmp_path, name, make())
    with pytest.raises(RobotError, match=rf"(?s)link 'arm':.*{words}") as refused:
        collision_model(urdf, Robot.from_urdf(urdf))
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("name", ["a.stl", "a.obj", "a.dae", "a.ply"])
def test_files_beyond_the_limit_are_not_read(tmp_path, name):
    """65 MiB that take no room on the disk."""
    with pytest.raises(RobotError, match="is larger than 64 MiB, the limit"):
        mesh_points(write_robot(tmp_path, name, None).with_name(name), "arm")


@pytest.mark.parametrize("scale", ["1e300 1 1", "1e308 1e308 1e308", "1e9 1 1"])
def test_a_scale_beyond_any_robot(tmp_path, scale):
    """It is a number of the URDF, and the message names its line."""
    urdf = write_robot(tmp_path, "a.stl", stl(ball(300)), scale)
    with pytest.raises(RobotError, match=r"reaches .* m from its origin.*line 1 of the URDF"):
        collision_model(urdf, Robot.from_urdf(urdf))


def test_meshes_of_a_robot_are_limited_together(tmp_path, monkeypatch):
    """Many links may name one file."""
    urdf = write_robot(tmp_path, "a.stl", stl(ball(300)))
    own = urdf.read_text()
    start, end = own.index("<collision>"), own.index("</collision>") + len("</collision>")
    urdf.write_text(own[:end] + own[start:end] * 2 + own[end:])
    robot = Robot.from_urdf(urdf)
    for limit, value in (("MAX_MESHES_BYTES", 12_000), ("MAX_HULLS_CORNERS", 700)):
        with monkeypatch.context() as patch:
            patch.setattr(collision, limit, value)
            with pytest.raises(RobotError, match=r"its meshes.* together, the limit"):
                collision_model(urdf, robot)
