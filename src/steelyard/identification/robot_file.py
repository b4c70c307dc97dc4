"""The robot's own file with the identified parameters, made of an identification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

from steelyard._files.xml import read_file
from steelyard.certificates.files import CertifiedFile, certified_file
from steelyard.errors import ModelError, RobotError, SteelyardError, shown_path
from steelyard.export.formats import JOINTS_SUFFIX, AttachedChoice, joints_json, spread_robot
from steelyard.export.identified_robot import IdentifiedRobot
from steelyard.export.identified_urdf import identified_urdf
from steelyard.export.robot_file import RobotFile
from steelyard.findings import Finding
from steelyard.identification.identify import Identification

NOT_WRITTEN = "robot-file-not-written"
"""Code of the finding that says why there is no robot file."""
IDENTIFIED = ".identified"
"""What follows the stem of the robot file in the names of the files that are made of it."""
FileKind = Literal["identified_robot", "joint_terms"]


@dataclass(frozen=True, eq=False)
class RobotFiles:
    """Files that belong to the identified robot, not written yet.

    content : by kind, the file's name and bytes: "identified_robot" is the robot's own file with
        the identified parameters, "joint_terms" the terms of its joints. Empty if there are none.
    certified : what a certificate states about the robot file.
    finding : why there is no robot file, although the method gives physical parameters.
    """

    content: Mapping[FileKind, tuple[str, bytes]] = field(default_factory=dict)
    certified: CertifiedFile | None = None
    finding: Finding | None = None


def robot_files(
    found: Identification,
    *,
    robot_file: str | Path | None = None,
    attached: AttachedChoice = "keep",
) -> RobotFiles:
    """The robot's own file with the identified parameters, and the terms of its joints.

    robot_file : the file, if it is not where the robot was read from.
    attached : rule for bodies of several links, see :mod:`steelyard.model.attached_links`.

    Empty if the method does not give physical standard parameters. If a link would not be
    physical, or the file is not there or has changed, the finding says so.
    """
    standard = found.estimate.standard
    if standard is None or not standard.feasible:
        return RobotFiles()
    path = found.model.robot.source if robot_file is None else robot_file
    if path is None:  # a text, or a table: a writer of new files belongs here
        words = "no robot file is written: the robot was not read from a file"
        return RobotFiles(finding=Finding("info", NOT_WRITTEN, words))
    try:
        file = _same_file(found, Path(path))
        identified = spread_robot(found.model, standard.theta, attached)
        return _rendered(identified, file)
    except SteelyardError as failure:
        words = f"the robot file with the identified parameters is not written: {failure}"
        return RobotFiles(finding=Finding("warning", NOT_WRITTEN, words))


def file_names(path: str | Path) -> dict[FileKind, str]:
    """Names of the files that are made of this robot file."""
    stem = Path(path).stem + IDENTIFIED
    return {"identified_robot": stem + Path(path).suffix, "joint_terms": stem + JOINTS_SUFFIX}


def _same_file(found: Identification, path: Path) -> RobotFile:
    data = read_file(path)
    known = found.model.robot.source_sha256
    if known is not None and sha256(data).hexdigest() != known:
        raise RobotError(f"{shown_path(path)} has changed since the robot was read from it")
    return RobotFile(path, data)


def _rendered(identified: IdentifiedRobot, file: RobotFile) -> RobotFiles:
    names = file_names(file.path)
    data = _written(identified, file)
    certified = certified_file(names["identified_robot"], data, file.format)
    joints = joints_json(identified, names["identified_robot"], data)
    return RobotFiles(
        {
            "identified_robot": (names["identified_robot"], data),
            "joint_terms": (names["joint_terms"], joints),
        },
        certified,
    )


def _written(identified: IdentifiedRobot, file: RobotFile) -> bytes:
    """The robot's file in its own format."""
    if file.format == "urdf":
        return identified_urdf(identified, file.data).data
    if file.format == "mjcf":
        from steelyard.export.mjcf import identified_mjcf

        return identified_mjcf(identified, file.path).data
    raise ModelError(f"{shown_path(file.path)} is {file.format.upper()}, which is not written")
