"""The robot as its file describes it: a tree of links and joints.

A joint moves its child link against its parent link. At joint position ``q`` the
child frame stands in the parent frame at

    T_parent_child(q) = placement @ motion(axis, q) @ child_offset

where ``motion`` turns about (revolute, continuous) or slides along (prismatic) the
unit ``axis`` of the joint frame. URDF files have an identity ``child_offset``; a
standard Denavit-Hartenberg robot puts its link frames behind the joint, and an MJCF
joint may stand away from its body's origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RobotError
from steelyard.robot.checks import check_tree
from steelyard.wording import did_you_mean, listed, shown

if TYPE_CHECKING:
    from steelyard.robot.transmission import Transmission

Array = NDArray[np.float64]
JointKind = Literal["revolute", "continuous", "prismatic", "fixed"]
MOVING_KINDS = ("revolute", "continuous", "prismatic")
STANDARD_GRAVITY = (0.0, 0.0, -9.81)


def frozen_array(values: object, shape: tuple[int, ...]) -> Array:
    """A read-only float array of the given shape, copied from ``values``."""
    array = np.array(values, dtype=float).reshape(shape)
    array.setflags(write=False)
    return array


IDENTITY = frozen_array(np.eye(4), (4, 4))


def gravity_vector(values: object = None) -> Array:
    """Gravity (3,) in m/s² as a read-only array; (0, 0, -9.81) for ``None``."""
    try:
        array = np.array(STANDARD_GRAVITY if values is None else values, dtype=float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.shape != (3,) or not np.all(np.isfinite(array)):
        raise RobotError(f"gravity is {shown(str(values))}; it must be three finite numbers, m/s²")
    return frozen_array(array, (3,))


@dataclass(frozen=True)
class Limits:
    """What a joint may do; ``None`` where nothing is known.

    Positions in rad or m, velocity in rad/s or m/s, effort in N m or N,
    acceleration in rad/s² or m/s².
    """

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None
    acceleration: float | None = None


@dataclass(frozen=True)
class Mimic:
    """This joint follows another: ``q = multiplier * q_joint + offset``."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid piece, with the inertial that its file states.

    ``inertial`` is the 10-vector ``m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz``
    (kg, kg m, kg m²) in the link frame, inertia about the link frame origin;
    ``None`` where the file states none. ``inertia_com`` (3, 3) kg m² is the inertia about
    the centre of mass in link axes, where a file states that: moving a small inertia to a
    far origin costs its last digits.
    """

    name: str
    inertial: Array | None = None
    inertia_com: Array | None = None


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two links; see the module's equation for the frames."""

    name: str
    kind: JointKind
    parent: str
    child: str
    placement: Array = field(default_factory=lambda: IDENTITY)
    axis: Array = field(default_factory=lambda: frozen_array((0, 0, 1), (3,)))
    child_offset: Array = field(default_factory=lambda: IDENTITY)
    limits: Limits = Limits()
    mimic: Mimic | None = None

    @property
    def moves(self) -> bool:
        """Whether the joint is not fixed."""
        return self.kind != "fixed"

    def pose(self, q: float) -> Array:
        """T_parent_child (4, 4) at position ``q`` (rad or m)."""
        motion = np.eye(4)
        if self.kind == "prismatic":
            motion[:3, 3] = q * self.axis
        elif self.moves:
            motion[:3, :3] = rotation_about(self.axis, q)
        return self.placement @ motion @ self.child_offset


