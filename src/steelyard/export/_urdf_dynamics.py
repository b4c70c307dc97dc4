"""Friction and drive inertia of joints in a URDF: <dynamics>, and Drake's rotor tags."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard._files.xml import NUMBER, XmlElement, number
from steelyard.errors import RobotError, shown
from steelyard.export._digits import file_decimal, kept_or_decimal
from steelyard.export._joint_values import joint_values
from steelyard.export._xml_source import (
    Edit,
    InsertAfter,
    InsertFirst,
    SetAttribute,
    TextElement,
    XmlDocument,
)
from steelyard.export.identified_robot import IdentifiedRobot
from steelyard.export.joint_terms import IN_URDF
from steelyard.export.urdf import Change

DRAKE = "https://drake.mit.edu"
ROTOR, GEAR = "drake:rotor_inertia", "drake:gear_ratio"
BEFORE_DYNAMICS = ("limit", "axis")  # a new <dynamics> follows the first of these that there is


@dataclass(frozen=True, eq=False)
class JointEdits:
    """Edits of joints and what they change."""

    edits: tuple[Edit, ...] = ()
    changes: tuple[Change, ...] = ()


def dynamics_edits(document: XmlDocument, found: IdentifiedRobot) -> JointEdits:
    """The edits that set damping and friction of the joints whose terms the model has.

    The friction of a joint that follows another is part of that joint's: what the file states for
    the follower is set to zero. An attribute that is missing means zero, and is added only for
    another value.
    """
    joints = {element.attributes["name"]: element for element in document.root.all("joint")}
    wanted: dict[str, dict[str, float]] = {}
    for kind, attribute in IN_URDF.items():
        values = joint_values(found).of(kind)
        for joint in found.robot.moving_joints:
            leader = joint.name if joint.mimic is None else joint.mimic.joint
            if leader in values:
                value = values[leader] if joint.mimic is None else 0.0
                wanted.setdefault(joint.name, {})[attribute] = value
    edits: list[Edit] = []
    changes: list[Change] = []
    for name, values_of_joint in wanted.items():
        element = joints[name]
        dynamics = element.first("dynamics")
        stated = {} if dynamics is None else dynamics.attributes
        new: dict[str, str] = {}
        for attribute, value in values_of_joint.items():
            before = stated.get(attribute)
            text = _text(before, value)
            if text is not None:
                new[attribute] = text
                changes.append(Change(None, f"dynamics {attribute}", before, text, name))
        if dynamics is not None:
            edits += [SetAttribute(dynamics, attribute, text) for attribute, text in new.items()]
        elif new:
            edits.append(
                InsertAfter(element, _place(element), XmlElement("dynamics", new, element.line))
            )
    return JointEdits(tuple(edits), tuple(changes))


def _text(before: str | None, value: float) -> str | None:
    """The new text of an attribute; None if it stays."""
    if before is None:
        return None if value == 0.0 else file_decimal(value)
    text = before.strip()
    if not NUMBER.fullmatch(text):  # such as nothing at all, which the reader ignores
        return file_decimal(value)
    new = kept_or_decimal(text, value)
    return None if new == text else new


def _place(joint: XmlElement) -> XmlElement:
    """The child of a joint after which <dynamics> is inserted."""
    for tag in BEFORE_DYNAMICS:
        there = joint.first(tag)
        if there is not None:
            return there
    return joint.children[-1]  # a joint has a parent and a child


def drake_edits(document: XmlDocument, found: IdentifiedRobot) -> JointEdits:
    """The edits that state drive inertia as Drake's rotor inertia, at a gear ratio of 1.

    A transmission that the file has for a joint alone is used. Where it states a gear ratio n,
    the rotor inertia is the drive inertia / n².
    """
    root = document.root
    stated = _transmissions(root)
    edits: list[Edit] = []
    changes: list[Change] = []
    for joint, value in joint_values(found).of("drive_inertia").items():
        transmission = stated.get(joint)
        actuator = None if transmission is None else transmission.first("actuator")
        if actuator is None:
            if value == 0.0:
                continue
            rotor = file_decimal(value)
            new = XmlElement("actuator", {"name": f"{joint}_motor"}, 0, _tags(rotor))
            if transmission is None:
                edits.append(InsertAfter(root, root.children[-1], _transmission(joint, new)))
            else:
                edits.append(InsertAfter(transmission, transmission.children[-1], new))
            changes.append(Change(None, ROTOR, None, rotor, joint))
            continue
        gear, rotor_element = actuator.first(GEAR), actuator.first(ROTOR)
        wanted = value / _ratio(gear, joint, document.where) ** 2
        before = None if rotor_element is None else rotor_element.attributes.get("value")
        text = _text(before, wanted)
        if text is None:
            continue
        changes.append(Change(None, ROTOR, before, text, joint))
        if rotor_element is not None:
            edits.append(SetAttribute(rotor_element, "value", text))
            continue
        for tag in reversed(_tags(text)):
            if tag.tag == ROTOR or gear is None:
                edits.append(_into(actuator, tag))
    if edits and not any(name == "xmlns:drake" for name in root.attributes):
        edits.insert(0, SetAttribute(root, "xmlns:drake", DRAKE))
        changes.insert(0, Change(None, "robot xmlns:drake", None, DRAKE))
    return JointEdits(tuple(edits), tuple(changes))


def _into(parent: XmlElement, child: XmlElement) -> Edit:
    if not parent.children:
        return InsertFirst(parent, child)
    return InsertAfter(parent, parent.children[-1], child)


def _transmissions(root: XmlElement) -> dict[str, XmlElement]:
    """The first transmission of every joint that has one for itself alone."""
    found: dict[str, XmlElement] = {}
    for transmission in root.all("transmission"):
        joints = transmission.all("joint")
        if len(joints) == 1 and "name" in joints[0].attributes:
            found.setdefault(joints[0].attributes["name"], transmission)
    return found


def _ratio(gear: XmlElement | None, joint: str, where: str) -> float:
    what = f"{where}: joint {shown(joint)}: {GEAR}"
    ratio = 1.0 if gear is None else number(gear.attributes.get("value", ""), what)
    if ratio == 0.0:
        raise RobotError(f"{what} is 0; it must be another number")
    return ratio


def _tags(rotor: str) -> list[XmlElement]:
    return [XmlElement(ROTOR, {"value": rotor}, 0), XmlElement(GEAR, {"value": "1"}, 0)]


def _transmission(joint: str, actuator: XmlElement) -> XmlElement:
    kind = TextElement("type", {}, 0, text="transmission_interface/SimpleTransmission")
    children = [kind, XmlElement("joint", {"name": joint}, 0), actuator]
    return XmlElement("transmission", {"name": f"{joint}_transmission"}, 0, children)
