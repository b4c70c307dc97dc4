"""What differs between two robots, link by link and joint by joint.

Links and joints are matched by name, and each link's inertial is compared in the frame of the
link. Visuals, collisions, the order in the file, names of robots, motors and gears are not
compared. A link that states an inertial of zeros is as one that states none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RobotError, quoted_list
from steelyard.robot._difference_words import told_apart
from steelyard.robot.inertial_changes import (
    DIGITS,
    InertialChange,
    inertial_change,
    inertial_of_link,
)
from steelyard.robot.joint_changes import JointChange, joint_change
from steelyard.robot.joint_dynamics import JointDynamics
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array

Array = NDArray[np.float64]
Dynamics = Mapping[str, JointDynamics]
MOST_DIGITS = 15


@dataclass(frozen=True, eq=False)
class RobotDifferences:
    """What differs between robot a and robot b.

    links : of both robots, those that differ. joints : the same for joints.
    only_in_a, only_in_b : names of links and of joints that one of them has.
    n_links, n_joints : that both have.
    mass : kg of all links, of a and of b. mass_differs : in more than the digits compared.
    gravity : (2, 3) m/s² of a and of b; None where equal.
    floating_base : of a and of b; None where equal.
    """

    links: tuple[InertialChange, ...]
    joints: tuple[JointChange, ...]
    links_only_in_a: tuple[str, ...]
    links_only_in_b: tuple[str, ...]
    joints_only_in_a: tuple[str, ...]
    joints_only_in_b: tuple[str, ...]
    n_links: int
    n_joints: int
    mass: tuple[float, float]
    mass_differs: bool
    gravity: Array | None = None
    floating_base: tuple[bool, bool] | None = None

    @property
    def differ(self) -> bool:
        """Whether the robots differ in anything that is compared."""
        return bool(
            self.links
            or self.joints
            or self.links_only_in_a
            or self.links_only_in_b
            or self.joints_only_in_a
            or self.joints_only_in_b
            or self.gravity is not None
            or self.floating_base is not None
        )

    @property
    def different_robots(self) -> bool:
        """Whether fewer than half of the links of the smaller robot are in the other."""
        own = min(len(self.links_only_in_a), len(self.links_only_in_b))
        return 2 * self.n_links < self.n_links + own

    @property
    def lines(self) -> tuple[str, ...]:
        """One sentence for each link, joint and other thing that differs."""
        return (*self.link_lines, *self.other_lines)

    @property
    def link_lines(self) -> tuple[str, ...]:
        """One sentence for each link that both have and that differs."""
        return tuple(f"link '{change.name}': {change.words}" for change in self.links)

    @property
    def other_lines(self) -> tuple[str, ...]:
        """One sentence for each joint and other thing that differs."""
        lines = [f"joint '{change.name}': {change.words}" for change in self.joints]
        for what, names in (
            ("links only in a", self.links_only_in_a),
            ("links only in b", self.links_only_in_b),
            ("joints only in a", self.joints_only_in_a),
            ("joints only in b", self.joints_only_in_b),
        ):
            if names:
                lines.append(f"{what}: {quoted_list(names)}")
        if self.gravity is not None:
            first, second = (", ".join(f"{x:.6g}" for x in own) for own in self.gravity.tolist())
            lines.append(f"gravity: {first} -> {second} m/s²")
        if self.floating_base is not None:
            first, second = ("floating" if own else "fixed" for own in self.floating_base)
            lines.append(f"base: {first} -> {second}")
        if self.mass_differs:
            first, second = told_apart(*self.mass)
            lines.append(f"all links together, the base included: mass {first} -> {second} kg")
        return tuple(lines)


def robot_differences(
    a: Robot,
    b: Robot,
    *,
    dynamics: tuple[Dynamics, Dynamics] | None = None,
    digits: int = DIGITS,
) -> RobotDifferences:
    """What differs between two robots, in the frames of their own links.

    dynamics : damping, friction and armature of each robot's joints, which a Robot does not hold;
        see :func:`steelyard.robot.formats.dynamics.read_dynamics`. Without, they are not compared.
    digits : numbers that agree to this many digits are equal, 1 to 15; angles that differ by less
        than the last of these digits of a radian.
    """
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= MOST_DIGITS:
        raise RobotError(f"digits is {digits!r}; it must be a whole number from 1 to {MOST_DIGITS}")
    share = 10.0**-digits
    links_a, links_b = ({link.name: link for link in robot.links} for robot in (a, b))
    joints_a, joints_b = ({joint.name: joint for joint in robot.joints} for robot in (a, b))
    links = [
        inertial_change(name, inertial_of_link(link), inertial_of_link(links_b[name]), digits)
        for name, link in links_a.items()
        if name in links_b
    ]
    stated = ({}, {}) if dynamics is None else dynamics
    joints = [
        joint_change(joint, joints_b[name], (stated[0].get(name), stated[1].get(name)), digits)
        for name, joint in joints_a.items()
        if name in joints_b
    ]
    mass = (_mass(a), _mass(b))
    size = max(np.linalg.norm(a.gravity), np.linalg.norm(b.gravity))
    heavier = not np.linalg.norm(b.gravity - a.gravity) <= share * size
    return RobotDifferences(
        links=tuple(change for change in links if change.differs),
        joints=tuple(change for change in joints if change.differs),
        links_only_in_a=_missing(links_a, links_b),
        links_only_in_b=_missing(links_b, links_a),
        joints_only_in_a=_missing(joints_a, joints_b),
        joints_only_in_b=_missing(joints_b, joints_a),
        n_links=len(links),
        n_joints=len(joints),
        mass=mass,
        mass_differs=not abs(mass[1] - mass[0]) <= share * max(abs(mass[0]), abs(mass[1])),
        gravity=frozen_array([a.gravity, b.gravity], (2, 3)) if heavier else None,
        floating_base=None
        if a.floating_base == b.floating_base
        else (a.floating_base, b.floating_base),
    )


def _mass(robot: Robot) -> float:
    return float(sum(link.inertial[0] for link in robot.links if link.inertial is not None))


def _missing(names: Iterable[str], other: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in other)
