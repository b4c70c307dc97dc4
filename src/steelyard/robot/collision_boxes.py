"""Boxes around the collision geometry of a URDF, for the centres of mass of its links.

Boxes, cylinders and spheres are read with their origins. Meshes are never opened: a link with one
is left out, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.errors import RobotError
from steelyard.regions import Box
from steelyard.robot.frames import pose, rotation_rpy
from steelyard.robot.tree import Array
from steelyard.robot.urdf_elements import name_of
from steelyard.robot.xml import XmlElement, attribute, number, numbers, parse_xml, read_file
from steelyard.wording import shown, shown_path


@dataclass(frozen=True)
class CollisionBoxes:
    """Boxes by link, in the link's frame and along its axes (m), and why others have none."""

    boxes: Mapping[str, Box]
    skipped: Mapping[str, str]


def boxes_from_collision(path: str | Path) -> CollisionBoxes:
    """The smallest box, along each link's axes, around its collision primitives."""
    where = shown_path(path)
    root = parse_xml(read_file(path), where)
    if root.tag != "robot":
        raise RobotError(
            f"{where} has root element <{root.tag[:60]}>, not <robot>; collision boxes are read "
            "from URDF files only"
        )
    boxes: dict[str, Box] = {}
    skipped: dict[str, str] = {}
    try:
        for element in root.all("link"):
            name = name_of(element)
            found = _link_box(element, f"link {shown(name)}")
            if isinstance(found, Box):
                boxes[name] = found
            else:
                skipped[name] = found
    except RobotError as error:
        raise RobotError(f"{where}: {error}") from None
    return CollisionBoxes(boxes, skipped)


def _link_box(link: XmlElement, owner: str) -> Box | str:
    """The box of a link, or why it has none."""
    corners = []
    for collision in link.all("collision"):
        geometry = collision.first("geometry")
        shape = geometry.children[0] if geometry is not None and geometry.children else None
        if shape is None:
            return f"its <collision> in line {collision.line} has no geometry"
        if shape.tag not in ("box", "cylinder", "sphere"):
            return f"its <collision> in line {collision.line} is a {shape.tag[:20]}"
        T = _origin(collision, owner)
        half = _half_sizes(shape, T[:3, :3], owner)
        corners.append((T[:3, 3] - half, T[:3, 3] + half))
    if not corners:
        return "it has no <collision>"
    return Box(
        tuple(np.min([low for low, _ in corners], axis=0)),
        tuple(np.max([high for _, high in corners], axis=0)),
    )


def _half_sizes(shape: XmlElement, R: Array, owner: str) -> Array:
    """Half the size (3,) of the box around a primitive that is turned by R."""

    def length(name: str) -> float:
        return _positive(number(attribute(shape, name, owner), f"{owner}: {name}"), name)

    def _positive(value: float, name: str) -> float:
        if value < 0.0:
            raise RobotError(
                f"{owner}: the {name} of its <{shape.tag}> in line {shape.line} is {value:g}; "
                "it must not be negative"
            )
        return value

    if shape.tag == "sphere":
        return np.full(3, length("radius"))
    if shape.tag == "cylinder":
        across = np.sqrt(np.maximum(1.0 - R[:, 2] ** 2, 0.0))
        return np.asarray(0.5 * length("length") * np.abs(R[:, 2]) + length("radius") * across)
    sizes = numbers(attribute(shape, "size", owner), 3, f"{owner}: box size")
    return np.asarray(np.abs(R) @ [0.5 * _positive(size, "size") for size in sizes])


def _origin(collision: XmlElement, owner: str) -> Array:
    origin = collision.first("origin")
    stated = {} if origin is None else origin.attributes
    xyz = numbers(stated.get("xyz", "0 0 0"), 3, f"{owner}: collision origin xyz")
    rpy = numbers(stated.get("rpy", "0 0 0"), 3, f"{owner}: collision origin rpy")
    return pose(rotation_rpy(*rpy), xyz)
