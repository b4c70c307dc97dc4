"""What a robot has that its file does not state: turned joint frames and locked joints."""

from __future__ import annotations

from steelyard.findings import Finding
from steelyard.robot.robot import Robot

ANGLE_NAMES = ("roll", "pitch", "yaw")
RIGHT_ANGLES = "right-angles"
"""Code of the note on joints that were turned onto right angles."""


def change_findings(robot: Robot) -> tuple[Finding, ...]:
    """Notes on the joints that were turned onto right angles, and on those that were locked."""
    return (*_turned(robot), *_locked(robot))


def brief_change_findings(robot: Robot) -> tuple[Finding, ...]:
    """The same notes with the turned joints only counted, for places that come after the note of
    the identification, which lists every angle.
    """
    if not robot.turned:
        return _locked(robot)
    words = (
        f"angles of {_joint_count(robot)}, which the robot file rounds, are read as right angles "
        "(result.json lists them)"
    )
    return (Finding("info", RIGHT_ANGLES, words), *_locked(robot))


def _turned(robot: Robot) -> tuple[Finding, ...]:
    if not robot.turned:
        return ()
    angles = [
        f"{joint.joint} {name} {before:.10g} to {after:.10g} (by {after - before:.2g} rad)"
        for joint in robot.turned
        for name, before, after in zip(ANGLE_NAMES, joint.before, joint.after, strict=True)
        if before != after
    ]
    words = (
        f"the robot file rounds angles of {_joint_count(robot)}, which would give base parameters "
        f"that only this rounding determines; turned: {', '.join(angles)}. To use the angles as "
        "written, give --keep-angles (keep_angles=True in Python)"
    )
    return (Finding("info", RIGHT_ANGLES, words),)


def _locked(robot: Robot) -> tuple[Finding, ...]:
    if not robot.locked:
        return ()
    positions = [f"{name} at {position:.6g}" for name, position in robot.locked.items()]
    words = (
        "joints are locked, at positions in rad or m, and what they carry belongs to the body "
        f"before them: {', '.join(positions)}"
    )
    return (Finding("info", "locked-joints", words),)


def _joint_count(robot: Robot) -> str:
    return f"{len(robot.turned)} {'joint' if len(robot.turned) == 1 else 'joints'}"