@dataclass(frozen=True, eq=False)
class Robot:
    """A tree of links and joints, with gravity (m/s², in the root link's frame).

    source : the file it was read from. notes : what a user should know about that file.
    transmission : its motors and gears, where they are stated.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Array = field(default_factory=lambda: frozen_array(STANDARD_GRAVITY, (3,)))
    floating_base: bool = False
    source: str | None = None
    notes: tuple[str, ...] = ()
    transmission: Transmission | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", gravity_vector(self.gravity))
        check_tree(self)

    @staticmethod
    def from_urdf(
        path: str | Path,
        *,
        gravity: object = None,
        floating_base: bool = False,
        mimics: bool = True,
    ) -> Robot:
        """Read a URDF file; see :func:`steelyard.robot.urdf.read_urdf`."""
        from steelyard.robot.urdf import read_urdf

        return read_urdf(path, gravity=gravity, floating_base=floating_base, mimics=mimics)

    @staticmethod
    def from_mjcf(path: str | Path) -> Robot:
        """Read an MJCF file; see :func:`steelyard.robot.mjcf.read_mjcf`."""
        from steelyard.robot.mjcf import read_mjcf

        return read_mjcf(path)

    @staticmethod
    def from_dh(
        rows: object,
        *,
        convention: str,
        gravity: object = None,
        name: str = "dh",
    ) -> Robot:
        """Build a chain from a table; see :func:`steelyard.robot.dh.robot_from_dh`."""
        from steelyard.robot.dh import robot_from_dh

        return robot_from_dh(rows, convention=convention, gravity=gravity, name=name)

    @cached_property
    def root(self) -> str:
        """Name of the one link that is nobody's child."""
        children = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in children)

    @cached_property
    def moving_joints(self) -> tuple[Joint, ...]:
        """Joints that move, parents before children, in file order among equals."""
        return tuple(joint for joint in self.joints_from_root if joint.moves)

    @cached_property
    def free_joints(self) -> tuple[Joint, ...]:
        """Moving joints with a coordinate of their own (no mimic), in model order."""
        return tuple(joint for joint in self.moving_joints if joint.mimic is None)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the free joints: the order of every q, v, a and tau."""
        return tuple(joint.name for joint in self.free_joints)

    @cached_property
    def joints_from_root(self) -> tuple[Joint, ...]:
        """All joints in depth-first order from the root, siblings in file order."""
        below: dict[str, list[Joint]] = {}
        for joint in self.joints:
            below.setdefault(joint.parent, []).append(joint)
        ordered: list[Joint] = []
        stack = list(reversed(below.get(self.root, [])))
        while stack:
            joint = stack.pop()
            ordered.append(joint)
            stack.extend(reversed(below.get(joint.child, [])))
        return tuple(ordered)

    @cached_property
    def _joint_by_name(self) -> dict[str, Joint]:
        return {joint.name: joint for joint in self.joints}

    @cached_property
    def _link_by_name(self) -> dict[str, Link]:
        return {link.name: link for link in self.links}

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        if name in self._joint_by_name:
            return self._joint_by_name[name]
        raise RobotError(
            f"robot '{self.name}' has no joint {shown(name)}"
            f"{did_you_mean(name, self._joint_by_name)}; its joints are "
            f"{listed(self._joint_by_name)}"
        )

    def link(self, name: str) -> Link:
        """The link of that name."""
        if name in self._link_by_name:
            return self._link_by_name[name]
        raise RobotError(
            f"robot '{self.name}' has no link {shown(name)}"
            f"{did_you_mean(name, self._link_by_name)}; its links are "
            f"{listed(self._link_by_name)}"
        )

    def lock(self, positions: Mapping[str, float]) -> Robot:
        """The robot with these joints fixed at these positions (rad or m).

        A joint that mimics a locked one is locked with it.
        """
        positions = dict(positions)
        for name, position in positions.items():
            joint = self.joint(name)
            if not joint.moves:
                raise RobotError(f"joint '{name}' cannot be locked: it is fixed already")
            if joint.mimic is not None:
                raise RobotError(
                    f"joint '{name}' cannot be locked: it follows '{joint.mimic.joint}'; lock that"
                )
            if not np.isfinite(position):
                raise RobotError(f"joint '{name}' cannot be locked at {position}")
        for joint in self.joints:
            if joint.mimic is not None and joint.mimic.joint in positions:
                master = positions[joint.mimic.joint]
                positions[joint.name] = joint.mimic.multiplier * master + joint.mimic.offset
        locked = tuple(
            replace(
                joint,
                kind="fixed",
                placement=frozen_array(joint.pose(positions[joint.name]), (4, 4)),
                child_offset=IDENTITY,
                mimic=None,
            )
            if joint.name in positions
            else joint
            for joint in self.joints
        )
        return replace(self, joints=locked)


def rotation_about(axis: Array, angle: float) -> Array:
    """Rotation matrix (3, 3) by ``angle`` (rad) about the unit vector ``axis``."""
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation: Array = np.eye(3) + np.sin(angle) * skew + (1.0 - np.cos(angle)) * (skew @ skew)
    return rotation
