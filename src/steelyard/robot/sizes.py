"""Numbers of a robot file that no robot has, and more links than any has.

They are valid numbers of an XML file. Their squares and products overflow, though, and the message
would be about what failed of it instead of about the number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard._files.limits import LARGEST_NUMBER, MAX_LINKS, SMALLEST_NUMBER
from steelyard.errors import RobotError, shown
from steelyard.robot.inertia import PARAMETER_UNITS, PARAMETERS
from steelyard.robot.parts import Joint, Link

RANGE_WORDS = f"0 or from {SMALLEST_NUMBER:g} to {LARGEST_NUMBER:g}"


def check_count(kind: str, count: int, where: str) -> None:
    """Refuse more links or joints, or what a format calls them, than are read."""
    if count > MAX_LINKS:
        raise RobotError(f"{where} has {count} {kind}; at most {MAX_LINKS} are read")


def check_sizes(links: Sequence[Link], joints: Sequence[Joint]) -> None:
    """Refuse inertials and placements whose numbers are out of proportion, naming the first."""
    for link in links:
        if link.inertial is not None:
            _check_inertial(link.name, link.inertial)
    for joint in joints:
        for place in (joint.placement, joint.child_offset):
            far = float(np.abs(place[:3, 3]).max())
            if far > LARGEST_NUMBER:
                raise RobotError(
                    f"joint {shown(joint.name)} is {far:g} m from its parent's frame; at most "
                    f"{LARGEST_NUMBER:g} m are read"
                )


def _check_inertial(link: str, phi: np.ndarray) -> None:
    sizes = np.abs(phi)
    if 0.0 < sizes[0] < SMALLEST_NUMBER:
        raise RobotError(
            f"link {shown(link)} has a mass of {phi[0]:g} kg; it must be {RANGE_WORDS} kg"
        )
    wrong = np.flatnonzero(~(sizes <= LARGEST_NUMBER))
    if len(wrong):
        k = int(wrong[0])
        raise RobotError(
            f"link {shown(link)} has {PARAMETERS[k]} = {phi[k]:g} {PARAMETER_UNITS[k]}"
            f"{' (mass)' if k == 0 else ' about its frame'}; at most {LARGEST_NUMBER:g} is read"
        )
