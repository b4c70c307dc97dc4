"""What a log has of a floating robot besides its joints, read from the names of its columns.

Frames of the log are taken by name: those of links fixed to the base tell its motion and the wrench
that holds it; forces at other links are contacts. A frame with a force that the robot does not
have is refused, since a force that is left out falsifies every mass.
"""

from __future__ import annotations

from dataclasses import replace

from steelyard.errors import LogError, SignalError, listed
from steelyard.findings import Finding
from steelyard.logs.frame_columns import ORIENTATIONS
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals._base_recording import base_links
from steelyard.signals.sensing import (
    BaseForces,
    BaseMotion,
    BaseSource,
    MeasuredWrench,
    Sensing,
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
        return replace(given, torques=given.torques or "all"), ()
    motion = given.base or found_base_motion(log, robot)
    held_by, contacts = given.base_wrench, given.contacts
    notes: tuple[Finding, ...] = ()
    forces = [frame for frame, quantity in log.frame_signals if quantity == "force"]
    at_base = [frame for frame in base_links(robot) if frame in forces]
    if held_by is None and not contacts:
        _refuse_strangers(log, robot, forces)
        contacts = tuple(MeasuredWrench(frame) for frame in forces if frame not in at_base)
        contacts += tuple(MeasuredWrench(frame) for frame in at_base[1:])
        held_by = MeasuredWrench(at_base[0]) if at_base else None
    else:
        notes = _unused_forces(log, forces, held_by, contacts)
    if held_by is None:
        held_by = "nothing" if contacts else "unmeasured"
    found = Sensing(motion, held_by, contacts, given.torques or "recorded")
    if found.base_wrench == "nothing" and not found.contacts:
        raise SignalError(
            f"nothing touches robot '{robot.name}': its base is said to be held by nothing, and no "
            "contact is stated. State the links that carry it (--contact LINK); of a robot in free "
            "fall, use the joint torques alone (--base-wrench unmeasured)"
        )
    words = f"log '{log.name}': {in_words(found, robot, log)}"
    return found, (Finding("info", "sensing", words), *notes)


def _refuse_strangers(log: Log, robot: Robot, forces: list[str]) -> None:
    """Refuse forces at frames that the robot does not have."""
    links = {link.name for link in robot.links}
    strangers = [frame or "(without a name)" for frame in forces if frame not in links]
    if strangers:
        raise LogError(
            f"log '{log.name}' has forces of {listed(strangers)}, which is no link of robot "
            f"'{robot.name}': a force that acts on the robot and is left out falsifies every mass. "
            "Name its link with --contact LINK=COLUMNS or --base-wrench LINK=COLUMNS; with either "
            "option, forces that are not named are not used"
        )


def _unused_forces(
    log: Log,
    forces: list[str],
    held_by: MeasuredWrench | BaseForces | None,
    contacts: tuple[MeasuredWrench, ...],
) -> tuple[Finding, ...]:
    """A warning about forces in the log that the user's options do not name."""
    named = list(contacts)
    named += [held_by] if isinstance(held_by, MeasuredWrench) else []
    used = {one.name_in_log for one in named}
    left = [frame or "(without a name)" for frame in forces if frame not in used]
    if not left:
        return ()
    words = (
        f"log '{log.name}' has forces of {listed(left)}, which are not used: other wrenches are "
        "stated, and these are not; a force that acts on the robot and is left out falsifies "
        "every mass"
    )
    return (Finding("warning", "force-not-used", words),)


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


def in_words(sensing: Sensing, robot: Robot, log: Log) -> str:
    """What is used of the log besides the joints, in one sentence."""
    parts = []
    if sensing.base is not None:
        frame = sensing.base.frame or robot.root
        needs = NEEDS[sensing.base.source]
        if sensing.base.source == "pose" and not log.has_frame_signal(
            sensing.base.columns or frame, "position"
        ):
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
