"""The collision geometry of a URDF: boxes, cylinders and spheres, and the names of meshes.

Meshes are never opened here. Where only solids are wanted (`collision_primitives`), a link with a
mesh is skipped, and the result says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from steelyard._files.xml import XmlElement, attribute, number, numbers, parse_xml, read_file
from steelyard.errors import RobotError, listed, shown, shown_path
from steelyard.robot.formats._urdf_elements import name_of
from steelyard.robot.rotations import Array, pose, rotation_rpy

SHAPES = ("box", "cylinder", "sphere")


@dataclass(frozen=True, eq=False)
class Primitive:
    """A solid in its link's frame.

    size : (3,) edges of a box; diameter, diameter, length of a cylinder along its z axis;
        diameters of a sphere (m). pose : (4, 4) of the solid in the link's frame.
    """

    kind: Literal["box", "cylinder", "sphere"]
    size: Array
    pose: Array

    @property
    def volume(self) -> float:
        """In m³."""
        share = {"box": 1.0, "cylinder": np.pi / 4.0, "sphere": np.pi / 6.0}[self.kind]
        return float(share * np.prod(self.size))

    def half_sizes(self) -> Array:
        """Half edges (3,) of its bounding box along the axes of the link (m)."""
        R = self.pose[:3, :3]
        if self.kind == "sphere":
            return np.asarray(0.5 * self.size)
        if self.kind == "cylinder":
            across = np.sqrt(np.maximum(1.0 - R[:, 2] ** 2, 0.0))
            return np.asarray(0.5 * self.size[2] * np.abs(R[:, 2]) + 0.5 * self.size[0] * across)
        return np.asarray(np.abs(R) @ (0.5 * self.size))

    def second_moments(self) -> Array:
        """∫ x² dV / V (3,) along its own axes, for a uniform solid (m²)."""
        share = {
            "box": (1 / 12, 1 / 12, 1 / 12),
            "cylinder": (1 / 16, 1 / 16, 1 / 12),
            "sphere": (1 / 20, 1 / 20, 1 / 20),
        }[self.kind]
        return np.asarray(np.array(share) * self.size**2)


@dataclass(frozen=True, eq=False)
class MeshReference:
    """A mesh file that a link names.

    file : as the URDF writes it, such as package://arm/link.stl. scale : (3,) factors of its
    coordinates. pose : (4, 4) of the mesh in the link's frame. line : of the URDF.
    """

    file: str
    scale: Array
    pose: Array
    line: int


@dataclass(frozen=True)
class Primitives:
    """Solids by link, and why other links have none."""

    solids: Mapping[str, tuple[Primitive, ...]]
    skipped: Mapping[str, str]


def collision_shapes(path: str | Path) -> Mapping[str, tuple[Primitive | MeshReference, ...]]:
    """The collision geometry of every link of a URDF; links without any are left out."""
    where, root = _robot_element(path)
    found: dict[str, tuple[Primitive | MeshReference, ...]] = {}
    try:
        for element in root.all("link"):
            name = name_of(element)
            owner = f"link {shown(name)}"
            shapes = tuple(_shape(collision, owner) for collision in element.all("collision"))
            if shapes:
                found[name] = shapes
    except RobotError as error:
        raise RobotError(f"{where}: {error}") from None
    return found


def _robot_element(path: str | Path) -> tuple[str, XmlElement]:
    """How messages name the file, and its <robot> element."""
    where = shown_path(path)
    root = parse_xml(read_file(path), where)
    if root.tag != "robot":
        raise RobotError(
            f"{where} has root element <{root.tag[:60]}>, not <robot>; collision geometry is read "
            "from URDF files only"
        )
    return where, root


def _shape(collision: XmlElement, owner: str) -> Primitive | MeshReference:
    """The solid or mesh of a <collision> element."""
    geometry = collision.first("geometry")
    shape = geometry.children[0] if geometry is not None and geometry.children else None
    if shape is None:
        raise RobotError(f"{owner}: its <collision> in line {collision.line} has no geometry")
    if shape.tag == "mesh":
        scale = numbers(shape.attributes.get("scale", "1 1 1"), 3, f"{owner}: mesh scale")
        file = attribute(shape, "filename", owner)
        return MeshReference(file, np.array(scale), _origin(collision, owner), shape.line)
    if shape.tag not in SHAPES:
        raise RobotError(
            f"{owner}: its <collision> in line {collision.line} is a {shape.tag[:20]}; what can be "
            f"read is {listed((*SHAPES, 'mesh'))}"
        )
    return Primitive(shape.tag, _size(shape, owner), _origin(collision, owner))  # type: ignore[arg-type]


def collision_primitives(path: str | Path) -> Primitives:
    """The collision primitives of every link of a URDF."""
    where, root = _robot_element(path)
    solids: dict[str, tuple[Primitive, ...]] = {}
    skipped: dict[str, str] = {}
    try:
        for element in root.all("link"):
            name = name_of(element)
            found = _link_solids(element, f"link {shown(name)}")
            if isinstance(found, str):
                skipped[name] = found
            else:
                solids[name] = found
    except RobotError as error:
        raise RobotError(f"{where}: {error}") from None
    return Primitives(solids, skipped)


def _link_solids(link: XmlElement, owner: str) -> tuple[Primitive, ...] | str:
    """The solids of a link, or why it has none."""
    out = []
    for collision in link.all("collision"):
        geometry = collision.first("geometry")
        shape = geometry.children[0] if geometry is not None and geometry.children else None
        if shape is None:
            return f"its <collision> in line {collision.line} has no geometry"
        if shape.tag not in SHAPES:
            return f"its <collision> in line {collision.line} is a {shape.tag[:20]}"
        out.append(Primitive(shape.tag, _size(shape, owner), _origin(collision, owner)))  # type: ignore[arg-type]
    return tuple(out) or "it has no <collision>"


def _size(shape: XmlElement, owner: str) -> Array:
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
        return np.full(3, 2.0 * length("radius"))
    if shape.tag == "cylinder":
        diameter = 2.0 * length("radius")
        return np.array([diameter, diameter, length("length")])
    sizes = numbers(attribute(shape, "size", owner), 3, f"{owner}: box size")
    return np.array([_positive(size, "size") for size in sizes])


def _origin(collision: XmlElement, owner: str) -> Array:
    origin = collision.first("origin")
    stated = {} if origin is None else origin.attributes
    xyz = numbers(stated.get("xyz", "0 0 0"), 3, f"{owner}: collision origin xyz")
    rpy = numbers(stated.get("rpy", "0 0 0"), 3, f"{owner}: collision origin rpy")
    return pose(rotation_rpy(*rpy), xyz)
