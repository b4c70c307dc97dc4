"""A robot's own URDF with identified parameters: inertials, friction, and turned joint angles.

Every other byte stays. The new file is read again before it is returned: every link must be
exactly physical with its digits, and the robot in it must have the parameters.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard._files.xml import read_file
from steelyard.errors import ModelError, RobotError, quoted_list, shown, shown_path
from steelyard.export._urdf_dynamics import JointEdits, drake_edits, dynamics_edits
from steelyard.export._xml_source import apply_edits, read_document
from steelyard.export.identified_robot import (
    IdentifiedRobot,
    changed_inertials,
    parameter_sizes,
    refuse_unphysical_attached,
)
from steelyard.export.urdf import Rewritten, inertial_edits, turned_edits
from steelyard.model.model import Model
from steelyard.robot.description import RobotDescription
from steelyard.robot.formats.urdf import parse_urdf
from steelyard.robot.formats.urdf_digits import inexact_links
from steelyard.robot.physical_links import check_link

Array = NDArray[np.float64]
READ_BACK = 1e-9
"""Largest difference of a parameter that is read back, as a share of its body's size."""


def identified_urdf(
    found: IdentifiedRobot, source: bytes | str | Path, *, drake: bool = False
) -> Rewritten:
    """The URDF ``source``, from which the robot was read, with the identified parameters.

    Written are the inertials of the links that ``found`` changes (a link without one gets one, an
    emptied link gets zeros), ``damping`` and ``friction`` of the joints with such terms, and the
    angles of joints that were turned. Offsets, Coulomb widths, drive inertia and terms along
    several joints have no place in a URDF: see :func:`steelyard.export.joint_terms`.

    source : the file, or its bytes.
    drake : whether drive inertia is written as ``drake:rotor_inertia``.

    Raises ModelError if a link of the new file is not exactly physical, and names it; RobotError
    for a file of another robot.
    """
    data = source if isinstance(source, bytes) else read_file(source)
    path = None if isinstance(source, bytes) else str(source)
    where = "URDF text" if path is None else shown_path(path)
    _refuse_other_robot(found, parse_urdf(data, mimics=False, source=path), where)
    document = read_document(data, where)
    refuse_unphysical_attached(found)
    changed = changed_inertials(found)
    inertials = inertial_edits(document, changed, add_missing=True)
    turns = turned_edits(document, found.robot.turned)
    joints = dynamics_edits(document, found)
    rotors = drake_edits(document, found) if drake else JointEdits()
    edits = [*inertials.edits, *(edit for edit, _ in turns), *joints.edits, *rotors.edits]
    changes = (
        *inertials.changes,
        *(change for _, change in turns),
        *joints.changes,
        *rotors.changes,
    )
    new = apply_edits(document, edits) if edits else data
    description = parse_urdf(new, mimics=False, source=path)
    _refuse_unphysical(found, description, new, where, set(changed))
    _refuse_other_parameters(found, description, where)
    return Rewritten(new, changes, inertials.moved)


def _refuse_other_robot(found: IdentifiedRobot, file: RobotDescription, where: str) -> None:
    """Refuse a file whose links or joints are not those of the robot, before any edit."""
    robot = found.robot
    for what, ours, theirs in (
        ("link", [link.name for link in robot.links], [link.name for link in file.links]),
        ("joint", [joint.name for joint in robot.joints], [joint.name for joint in file.joints]),
    ):
        for name in [name for name in ours if name not in theirs][:1]:
            raise RobotError(
                f"{where} has no {what} {shown(name)}, but robot '{robot.name}' has; "
                "give the file that it was read from"
            )
    before = {joint.joint: joint.before for joint in robot.turned}
    for joint in file.joints:
        own = robot.joint(joint.name).origin
        assert joint.origin is not None  # every joint of a URDF has one
        if own is None or (own.xyz, before.get(joint.name, own.rpy)) != (
            joint.origin.xyz,
            joint.origin.rpy,
        ):
            raise RobotError(
                f"{where}: the origin of joint {shown(joint.name)} is not that of robot "
                f"'{robot.name}'; give the file that it was read from"
            )


def _refuse_unphysical(
    found: IdentifiedRobot, file: RobotDescription, data: bytes, where: str, written: set[str]
) -> None:
    """Refuse a file with a link that is not exactly physical, whether it was written or not."""
    bad = set(inexact_links(data, where))
    bad |= {link.name for link in file.links if check_link(link).violations}
    if not bad:
        return
    failed = sorted(bad & written)
    if failed:
        raise ModelError(f"{where}: links {quoted_list(failed)} are not physical as written")
    kept = {name for one in found.attached for name in one.kept}
    moving = {name for body in found.model.mechanism.bodies for name, _ in body.links}
    link, *more = (link.name for link in file.links if link.name in bad)
    if link in kept:
        why, lump = "it is kept", ", or give --attached lump"
    else:
        why, lump = "it is as in the file" if link in moving else "it never moves", ""
    also = f"; nor are {quoted_list(more)}" if more else ""
    raise ModelError(
        f"link {shown(link)} of the file is not physical, and the estimate does not change it "
        f"({why}): run steelyard check --fix first{lump}{also}"
    )


def _refuse_other_parameters(found: IdentifiedRobot, file: RobotDescription, where: str) -> None:
    """Refuse a file from which other parameters would be read."""
    robot = found.robot
    links = {link.name: link for link in file.links}
    read = Model(
        replace(robot, links=tuple(links[link.name] for link in robot.links)), found.model.terms
    ).prior_theta()
    for body, first in zip(
        found.model.mechanism.bodies, found.model.first_column_of_body, strict=True
    ):
        wanted, got = found.theta[first : first + 10], read[first : first + 10]
        if (np.abs(got - wanted) > READ_BACK * parameter_sizes(wanted)).any():
            raise ModelError(
                f"{where}: body '{body.name}' would be read back with other parameters; "
                "its numbers are too small or too different in size to be written"
            )
    for joint in file.joints:
        own = robot.joint(joint.name).origin
        if joint.origin != own:
            raise ModelError(f"{where}: joint {shown(joint.name)} would be read back turned")
