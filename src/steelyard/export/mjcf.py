"""Write identified parameters into the MJCF that a robot was read from.

Only inertials, the joints' armature, damping and frictionloss, and compiler settings that would
override inertials change; every other byte stays. A changed inertial is written as ``pos``,
``mass`` and ``fullinertia``, with digits that are exactly physical and far enough inside for
MuJoCo's own check. A body whose mass came from its geoms gets an <inertial>.

MuJoCo's compiler can override inertials: ``inertiafromgeom="true"``, ``settotalmass``,
``balanceinertia``, ``boundmass`` and ``boundinertia``. These are switched off, and the values
that they gave to other bodies are written out. What was written is read again by MuJoCo and
compared before it is returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard._files.xml import XmlElement, number, read_file
from steelyard.errors import RobotError, listed, shown, shown_path
from steelyard.export._digits import file_decimal
from steelyard.export._joint_values import JointValues, joint_values, left_out_notes
from steelyard.export._link_texts import LinkBody, phi_body, stated_body
from steelyard.export._mjcf_check import check_same_robot, check_written
from steelyard.export._mjcf_elements import ORIENTATIONS, BodyElement, body_elements
from steelyard.export._mjcf_inertials import inertial_edits
from steelyard.export._xml_source import (
    Edit,
    RemoveAttribute,
    SetAttribute,
    apply_edits,
    read_document,
)
from steelyard.export._xml_text import numbers
from steelyard.export.identified_robot import (
    IdentifiedRobot,
    changed_inertials,
    refuse_unphysical_attached,
)
from steelyard.export.urdf import Change
from steelyard.findings import Finding
from steelyard.robot.conventions import quaternion_from_rotation
from steelyard.robot.formats.mjcf import mjcf_dynamics, read_mjcf
from steelyard.robot.joint_dynamics import JointDynamics
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import rotation_rpy

Array = NDArray[np.float64]
ATTRIBUTES = {"drive_inertia": "armature", "viscous": "damping", "coulomb": "frictionloss"}
"""The attribute of a joint that holds each kind of term."""
HARMLESS = {
    "inertiafromgeom": "auto",
    "settotalmass": "-1",
    "balanceinertia": "false",
    "boundmass": "0",
    "boundinertia": "0",
}
"""Compiler settings that override inertials, and the values with which they do not."""


@dataclass(frozen=True)
class IdentifiedMjcf:
    """The bytes of an MJCF with identified parameters, what changed, and what it cannot hold.

    A change without link and joint is one of the compiler's settings.
    """

    data: bytes
    changes: tuple[Change, ...]
    notes: tuple[Finding, ...]


def identified_mjcf(found: IdentifiedRobot, source: bytes | str | Path) -> IdentifiedMjcf:
    """The MJCF of a robot with its identified parameters; needs MuJoCo.

    source : the file that the robot was read from, or its bytes. Meshes that the masses of
        bodies are computed from are looked up beside it (beside ``found.robot.source`` for bytes).

    Raises RobotError if it is another robot's file, or if MJCF cannot hold the parameters, and
    ModelError for a link that is not physical.
    """
    refuse_unphysical_attached(found)
    if isinstance(source, bytes):
        path, content = found.robot.source or "MJCF text", source
    else:
        path, content = str(source), read_file(source)
    where = shown_path(path)
    before = Robot.from_description(read_mjcf(path, content))
    dynamics = mjcf_dynamics(path, content)
    check_same_robot(found.robot, before, where)
    document = read_document(content, where)
    elements = body_elements(document.root)
    values = joint_values(found)

    made: list[tuple[Edit, Change | None]] = []
    settings, setting_notes = _setting_edits(document.root)
    made += settings
    bodies = _bodies(found, before, elements, where, all_links=bool(settings))
    plain: Robot | None = before
    if settings:
        plain = _without_settings(path, apply_edits(document, [edit for edit, _ in settings]))
    for name, body in bodies.items():
        stated = None if plain is None else stated_body(plain.link(name))
        made += inertial_edits(document, elements[name], body, stated)
    joints = {name: one for body in elements.values() for name, one in body.joints}
    attributes = _by_attribute(found.robot, values)
    made += _joint_edits(joints, attributes, dynamics)
    made += _turned_edits(found.robot, elements, where)

    data = apply_edits(document, [edit for edit, _ in made])
    check_written(found.robot, bodies, before, attributes, path, data)
    notes = (
        *setting_notes,
        *left_out_notes(found, values, "MJCF", ATTRIBUTES),
        *_kept_dynamics(found.robot, attributes, dynamics),
    )
    return IdentifiedMjcf(data, tuple(change for _, change in made if change), notes)


def _by_attribute(robot: Robot, values: JointValues) -> dict[str, dict[str, float]]:
    """Values of armature, damping and frictionloss by joint.

    A term of a joint that others follow contains what theirs would add: they get 0.
    """
    found = {}
    for kind, attribute in ATTRIBUTES.items():
        by_joint = dict(values.of(kind))
        for joint in robot.moving_joints:
            if joint.mimic is not None and joint.mimic.joint in by_joint:
                by_joint[joint.name] = 0.0
        found[attribute] = by_joint
    return found


def _setting_edits(
    root: XmlElement,
) -> tuple[list[tuple[Edit, Change | None]], tuple[Finding, ...]]:
    """Switch off compiler settings that override inertials."""
    edits: list[tuple[Edit, Change | None]] = []
    for compiler in root.all("compiler"):
        for name, harmless in HARMLESS.items():
            stated = compiler.attributes.get(name)
            if stated is None or not _overrides(name, stated):
                continue
            change = Change(None, f"compiler {name}", stated, harmless)
            edits.append((SetAttribute(compiler, name, harmless), change))
    if not edits:
        return [], ()
    words = [f'{change.what} "{change.before}"' for _, change in edits if change]
    note = Finding(
        "warning",
        "mjcf-compiler-settings",
        f"settings that override inertials were switched off: {listed(words)}; the values that "
        "they gave to other bodies are written as <inertial>",
    )
    return edits, (note,)


def _without_settings(path: str, content: bytes) -> Robot | None:
    """The robot in the file with those settings off; None if MuJoCo needs them to read it."""
    try:
        return Robot.from_description(read_mjcf(path, content))
    except RobotError:
        return None


def _overrides(name: str, stated: str) -> bool:
    if name in ("inertiafromgeom", "balanceinertia"):
        return stated == "true"
    return number(stated, f"compiler {name}") > 0.0


def _bodies(
    found: IdentifiedRobot,
    before: Robot,
    elements: Mapping[str, BodyElement],
    where: str,
    *,
    all_links: bool,
) -> dict[str, LinkBody | None]:
    """What is to be written for each body; None for no mass.

    all_links : whether bodies that keep their inertial are written as well.
    """
    bodies: dict[str, LinkBody | None] = {}
    for name, phi in changed_inertials(found).items():
        body = phi_body(phi, name)
        if name in elements:
            bodies[name] = body
        elif body is not None:
            raise RobotError(
                f"{where}: link {shown(name)} is between two joints of one <body> and has no mass "
                f"there, but {body.mass:.4g} kg were identified for it, which the file cannot "
                "hold; write a new MJCF instead (mjcf_text), or estimate with its mass fixed at 0"
            )
    if all_links:
        for link in before.links:
            if link.name in elements and link.name not in bodies and link.inertial is not None:
                bodies[link.name] = stated_body(link)
    return bodies


def _joint_edits(
    joints: Mapping[str, XmlElement],
    attributes: Mapping[str, Mapping[str, float]],
    dynamics: Mapping[str, JointDynamics],
) -> list[tuple[Edit, Change | None]]:
    """Set what the model has terms for, where MuJoCo has another value, defaults included."""
    edits: list[tuple[Edit, Change | None]] = []
    for attribute, by_joint in attributes.items():
        for name, value in by_joint.items():
            text = file_decimal(value)
            if text == file_decimal(getattr(dynamics[name], attribute)):
                continue
            stated = joints[name].attributes.get(attribute)
            change = Change(None, f"joint {attribute}", stated, text, name)
            edits.append((SetAttribute(joints[name], attribute, text, last=True), change))
    return edits


def _turned_edits(
    robot: Robot, elements: Mapping[str, BodyElement], where: str
) -> list[tuple[Edit, Change | None]]:
    """Write the angles of turned joints: those of the body that the joint moves, as quaternions."""
    bodies = {name: body for body in elements.values() for name, _ in body.joints[:1]}
    edits: list[tuple[Edit, Change | None]] = []
    for turned in robot.turned:
        # a fixed joint has no element: it stands for the body that it carries
        body = bodies.get(turned.joint) or elements[robot.joint(turned.joint).child]
        if body.placed_by_frame:
            raise RobotError(
                f"{where}: body {shown(body.name)} is inside a <frame>, so its rounded angles "
                "cannot be replaced; estimate with the angles as written (--keep-angles)"
            )
        stated = [name for name in ORIENTATIONS if name in body.element.attributes]
        before = "; ".join(f"{name} {body.element.attributes[name]}" for name in stated)
        text = numbers(quaternion_from_rotation(rotation_rpy(*turned.after)))
        change = Change(None, "body quat", before or None, text, turned.joint)
        edit: Edit = SetAttribute(body.element, "quat", text, last=True)
        if stated and stated[0] != "quat":  # MuJoCo allows one of them
            edit = RemoveAttribute(body.element, stated[0], ("quat", text))
        edits.append((edit, change))
    return edits


def _kept_dynamics(
    robot: Robot,
    attributes: Mapping[str, Mapping[str, float]],
    dynamics: Mapping[str, JointDynamics],
) -> tuple[Finding, ...]:
    """A note on what the file states about moving joints and was not estimated."""
    kept = [
        f"{attribute} {getattr(dynamics[joint.name], attribute):.6g} of {joint.name}"
        for attribute, by_joint in attributes.items()
        for joint in robot.moving_joints
        if joint.name not in by_joint and getattr(dynamics[joint.name], attribute) != 0.0
    ]
    if not kept:
        return ()
    return (
        Finding(
            "warning",
            "mjcf-kept-dynamics",
            "the file states joint dynamics that were not estimated: the model has no such terms, "
            f"or no measured torque depends on them; they stay in the file: {listed(kept)}",
        ),
    )
