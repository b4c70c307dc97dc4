"""In which axes a wrench was recorded: of the sensor, of the base, or of a link that never moves.

Controllers state wrenches in the axes of their own base, which robot files often turn against the
root link: ``base`` beside ``base_link`` of Universal Robots, by half a turn about z.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError, shown
from steelyard.findings import Finding
from steelyard.robot.robot import Robot
from steelyard.signals.frame_kinematics import joints_to
from steelyard.signals.wrench import AXES, Axes, check_choice

Array = NDArray[np.float64]
SAME = 1e-9
"""Rotations whose entries differ by less are the same."""


@dataclass(frozen=True, eq=False)
class StatedAxes:
    """The axes of a wrench.

    axes : the sensor's, or the base's. R : (3, 3) rotation from the stated axes to those of the
    base (the root link), None where they are the same. findings : what a name was taken for.
    """

    axes: Axes
    R: Array | None = None
    findings: tuple[Finding, ...] = ()

    def in_base(self, both: Array) -> Array:
        """Force and torque (n_samples, 6), turned from the stated axes into those of the base."""
        if self.R is None:
            return both
        return np.hstack([both[:, :3] @ self.R.T, both[:, 3:] @ self.R.T])


def stated_axes(given: str, robot: Robot | None) -> StatedAxes:
    """The axes that a name means.

    given : ``sensor``, ``base``, or a link of the robot that does not move against its root. With a
        link of the name ``base``, that link is meant.
    robot : None where the motion is not that of its joints; then no link is known.
    """
    if given == "sensor":
        return StatedAxes("sensor")
    is_link = robot is not None and any(link.name == given for link in robot.links)
    if robot is None or (given == "base" and not is_link):
        check_choice("axes of the wrench", given, AXES)
        return StatedAxes("base")
    if not is_link:
        raise SignalError(
            f"axes of the wrench: {shown(str(given))}; it must be 'sensor', 'base', or a link of "
            f"robot '{robot.name}' that does not move against its root"
        )
    path = joints_to(robot, given)
    moving = [joint.name for joint in path if joint.moves]
    if moving and given == "base":
        return StatedAxes("base")
    if moving:
        raise SignalError(
            f"axes of the wrench: link '{given}' moves with joint '{moving[0]}'; it must be a link "
            "that does not move against the root, 'base' or 'sensor'"
        )
    R = np.eye(3)
    for joint in path:
        R = R @ joint.pose(0.0)[:3, :3]
    if np.abs(R - np.eye(3)).max() < SAME:
        return StatedAxes("base")
    angle = np.degrees(np.arccos(np.clip(0.5 * (np.trace(R) - 1.0), -1.0, 1.0)))
    root = path[0].parent
    words = (
        f"the wrench is taken in the axes of link '{given}', which robot '{robot.name}' turns by "
        f"{angle:.4g} degrees against its root '{root}'; for the axes of the root, state '{root}'"
    )
    return StatedAxes("base", R, (Finding("info", "wrench-axes-of-link", words),))
