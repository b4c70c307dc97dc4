"""Damping, friction and armature of joints, as a robot file states them.

A :class:`steelyard.Robot` does not hold them: friction and drive inertia are estimated from logs.
They are read to tell what differs between two files.
"""

from __future__ import annotations

from pathlib import Path

from steelyard._files.xml import XmlElement, number, parse_xml, read_file
from steelyard.errors import RobotError, shown, shown_path
from steelyard.robot.formats._urdf_elements import name_of
from steelyard.robot.formats.dh import is_dh_file
from steelyard.robot.formats.mjcf import mjcf_dynamics
from steelyard.robot.joint_dynamics import JointDynamics


def read_dynamics(path: str | Path) -> dict[str, JointDynamics]:
    """What a URDF or MJCF file states, by joint; zero where a joint states nothing.

    Empty for a table of Denavit and Hartenberg, which cannot state any.
    """
    if is_dh_file(path):
        return {}
    where = shown_path(path)
    root = parse_xml(read_file(path), where)
    if root.tag == "mujoco":
        return mjcf_dynamics(path)
    try:
        return {name_of(element): _urdf_joint(element) for element in root.all("joint")}
    except RobotError as error:
        raise RobotError(f"{where}: {error}") from None


def _urdf_joint(element: XmlElement) -> JointDynamics:
    stated = element.first("dynamics")
    if stated is None:
        return JointDynamics()
    owner = f"joint {shown(name_of(element))}"
    damping, friction = (
        number(stated.attributes.get(key, "0"), f"{owner}: dynamics {key}")
        for key in ("damping", "friction")
    )
    return JointDynamics(damping, friction)
