"""Robots from URDF files.

Links with their inertials, and revolute, continuous, prismatic and fixed joints with
origin, axis, limits and mimic, are read and every number is checked. A floating joint
is read when it is the only joint of the root link: its child then becomes a floating
base and the root link, which represents the world, is left out. Planar joints are
refused. Visuals, collisions, transmissions, sensors and Gazebo sections are not read,
and no mesh is ever opened. Damping and friction of <dynamics> are noted, and not used.

Where a limit is not stated, or is infinite, it is ``None``. A revolute joint with
neither ``lower`` nor ``upper`` has no position limits, although the URDF page lets both
default to 0: that would be a joint that cannot move.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from steelyard._files.xml import XmlElement, parse_xml, read_file
from steelyard.errors import RobotError, is_name, shown, shown_path
from steelyard.robot.description import RobotDescription
from steelyard.robot.formats._mimics import resolve_mimics, without_mimics
from steelyard.robot.formats._urdf_elements import (
    end_of,
    name_of,
    read_joint,
    read_link,
    repeated_elements,
    unused_dynamics,
)
from steelyard.robot.parts import Link, gravity_vector
from steelyard.robot.sizes import check_count


def read_urdf(
    path: str | Path,
    *,
    gravity: object = None,
    floating_base: bool = False,
    mimics: bool = True,
) -> RobotDescription:
    """The robot in a URDF file; no other file is opened.

    gravity : (3,) m/s² in the root link's frame, (0, 0, -9.81) when not given.
    floating_base : whether the root link moves freely in the world.
    mimics : whether joints follow the joint that their <mimic> names; without, every
        joint has a coordinate of its own.
    """
    data = read_file(path)
    if str(path).lower().endswith(".xacro"):
        raise RobotError(_xacro_message(str(path), "its name ends in .xacro"))
    return parse_urdf(
        data, gravity=gravity, floating_base=floating_base, mimics=mimics, source=str(path)
    )


def parse_urdf(
    text: str | bytes,
    *,
    gravity: object = None,
    floating_base: bool = False,
    mimics: bool = True,
    source: str | None = None,
) -> RobotDescription:
    """The robot in the text of a URDF file; see :func:`read_urdf`.

    source : the file that the text is from, for messages.
    """
    where = shown_path(source) if source is not None else "URDF text"
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    root = parse_xml(data, where, "utf-8" if isinstance(text, str) else None)
    _refuse_xacro(root, source)
    if root.tag != "robot":
        hint = "; read it as MJCF" if root.tag == "mujoco" else ""
        raise RobotError(f"{where} has root element <{root.tag[:60]}>, not <robot>{hint}")
    try:
        found = _robot(root, gravity, floating_base, mimics, source)
    except RobotError as error:
        raise RobotError(f"{where}: {error}") from None
    return replace(found, source_sha256=hashlib.sha256(data).hexdigest())


def _robot(
    root: XmlElement, gravity: object, floating_base: bool, mimics: bool, source: str | None
) -> RobotDescription:
    name = root.attributes.get("name") or (Path(source).stem if source else "robot")
    for tag in ("link", "joint"):
        check_count(f"{tag}s", len(root.all(tag)), "the file")
    links = tuple(read_link(element) for element in root.all("link"))
    elements = root.all("joint")
    floating = [element for element in elements if element.attributes.get("type") == "floating"]
    if floating:
        links, elements = _without_world(links, elements, floating)
    joints = tuple(read_joint(element) for element in elements)
    return RobotDescription(
        name=name if is_name(name) else shown(name),
        links=links,
        joints=resolve_mimics(joints) if mimics else without_mimics(joints),
        gravity=gravity_vector(gravity),
        floating_base=floating_base or bool(floating),
        source=source,
        notes=(
            *(
                note
                for tag in ("link", "joint")
                for element in root.all(tag)
                for note in repeated_elements(element)
            ),
            *unused_dynamics(elements),
        ),
    )


def _xacro_message(path: str | None, why: str) -> str:
    source = path or "robot.urdf.xacro"
    target = source.removesuffix(".xacro")
    target = target if target != source and target.endswith(".urdf") else target + ".urdf"
    return (
        f"{shown_path(path) if path else 'this text'} is unprocessed xacro ({why}); "
        f"run: xacro {source} > {target}"
    )


def _refuse_xacro(root: XmlElement, source: str | None) -> None:
    """Refuse xacro tags and expressions; a left-over xmlns:xacro alone is harmless."""
    stack = [root]
    while stack:
        element = stack.pop()
        if element.tag.startswith("xacro:"):
            why = f"<{element.tag[:60]}> in line {element.line}"
            raise RobotError(_xacro_message(source, why))
        for name, value in element.attributes.items():
            if "${" in value:
                why = f"{name}={shown(value)} in line {element.line}"
                raise RobotError(_xacro_message(source, why))
        stack.extend(reversed(element.children))


def _without_world(
    links: tuple[Link, ...], joints: list[XmlElement], floating: list[XmlElement]
) -> tuple[tuple[Link, ...], list[XmlElement]]:
    """Leave out the world link and the floating joint that attaches the robot to it."""
    joint = floating[0]
    owner = f"joint {shown(name_of(joint))}"
    world = end_of(joint, "parent", owner)
    if len(floating) > 1:
        raise RobotError(
            f"{owner} and joint {shown(name_of(floating[1]))} are both floating; "
            "only one, at the root, can be read"
        )
    others = [element for element in joints if element is not joint]
    for element in others:
        other = name_of(element)
        for tag in ("parent", "child"):
            if end_of(element, tag, f"joint {shown(other)}") == world:
                raise RobotError(
                    f"{owner} is floating, but its parent link {shown(world)} also belongs to "
                    f"joint {shown(other)}; a floating joint can only be the one joint of the root"
                )
    end_of(joint, "child", owner)
    return tuple(link for link in links if link.name != world), others
