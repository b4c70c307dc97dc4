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

from steelyard._files.limits import LARGEST_MESH_M, MAX_HULL_CORNERS, MAX_OUTER_POINTS
from steelyard.errors import RobotError, listed, shown, shown_path
from steelyard.excitation.collision.mesh_points import MESH_FORMATS, load_coal, mesh_points
from steelyard.robot.formats.urdf_shapes import MeshReference, Primitive

Array = NDArray[np.float64]
ShapeKind = Literal["box", "cylinder", "sphere", "hull", "half_space"]

RIM = 24
"""Corners of the polygon around a cylinder, where points must contain it."""
FLAT_M = 1e-4
"""Half the thickness (m) that a flat mesh is given, so that it has a hull."""
MOST_NEIGHBOURS = 255
"""Edges that coal allows at a corner of a hull."""
FEW_POINTS = 3_000
"""Points from which a hull is made as they are."""
MANY_POINTS = 50_000
"""Points that are looked at together."""
WITHIN = 1e-12
FLAT = 1e-12
"""Thickness of a flat mesh, as a share of the largest coordinate."""
MAX_FLAT_CORNERS = 500
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
    points = mesh_points(path, owner)
    with np.errstate(over="ignore", invalid="ignore"):
        points = points * mesh.scale
    farthest = float(np.abs(points).max())
    if not farthest <= LARGEST_MESH_M:
        raise RobotError(
            f"link {shown(owner)}: mesh {shown_path(path)} reaches {farthest:.4g} m from its "
            f"origin, and at most {LARGEST_MESH_M:g} m are taken; check its unit, or the scale in "
            f"line {mesh.line} of the URDF"
        )
    return hull(owner, points, mesh.pose)


def outer_points(points: Array, owner: str) -> Array:
    """The points (n, 3) of a large mesh without those in the hull of the ones farthest out in 26
    directions, or within 1e-12 of its size; refused if too many are left.
    """
    from scipy.spatial import ConvexHull, QhullError

    if len(points) > FEW_POINTS:
        steps = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)])
        directions = _unit(steps[steps.any(axis=1)].astype(float))
        parts = [points[at : at + MANY_POINTS] for at in range(0, len(points), MANY_POINTS)]
        best = np.concatenate([part[(part @ directions.T).argmax(axis=0)] for part in parts])
        best = np.unique(best[(best @ directions.T).argmax(axis=0)], axis=0)
        try:
            faces = ConvexHull(best).equations
        except QhullError:  # flat: nothing is inside
            faces = np.zeros((1, 4))
            faces[0, 3] = np.inf
        edge = WITHIN * float(np.abs(points).max())
        outside = [part[(part @ faces[:, :3].T + faces[:, 3] > edge).any(axis=1)] for part in parts]
        points = np.unique(np.concatenate([best, *outside]), axis=0)
    if len(points) > MAX_OUTER_POINTS:
        raise RobotError(
            f"link {shown(owner)}: its mesh has {len(points)} points on or near its convex hull, "
            f"and at most {MAX_OUTER_POINTS} are taken; use a mesh with fewer points"
        )
    return points


def thickened(points: Array, owner: str) -> Array:
    """The points (n, 3), or those of a thin solid around them if they are flat, or on a line."""
    from scipy.spatial import ConvexHull

    middle = points.mean(axis=0)
    axes = np.linalg.svd(np.cov((points - middle).T, bias=True))[0]
    own = (points - middle) @ axes  # the last is the thinnest
    widths = np.ptp(own, axis=0)
    thin = FLAT * float(np.abs(points).max())
    if widths[2] > thin:
        return points
    if widths[1] > thin:
        found = ConvexHull(own[:, :2]).vertices
    else:
        found = np.array([own[:, 0].argmin(), own[:, 0].argmax()])
    if len(found) > MAX_FLAT_CORNERS:
        raise RobotError(
            f"link {shown(owner)}: its mesh is flat and has {len(found)} corners, and at most "
            f"{MAX_FLAT_CORNERS} are taken; use a mesh with fewer points"
        )
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return np.asarray((points[found][:, None] + FLAT_M * signs).reshape(-1, 3))


def hull(owner: str, vertices: Array, pose: Array) -> Shape:
    """The convex hull of points (n, 3), given in the frame that ``pose`` (4, 4) places.

    Of many points a first hull leaves those that may be corners: moved by about 1e-12 of the size,
    so that no points lie in one plane, for which Qhull needs a time that grows with their square.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        vertices = thickened(outer_points(vertices, owner), owner)
        moved_apart = len(vertices) > FEW_POINTS
        found = ConvexHull(vertices, qhull_options="QJ" if moved_apart else None)
        if moved_apart and len(found.vertices) <= FEW_POINTS:
            vertices = vertices[found.vertices]
            found = ConvexHull(vertices)
    except QhullError:
        raise RobotError(
            f"link {shown(owner)}: no convex hull of its mesh can be computed: its points are too "
            "close together for their distance from its origin"
        ) from None
    if len(found.vertices) > MAX_HULL_CORNERS:
        raise RobotError(
            f"link {shown(owner)}: the convex hull of its mesh has {len(found.vertices)} corners, "
            f"and at most {MAX_HULL_CORNERS} are taken; use a mesh with fewer points"
        )
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
