"""What a log has of a floating robot besides its joints, read from the names of its columns.

Frames of the log are taken by name: those of links fixed to the base tell its motion and the wrench
that holds it; forces at other links are contacts. A frame with a force that the robot does not
have is refused, since a force that is left out falsifies every mass.
"""

from __future__ import annotations

from typing import Literal

from steelyard.errors import LogError, listed
from steelyard.findings import Finding
from steelyard.logs.frame_columns import ORIENTATIONS
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals._base_recording import base_links
from steelyard.signals.sensing import BaseMotion, BaseSource, MeasuredWrench, Sensing

NEEDS: dict[BaseSource, str] = {
    "pose": "position and orientation",
    "twist": "velocities and orientation",
    "imu": "angular velocity and accelerometer",
}


def found_sensing(log: Log, robot: Robot) -> tuple[Sensing, tuple[Finding, ...]]:
    """The sensing of a floating robot by the columns of its log, and what was taken, in words.

    Of several recordings of the base's motion, poses go before velocities and those before an IMU;
    velocities go first where their derivatives are recorded too. Without a wrench at the base, but
    with contacts, nothing else is taken to touch the robot.
    """
    held = base_links(robot)
    motion = found_base_motion(log, robot)
    forces = [frame for frame, quantity in log.frame_signals if quantity == "force"]
    links = {link.name for link in robot.links}
    strangers = [frame or "(without a name)" for frame in forces if frame not in links]
    if strangers:
        raise LogError(
            f"log '{log.name}' has forces of {listed(strangers)}, which is no link of robot "
            f"'{robot.name}': a force that acts on the robot and is left out falsifies every mass. "
            "Name its link with --contact LINK=COLUMNS or --base-wrench LINK=COLUMNS; with either "
            "option, forces that are not named are not used"
        )
    at_base = [frame for frame in held if frame in forces]
    contacts = tuple(MeasuredWrench(frame) for frame in forces if frame not in at_base)
    held_by: MeasuredWrench | Literal["nothing"] | None = "nothing" if contacts else None
    if at_base:
        held_by = MeasuredWrench(at_base[0])
    contacts += tuple(MeasuredWrench(frame) for frame in at_base[1:])
    sensing = Sensing(motion, held_by, contacts, "recorded")
    return sensing, (Finding("info", "sensing", f"log '{log.name}': {in_words(sensing, robot)}"),)


def found_base_motion(log: Log, robot: Robot) -> BaseMotion:
    """How the log tells the motion of the base, by its columns; refuses a log that does not."""
    held = base_links(robot)
    motion = _motion(log, held)
    if motion is None:
        raise LogError(
            f"log '{log.name}' has no motion of the base '{robot.root}' of robot '{robot.name}', "
            f"which floats; columns of {listed(held)} are needed, such as "
            f"{robot.root}.position_x to _z and {robot.root}.quaternion_x to _w (or velocities, or "
            f"an IMU){_frames_there(log)}. Where its columns have another name, state it with "
            "--base-motion pose --base-columns NAME; if the base does not move, leave "
            "--floating-base out"
        )
    return motion


def _motion(log: Log, held: tuple[str, ...]) -> BaseMotion | None:
    order: tuple[BaseSource, ...] = ("twist", "pose", "twist", "imu")
    for k, source in enumerate(order):
        for frame in held:
            has = {quantity for name, quantity in log.frame_signals if name == frame}
            turned = bool(has & set(ORIENTATIONS))
            moved = {"angular_velocity", "linear_velocity"} <= has
            fits = {
                "pose": turned and "position" in has,
                "twist": turned and moved,
                "imu": {"angular_velocity", "proper_acceleration"} <= has,
            }[source]
            if k == 0 and not {"linear_acceleration", "angular_acceleration"} <= has:
                continue
            if fits:
                return BaseMotion(source, frame)
    return None


def in_words(sensing: Sensing, robot: Robot) -> str:
    """What is used besides the joints, in one sentence."""
    parts = []
    if sensing.base is not None:
        frame = sensing.base.frame or robot.root
        parts.append(f"the motion of the base is from {NEEDS[sensing.base.source]} of '{frame}'")
    if isinstance(sensing.base_wrench, MeasuredWrench):
        parts.append(f"the wrench at '{sensing.base_wrench.frame}' holds the base")
    elif sensing.base_wrench == "nothing":
        parts.append("nothing holds the base")
    elif robot.floating_base:
        parts.append("the wrench that holds the base was not measured")
    if sensing.contacts:
        frames = [f"'{one.frame}'" for one in sensing.contacts]
        parts.append(f"contact forces act at {listed(frames)}")
    return "; ".join(parts)


def _frames_there(log: Log) -> str:
    there = [frame or "(without a name)" for frame in log.frames]
    return f"; the log has columns of the frames {listed(there)}" if there else ""
