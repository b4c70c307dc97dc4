"""A new SDF (SDFormat, read by Gazebo and Drake) of any robot, without meshes.

Links keep their frames. SDF links have a mass, so a massless link that is fixed to another is
written as a <frame>, and a massless link that moves gets 1e-12 kg. A fixed base is welded to the
world. Links and joints share one set of names in SDF: a joint with the name of a link gets the
ending ``_joint``.

A mimic needs SDFormat 1.11; a robot without them is written as 1.9.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RobotError, listed, shown
from steelyard.export._digits import file_decimal
from steelyard.export._joint_values import JointValues, joint_values, left_out_notes
from steelyard.export._link_texts import NOTHING, InertialTexts, inertial_texts, link_bodies
from steelyard.export._xml_text import header, number, numbers, xml_text
from steelyard.export.identified_robot import IdentifiedRobot
from steelyard.export.urdf_text import INERTIA_ENTRIES
from steelyard.findings import Finding
from steelyard.robot.parts import IDENTITY, Joint
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import rpy_of

Array = NDArray[np.float64]
WORLD = "world"
VERSION, VERSION_WITH_MIMICS = "1.9", "1.11"
HELD_TERMS = ("viscous", "coulomb")


def sdf_text(found: IdentifiedRobot) -> str:
    """An SDF of the robot with its identified parameters, without meshes.

    Its inertials are exactly physical with the written digits. What SDF cannot hold is in the
    comment on top, and in :func:`sdf_text_notes`.
    """
    robot = found.robot
    values = joint_values(found)
    names = _joint_names(robot)
    inertials = {
        name: inertial_texts(body, name, margins=True) for name, body in link_bodies(found).items()
    }
    mimics = any(joint.mimic is not None for joint in robot.joints)
    root = Element("sdf", version=VERSION_WITH_MIMICS if mimics else VERSION)
    model = SubElement(root, "model", name=robot.name)
    if robot.root != WORLD:
        _add_link(model, robot.root, None, IDENTITY, inertials.get(robot.root, NOTHING))
        if not robot.floating_base:
            weld = SubElement(model, "joint", name=_unused("base_weld", robot), type="fixed")
            SubElement(weld, "parent").text = WORLD
            SubElement(weld, "child").text = robot.root
    for joint in robot.joints_from_root:
        parent = None if joint.parent == WORLD else joint.parent
        T_parent_child = joint.pose(0.0)
        if not joint.moves and parent is not None and joint.child not in inertials:
            frame = SubElement(model, "frame", name=joint.child, attached_to=parent)
            SubElement(frame, "pose").text = _pose(T_parent_child)
            continue
        inertial = inertials.get(joint.child, NOTHING)
        _add_link(model, joint.child, parent, T_parent_child, inertial)
        _add_joint(model, joint, names, values)
    return xml_text(root, header(found, sdf_text_notes(found)))


def sdf_text_notes(found: IdentifiedRobot) -> tuple[Finding, ...]:
    """What the new SDF does not hold, or states otherwise than the robot."""
    robot = found.robot
    notes = list(left_out_notes(found, joint_values(found), "SDF", HELD_TERMS))
    bodies = link_bodies(found)
    massless = [joint.child for joint in robot.moving_joints if joint.child not in bodies]
    if massless:
        notes.append(
            Finding(
                "info",
                "sdf-massless-links",
                f"SDF has no massless links that move: 1e-12 kg was given to {listed(massless)}",
            )
        )
    renamed = [f"{old} to {new}" for old, new in _joint_names(robot).items() if old != new]
    if renamed:
        notes.append(
            Finding(
                "info",
                "sdf-renamed-joints",
                "in SDF a joint cannot have the name of a link; joints were renamed: "
                f"{listed(renamed)}",
            )
        )
    followers = [joint.name for joint in robot.joints if joint.mimic is not None]
    if followers:
        notes.append(
            Finding(
                "info",
                "sdf-mimics",
                f"joints that follow others need SDFormat {VERSION_WITH_MIMICS}, which not every "
                f"program reads: {listed(followers)}",
            )
        )
    return tuple(notes)


def _joint_names(robot: Robot) -> dict[str, str]:
    """The name of every joint in the SDF; refuses names that SDF reserves."""
    links = {link.name for link in robot.links}
    joints = {joint.name for joint in robot.joints}
    for name in links | joints:
        if "::" in name or (name == WORLD and name != robot.root):
            raise RobotError(f"SDF reserves the name {shown(name)}; rename this link or joint")
        if name.startswith("__") and name.endswith("__"):
            raise RobotError(f"SDF reserves the name {shown(name)}; rename this link or joint")
    taken = links | joints
    names = {}
    for joint in robot.joints:
        name = joint.name
        while name in links or (name != joint.name and name in taken):
            name += "_joint"
        taken.add(name)
        names[joint.name] = name
    return names


def _unused(name: str, robot: Robot) -> str:
    taken = {link.name for link in robot.links} | set(_joint_names(robot).values())
    while name in taken:
        name += "_"
    return name


def _add_link(
    model: Element, name: str, parent: str | None, T_parent_link: Array, texts: InertialTexts
) -> None:
    link = SubElement(model, "link", name=name)
    if not np.array_equal(T_parent_link, IDENTITY) or parent is not None:
        place = SubElement(link, "pose", {} if parent is None else {"relative_to": parent})
        place.text = _pose(T_parent_link)
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "pose").text = " ".join([*texts.com, "0 0 0"])
    SubElement(inertial, "mass").text = texts.mass
    inertia = SubElement(inertial, "inertia")
    for entry, text in zip(INERTIA_ENTRIES, texts.inertia, strict=True):
        SubElement(inertia, entry).text = text


def _add_joint(model: Element, joint: Joint, names: dict[str, str], values: JointValues) -> None:
    element = SubElement(model, "joint", name=names[joint.name], type=joint.kind)
    SubElement(element, "parent").text = joint.parent
    SubElement(element, "child").text = joint.child
    if not joint.moves:
        return
    if not np.array_equal(joint.child_offset, IDENTITY):
        SubElement(element, "pose").text = _pose(
            np.asarray(np.linalg.inv(joint.child_offset), dtype=float)
        )
    axis = SubElement(element, "axis")
    SubElement(axis, "xyz").text = numbers(joint.axis)
    stated = {
        "lower": joint.limits.lower,
        "upper": joint.limits.upper,
        "effort": joint.limits.effort,
        "velocity": joint.limits.velocity,
    }
    if joint.kind == "continuous":
        stated |= {"lower": None, "upper": None}
    if any(value is not None for value in stated.values()):
        limit = SubElement(axis, "limit")
        for name, value in stated.items():
            if value is not None:
                SubElement(limit, name).text = number(value)
    viscous, coulomb = values.of("viscous"), values.of("coulomb")
    if joint.name in viscous or joint.name in coulomb:
        dynamics = SubElement(axis, "dynamics")
        SubElement(dynamics, "damping").text = file_decimal(viscous.get(joint.name, 0.0))
        SubElement(dynamics, "friction").text = file_decimal(coulomb.get(joint.name, 0.0))
    if joint.mimic is not None:
        mimic = SubElement(axis, "mimic", joint=names[joint.mimic.joint])
        SubElement(mimic, "multiplier").text = number(joint.mimic.multiplier)
        SubElement(mimic, "offset").text = number(joint.mimic.offset)
        SubElement(mimic, "reference").text = "0"


def _pose(T: Array) -> str:
    return f"{numbers(T[:3, 3])} {numbers(rpy_of(T[:3, :3]))}"
