"""Joints that follow other joints."""

from __future__ import annotations

from dataclasses import replace

from steelyard.errors import RobotError, did_you_mean, listed, shown
from steelyard.robot.parts import Joint, Mimic


def without_mimics(joints: tuple[Joint, ...]) -> tuple[Joint, ...]:
    """The joints without mimics, each with its own coordinate."""
    return tuple(replace(joint, mimic=None) for joint in joints)


def resolve_mimics(joints: tuple[Joint, ...]) -> tuple[Joint, ...]:
    """Make a mimic of a mimic follow the independent joint directly.

    With q1 = m1 q2 + o1 and q2 = m2 q3 + o2, q1 = m1 m2 q3 + m1 o2 + o1.
    """
    by_name = {joint.name: joint for joint in joints}
    resolved: dict[str, Mimic] = {}
    for joint in joints:
        followers: dict[str, Mimic] = {}
        current = joint
        while current.mimic is not None and current.name not in resolved:
            if current.name in followers:
                raise RobotError(f"joints {listed(followers)} mimic each other in a circle")
            followers[current.name] = current.mimic
            if current.mimic.joint not in by_name:
                raise RobotError(
                    f"joint {shown(current.name)} mimics {shown(current.mimic.joint)}, which does "
                    f"not exist{did_you_mean(current.mimic.joint, by_name)}; correct its name, or "
                    "read the file without mimics"
                )
            current = by_name[current.mimic.joint]
        for name, mimic in reversed(followers.items()):
            leader = resolved.get(mimic.joint)
            resolved[name] = (
                mimic
                if leader is None
                else Mimic(
                    leader.joint,
                    mimic.multiplier * leader.multiplier,
                    mimic.multiplier * leader.offset + mimic.offset,
                )
            )
    return tuple(
        replace(joint, mimic=resolved[joint.name]) if joint.name in resolved else joint
        for joint in joints
    )
