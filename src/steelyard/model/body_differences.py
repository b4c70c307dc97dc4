"""What differs between the moving bodies of two robots, where several links make one body.

Torques depend on the sum of the links that fixed joints hold together. Mass that moves from a
hand to the link that carries it changes two links, but not the body.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.model.mechanism import Body, Mechanism, mechanism_of
from steelyard.robot.differences import RobotDifferences
from steelyard.robot.inertial_changes import (
    DIGITS,
    Inertial,
    InertialChange,
    inertial_change,
    inertial_of,
)
from steelyard.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class BodyDifference:
    """A moving body of which some links differ, or are in one robot only.

    links : of the body, in either robot. change : of its sum, in the frame of its first link.
    """

    name: str
    links: tuple[str, ...]
    change: InertialChange

    @property
    def words(self) -> str:
        """What changed, in words; "unchanged" where only the links differ."""
        return self.change.words


def body_differences(
    a: Robot, b: Robot, found: RobotDifferences, digits: int = DIGITS
) -> tuple[BodyDifference, ...]:
    """Totals of each moving body of several links that are not all equal.

    found : what differs between the two; see
        :func:`steelyard.robot.differences.robot_differences`.
    Bodies that only one of the robots has, and links fixed to the ground, are left out.
    """
    changed = {
        *(change.name for change in found.links),
        *found.links_only_in_a,
        *found.links_only_in_b,
        *_children(a, b, (change.name for change in found.joints)),
    }
    bodies_a, bodies_b = _bodies(a), _bodies(b)
    differences = []
    for name, (mechanism_a, body_a) in bodies_a.items():
        if name not in bodies_b:
            continue
        mechanism_b, body_b = bodies_b[name]
        links = tuple(dict.fromkeys(link for link, _ in (*body_a.links, *body_b.links)))
        if len(links) < 2 or not changed & set(links):
            continue
        before = _total(mechanism_a, a, body_a)
        after = _total(mechanism_b, b, body_b)
        differences.append(
            BodyDifference(name, links, inertial_change(name, before, after, digits))
        )
    return tuple(differences)


def _children(a: Robot, b: Robot, joints: Iterable[str]) -> set[str]:
    """Child links of these joints that are fixed: where they are held is part of the body."""
    return {
        robot.joint(name).child
        for name in joints
        for robot in (a, b)
        if not robot.joint(name).moves
    }


def _bodies(robot: Robot) -> dict[str, tuple[Mechanism, Body]]:
    if not robot.moving_joints and not robot.floating_base:
        return {}
    mechanism = mechanism_of(robot)
    return {body.name: (mechanism, body) for body in mechanism.bodies}


def _total(mechanism: Mechanism, robot: Robot, body: Body) -> Inertial | None:
    total = inertial_of(mechanism.merged_inertial(robot, body))
    return None if total.is_zero else total
