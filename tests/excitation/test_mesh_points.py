"""Points of mesh files: those that assimp reads, and clear errors for broken files."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from robot_files import example_urdfs
from stl_files import cube, write_stl

from steelyard.errors import MissingDependencyError, RobotError
from steelyard.excitation.mesh_points import load_coal, mesh_points


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
    """ASCII STL, OBJ and (through coal) PLY files give the corners of a cube."""
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
    pytest.importorskip("coal")
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
        ("a.stl", b"solid x\nvertex 1 2 three", "cannot be read"),
        ("a.obj", b"f 1 2 3", "has no points"),
        ("a.obj", b"v 1 2 nan\nv 1 2 3", "not finite"),
        ("a.dae", b"<COLLADA/>", "cannot be read|has no points"),
    ],
)
def test_broken_files_are_named(tmp_path, name, data, words):
    """A broken mesh is an error of one line with the link and the file."""
    pytest.importorskip("coal")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RobotError, match=rf"link 'upper': mesh .*{name}' .*({words})"):
        mesh_points(tmp_path / name, "upper")


def test_missing_library_is_named(monkeypatch):
    """Without coal the error names the extra."""
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(MissingDependencyError, match=r"steelyard\[collision\]"):
        load_coal()
