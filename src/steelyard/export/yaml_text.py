"""Inertials of links and terms of joints as YAML, in the form that ``xacro.load_yaml`` reads.

The numbers of a link are the digits that :func:`steelyard.export.identified_urdf.identified_urdf`
writes: they are exactly physical. Numbers are written so that YAML 1.1, which xacro's parser
reads, takes them as numbers: it would read 1e-5 as text, and 010 as eight.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal

from steelyard._files.xml import XmlElement, parse_xml
from steelyard.errors import RobotError, shown_path
from steelyard.export._joint_values import joint_values
from steelyard.export.identified_robot import IdentifiedRobot
from steelyard.export.identified_urdf import identified_urdf
from steelyard.export.robot_file import RobotFile
from steelyard.robot.formats.urdf_digits import INERTIA_ENTRIES, stated_inertials, stated_texts

TERMS = {
    "viscous": "damping",
    "coulomb": "friction",
    "drive_inertia": "drive_inertia",
    "offset": "offset",
}
SMALLEST_PLAIN, LARGEST_PLAIN = -5, 15  # powers of ten outside of which there is an exponent


def parameters_yaml(found: IdentifiedRobot, file: RobotFile) -> str:
    """Mass (kg), origin (m, rad) and inertia (kg m²) of links; damping, friction (Coulomb), drive
    inertia and offset of joints (SI units), with the widths of Coulomb friction where it has one.
    """
    if file.format != "urdf":
        raise RobotError(
            f"{shown_path(file.path)} is {file.format.upper()}; --to yaml is for robots whose file "
            "is a URDF, made from xacro"
        )
    root = parse_xml(identified_urdf(found, file.data).data, shown_path(file.path))
    lines = [
        f"# Identified parameters of {_text(found.robot.name)}, in SI units; inertia about the"
        " centre of mass.",
        "links:",
        *_nothing_or(_links(root)),
        "joints:",
        *_nothing_or(_joints(found)),
        *_turned(found),
    ]
    return "\n".join(lines) + "\n"


def yaml_number(text: str) -> str:
    """A decimal text as a number of YAML 1.1, with the same exact value."""
    value = Decimal(text.strip())
    if value == 0:
        return "0.0"
    if SMALLEST_PLAIN <= value.adjusted() <= LARGEST_PLAIN:
        plain = format(value, "f")
        return plain if "." in plain else f"{plain}.0"
    sign, digits, _ = value.as_tuple()
    mantissa = "".join(map(str, digits))
    return f"{'-' if sign else ''}{mantissa[0]}.{mantissa[1:] or '0'}e{value.adjusted():+03d}"


def _links(root: XmlElement) -> Iterator[str]:
    for name, inertial in stated_inertials(root).items():
        mass, inertia = stated_texts(inertial, name)
        origin = inertial.first("origin")
        stated = {} if origin is None else origin.attributes
        entries = ", ".join(
            f"{entry}: {yaml_number(text)}"
            for entry, text in zip(INERTIA_ENTRIES, inertia, strict=True)
        )
        yield f"  {_text(name)}:"
        yield f"    mass: {yaml_number(mass)}"
        for key in ("xyz", "rpy"):
            triple = [yaml_number(text) for text in stated.get(key, "0 0 0").split()]
            yield f"    {key}: [{', '.join(triple)}]"
        yield f"    inertia: {{{entries}}}"


def _joints(found: IdentifiedRobot) -> Iterator[str]:
    values = {kind: joint_values(found).of(kind) for kind in TERMS}
    widths = {
        term.direction[0][0]: term.width / abs(term.direction[0][1])
        for term in found.model.terms
        if term.width and len(term.direction) == 1
    }
    for joint in found.robot.joint_names:
        own = {key: values[kind][joint] for kind, key in TERMS.items() if joint in values[kind]}
        if joint in widths:
            own["friction_width"] = widths[joint]
        if own:
            yield f"  {_text(joint)}:"
        for key, value in own.items():
            yield f"    {key}: {yaml_number(repr(value))}"


def _turned(found: IdentifiedRobot) -> Iterator[str]:
    """Angles (rad) of joints that were turned, which the inertials belong to."""
    if found.robot.turned:
        yield "turned:"
    for joint in found.robot.turned:
        angles = ", ".join(yaml_number(repr(angle)) for angle in joint.after)
        yield f"  {_text(joint.joint)}: {{rpy: [{angles}]}}"


def _text(text: str) -> str:
    """A text in quotes: those of JSON are those of YAML."""
    return json.dumps(text, ensure_ascii=False)


def _nothing_or(lines: Iterator[str]) -> list[str]:
    return list(lines) or ["  {}"]
