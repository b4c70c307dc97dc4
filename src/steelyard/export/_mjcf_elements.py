"""The elements of an MJCF file that describe bodies and joints, by the names of the reader."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard._files.xml import XmlElement
from steelyard.robot.formats.mjcf import numbered_names

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
JOINTS = ("joint", "freejoint")


@dataclass(frozen=True, eq=False)
class BodyElement:
    """A <body>, or the <worldbody>.

    inertial : None if the body states none; in_moved_frame : whether the inertial is inside a
        <frame> of the body that moves it.
    placed_by_frame : whether the body itself is inside a <frame> that moves it.
    joints : its joint elements with the joints' names.
    """

    name: str
    element: XmlElement
    inertial: XmlElement | None
    in_moved_frame: bool
    placed_by_frame: bool
    joints: tuple[tuple[str, XmlElement], ...]


@dataclass(slots=True)
class _Found:
    """What the walk through a body collects."""

    element: XmlElement
    placed_by_frame: bool
    inertial: XmlElement | None
    in_moved_frame: bool
    joints: list[XmlElement]


def body_elements(root: XmlElement) -> dict[str, BodyElement]:
    """Every body of an MJCF by its link's name, in the order of MuJoCo's numbers.

    Bodies and joints without a name are numbered as the reader does.
    """
    # the world is body 0; a file may have several <worldbody> sections
    found = [_Found(root, False, None, False, [])]
    for world in root.all("worldbody"):
        _walk(world, found)
    joints = [joint for body in found for joint in body.joints]
    joint_names = iter(numbered_names([_name(joint) for joint in joints], "joint"))
    given = ["world", *(_name(body.element) for body in found[1:])]
    return {
        name: BodyElement(
            name,
            body.element,
            body.inertial,
            body.in_moved_frame,
            body.placed_by_frame,
            tuple((next(joint_names), joint) for joint in body.joints),
        )
        for name, body in zip(numbered_names(given, "body"), found, strict=True)
    }


def _walk(world: XmlElement, found: list[_Found]) -> None:
    """Collect the bodies below ``world`` in the order of their start tags."""
    stack = [(child, found[0], False) for child in reversed(world.children)]
    while stack:
        element, body, moved = stack.pop()
        if element.tag == "body":
            body, moved = _Found(element, moved, None, False, []), False
            found.append(body)
        elif element.tag == "frame":
            moved = moved or any(name in element.attributes for name in ("pos", *ORIENTATIONS))
        else:
            if element.tag == "inertial":
                body.inertial, body.in_moved_frame = element, moved
            elif element.tag in JOINTS:
                body.joints.append(element)
            continue
        stack.extend((child, body, moved) for child in reversed(element.children))


def _name(element: XmlElement) -> str:
    return element.attributes.get("name", "")
