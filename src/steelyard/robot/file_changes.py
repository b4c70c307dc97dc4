"""What a robot has that its file does not state: turned joint frames and locked joints."""

from __future__ import annotations

from steelyard.findings import Finding
from steelyard.robot.robot import Robot

ANGLE_NAMES = ("roll", "pitch", "yaw")


def change_findings(robot: Robot) -> tuple[Finding, ...]:
    """Notes on the joints that were turned onto right angles, and on those that were locked."""
    findings = []
    if robot.turned:
        count = f"{len(robot.turned)} {'joint' if len(robot.turned) == 1 else 'joints'}"
        angles = [
            f"{joint.joint} {name} {before:.10g} to {after:.10g} (by {after - before:.2g} rad)"
            for joint in robot.turned
            for name, before, after in zip(ANGLE_NAMES, joint.before, joint.after, strict=True)
            if before != after
        ]
        findings.append(
            Finding(
                "info",
                "right-angles",
                f"the robot file rounds angles of {count}, which would give base parameters that "
                f"only this rounding determines; turned: {', '.join(angles)}. To use the angles "
                "as written, give --keep-angles (keep_angles=True in Python)",
            )
        )
    if robot.locked:
        positions = [f"{name} at {position:.6g}" for name, position in robot.locked.items()]
        findings.append(
            Finding(
                "info",
                "locked-joints",
                f"joints are locked, at positions in rad or m, and what they carry belongs to the "
                f"body before them: {', '.join(positions)}",
            )
        )
    return tuple(findings)
