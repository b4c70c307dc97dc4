"""The link and joint elements of a URDF file, with every number checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard._files.xml import NUMBER, XmlElement, attribute, number, numbers
from steelyard.errors import LONGEST_NAME, RobotError, did_you_mean, is_name, listed, shown
from steelyard.robot.formats.urdf_digits import INERTIA_ENTRIES
from steelyard.robot.inertia import from_com
from steelyard.robot.parts import (
    MOVING_KINDS,
    Joint,
    JointKind,
    Limits,
    Link,
    Mimic,
    Origin,
)
from steelyard.robot.rotations import Array, frozen_array

JOINT_TYPES: dict[str, JointKind] = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "fixed": "fixed",
}


def name_of(element: XmlElement) -> str:
    """The element's name, which must be present, not blank, and fit on a line."""
    name = element.attributes.get("name", "")
    if not is_name(name):
        raise RobotError(
            f"<{element.tag}> in line {element.line} has the name {shown(name)}; a name is "
            f"1 to {LONGEST_NAME} visible characters on one line"
        )
    return name


def read_link(element: XmlElement) -> Link:
    """The link of a <link> element."""
    name = name_of(element)
    owner = f"link {shown(name)}"
    inertial = element.first("inertial")
    return Link(name) if inertial is None else Link(name, *_inertial(inertial, owner))


def _inertial(element: XmlElement, owner: str) -> tuple[Array, Array]:
    """The 10-vector in the link frame, and the inertia (3, 3) about the centre of mass."""
    mass_element = element.first("mass")
    if mass_element is None or "value" not in mass_element.attributes:
        raise RobotError(f"{owner}: its <inertial> in line {element.line} states no mass")
    mass = number(mass_element.attributes["value"], f"{owner}: mass")
    inertia_element = element.first("inertia")
    if inertia_element is None:
        raise RobotError(
            f"{owner}: its <inertial> in line {element.line} has a mass but no <inertia>"
        )
    ixx, ixy, ixz, iyy, iyz, izz = (
        number(attribute(inertia_element, entry, owner), f"{owner}: inertia {entry}")
        for entry in INERTIA_ENTRIES
    )
    T_link_inertial = _origin(element, owner).pose
    R = T_link_inertial[:3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        inertia_com = R @ np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]) @ R.T
        inertial = from_com(mass, T_link_inertial[:3, 3], inertia_com)
    if not np.all(np.isfinite(inertial)):
        raise RobotError(f"{owner}: the numbers of its <inertial> are too large to work with")
    return frozen_array(inertial, (10,)), frozen_array(inertia_com, (3, 3))


def _origin(element: XmlElement, owner: str) -> Origin:
    stated = element.first("origin")
    attributes = {} if stated is None else stated.attributes
    x, y, z = numbers(attributes.get("xyz", "0 0 0"), 3, f"{owner}: origin xyz")
    roll, pitch, yaw = numbers(attributes.get("rpy", "0 0 0"), 3, f"{owner}: origin rpy")
    return Origin((x, y, z), (roll, pitch, yaw))


def read_joint(element: XmlElement) -> Joint:
    """The joint of a <joint> element of any kind but floating."""
    name = name_of(element)
    owner = f"joint {shown(name)}"
    kind = JOINT_TYPES.get(attribute(element, "type", owner))
    if kind is None:
        given = element.attributes["type"]
        raise RobotError(
            f"{owner} is of type {shown(given)}{did_you_mean(given, JOINT_TYPES)}; "
            f"the types that can be read are {listed(JOINT_TYPES)}, and floating at the root"
        )
    origin = _origin(element, owner)
    joint = Joint(
        name=name,
        kind=kind,
        parent=end_of(element, "parent", owner),
        child=end_of(element, "child", owner),
        placement=origin.pose,
        origin=origin,
    )
    if kind not in MOVING_KINDS:
        return joint
    return replace(
        joint,
        axis=_axis(element, owner),
        limits=_limits(element, kind, owner),
        mimic=_mimic(element, owner),
    )


