"""The robot's own file with the identified parameters, made of an identification."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

from steelyard._files.access import refuse_overwriting, whole_file
from steelyard._files.xml import read_file
from steelyard.certificates.files import CertifiedFile, certified_file
from steelyard.errors import (
    EstimationError,
    ModelError,
    ResultError,
    RobotError,
    SteelyardError,
    shown_path,
)
from steelyard.export.formats import (
    IDENTIFIED,
    JOINTS_SUFFIX,
    AttachedChoice,
    emptied_behind_locked,
    joints_json,
    spread_robot,
)
from steelyard.export.identified_robot import IdentifiedRobot, not_estimated_words
from steelyard.export.identified_urdf import identified_urdf
from steelyard.export.robot_file import RobotFile
from steelyard.findings import Finding
from steelyard.identification._found_fields import FoundFields

NOT_WRITTEN = "robot-file-not-written"
"""Code of the finding that says why there is no robot file."""
KEPT = "kept-in-robot-file"
"""Code of the finding that says what the robot file keeps, since it was not estimated."""
WRITE_ANYWAY = "--write-anyway (write_anyway=True in Python)"
"""The option that writes the file of a result that is not to be used."""
LONGEST_NAME = 50
"""Characters of a robot's name that are used for the name of a new file."""
FileKind = Literal["identified_robot", "joint_terms"]


@dataclass(frozen=True, eq=False)
class RobotFiles:
    """Files that belong to the identified robot, not written yet.

    content : by kind, the file's name and bytes: "identified_robot" is the robot's own file with
        the identified parameters, "joint_terms" the terms of its joints. Empty if there are none.
    certified : what a certificate states about the robot file.
    findings : why there is no robot file, although the method gives physical parameters, or what
        a user of the file should know.
    withheld : names of the files that are not made since the verdict is not to use the result.
    """

    content: Mapping[FileKind, tuple[str, bytes]] = field(default_factory=dict)
    certified: CertifiedFile | None = None
    findings: tuple[Finding, ...] = ()
    withheld: tuple[str, ...] = ()


def robot_files(
    found: FoundFields,
    *,
    robot_file: str | Path | None = None,
    attached: AttachedChoice | None = None,
    write_anyway: bool = False,
) -> RobotFiles:
    """The robot's own file with the identified parameters, and the terms of its joints.

    robot_file : the file, if it is not where the robot was read from.
    attached : rule for bodies of several links, see :mod:`steelyard.model.attached_links`; by
        default that of the estimate.
    write_anyway : whether also if the verdict is not to use the result.

    Empty if the method does not give physical standard parameters. If the result is not to be
    used, a link would not be physical, or the file is not there or has changed, the finding says
    so.
    """
    standard = found.estimate.standard
    if standard is None or not standard.feasible:
        return RobotFiles()
    path = found.model.robot.source if robot_file is None else robot_file
    if not (found.verdict.usable or write_anyway):
        words = (
            "the robot file with the identified parameters is not written, since the verdict is "
            f"not to use them; {WRITE_ANYWAY} writes it in spite of that"
        )
        names = file_names(_new_name(found.model.robot.name) if path is None else path)
        finding = Finding("warning", NOT_WRITTEN, words)
        return RobotFiles(findings=(finding,), withheld=tuple(names.values()))
    try:
        if path is None:
            return _new_file(_spread(found, attached))
        file = _same_file(found, Path(path))
        return _rendered(_spread(found, attached), file)
    except SteelyardError as failure:
        words = f"the robot file with the identified parameters is not written: {failure}"
        return RobotFiles(findings=(Finding("warning", NOT_WRITTEN, words),))


def file_names(path: str | Path) -> dict[FileKind, str]:
    """Names of the files that are made of this robot file."""
    stem = Path(path).stem + IDENTIFIED
    return {"identified_robot": stem + Path(path).suffix, "joint_terms": stem + JOINTS_SUFFIX}


def write_robot_file(
    found: FoundFields,
    path: str | Path,
    to: Literal["urdf", "mjcf"],
    *,
    attached: AttachedChoice | None = None,
    write_anyway: bool = False,
) -> Path:
    """The robot with the identified parameters as a URDF or MJCF file; returns its path.

    A robot that was read from a file of this format is written by editing that file. Any other
    robot becomes a new file, without shapes.

    Raises an error, and writes nothing, for a method without physical standard parameters, for a
    result that is not to be used unless ``write_anyway``, for a link that would not be physical,
    for a robot file that has changed or is not there any more, and for its own path.
    """
    standard = found.estimate.standard
    if standard is None or not standard.feasible:
        raise EstimationError(
            f"the method '{found.estimate.method}' gives no physical mass, centre of mass and "
            "inertia of each link, which a robot file needs; identify with the default method"
        )
    if not (found.verdict.usable or write_anyway):
        raise EstimationError(
            f"no robot file is written: {found.verdict.sentence}; write_anyway=True writes it in "
            "spite of that"
        )
    identified = _spread(found, attached)
    source = found.model.robot.source
    if source is not None:
        refuse_overwriting([Path(path)], [Path(source)], ResultError)
    data = None
    if source is not None and not (to == "mjcf" and Path(source).suffix == ".urdf"):
        file = _same_file(found, Path(source))
        data = _written(identified, file) if file.format == to else None
    with whole_file(path, ResultError) as stream:
        stream.write(_new_text(identified, to) if data is None else data)
    return Path(path)


