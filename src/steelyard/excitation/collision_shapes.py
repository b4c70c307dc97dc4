"""Convex solids for collision checks: primitives, convex hulls of meshes, and the ground.

A mesh is replaced by its convex hull, which contains it: distances are never overestimated. Mesh
files are opened only inside the folder of the URDF and inside the package folders that the user
names, whatever path the URDF writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RobotError, listed, shown, shown_path
from steelyard.excitation.mesh_points import MESH_FORMATS, load_coal, mesh_points
from steelyard.robot.formats.urdf_shapes import MeshReference, Primitive

Array = NDArray[np.float64]
ShapeKind = Literal["box", "cylinder", "sphere", "hull", "half_space"]

RIM = 24
"""Corners of the polygon around a cylinder, where points must contain it."""
FLAT_M = 1e-4
"""Half the thickness (m) that a flat mesh is given, so that it has a hull."""
MOST_NEIGHBOURS = 255
"""Edges that coal allows at a corner of a hull."""
REMEDY = "name its folder with --packages FOLDER, or leave collisions out with --no-collision"


@dataclass(frozen=True, eq=False)
class Shape:
    """A convex solid that moves with a link, or an obstacle.

    owner : name of the link or the obstacle. pose : (4, 4) in the owner's frame; the solid's own
    frame has its origin in its middle and, for a half space, its surface at z = 0.
    size : (3,) edges of a box; diameter, diameter, length of a cylinder along z; diameters of a
    sphere (m). points : (n, 3) corners of a hull in its own frame (m).
    triangles : (n, 3) indices of the corners of its faces.
    """

    owner: str
    kind: ShapeKind
    pose: Array
    size: Array
    points: Array
    triangles: NDArray[np.int64]

    @cached_property
    def corners(self) -> Array:
        """Points (n, 3) in its own frame whose convex hull, widened by `rounding`, contains it."""
        half = 0.5 * self.size
        if self.kind == "box":
            signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            return np.asarray(signs * half)
        if self.kind == "cylinder":
            angle = 2.0 * np.pi * np.arange(RIM) / RIM
            radius = half[0] / np.cos(np.pi / RIM)
            rim = radius * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(RIM)])
            up = np.array([0.0, 0.0, half[2]])
            return np.vstack([rim - up, rim + up])
        if self.kind == "sphere":
            return np.zeros((1, 3))
        return self.points

    @property
    def rounding(self) -> float:
        """The radius of a sphere; 0 for every other solid (m)."""
        return 0.5 * float(self.size[0]) if self.kind == "sphere" else 0.0

    @property
    def is_bounded(self) -> bool:
        """Whether it is not a half space."""
        return self.kind != "half_space"

    @cached_property
    def ball(self) -> tuple[Array, float]:
        """Middle (3,) in its own frame and radius (m) of a ball that contains it."""
        if not self.is_bounded:
            return np.zeros(3), np.inf
        middle = 0.5 * (self.corners.min(axis=0) + self.corners.max(axis=0))
        radius = np.linalg.norm(self.corners - middle, axis=1).max() + self.rounding
        return middle, float(radius) * (1.0 + 1e-12)

    def farthest(self, directions: Array) -> Array:
        """Points x (n, 3) of the solid with the largest n·x, for directions n (n, 3); all in its
        own frame. A half space has one only upwards, where it is the origin.
        """
        half = 0.5 * self.size
        if self.kind == "box":
            return np.where(directions < 0.0, -half, half)
        if self.kind == "sphere":
            return np.asarray(half[0] * _unit(directions))
        if self.kind == "cylinder":
            across = _unit(directions * np.array([1.0, 1.0, 0.0]))
            ends = np.where(directions[:, 2] < 0.0, -half[2], half[2])
            return np.asarray(half[0] * across + ends[:, None] * np.array([0.0, 0.0, 1.0]))
        if self.kind == "hull":
            return np.asarray(self.points[(directions @ self.points.T).argmax(axis=1)])
        return np.zeros_like(directions)

    @cached_property
    def geometry(self) -> Any:
        """The solid as coal takes it; a half space needs none."""
        coal = load_coal()
        half = 0.5 * self.size
        if self.kind == "box":
            return coal.Box(*self.size)
        if self.kind == "sphere":
            return coal.Sphere(half[0])
        if self.kind == "cylinder":
            return coal.Cylinder(half[0], self.size[2])
        points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for point in self.points:
            points.append(point)
        for triangle in self.triangles.tolist():
            triangles.append(coal.Triangle(*triangle))
        return coal.Convex(points, triangles)

    def __getstate__(self) -> dict[str, Any]:
        """Without the object of coal, which is made again where it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "geometry"}


