"""New XML texts: a comment on top, elements, indented; names are escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import fill
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from steelyard._version import __version__
from steelyard.errors import RobotError, shown
from steelyard.export.identified_robot import IdentifiedRobot
from steelyard.findings import Finding
from steelyard.robot.parts import STANDARD_GRAVITY

NOISE = 1e-15
"""Positions (m), angles (rad) and entries of unit vectors below this are rounding errors."""


NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document can contain, such as control characters."""
ROBOT_NAMES = (("robot", "name"), ("mujoco", "model"), ("model", "name"))
"""Elements and attributes that hold the name of a robot."""


def numbers(values: ArrayLike) -> str:
    """Numbers with all digits, separated by blanks; rounding errors of zero as 0."""
    return " ".join(number(float(x)) for x in np.ravel(values))


def number(value: float) -> str:
    """A number with all digits; a rounding error of zero, or of a whole number, without it."""
    if abs(value) < 1e12 and abs(value - round(value)) <= NOISE:
        return str(round(value))
    return repr(value)


def header(
    found: IdentifiedRobot, notes: Iterable[Finding], *, states_gravity: bool = False
) -> list[str]:
    """What a reader of the new file should know, as paragraphs for the comment on top.

    states_gravity : whether the file itself states gravity.
    """
    robot = found.robot
    lines = [
        f"Written by Steelyard {__version__}: kinematics, inertials and joint terms of "
        f"'{robot.name}'. Meshes, collision shapes, actuators and sensors are not in this file.",
    ]
    if not states_gravity and not np.array_equal(robot.gravity, STANDARD_GRAVITY):
        lines.append(f"Gravity in the frame of '{robot.root}' is {numbers(robot.gravity)} m/s^2.")
    return [*lines, *(note.words for note in notes)]


def xml_text(root: Element, paragraphs: Iterable[str]) -> str:
    """The document with these paragraphs as a comment on top.

    Raises RobotError for a name of a link or joint that XML cannot hold; in the robot's name and
    in the comment such characters become underscores.
    """
    refuse_names(root)
    ElementTree.indent(root)
    # two hyphens in a row are not allowed in a comment
    comment = "\n".join(
        fill(
            re.sub("-(?=-)", "- ", NOT_IN_XML.sub("_", text)),
            96,
            initial_indent="  ",
            subsequent_indent="  ",
        )
        for text in paragraphs
    )
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!--\n{comment}\n-->\n{body}\n'


def refuse_names(root: Element) -> None:
    """Refuse names that XML cannot hold, but write a robot's name without such characters."""
    for element in root.iter():
        for key, text in element.attrib.items():
            if (element.tag, key) in ROBOT_NAMES:
                element.set(key, NOT_IN_XML.sub("_", text))
            elif NOT_IN_XML.search(text):
                raise RobotError(
                    f"the name {shown(text)} of a link or joint has characters that XML cannot "
                    "hold; rename it"
                )
