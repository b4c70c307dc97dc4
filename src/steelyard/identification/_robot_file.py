"""Write the robot's own file with the identified inertials."""

from __future__ import annotations

from pathlib import Path

from steelyard._files.access import refuse_overwriting, whole_file
from steelyard._files.xml import read_file
from steelyard.errors import EstimationError, ResultError, RobotError, shown_path
from steelyard.export.identified_robot import IdentifiedRobot, identified_robot
from steelyard.export.urdf import rewrite_inertials
from steelyard.identification._found_fields import FoundFields
from steelyard.knowledge.overlay.read_robot import first_element
from steelyard.model.attached_links import AttachedRule


def write_urdf(found: FoundFields, path: str | Path, attached: AttachedRule) -> Path:
    """The robot's URDF with the identified inertials as a file; returns its path."""
    path = Path(path)
    standard = found.estimate.standard
    if standard is None:
        raise EstimationError(
            f"the method '{found.estimate.method}' gives base parameters only, but a URDF needs "
            "mass, centre of mass and inertia of each link; identify with the default method"
        )
    source = _urdf_of(found)
    refuse_overwriting([path], [source], ResultError)
    robot = identified_robot(found.model, standard.theta, attached=attached)
    data = _with_inertials(robot, source)
    with whole_file(path, ResultError) as stream:
        stream.write(data)
    return path


def _urdf_of(found: FoundFields) -> Path:
    """The URDF file that the robot was read from; refuses any other robot."""
    robot = found.model.robot
    if robot.source is None:
        raise RobotError(
            f"robot '{robot.name}' is not from a file, so that there is no URDF to write it to; "
            "read it with Robot.from_urdf(path), or pass the path to identify"
        )
    element = first_element(read_file(robot.source))
    if element != "robot":
        kind = "MJCF" if element == "mujoco" else "not URDF"
        raise RobotError(
            f"robot '{robot.name}' is from {shown_path(robot.source)}, which is {kind}; only a "
            "robot that was read from a URDF can be written as one"
        )
    return Path(robot.source)


def _with_inertials(robot: IdentifiedRobot, source: Path) -> bytes:
    """The bytes of the file with other inertials."""
    return rewrite_inertials(
        source, robot.inertials, add_missing=True, turned=robot.robot.turned
    ).data
