"""The collision geometry of a robot, and which of its links must keep a distance.

Kinematics are those of the robot that is given, with its locked joints; the geometry is that of
its URDF, every mesh as its convex hull.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard._files.limits import MAX_HULLS_CORNERS, MAX_MESHES_BYTES
from steelyard.errors import (
    RobotError,
    SignalError,
    did_you_mean,
    listed,
    shown,
    shown_path,
    size_words,
)
from steelyard.excitation.collision.collision_distances import CollisionModel, ShapePair
from steelyard.excitation.collision.collision_pairs import (
    candidate_pairs,
    read_srdf,
    without_constant_heights,
    without_touching,
)
from steelyard.excitation.collision.collision_shapes import (
    Shape,
    half_space,
    mesh_hull,
    mesh_path,
    solid,
)
from steelyard.excitation.collision.surroundings import Obstacle as Obstacle
from steelyard.excitation.collision.surroundings import Surroundings
from steelyard.excitation.limits import MotionLimits
from steelyard.findings import Finding
from steelyard.model.mechanism import Mechanism, mechanism_of
from steelyard.robot.formats.urdf_shapes import MeshReference, collision_shapes
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]

GROUND = "ground"


def collision_model(
    urdf: str | Path,
    robot: Robot,
    *,
    srdf: str | Path | None = None,
    ground: float | None = None,
    obstacles: Sequence[Obstacle] = (),
    clearance_m: float = 0.01,
    package_folders: Sequence[str | Path] = (),
    ignore: Sequence[tuple[str, str]] = (),
    limits: MotionLimits | None = None,
) -> CollisionModel:
    """The solids of a robot, and which of them must keep a distance.

    urdf : the file with the collision geometry of ``robot``, whose joints (locked ones included)
    and link names are used. Meshes are opened in its folder and in ``package_folders`` only.
    srdf : file whose disable_collisions say which pairs of links need no check. Without one, pairs
    that are closer than the clearance at every one of many random positions, or that touch at the
    neutral position, are left out, and the findings name them. Neighbouring links are never
    checked.
    ground : height (m) of a floor, z of the root link, that the moving links must stay above.
    obstacles : solids that the moving links must stay away from. ignore : further pairs of links.
    limits : ranges of the random positions; without, those of the robot's file.
    """
    if robot.floating_base:
        raise RobotError(
            f"robot '{robot.name}' has a floating base; collisions are checked for a fixed one"
        )
    if not (np.isfinite(clearance_m) and clearance_m >= 0.0):
        raise SignalError(f"clearance_m is {clearance_m}; it must be 0 or more")
    shapes = _link_shapes(Path(urdf), robot, [Path(folder) for folder in package_folders])
    n_links = len(shapes)
    # pairs are known by names: the floor must not have that of a link
    floor = GROUND
    while any(floor == link.name for link in robot.links):
        floor = f"the {floor}"
    if ground is not None:
        if not np.isfinite(ground):
            raise SignalError(f"ground is {ground}; it must be a height in m")
        shapes.append(half_space(floor, ground))
    taken = {floor, *(link.name for link in robot.links)}
    for obstacle in obstacles:
        if obstacle.name in taken:
            raise RobotError(
                f"there are two things named {shown(obstacle.name)}; give the obstacle a name of "
                "its own"
            )
        taken.add(obstacle.name)
        shapes.append(solid(obstacle.name, obstacle.solid))
    mechanism = mechanism_of(robot)
    bodies, placements = _placed(shapes, n_links, robot, mechanism)
    owners = [shape.owner for shape in shapes]
    links = [link.name for link in robot.links]
    for name in {name for pair in ignore for name in pair} - {*links, *owners}:
        raise RobotError(
            f"no collision check is needed of {shown(name)}{did_you_mean(name, links)}, but there "
            f"is no such thing; the links are {listed(links)}"
        )
    by_srdf = () if srdf is None else read_srdf(srdf, links)
    disabled = (*ignore, *by_srdf)
    pairs = tuple(
        ShapePair(i, j, (owners[i], owners[j]))
        for i, j in candidate_pairs(robot, owners, bodies, n_links, disabled)
    )
    model = CollisionModel(
        robot.joint_names,
        mechanism,
        tuple(shapes),
        tuple(bodies),
        placements,
        pairs,
        clearance_m,
        _unknown_links(robot, by_srdf),
        Surroundings(ground, tuple(obstacles), None if srdf is None else str(srdf)),
    )
    if srdf is None:
        model = without_touching(model, robot, limits, n_links)
    return without_constant_heights(model)


def _unknown_links(robot: Robot, disabled: Sequence[tuple[str, str]]) -> tuple[Finding, ...]:
    """A note on links that an SRDF names and the robot has not."""
    known = {link.name for link in robot.links}
    unknown = sorted({name for pair in disabled for name in pair} - known)
    if not unknown:
        return ()
    words = (
        f"the SRDF file disables collisions of {listed(unknown)}, which robot '{robot.name}' "
        "has not"
    )
    return (Finding("info", "collision_links_unknown", words),)


def _link_shapes(urdf: Path, robot: Robot, packages: Sequence[Path]) -> list[Shape]:
    """The solids of all links, in the order of the file."""
    for folder in packages:
        if not folder.is_dir():
            raise RobotError(f"package folder {shown_path(folder)} does not exist")
    known = {link.name for link in robot.links}
    shapes: list[Shape] = []
    n_bytes = n_corners = 0
    for link, found in collision_shapes(urdf).items():
        if link not in known:
            raise RobotError(
                f"{shown_path(urdf)} has link {shown(link)}, which robot '{robot.name}' has not; "
                f"its links are {listed(sorted(known))}"
            )
        for entry in found:
            if isinstance(entry, MeshReference):
                n_bytes += mesh_path(link, entry, urdf, packages).stat().st_size
                if n_bytes > MAX_MESHES_BYTES:
                    raise RobotError(
                        f"{shown_path(urdf)}: its meshes, up to that of link {shown(link)}, have "
                        f"more than {size_words(MAX_MESHES_BYTES)} together, the limit"
                    )
                shapes.append(mesh_hull(link, entry, urdf, packages))
                n_corners += len(shapes[-1].points)
                if n_corners > MAX_HULLS_CORNERS:
                    raise RobotError(
                        f"{shown_path(urdf)}: the convex hulls of its meshes, up to that of link "
                        f"{shown(link)}, have more than {MAX_HULLS_CORNERS} corners together, the "
                        "limit; use meshes with fewer points"
                    )
            else:
                shapes.append(solid(link, entry))
    if not shapes:
        raise RobotError(
            f"{shown_path(urdf)} has no collision geometry; leave collisions out with "
            "--no-collision"
        )
    return shapes


def _placed(
    shapes: Sequence[Shape], n_links: int, robot: Robot, mechanism: Mechanism
) -> tuple[list[int], Array]:
    """The body that carries each solid, and the solid's pose (4, 4) in that body's frame."""
    where: dict[str, tuple[int, Array]] = {robot.root: (-1, np.eye(4))}
    moved_by = {body.joint: i for i, body in enumerate(mechanism.bodies)}
    for joint in robot.joints_from_root:
        body, T = where[joint.parent]
        if joint.moves:
            where[joint.child] = (moved_by[joint.name], np.eye(4))
        else:
            where[joint.child] = (body, T @ joint.pose(0.0))
    placed = [
        where[shape.owner] if k < n_links else (-1, np.eye(4)) for k, shape in enumerate(shapes)
    ]
    poses = [T @ shape.pose for (_, T), shape in zip(placed, shapes, strict=True)]
    return [body for body, _ in placed], np.array(poses)
