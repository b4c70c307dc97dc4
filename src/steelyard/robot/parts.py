"""The parts of a robot: links, joints, and what its file states about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard._files.limits import LARGEST_GRAVITY
from steelyard.errors import RobotError, shown
from steelyard.robot.rotations import frozen_array, pose, rotation_about, rotation_rpy

Array = NDArray[np.float64]
Triple = tuple[float, float, float]

JointKind = Literal["revolute", "continuous", "prismatic", "fixed"]


MOVING_KINDS = ("revolute", "continuous", "prismatic")


STANDARD_GRAVITY = (0.0, 0.0, -9.81)


IDENTITY = frozen_array(np.eye(4), (4, 4))


def gravity_vector(values: object = None) -> Array:
    """Gravity (3,) in m/s² as a read-only array; (0, 0, -9.81) for ``None``."""
    try:
        array = np.array(STANDARD_GRAVITY if values is None else values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.array(np.nan)
    if array.shape != (3,) or not np.all(np.isfinite(array)):
        raise RobotError(f"gravity is {shown(str(values))}; it must be three finite numbers, m/s²")
    if np.abs(array).max() > LARGEST_GRAVITY:
        raise RobotError(
            f"gravity is {shown(str(values))}; at most {LARGEST_GRAVITY:g} m/s² is plausible, "
            "that of the earth is 9.81"
        )
    return frozen_array(array, (3,))


@dataclass(frozen=True)
class Limits:
    """Limits of a joint; ``None`` where a limit is not known.

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


@dataclass(frozen=True)
class Origin:
    """The frame of a joint in its parent link: position xyz (m) and angles rpy (rad), as
    :func:`steelyard.robot.rotations.rotation_rpy` takes them.
    """

    xyz: Triple
    rpy: Triple

    @property
    def pose(self) -> Array:
        """The frame as a homogeneous matrix (4, 4)."""
        return pose(rotation_rpy(*self.rpy), self.xyz)


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid link, with the inertial that its file states.

    ``inertial`` is the 10-vector ``m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz``
    (kg, kg m, kg m²) in the link frame, inertia about the link frame origin;
    ``None`` where the file states none. ``inertia_com`` (3, 3) kg m² is the inertia about
    the centre of mass in link axes, where a file states that: moving a small inertia to a
    far origin would lose its last digits.
    """

    name: str
    inertial: Array | None = None
    inertia_com: Array | None = None


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two links; see :mod:`steelyard.robot.robot` for the frames.

    origin : the frame that the file states, of which the placement is made; None where no file
        states one.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    placement: Array = field(default_factory=lambda: IDENTITY)
    axis: Array = field(default_factory=lambda: frozen_array((0, 0, 1), (3,)))
    child_offset: Array = field(default_factory=lambda: IDENTITY)
    limits: Limits = Limits()
    mimic: Mimic | None = None
    origin: Origin | None = None

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


@dataclass(frozen=True)
class TurnedJoint:
    """A joint whose frame was turned: its angles (rad) as in the file, and as they are used."""

    joint: str
    before: Triple
    after: Triple


def lock_joints(joints: Sequence[Joint], positions: Mapping[str, float]) -> tuple[Joint, ...]:
    """The joints, with those in ``positions`` (rad or m), and those that mimic them, fixed."""
    positions = dict(positions)
    for joint in joints:
        if joint.name not in positions:
            continue
        name, position = joint.name, positions[joint.name]
        if not joint.moves:
            raise RobotError(f"joint '{name}' cannot be locked: it is fixed already")
        if joint.mimic is not None:
            raise RobotError(
                f"joint '{name}' cannot be locked: it follows '{joint.mimic.joint}'; lock that"
            )
        if not np.isfinite(position):
            raise RobotError(f"joint '{name}' cannot be locked at {position}")
    for joint in joints:
        if joint.mimic is not None and joint.mimic.joint in positions:
            master = positions[joint.mimic.joint]
            positions[joint.name] = joint.mimic.multiplier * master + joint.mimic.offset
    return tuple(
        replace(
            joint,
            kind="fixed",
            placement=frozen_array(joint.pose(positions[joint.name]), (4, 4)),
            child_offset=IDENTITY,
            mimic=None,
        )
        if joint.name in positions
        else joint
        for joint in joints
    )
