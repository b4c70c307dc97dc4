"""The file that a result's robot was read from: found again, and checked to be the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from steelyard._files.xml import read_file
from steelyard.errors import ResultError, shown_path
from steelyard.estimators.result_file import Result
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.overlay.read_robot import first_element, read_robot
from steelyard.model.model import Model
from steelyard.robot.formats.dh import is_dh_file


@dataclass(frozen=True, eq=False)
class RobotFile:
    """A robot file and its content."""

    path: Path
    data: bytes

    @property
    def format(self) -> Literal["urdf", "mjcf", "dh"]:
        """What it is, by its first element, or by its name."""
        if is_dh_file(self.path):
            return "dh"
        return "mjcf" if first_element(self.data) == "mujoco" else "urdf"

    @property
    def stem(self) -> str:
        """Name without folder and ending."""
        return self.path.stem


@dataclass(frozen=True, eq=False)
class ResultRobot:
    """The robot of a result, read from its file again. notes : what a user should know."""

    file: RobotFile
    model: Model
    notes: tuple[str, ...] = ()


def robot_of_result(
    result: Result,
    result_path: str | Path,
    *,
    robot: str | Path | None = None,
    overlay: Overlay | None = None,
    accept_changed: bool = False,
) -> ResultRobot:
    """The robot file of a result and the result's model, with the gravity of the result.

    robot : the file; by default the path in the result, from the working folder, or a file of that
        name beside the result.
    overlay : the one that the result was made with.
    accept_changed : whether a file is accepted that is not the one that the result was made with,
        but has the same joints, geometry and terms.

    Raises ResultError for a file that is not there, is of another robot, or has changed.
    """
    path = _found(result, Path(result_path)) if robot is None else Path(robot)
    stated = result.document["robot"]
    read = read_robot(path, gravity=stated.get("gravity"), overlay=overlay, keep_angles=True)
    if stated.get("floating_base") and not read.floating_base:
        read = replace(read, floating_base=True)
    model = result.model_for(read)
    file = RobotFile(path, read_file(path))
    where = shown_path(path)
    if result.source_sha256 is None:
        note = (
            f"the result does not record the hash of its robot file: whether {where} has changed "
            "since is not known"
        )
        return ResultRobot(file, model, (note,))
    if read.source_sha256 == result.source_sha256:
        return ResultRobot(file, model)
    if not accept_changed:
        raise ResultError(
            f"{where} is not the file that the result was made with, or has changed since; its "
            "joints and geometry are the same: to use it all the same, give --accept-changed"
        )
    note = f"{where} has changed since the result was made; its joints and geometry are the same"
    return ResultRobot(file, model, (note,))


def _found(result: Result, result_path: Path) -> Path:
    """The recorded file: the one that is unchanged, if several exist."""
    if result.source is None:
        raise ResultError(
            "the result does not say which file its robot was read from; give it with --robot FILE"
        )
    recorded = Path(result.source)
    places = [recorded, result_path.parent / recorded.name]
    there = [path for path in places if path.is_file()]
    if not there:
        raise ResultError(
            f"the robot file {shown_path(recorded)} of the result is not there, nor is a file of "
            f"that name beside {shown_path(result_path)}; give it with --robot FILE"
        )
    same = [path for path in there if _sha256(path) == result.source_sha256]
    return (same or there)[0]


def _sha256(path: Path) -> str:
    import hashlib

    return hashlib.sha256(read_file(path)).hexdigest()
