"""What a log has of a floating robot besides its joints, read from the names of its columns.

Frames of the log are taken by name: those of links fixed to the base tell its motion and the wrench
that holds it; forces at other links are contacts. A frame with a force that the robot does not
have is refused, since a force that is left out falsifies every mass.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from steelyard.errors import LogError, SignalError, listed
from steelyard.findings import Finding
from steelyard.logs.frame_columns import ORIENTATIONS, frame_column_name
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals._base_recording import base_links, pose_on_base
from steelyard.signals.sensing import (
    BaseMotion,
    BaseSource,
    MeasuredWrench,
    Sensing,
)
from steelyard.signals.unused_frames import (
    FALSIFIES,
    force_findings,
    forces_of,
    refuse_incomplete,
    torques_alone,
    unused_of_fixed_base,
)

NEEDS: dict[BaseSource, str] = {
    "pose": "position and orientation",
    "twist": "velocities and orientation",
    "imu": "angular velocity and accelerometer",
}


def completed(
    sensing: Sensing | None, log: Log, robot: Robot
) -> tuple[Sensing, tuple[Finding, ...]]:
    """The sensing with what it leaves open, and notes for the user.

    A fixed base has no motion, and contacts only where they are stated; every joint then needs a
    torque. For a floating base, what is not stated follows from the columns of the log:

    - its motion: poses go before velocities and those before an IMU; velocities go first where
      their derivatives are recorded too;
    - wrenches, where none is stated: a force at a link that is fixed to the base holds the base,
      forces at other links are contacts;
    - with contacts and no wrench at the base, nothing else touches the robot; without either, the
      wrench that holds the base was not measured.

    Where a wrench is stated, those that are not are not used, and a note names them: also a force
    at the base beside stated contacts, which may be one of them already.
    """
    given = sensing or Sensing()
    if not robot.floating_base:
        used = [one.name_in_log for one in given.contacts]
        refuse_incomplete(log, used)
        _refuse_axes_of_nothing(given, log, used)
        return (
            replace(given, torques=given.torques or "all"),
            unused_of_fixed_base(log, robot, used),
        )
    motion = found_base_motion(log, robot, given.base)
    held_by, contacts = given.base_wrench, given.contacts
    forces = (*forces_of(log), *torques_alone(log, robot))
    at_base = [frame for frame in base_links(robot) if frame in forces]
    if held_by is None and not contacts:
        _refuse_strangers(log, robot, forces)
        contacts = tuple(_wrench(frame, given) for frame in forces if frame not in at_base)
        contacts += tuple(_wrench(frame, given) for frame in at_base[1:])
        held_by = _wrench(at_base[0], given) if at_base else None
    if held_by is None:
        held_by = "nothing" if contacts else "unmeasured"
    found = Sensing(motion, held_by, contacts, given.torques or "recorded")
    used = [one.name_in_log for one in found.wrenches]
    refuse_incomplete(log, used)
    _refuse_axes_of_nothing(given, log, used)
    notes = force_findings(
        log, forces, used, f"other wrenches are stated, and these are not; {FALSIFIES}"
    )
    if found.base_wrench == "nothing" and not found.contacts:
        raise SignalError(
            f"nothing touches robot '{robot.name}': its base is said to be held by nothing, and no "
            "contact is stated. State the links that carry it (--contact LINK); of a robot in free "
            "fall, use the joint torques alone (--base-wrench unmeasured)"
        )
    words = f"log '{log.name}': {in_words(found, robot, log)}"
    return found, (Finding("info", "sensing", words), *notes)


def _wrench(frame: str, given: Sensing) -> MeasuredWrench:
    """The wrench that the log has of a link, in the axes and with the sign that are stated."""
    return MeasuredWrench(
        frame, axes=given.wrench_axes or "frame", sign=given.wrench_sign or "on-robot"
    )


def _refuse_axes_of_nothing(given: Sensing, log: Log, used: Collection[str]) -> None:
    """Refuse axes or a sign of wrenches where there is no wrench."""
    if not used and (given.wrench_axes is not None or given.wrench_sign is not None):
        raise SignalError(
            f"axes or a sign of wrenches are stated (--wrench-axes, --wrench-sign), but no wrench "
            f"of log '{log.name}' is used; name them with --contact or --base-wrench"
        )


def _refuse_strangers(log: Log, robot: Robot, forces: Collection[str]) -> None:
    """Refuse forces at frames that the robot does not have."""
    links = {link.name for link in robot.links}
    strangers = [frame or "(without a name)" for frame in forces if frame not in links]
    if strangers:
        no_link = "which is no link" if len(strangers) == 1 else "which are no links"
        raise LogError(
            f"log '{log.name}' has forces of {listed(strangers)}, {no_link} of robot "
            f"'{robot.name}': {FALSIFIES}. "
            "Name its link with --contact LINK=COLUMNS or --base-wrench LINK=COLUMNS; with either "
            "option, forces that are not named are not used"
        )


def found_base_motion(log: Log, robot: Robot, stated: BaseMotion | None = None) -> BaseMotion:
    """How the log tells the motion of the base, by its columns; refuses a log that does not.

    stated : what is known of it, such as the axes; with a source, it is complete.
    """
    given = stated or BaseMotion()
    if given.source is not None:
        return given
    held = base_links(robot)
    if given.frame is not None:
        pose_on_base(robot, given.frame, "the motion of the base")
        held = (given.frame,)
    found = _motion(log, held if given.columns is None else (given.columns,))
    if found is None:
        raise LogError(
            f"log '{log.name}' has no motion of the base '{robot.root}' of robot '{robot.name}', "
            f"which floats; columns of {listed(held)} are needed, such as "
            f"{robot.root}.position_x to _z and {robot.root}.quaternion_x to _w (or velocities, or "
            f"an IMU){_frames_there(log)}{_axes_missing(log, held)}{_imu_there(log)}. Where its "
            "columns have another name, state it with --base-columns NAME; where they are in a "
            "file of their own, put both into one file, each on its own rows with its own times, "
            "or join them in Python (join_logs); if the base does not move, leave --floating-base "
            "out"
        )
    source, name = found
    return replace(given, source=source, frame=name if given.columns is None else given.frame)


def _motion(log: Log, held: tuple[str, ...]) -> tuple[BaseSource, str] | None:
    """What the log has of the first of these frames whose motion it tells."""
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
                return source, frame
    return None


def in_words(sensing: Sensing, robot: Robot, log: Log) -> str:
    """What is used of the log besides the joints, in one sentence."""
    parts = []
    if sensing.base is not None:
        frame = sensing.base.frame or robot.root
        source = sensing.base.source
        needs = "its columns" if source is None else NEEDS[source]
        if source == "pose" and not log.has_frame_signal(sensing.base.columns or frame, "position"):
            needs = "the orientation alone"
        parts.append(f"the motion of the base is from {needs} of '{frame}'")
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


def _axes_missing(log: Log, frames: tuple[str, ...]) -> str:
    """Columns that a motion of one of these frames lacks, for a message."""
    names = [
        frame_column_name(frame, quantity, axis)
        for (frame, quantity), axes in log.incomplete.items()
        for axis in axes
        if frame in frames and quantity not in ("force", "torque")
    ]
    return f"; it lacks {listed(names)}" if names else ""


def _imu_there(log: Log) -> str:
    """How to use an IMU that the log has under another name, for a message."""
    for frame in log.frames:
        has = set(log.frame_quantities(frame))
        if {"angular_velocity", "proper_acceleration"} <= has:
            return (
                f"; an IMU is in the columns of '{frame}': --base-columns {frame or 'NAME'} "
                "--base-frame LINK, the link that it is mounted on"
            )
        if {"angular_velocity", "linear_acceleration"} <= has:
            return (
                f"; '{frame}' has angular velocity and linear_acceleration: what an accelerometer "
                "shows, gravity included, is called proper_acceleration"
            )
    return ""
