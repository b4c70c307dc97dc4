"""Solids for collision checks: their extents, hulls of meshes, and which mesh files are opened."""

from __future__ import annotations

import numpy as np
import pytest
from robot_files import example_urdfs
from stl_files import cube, write_stl

from steelyard.errors import RobotError
from steelyard.excitation.collision_shapes import (
    Shape,
    half_space,
    hull,
    mesh_hull,
    mesh_path,
    solid,
)
from steelyard.robot.formats.urdf_shapes import MeshReference, Primitive, collision_shapes


def reference(file: str, scale=(1.0, 1.0, 1.0)) -> MeshReference:
    """A mesh without an offset."""
    return MeshReference(file, np.array(scale), np.eye(4), 7)


def samples(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Random points of a bounded solid, its surface included."""
    half = 0.5 * shape.size
    if shape.kind == "box":
        return rng.uniform(-1, 1, (2000, 3)) * half
    if shape.kind == "sphere":
        x = rng.normal(size=(2000, 3))
        return half[0] * x / np.linalg.norm(x, axis=1, keepdims=True)
    if shape.kind == "cylinder":
        angle = rng.uniform(0, 2 * np.pi, 2000)
        height = rng.uniform(-1, 1, 2000) * half[2]
        return np.column_stack([half[0] * np.cos(angle), half[0] * np.sin(angle), height])
    return rng.dirichlet(np.ones(len(shape.points)), 2000) @ shape.points


def random_shapes(rng: np.random.Generator) -> list[Shape]:
    """One solid of every bounded kind."""
    x, z = rng.uniform(0.05, 0.5, 2)
    return [
        solid("a", Primitive("box", rng.uniform(0.05, 0.5, 3), np.eye(4))),
        solid("a", Primitive("cylinder", np.array([x, x, z]), np.eye(4))),
        solid("a", Primitive("sphere", np.full(3, x), np.eye(4))),
        hull("a", rng.normal(scale=0.1, size=(20, 3)), np.eye(4)),
    ]


def test_no_point_is_farther_than_the_farthest():
    """Along random directions no point of a solid exceeds its farthest, which is a point of it;
    the ball contains all, and so do the corners.
    """
    rng = np.random.default_rng(0)
    for _ in range(10):
        for shape in random_shapes(rng):
            points = samples(shape, rng)
            n = rng.normal(size=(50, 3))
            most = np.einsum("ni,ni->n", n, shape.farthest(n))
            reached = (n @ points.T).max(axis=1)
            assert (reached <= most + 1e-12).all()
            if shape.kind in ("sphere", "cylinder"):
                assert (reached > 0.9 * most).all()
            middle, radius = shape.ball
            assert (np.linalg.norm(points - middle, axis=1) <= radius).all()
            around = (n @ shape.corners.T).max(axis=1)
            around += shape.rounding * np.linalg.norm(n, axis=1)
            assert (around >= most - 1e-12).all()
            assert (around <= 1.02 * most).all() or shape.kind == "hull"


def test_hull_has_the_corners_of_its_mesh():
    """A hull has the extreme points and drops those inside; its faces point outwards."""
    rng = np.random.default_rng(1)
    corners = cube(0.2).reshape(-1, 3)
    pose = np.eye(4)
    pose[:3, 3] = [1.0, 2.0, 3.0]
    inside = rng.uniform(-0.09, 0.09, (50, 3))
    found = hull("arm", np.vstack([corners, inside]) + 0.5, pose)
    assert len(found.points) == 8
    np.testing.assert_allclose(found.pose[:3, 3], [1.5, 2.5, 3.5], atol=1e-12)
    np.testing.assert_allclose(np.abs(found.points), 0.1, atol=1e-12)
    a, b, c = (found.points[found.triangles[:, k]] for k in range(3))
    assert (np.einsum("ij,ij->i", np.cross(b - a, c - a), a) > 0.0).all()


def test_hulls_of_real_meshes_contain_them():
    """No vertex of xArm7's meshes is outside its hull by more than a nanometre."""
    coal = pytest.importorskip("coal")
    path = next(path for path in example_urdfs() if path.name == "xarm7.urdf")
    share = next(folder for folder in path.parents if folder.name == "share")
    rng = np.random.default_rng(2)
    n = rng.normal(size=(300, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    for link, shapes in collision_shapes(path).items():
        mesh = shapes[0]
        found = mesh_hull(link, mesh, path, [share])
        file = mesh_path(link, mesh, path, [share])
        vertices = np.array(coal.MeshLoader().load(str(file), mesh.scale).vertices())
        assert len(found.points) < len(vertices)
        offset = found.pose[:3, 3] - mesh.pose[:3, 3]
        most = np.einsum("ni,ni->n", n, found.farthest(n) + offset)
        np.testing.assert_allclose((n @ vertices.T).max(axis=1), most, rtol=0, atol=1e-9)


def test_hulls_with_many_corners_on_a_face():
    """A drum with 400 corners on each end has no corner with too many edges, and keeps its size;
    a cone with 400 corners is refused with the link named.
    """
    pytest.importorskip("coal")
    angle = 2 * np.pi * np.arange(400) / 400
    rim = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(400)])
    drum = hull("drum", np.vstack([rim, rim + np.array([0, 0, 0.5])]), np.eye(4))
    assert np.bincount(drum.triangles.ravel()).max() < 50
    rng = np.random.default_rng(3)
    n = rng.normal(size=(200, 3))
    most = np.hypot(n[:, 0], n[:, 1]) + 0.25 * np.abs(n[:, 2])
    found = np.einsum("ni,ni->n", n, drum.farthest(n))
    np.testing.assert_allclose(found, most, rtol=1e-4)
    assert drum.geometry.num_points == len(drum.points)
    with pytest.raises(RobotError, match="link 'cone': the hull of its mesh has a corner with 400"):
        hull("cone", np.vstack([rim, np.array([[0, 0, 1]])]), np.eye(4))


def test_flat_meshes_get_a_thin_hull():
    """A plate without thickness becomes a solid that contains it, 0.2 mm thick."""
    corners = cube(0.2).reshape(-1, 3) * [1, 1, 0]
    found = hull("plate", corners, np.eye(4))
    n = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert np.einsum("ni,ni->n", n, found.farthest(n)) == pytest.approx([1e-4, 0.1001])


def test_ground_is_below_its_height():
    """A half space has its surface at the height, and no ball around it."""
    ground = half_space("ground", 0.3)
    assert ground.pose[2, 3] == 0.3
    assert not ground.is_bounded
    assert ground.ball[1] == np.inf


def test_mesh_is_found_and_scaled(tmp_path):
    """Names relative to the URDF, package names and file addresses lead to the same hull."""
    pytest.importorskip("coal")
    urdf = tmp_path / "arm" / "robot.urdf"
    mesh = write_stl(tmp_path / "arm" / "meshes" / "link.stl", cube(0.5))
    names = ("meshes/link.stl", "package://arm/meshes/link.stl", f"file://{mesh}")
    for name in names:
        found = mesh_hull("upper", reference(name, (1.0, 2.0, -0.1)), urdf, [tmp_path])
        assert found.owner == "upper"
        np.testing.assert_allclose(np.abs(found.points).max(axis=0), [0.25, 0.5, 0.025], rtol=1e-6)
    inside = mesh_path(
        "upper", reference("package://arm/meshes/link.stl"), urdf, [tmp_path / "arm"]
    )
    assert inside == mesh.resolve()


def test_meshes_elsewhere_are_not_opened(tmp_path):
    """A mesh outside the folders is refused, by a path, an address or a symbolic link; the link,
    the file and the options are named.
    """
    secret = write_stl(tmp_path / "secret" / "link.stl", cube(0.5))
    urdf = tmp_path / "arm" / "robot.urdf"
    urdf.parent.mkdir()
    (urdf.parent / "alias.stl").symlink_to(secret)
    names = ("../secret/link.stl", str(secret), f"file://{secret}", "alias.stl")
    names += ("package://../secret/link.stl", "package://arm/../../secret/link.stl")
    for name in names:
        with pytest.raises(RobotError) as error:
            mesh_path("upper", reference(name), urdf, [urdf.parent])
        message = str(error.value)
        assert "link 'upper'" in message
        assert name.rsplit("/", 1)[-1] in message
        assert "--packages" in message
        assert "--no-collision" in message
        assert "outside the folder" in message or "does not exist" in message
    with pytest.raises(RobotError, match="outside the folder"):
        mesh_path("upper", reference("../secret/link.stl"), urdf, [])
    assert mesh_path("upper", reference("../secret/link.stl"), urdf, [tmp_path]) == secret.resolve()


def test_missing_and_broken_meshes_are_named(tmp_path):
    """A missing file, another format, another address and a broken file are each an error."""
    pytest.importorskip("coal")
    urdf = tmp_path / "robot.urdf"
    with pytest.raises(RobotError, match=r"link 'upper': its mesh 'a\.stl' does not exist"):
        mesh_hull("upper", reference("a.stl"), urdf, [])
    with pytest.raises(RobotError, match=r"'a\.step'; meshes that can be read are \.stl"):
        mesh_hull("upper", reference("a.step"), urdf, [])
    with pytest.raises(RobotError, match="is not a file"):
        mesh_hull("upper", reference("https://example.org/a.stl"), urdf, [])
    (tmp_path / "a.stl").write_bytes(b"solid nothing")
    with pytest.raises(RobotError, match=r"link 'upper': mesh .*a\.stl' (cannot be read|has no)"):
        mesh_hull("upper", reference("a.stl"), urdf, [])
