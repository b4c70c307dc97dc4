"""The moving bodies of a robot's tree, as arrays that the kernels read.

Links joined by fixed joints are one body. Its frame is the frame of the link that the
moving joint carries, and that link gives the body its name. In body ``i``'s own frame
its joint's motion is a constant screw, so that

    T_parent_body(q) = rest @ exp(screw * scale * q)

holds for every joint kind, with link frames at the joint (URDF), after it (standard
Denavit-Hartenberg) or away from it (MJCF). A mimic joint shares the coordinate of
the joint it follows, with its multiplier as ``scale``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RobotError
from steelyard.robot.inertia import transform
from steelyard.robot.parts import Joint
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

REVOLUTE, PRISMATIC, FLOATING = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Body:
    """Links that move as one rigid body.

    name : the link whose frame is the body's frame.
    joint : name of the joint that moves it; None for a floating base.
    links : (link name, T_body_link (4, 4)) of every link merged into it.
    """

    name: str
    joint: str | None
    links: tuple[tuple[str, Array], ...]


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Bodies with parents before children, and the arrays that the kernels need.

    parent : (n_bodies,) index of the parent body, -1 for the ground.
    kind : (n_bodies,) REVOLUTE, PRISMATIC or FLOATING.
    coordinate : (n_bodies,) first index into v of the body's joint.
    scale : (n_bodies,) factor from the coordinate to the joint (mimic multiplier).
    rest_rotation, rest_position : (n_bodies, 3, 3), (n_bodies, 3) pose in the parent body
        at q = 0, in m.
    screw : (n_bodies, 6) motion per unit of the joint, in the body frame: velocity of the
        body origin (m) and angular velocity.
    centre : (n_bodies, 3) a point on a revolute axis, in the body frame (m).
    path, path_length : (n_bodies, longest) rows of v that move body i, from the ground
        outward, and how many they are.
    gravity : (3,) m/s² in the ground (or world) frame.
    """

    bodies: tuple[Body, ...]
    coordinates: tuple[str, ...]
    parent: IntArray
    kind: IntArray
    coordinate: IntArray
    scale: Array
    rest_rotation: Array
    rest_position: Array
    screw: Array
    centre: Array
    path: IntArray
    path_length: IntArray
    gravity: Array
    nq: int
    nv: int

    def merged_inertial(self, robot: Robot, body: Body) -> Array:
        """Sum (10,) of the inertials that the file states for the links of ``body``."""
        total = np.zeros(10)
        for name, T_body_link in body.links:
            inertial = robot.link(name).inertial
            if inertial is not None:
                total += transform(inertial, T_body_link)
        return total


BASE_WRENCH = ("base.fx", "base.fy", "base.fz", "base.nx", "base.ny", "base.nz")
BASE_WORDS = {
    name: f"base {'force' if k < 3 else 'torque'} {'xyz'[k % 3]}"
    for k, name in enumerate(BASE_WRENCH)
}


def row_words(channel: str) -> str:
    """A torque row as people call it: "base force x", or the name of the joint."""
    return BASE_WORDS.get(channel, channel)


def mechanism_of(robot: Robot) -> Mechanism:
    """Merge fixed links and lay out the arrays; refuses a robot in which nothing moves."""
    if not robot.moving_joints and not robot.floating_base:
        raise RobotError(
            f"robot '{robot.name}' has no joint that moves: there is nothing to identify"
        )
    n_base = 6 if robot.floating_base else 0
    row_of = {name: n_base + i for i, name in enumerate(robot.joint_names)}

    # index of the body each link belongs to, and the link's pose in that body
    where: dict[str, tuple[int, Array]] = {robot.root: (-1, np.eye(4))}
    members: list[list[tuple[str, Array]]] = []
    names: list[tuple[str, str | None]] = []
    parent, kind, row, scale, rest, screws, centres = [], [], [], [], [], [], []
    if robot.floating_base:
        where[robot.root] = (0, np.eye(4))
        members.append([(robot.root, np.eye(4))])
        names.append((robot.root, None))
        parent.append(-1)
        kind.append(FLOATING)
        row.append(0)
        scale.append(1.0)
        rest.append(np.eye(4))
        screws.append(np.zeros(6))
        centres.append(np.zeros(3))
    for joint in robot.joints_from_root:
        holder, T_holder_parent = where[joint.parent]
        if not joint.moves:
            T_holder_child = T_holder_parent @ joint.pose(0.0)
            where[joint.child] = (holder, T_holder_child)
            if holder >= 0:
                members[holder].append((joint.child, T_holder_child))
            continue
        where[joint.child] = (len(names), np.eye(4))
        names.append((joint.child, joint.name))
        members.append([(joint.child, np.eye(4))])
        parent.append(holder)
        kind.append(PRISMATIC if joint.kind == "prismatic" else REVOLUTE)
        leader = joint.name if joint.mimic is None else joint.mimic.joint
        row.append(row_of[leader])
        scale.append(1.0 if joint.mimic is None else joint.mimic.multiplier)
        offset = 0.0 if joint.mimic is None else joint.mimic.offset
        rest.append(T_holder_parent @ joint.pose(offset))
        screw, centre = body_screw(joint)
        screws.append(screw)
        centres.append(centre)

    paths: list[list[int]] = []
    for i, above in enumerate(parent):
        rows = list(range(6)) if kind[i] == FLOATING else [row[i]]
        paths.append((paths[above] if above >= 0 else []) + rows)
    longest = max(len(path) for path in paths)
    path = np.full((len(paths), longest), -1, dtype=np.int64)
    for i, rows in enumerate(paths):
        path[i, : len(rows)] = rows
    rest_pose = np.array(rest)
    n_joints = len(robot.joint_names)
    return Mechanism(
        bodies=tuple(
            Body(name, joint_name, tuple(links))
            for (name, joint_name), links in zip(names, members, strict=True)
        ),
        coordinates=(BASE_WRENCH if robot.floating_base else ()) + robot.joint_names,
        parent=np.array(parent, dtype=np.int64),
        kind=np.array(kind, dtype=np.int64),
        coordinate=np.array(row, dtype=np.int64),
        scale=np.array(scale),
        rest_rotation=np.ascontiguousarray(rest_pose[:, :3, :3]),
        rest_position=np.ascontiguousarray(rest_pose[:, :3, 3]),
        screw=np.array(screws),
        centre=np.array(centres),
        path=path,
        path_length=np.array([len(rows) for rows in paths], dtype=np.int64),
        gravity=np.array(robot.gravity),
        nq=n_joints + (7 if robot.floating_base else 0),
        nv=n_joints + n_base,
    )


def body_screw(joint: Joint) -> tuple[Array, Array]:
    """Screw (6,) of a joint and a point (3,) on its axis, in the child link's frame."""
    R_joint_child = joint.child_offset[:3, :3]
    axis = R_joint_child.T @ joint.axis
    if joint.kind == "prismatic":
        return np.concatenate([axis, np.zeros(3)]), np.zeros(3)
    centre = -R_joint_child.T @ joint.child_offset[:3, 3]
    return np.concatenate([np.cross(centre, axis), axis]), centre