def _unit(vectors: Array) -> Array:
    size = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(size > 0.0, size, 1.0))


def solid(owner: str, primitive: Primitive) -> Shape:
    """The shape of a box, cylinder or sphere."""
    return Shape(owner, primitive.kind, primitive.pose, primitive.size, *_NO_CORNERS)


def half_space(owner: str, height_m: float) -> Shape:
    """Everything below z = height_m (m)."""
    pose = np.eye(4)
    pose[2, 3] = height_m
    return Shape(owner, "half_space", pose, np.zeros(3), *_NO_CORNERS)


_NO_CORNERS = (np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))


def mesh_hull(owner: str, mesh: MeshReference, urdf: Path, packages: Sequence[Path]) -> Shape:
    """The convex hull of a mesh that a URDF names; see `mesh_path` for which files are opened."""
    path = mesh_path(owner, mesh, urdf, packages)
    return hull(owner, mesh_points(path, owner) * mesh.scale, mesh.pose)


def hull(owner: str, vertices: Array, pose: Array) -> Shape:
    """The convex hull of points (n, 3), given in the frame that ``pose`` (4, 4) places."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        found = ConvexHull(vertices)
    except QhullError:
        # flat, or a line: a thin solid around it has a hull, and contains it
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        vertices = (vertices[:, None] + FLAT_M * signs).reshape(-1, 3)
        found = ConvexHull(vertices)
    if _most_neighbours(found.simplices) > MOST_NEIGHBOURS:
        # a flat face was cut into triangles that share a corner: moving points by about 1e-12 of
        # the size cuts it otherwise
        found = ConvexHull(vertices, qhull_options="QJ")
        most = _most_neighbours(found.simplices)
        if most > MOST_NEIGHBOURS:
            raise RobotError(
                f"link {shown(owner)}: the hull of its mesh has a corner with {most} edges, and "
                f"coal takes {MOST_NEIGHBOURS}; use a mesh with fewer points"
            )
    number = np.full(len(vertices), -1)
    number[found.vertices] = np.arange(len(found.vertices))
    points = vertices[found.vertices]
    triangles = number[found.simplices]
    a, b, c = (points[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward][:, [0, 2, 1]]
    # moved to the middle, so that the ball around the hull is small
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    moved = pose.copy()
    moved[:3, 3] += pose[:3, :3] @ middle
    return Shape(owner, "hull", moved, np.zeros(3), points - middle, triangles)


def _most_neighbours(triangles: NDArray[np.int64]) -> int:
    """The largest number of edges at a corner; a closed surface has one triangle for each."""
    return int(np.bincount(triangles.ravel()).max())


def mesh_path(owner: str, mesh: MeshReference, urdf: Path, packages: Sequence[Path]) -> Path:
    """The file that a URDF means by a mesh's name.

    package://NAME/REST is NAME/REST in a package folder, or REST in a package folder called NAME.
    Other names are relative to the folder of the URDF. A file outside of these folders is refused.
    """
    link = f"link {shown(owner)}"
    if Path(mesh.file).suffix.lower() not in MESH_FORMATS:
        raise RobotError(
            f"{link}: its mesh in line {mesh.line} is {shown_path(mesh.file)}; meshes that can be "
            f"read are {listed(MESH_FORMATS)}"
        )
    home = urdf.resolve().parent
    folders = [home, *(folder.resolve() for folder in packages)]
    scheme, separator, rest = mesh.file.partition("://")
    if separator and scheme not in ("package", "model", "file"):
        raise RobotError(f"{link}: its mesh {shown_path(mesh.file)} is not a file; {REMEDY}")
    if separator and scheme != "file":
        name, _, inside = rest.partition("/")
        places = [folder / name / inside for folder in folders]
        places += [folder / inside for folder in folders if folder.name == name]
    else:
        file = unquote(rest) if separator else mesh.file
        places = [home / file, *(folder / file for folder in folders[1:])]
    outside = False
    for place in places:
        try:
            found = place.resolve()
            if not found.is_file():
                continue
        except (OSError, RuntimeError, ValueError):
            continue
        if any(found.is_relative_to(folder) for folder in folders):
            return found
        outside = True
    if outside:
        raise RobotError(
            f"{link}: its mesh {shown_path(mesh.file)} is outside the folder of the URDF and is "
            f"not opened; {REMEDY}"
        )
    searched = listed(shown_path(folder) for folder in folders)
    raise RobotError(
        f"{link}: its mesh {shown_path(mesh.file)} does not exist; searched in {searched}; {REMEDY}"
    )
