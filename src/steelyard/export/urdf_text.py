"""A new URDF of any robot: kinematics, inertials and joint terms, without meshes.

For a robot that was read from a URDF, :mod:`steelyard.export.urdf` changes that file instead and
keeps its meshes.

In a URDF the frame of a link is the frame of the joint that moves it. Where a robot has it
elsewhere (standard Denavit-Hartenberg, MJCF), the link gets the joint's frame, and its inertial
and the joints on it are stated in that frame.

Missing limits of effort, speed and sliding joints, which URDF requires, are written as 1e9.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import listed
from steelyard.export._digits import file_decimal
from steelyard.export._joint_values import JointValues, joint_values, left_out_notes
from steelyard.export._link_texts import inertial_texts, link_bodies
from steelyard.export._xml_text import header, number, numbers, xml_text
from steelyard.export.identified_robot import IdentifiedRobot
from steelyard.findings import Finding
from steelyard.robot.parts import IDENTITY, Joint
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import rpy_of

Array = NDArray[np.float64]
INERTIA_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
NO_LIMIT = 1e9
HELD_TERMS = ("viscous", "coulomb")


def urdf_text(found: IdentifiedRobot) -> str:
    """A URDF of the robot with its identified parameters, without meshes.

    Its inertials are exactly physical with the written digits. What URDF cannot hold is in the
    comment on top, and in :func:`urdf_text_notes`.
    """
    robot = found.robot
    values = joint_values(found)
    frames = joint_frames(robot)
    bodies = link_bodies(found)
    root = Element("robot", name=robot.name)
    for link in robot.links:
        element = SubElement(root, "link", name=link.name)
        if link.name in bodies:
            texts = inertial_texts(bodies[link.name].in_frame(frames[link.name]), link.name)
            inertial = SubElement(element, "inertial")
            SubElement(inertial, "origin", xyz=" ".join(texts.com), rpy="0 0 0")
            SubElement(inertial, "mass", value=texts.mass)
            SubElement(inertial, "inertia", dict(zip(INERTIA_ENTRIES, texts.inertia, strict=True)))
    for joint in robot.joints:
        _add_joint(root, joint, frames[joint.parent], values)
    return xml_text(root, header(found, urdf_text_notes(found)))


def urdf_text_notes(found: IdentifiedRobot) -> tuple[Finding, ...]:
    """What the new URDF does not hold, or states in other frames than the robot."""
    robot = found.robot
    notes = list(left_out_notes(found, joint_values(found), "URDF", HELD_TERMS))
    moved = [name for name, T in joint_frames(robot).items() if not np.array_equal(T, IDENTITY)]
    if moved:
        notes.append(
            Finding(
                "info",
                "urdf-link-frames",
                "in URDF the frame of a link is that of its joint: the frames, and so the "
                f"inertials, of these links are stated there: {listed(moved)}",
            )
        )
    if robot.floating_base:
        notes.append(
            Finding(
                "info",
                "urdf-floating-base",
                f"the base '{robot.root}' moves freely, which URDF does not state: tell the "
                "program that reads it (floating_base=True in Steelyard)",
            )
        )
    return tuple(notes)


def joint_frames(robot: Robot) -> dict[str, Array]:
    """T_joint_link (4, 4) of every link: its pose in the frame that URDF gives it."""
    frames: dict[str, Array] = dict.fromkeys((link.name for link in robot.links), IDENTITY)
    return frames | {joint.child: joint.child_offset for joint in robot.joints if joint.moves}


def _add_joint(root: Element, joint: Joint, T_frame_parent: Array, values: JointValues) -> None:
    limits = joint.limits
    kind = joint.kind
    bounded = limits.lower is not None or limits.upper is not None
    if kind == "revolute" and not bounded:
        kind = "continuous"
    element = SubElement(root, "joint", name=joint.name, type=kind)
    placement = joint.placement if joint.moves else joint.pose(0.0)
    xyz, rpy = origin_of(joint, T_frame_parent @ placement)
    SubElement(element, "origin", xyz=xyz, rpy=rpy)
    SubElement(element, "parent", link=joint.parent)
    SubElement(element, "child", link=joint.child)
    if not joint.moves:
        return
    SubElement(element, "axis", xyz=numbers(joint.axis))
    limit = {}
    if kind != "continuous":
        limit["lower"] = number(-NO_LIMIT if limits.lower is None else limits.lower)
        limit["upper"] = number(NO_LIMIT if limits.upper is None else limits.upper)
    if limit or limits.effort is not None or limits.velocity is not None:
        limit["effort"] = number(NO_LIMIT if limits.effort is None else limits.effort)
        limit["velocity"] = number(NO_LIMIT if limits.velocity is None else limits.velocity)
        SubElement(element, "limit", limit)
    viscous, coulomb = values.of("viscous"), values.of("coulomb")
    if joint.name in viscous or joint.name in coulomb:
        SubElement(
            element,
            "dynamics",
            damping=file_decimal(viscous.get(joint.name, 0.0)),
            friction=file_decimal(coulomb.get(joint.name, 0.0)),
        )
    if joint.mimic is not None:
        SubElement(
            element,
            "mimic",
            joint=joint.mimic.joint,
            multiplier=number(joint.mimic.multiplier),
            offset=number(joint.mimic.offset),
        )


def origin_of(joint: Joint, T: Array) -> tuple[str, str]:
    """Position and angles of a pose (4, 4) as texts; those of the robot file where it has them."""
    if joint.origin is not None and np.array_equal(joint.origin.pose, T):
        return numbers(joint.origin.xyz), numbers(joint.origin.rpy)
    return numbers(T[:3, 3]), numbers(rpy_of(T[:3, :3]))