def _spread(found: FoundFields, attached: AttachedChoice | None) -> IdentifiedRobot:
    """The robot with the physical standard parameters, spread over its links."""
    estimate = found.estimate
    assert estimate.standard is not None
    rule = attached or _rule(found)
    return spread_robot(found.model, estimate.standard.theta, rule, estimate.not_estimated)


def _rule(found: FoundFields) -> AttachedChoice:
    """The rule for bodies of several links with which the estimate was made."""
    standard = found.estimate.standard
    return "keep" if standard is None or standard.merged is None else standard.merged.rule


def _new_text(identified: IdentifiedRobot, to: Literal["urdf", "mjcf"]) -> bytes:
    """A new file of links, joints, inertials and joint terms, without shapes."""
    if to == "mjcf":
        from steelyard.export.mjcf_text import mjcf_text

        return mjcf_text(identified).encode()
    from steelyard.export.urdf_text import urdf_text

    return urdf_text(identified).encode()


def _new_file(identified: IdentifiedRobot) -> RobotFiles:
    """A new URDF of a robot that was not read from a file, such as a Denavit-Hartenberg table."""
    names = file_names(_new_name(identified.robot.name))
    data = _new_text(identified, "urdf")
    words = (
        f"the robot was not read from a URDF or MJCF file: {names['identified_robot']} is a new "
        "URDF of its links, joints and inertials, without shapes"
    )
    made = _contents(names, identified, data, "urdf")
    return replace(made, findings=(Finding("info", "new-robot-file", words), *made.findings))


def _new_name(name: str) -> str:
    """The name of a new file of this robot: letters, digits, - and _, not hidden and not long."""
    plain = re.sub(r"[^\w.-]+", "_", name).strip("._")
    return f"{plain[:LONGEST_NAME].rstrip('._') or 'robot'}.urdf"


def _same_file(found: FoundFields, path: Path) -> RobotFile:
    if not path.exists():
        raise RobotError(
            f"{shown_path(path)}, the file of the robot, is not there any more, seen from the "
            "folder in which the program runs now; bring it back, or change to the folder from "
            "which it was read"
        )
    data = read_file(path)
    known = found.model.robot.source_sha256
    if known is not None and sha256(data).hexdigest() != known:
        raise RobotError(f"{shown_path(path)} has changed since the robot was read from it")
    return RobotFile(path, data)


def _rendered(identified: IdentifiedRobot, file: RobotFile) -> RobotFiles:
    names = file_names(file.path)
    made = _contents(names, identified, _written(identified, file), file.format)
    trouble = emptied_behind_locked(identified)
    if not trouble:
        return made
    words = f"{names['identified_robot']}: {'; '.join(trouble)}"
    moves = Finding("warning", "emptied-link-moves", words)
    return replace(made, findings=(moves, *made.findings))


def _contents(
    names: Mapping[FileKind, str], identified: IdentifiedRobot, data: bytes, format_name: str
) -> RobotFiles:
    joints = joints_json(identified, names["identified_robot"], data)
    return RobotFiles(
        {
            "identified_robot": (names["identified_robot"], data),
            "joint_terms": (names["joint_terms"], joints),
        },
        certified_file(names["identified_robot"], data, format_name),
        _kept_findings(identified, names["identified_robot"]),
    )


def _kept_findings(identified: IdentifiedRobot, name: str) -> tuple[Finding, ...]:
    """A note on what was not estimated, so that the file keeps what it stated."""
    words = not_estimated_words(identified)
    if words is None:
        return ()
    words = f"{name} keeps what the robot file states of what was not estimated: {words}"
    return (Finding("info", KEPT, words),)


def _written(identified: IdentifiedRobot, file: RobotFile) -> bytes:
    """The robot's file in its own format."""
    if file.format == "urdf":
        return identified_urdf(identified, file.data).data
    if file.format == "mjcf":
        from steelyard.export.mjcf import identified_mjcf

        return identified_mjcf(identified, file.path).data
    raise ModelError(f"{shown_path(file.path)} is {file.format.upper()}, which is not written")
