"""Read a robot file of any supported format."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from steelyard._files.xml import read_file
from steelyard.knowledge.overlay.apply import apply_overlay
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.model.right_angles import with_right_angles
from steelyard.robot.formats.dh import is_dh_file
from steelyard.robot.parts import gravity_vector
from steelyard.robot.robot import Robot

ELEMENT = re.compile(rb"<([A-Za-z_][\w:.-]*)")
LOOKED_AT = 2**16  # bytes in which the first XML element is searched


def read_robot(
    path: str | Path,
    *,
    gravity: object = None,
    overlay: Overlay | None = None,
    floating_base: bool | None = None,
    mimics: bool = True,
    keep_angles: bool = False,
) -> Robot:
    """The robot in a URDF or MJCF file, recognised by its first XML element, or in a table of
    Denavit and Hartenberg, a file whose name ends in .toml.

    gravity : (3,) m/s² in the root link's frame; by default the file's, or 9.81 downward.
        It replaces the overlay's.
    overlay : applied to the robot.
    floating_base : whether the root link moves freely in the world; by default as the file or the
        overlay states it.
    mimics : whether joints of a URDF follow the joint that their <mimic> names.
    keep_angles : whether joint angles that the file rounds, such as 1.5708, stay as written; by
        default they are turned onto right angles where that removes near-dependencies, see
        :func:`steelyard.model.right_angles.with_right_angles`.
    """
    if is_dh_file(path):
        robot = Robot.from_dh_file(path)
    elif first_element(read_file(path)) == "mujoco":
        robot = Robot.from_mjcf(path)
    else:
        robot = Robot.from_urdf(path, mimics=mimics)
    if overlay is not None:
        robot = apply_overlay(robot, overlay)
    if floating_base is not None:
        robot = replace(robot, floating_base=floating_base)
    if gravity is not None:
        robot = replace(robot, gravity=gravity_vector(gravity))
    return robot if keep_angles else with_right_angles(robot)


def first_element(data: bytes) -> str | None:
    """Name of the first XML element, or None if none is found."""
    looked_at, at = data[:LOOKED_AT], 0
    while True:
        found, comment = ELEMENT.search(looked_at, at), looked_at.find(b"<!--", at)
        if found is None or comment < 0 or found.start() < comment:
            return None if found is None else found[1].decode("ascii", "replace")
        at = looked_at.find(b"-->", comment)
        if at < 0:
            return None
