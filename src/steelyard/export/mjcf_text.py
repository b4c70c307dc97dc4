"""A new MJCF (MuJoCo) of any robot: kinematics, inertials and joint terms, without meshes.

For a robot that was read from an MJCF, :mod:`steelyard.export.mjcf` changes that file instead and
keeps its geoms.

Bodies keep the frames of the links. A body that moves must have a mass in MuJoCo: a massless link
that only carries another joint becomes a second joint of the body behind it, and any other
massless link that moves gets 1e-12 kg. A fixed joint becomes a body without joints.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from steelyard._files.limits import MAX_XML_DEPTH
from steelyard.errors import RobotError, listed
from steelyard.export._digits import file_decimal
from steelyard.export._joint_values import JointValues, joint_values, left_out_notes
from steelyard.export._link_texts import (
    NOTHING,
    InertialTexts,
    LinkBody,
    inertial_texts,
    link_bodies,
)
from steelyard.export._xml_text import header, number, numbers, xml_text
from steelyard.export.identified_robot import IdentifiedRobot
from steelyard.findings import Finding
from steelyard.model.mechanism import body_screw
from steelyard.robot.conventions import quaternion_from_rotation
from steelyard.robot.parts import IDENTITY, Joint
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]
WORLD = "world"
NO_LIMIT = 1e9
MOST_JOINTS = 6
"""Joints that MuJoCo allows on one body."""
HELD_TERMS = ("drive_inertia", "viscous", "coulomb")


@dataclass(frozen=True, eq=False)
class Place:
    """Where what is attached to a link goes: below ``element``, in whose frame the link has the
    pose T (4, 4) at rest.

    waiting : joints before the link that have no body yet, each with the pose (4, 4) of its child.
    depth : of the element.
    """

    element: Element
    T: Array
    waiting: tuple[tuple[Joint, Array], ...]
    depth: int


def mjcf_text(found: IdentifiedRobot) -> str:
    """An MJCF of the robot with its identified parameters, without meshes.

    Its inertials are exactly physical with the written digits. What MJCF cannot hold is in the
    comment on top, and in :func:`mjcf_text_notes`.
    """
    robot = found.robot
    bodies = link_bodies(found)
    values = joint_values(found)
    joined = _joined_links(robot, bodies)
    heavy = _heavy_links(robot, bodies)
    root = Element("mujoco", model=robot.name)
    SubElement(root, "compiler", angle="radian", autolimits="true")
    SubElement(root, "option", gravity=numbers(robot.gravity))
    world = SubElement(root, "worldbody")
    places = {robot.root: Place(world, IDENTITY, (), 2)}
    if robot.root != WORLD or robot.floating_base:
        base = SubElement(world, "body", name=robot.root)
        if robot.floating_base:
            SubElement(base, "freejoint")
        needs_mass = robot.floating_base and robot.root not in heavy
        add_inertial(base, _texts(robot.root, bodies, needs_mass=needs_mass))
        places = {robot.root: Place(base, IDENTITY, (), 3)}
    for joint in robot.joints_from_root:
        if joint.child == WORLD:
            raise RobotError("MJCF reserves the name 'world' for its root; rename this link")
        place = places[joint.parent]
        T = place.T @ joint.pose(0.0)
        waiting = (*place.waiting, (joint, T)) if joint.moves else place.waiting
        if joint.child in joined:
            places[joint.child] = Place(place.element, T, waiting, place.depth)
            continue
        body = SubElement(
            place.element, "body", {"name": joint.child, "pos": numbers(T[:3, 3]), **_quat(T)}
        )
        needs_mass = joint.moves and joint.child not in heavy
        add_inertial(body, _texts(joint.child, bodies, needs_mass=needs_mass))
        for one, T_child in waiting:
            # a product with the inverse would leave rounding errors in axes and positions
            T_body_child = IDENTITY if one is joint else np.linalg.inv(T) @ T_child
            _add_joint(body, one, T_body_child, values)
        places[joint.child] = Place(body, IDENTITY, (), place.depth + 1)
        if place.depth + 2 >= MAX_XML_DEPTH:
            raise RobotError(
                f"robot '{robot.name}' has a chain of more than {place.depth} links at "
                f"'{joint.child}', too deep for MJCF"
            )
    _add_mimics(root, robot)
    return xml_text(root, header(found, mjcf_text_notes(found), states_gravity=True))


def mjcf_text_notes(found: IdentifiedRobot) -> tuple[Finding, ...]:
    """What the new MJCF does not hold, or states otherwise than the robot."""
    robot = found.robot
    bodies = link_bodies(found)
    notes = list(left_out_notes(found, joint_values(found), "MJCF", HELD_TERMS))
    joined = _joined_links(robot, bodies)
    heavy = _heavy_links(robot, bodies)
    if joined:
        notes.append(
            Finding(
                "info",
                "mjcf-joined-links",
                "massless links between two joints are not bodies of their own in MuJoCo, their "
                f"joints are on the body behind them: {listed(sorted(joined))}",
            )
        )
    massless = [
        joint.child
        for joint in robot.moving_joints
        if joint.child not in heavy and joint.child not in joined
    ]
    if massless:
        notes.append(
            Finding(
                "info",
                "mjcf-massless-links",
                "MuJoCo needs a mass of every body that moves: 1e-12 kg was given to "
                f"{listed(massless)}",
            )
        )
    return tuple(notes)


def _joined_links(robot: Robot, bodies: dict[str, LinkBody]) -> set[str]:
    """Massless links that moving joints carry and that carry nothing but one moving joint."""
    carried: dict[str, list[Joint]] = {}
    for joint in robot.joints:
        carried.setdefault(joint.parent, []).append(joint)
    joined: set[str] = set()
    run: dict[str, int] = {}  # how many joints wait at a link that is joined
    for joint in robot.joints_from_root:
        on_it = carried.get(joint.child, [])
        alone = joint.moves and len(on_it) == 1 and on_it[0].moves
        count = run.get(joint.parent, 0) + 1
        if alone and joint.child not in bodies and count < MOST_JOINTS:
            joined.add(joint.child)
            run[joint.child] = count
    return joined


def _heavy_links(robot: Robot, bodies: dict[str, LinkBody]) -> set[str]:
    """Links that have a mass, or carry a link with mass on fixed joints."""
    heavy = set(bodies)
    for joint in reversed(robot.joints_from_root):
        if not joint.moves and joint.child in heavy:
            heavy.add(joint.parent)
    return heavy


def _texts(name: str, bodies: dict[str, LinkBody], *, needs_mass: bool) -> InertialTexts | None:
    if name in bodies:
        return inertial_texts(bodies[name], name, margins=True)
    return NOTHING if needs_mass else None


def add_inertial(body: Element, texts: InertialTexts | None) -> None:
    """Put the inertial into a body; None for a body without mass, which has none."""
    if texts is not None:
        SubElement(
            body,
            "inertial",
            pos=" ".join(texts.com),
            mass=texts.mass,
            fullinertia=" ".join(texts.full),
        )


def _add_joint(body: Element, joint: Joint, T_body_child: Array, values: JointValues) -> None:
    """The joint, whose child link has the pose T_body_child (4, 4) in the body at rest."""
    screw, centre = body_screw(joint)
    R = T_body_child[:3, :3]
    slides = joint.kind == "prismatic"
    axis = R @ (screw[:3] if slides else screw[3:])
    attributes = {"name": joint.name, "type": "slide" if slides else "hinge"}
    position = R @ centre + T_body_child[:3, 3]
    if not slides and np.abs(position).max() > 0.0:
        attributes["pos"] = numbers(position)
    attributes["axis"] = numbers(axis)
    limits = joint.limits
    bounded = limits.lower is not None or limits.upper is not None
    if bounded and joint.kind != "continuous":
        lower = -NO_LIMIT if limits.lower is None else limits.lower
        upper = NO_LIMIT if limits.upper is None else limits.upper
        attributes["range"] = f"{number(lower)} {number(upper)}"
    if limits.effort:
        attributes["actuatorfrcrange"] = f"{number(-limits.effort)} {number(limits.effort)}"
    for attribute, kind in (
        ("armature", "drive_inertia"),
        ("damping", "viscous"),
        ("frictionloss", "coulomb"),
    ):
        if joint.name in values.of(kind):
            attributes[attribute] = file_decimal(values.of(kind)[joint.name])
    SubElement(body, "joint", attributes)


def _add_mimics(root: Element, robot: Robot) -> None:
    followers = [joint for joint in robot.joints if joint.mimic is not None]
    if not followers:
        return
    equality = SubElement(root, "equality")
    for joint in followers:
        assert joint.mimic is not None
        SubElement(
            equality,
            "joint",
            joint1=joint.name,
            joint2=joint.mimic.joint,
            polycoef=f"{number(joint.mimic.offset)} {number(joint.mimic.multiplier)} 0 0 0",
        )


def _quat(T: Array) -> dict[str, str]:
    if np.array_equal(T[:3, :3], IDENTITY[:3, :3]):
        return {}
    return {"quat": numbers(quaternion_from_rotation(T[:3, :3]))}