def end_of(element: XmlElement, tag: str, owner: str) -> str:
    """The name of the link at the joint's parent or child end."""
    end = element.one(tag, owner)
    if end is None:
        raise RobotError(f"{owner} in line {element.line} has no <{tag}>")
    return attribute(end, "link", owner)


def _axis(element: XmlElement, owner: str) -> Array:
    stated = element.first("axis")
    xyz = "1 0 0" if stated is None else attribute(stated, "xyz", owner)
    axis = np.array(numbers(xyz, 3, f"{owner}: axis"))
    # Scaled by the largest entry first, so that squares neither overflow nor vanish.
    largest = np.abs(axis).max()
    if largest == 0.0:
        raise RobotError(f"{owner}: its axis is 0 0 0, which is not a direction")
    axis = axis / largest
    return frozen_array(axis / np.linalg.norm(axis), (3,))


def _limits(element: XmlElement, kind: JointKind, owner: str) -> Limits:
    stated = element.first("limit")
    if stated is None:
        return Limits()
    values: dict[str, float] = {}
    for key in ("lower", "upper", "velocity", "effort"):
        if key in stated.attributes:
            values[key] = number(stated.attributes[key], f"{owner}: limit {key}", infinite=True)
    for key in ("velocity", "effort"):
        if values.get(key, 0.0) < 0.0:
            raise RobotError(f"{owner}: limit {key} is {values[key]}; it must not be negative")
    if kind == "continuous" or not values.keys() & {"lower", "upper"}:
        values["lower"], values["upper"] = -np.inf, np.inf
    lower, upper = values.setdefault("lower", 0.0), values.setdefault("upper", 0.0)
    if lower > upper or lower == np.inf or upper == -np.inf:
        raise RobotError(f"{owner}: its lower limit {lower} is above its upper limit {upper}")
    return Limits(**{key: value for key, value in values.items() if np.isfinite(value)})


def _mimic(element: XmlElement, owner: str) -> Mimic | None:
    stated = element.first("mimic")
    if stated is None:
        return None
    return Mimic(
        attribute(stated, "joint", owner),
        number(stated.attributes.get("multiplier", "1"), f"{owner}: mimic multiplier"),
        number(stated.attributes.get("offset", "0"), f"{owner}: mimic offset"),
    )


def unused_dynamics(joints: list[XmlElement]) -> tuple[str, ...]:
    """A note on moving joints whose <dynamics> states damping or friction, which nothing uses."""
    names = [
        name_of(element)
        for element in joints
        if element.attributes.get("type") != "fixed" and _states_dynamics(element)
    ]
    if not names:
        return ()
    return (
        f"<dynamics> states damping or friction of {listed(names)}, which is not used: friction "
        "comes from recorded torques alone, and the file's inertials are compared without it",
    )


def _states_dynamics(element: XmlElement) -> bool:
    dynamics = element.first("dynamics")
    if dynamics is None:
        return False
    stated = (dynamics.attributes.get(key, "").strip() for key in ("damping", "friction"))
    # text that is not a number is not used here, so it is no reason to refuse the file
    return any(text and not (NUMBER.fullmatch(text) and float(text) == 0.0) for text in stated)


def repeated_elements(element: XmlElement) -> tuple[str, ...]:
    """Notes on elements that a link or joint repeats; as in urdfdom, the first one is used."""
    notes = []
    owner = f"{element.tag} {shown(element.attributes.get('name', ''))}"
    inertial = element.first("inertial")
    for parent in (element, *([inertial] if inertial is not None else [])):
        for tag in ("inertial", "mass", "inertia", "origin", "axis", "limit", "mimic"):
            found = parent.all(tag)
            if len(found) > 1:
                notes.append(
                    f"{owner} has {len(found)} <{tag}> elements: the one in line "
                    f"{found[0].line} is used, not the one in line {found[1].line}"
                )
    return tuple(notes)
