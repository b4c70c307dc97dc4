"""The robot as its file describes it: a tree of links and joints.

A joint moves its child link relative to its parent link. At joint position ``q`` the
pose of the child frame in the parent frame is

    T_parent_child(q) = placement @ motion(axis, q) @ child_offset

where ``motion`` rotates about (revolute, continuous) or translates along (prismatic) the
unit ``axis`` of the joint frame. URDF files have an identity ``child_offset``; in the
standard Denavit-Hartenberg convention link frames come after the joint, and an MJCF
joint may be away from its body's origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard._files.frozen_mapping import frozen_mapping
from steelyard.errors import RobotError, did_you_mean, listed, shown
from steelyard.robot.description import RobotDescription
from steelyard.robot.parts import (
    STANDARD_GRAVITY,
    Joint,
    Link,
    TurnedJoint,
    gravity_vector,
    lock_joints,
)
from steelyard.robot.rotations import frozen_array
from steelyard.robot.transmission import Transmission, without_joints
from steelyard.robot.tree import check_tree, joints_from_root, root_link

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Robot:
    """A tree of links and joints, with gravity (m/s², in the root link's frame).

    source : the file it was read from. source_sha256 : SHA-256 of that file's bytes, or of the text
        that it was read from. notes : what a user should know about that file.
    transmission : its motors and gears, where they are stated.
    turned : joints whose frames were turned onto angles that their file rounds; see
        :mod:`steelyard.robot.right_angles`.
    locked : position (rad or m) of each joint that was locked, besides what its file holds fixed.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Array = field(default_factory=lambda: frozen_array(STANDARD_GRAVITY, (3,)))
    floating_base: bool = False
    source: str | None = None
    source_sha256: str | None = None
    notes: tuple[str, ...] = ()
    transmission: Transmission | None = None
    turned: tuple[TurnedJoint, ...] = ()
    locked: Mapping[str, float] = field(default_factory=lambda: frozen_mapping({}))

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", gravity_vector(self.gravity))
        check_tree(self.name, self.links, self.joints)

    def __repr__(self) -> str:
        count = f"{len(self.links)} links, {len(self.joints)} joints"
        return f"<Robot '{self.name}': {count}; moving: {listed(self.joint_names)}>"

    @staticmethod
    def from_description(description: RobotDescription) -> Robot:
        """The robot that a format reader describes."""
        stated = {entry.name: getattr(description, entry.name) for entry in fields(description)}
        return Robot(**stated)

    @staticmethod
    def from_urdf(
        path: str | Path,
        *,
        gravity: object = None,
        floating_base: bool = False,
        mimics: bool = True,
    ) -> Robot:
        """Read a URDF file; see :func:`steelyard.robot.formats.urdf.read_urdf`."""
        from steelyard.robot.formats.urdf import read_urdf

        return Robot.from_description(
            read_urdf(path, gravity=gravity, floating_base=floating_base, mimics=mimics)
        )

    @staticmethod
    def from_urdf_text(
        text: str | bytes,
        *,
        gravity: object = None,
        floating_base: bool = False,
        mimics: bool = True,
    ) -> Robot:
        """The robot in the text of a URDF file, such as ROS's robot_description."""
        from steelyard.robot.formats.urdf import parse_urdf

        return Robot.from_description(
            parse_urdf(text, gravity=gravity, floating_base=floating_base, mimics=mimics)
        )

    @staticmethod
    def from_mjcf(path: str | Path) -> Robot:
        """Read an MJCF file; see :func:`steelyard.robot.formats.mjcf.read_mjcf`."""
        from steelyard.robot.formats.mjcf import read_mjcf

        return Robot.from_description(read_mjcf(path))

    @staticmethod
    def from_dh(
        rows: object,
        *,
        convention: str,
        gravity: object = None,
        name: str = "dh",
    ) -> Robot:
        """Build a chain from a table; see :func:`steelyard.robot.formats.dh.read_dh`."""
        from steelyard.robot.formats.dh import read_dh

        return Robot.from_description(
            read_dh(rows, convention=convention, gravity=gravity, name=name)
        )

    @staticmethod
    def from_dh_file(path: str | Path, *, gravity: object = None) -> Robot:
        """Read a table from TOML; see :func:`steelyard.robot.formats.dh.read_dh_file`."""
        from steelyard.robot.formats.dh import read_dh_file

        return Robot.from_description(read_dh_file(path, gravity=gravity))

    @cached_property
    def root(self) -> str:
        """Name of the one link that is not the child of a joint."""
        return root_link(self.links, self.joints)

    @cached_property
    def moving_joints(self) -> tuple[Joint, ...]:
        """Joints that move, parents before children, siblings in file order."""
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
        return joints_from_root(self.root, self.joints)

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

        A joint that mimics a locked one is locked with it. Motors that drive locked joints only
        are left out.
        """
        for name in positions:
            self.joint(name)
            if name in self.locked:
                raise RobotError(
                    f"joint '{name}' cannot be locked at {positions[name]:g}: it is locked at "
                    f"{self.locked[name]:g} already"
                )
        locked = {**self.locked, **{name: float(q) for name, q in positions.items()}}
        joints = lock_joints(self.joints, positions)
        transmission = self.transmission and without_joints(self.transmission, positions)
        return replace(
            self, joints=joints, locked=frozen_mapping(locked), transmission=transmission
        )
