"""Frames of a log that tell of the robot and are not used: forces, and the motion of its root.

A force that acts on the robot and is left out falsifies every mass, and so does the motion of a
root that is taken as fixed.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from steelyard.errors import LogError, listed
from steelyard.findings import Finding
from steelyard.logs.frame_columns import ORIENTATIONS, frame_column_name
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals._base_recording import base_links

FALSIFIES = "a force that acts on the robot and is left out falsifies every mass"
MOVES = {
    "position": 1e-2,
    **dict.fromkeys(ORIENTATIONS, 1e-2),
    "linear_velocity": 3e-2,
    "angular_velocity": 3e-2,
    "linear_acceleration": 0.5,
    "proper_acceleration": 0.5,
}
"""Standard deviation (m, rad or none, m/s, rad/s, m/s²) above which a recorded root moves."""


def forces_of(log: Log) -> tuple[str, ...]:
    """The frames with a force, whether all its axes are there or not."""
    named = [*log.frame_signals, *log.incomplete]
    return tuple(dict.fromkeys(frame for frame, quantity in named if quantity == "force"))


def torques_alone(log: Log, robot: Robot) -> tuple[str, ...]:
    """The links with a torque, whole or not, and no force at all."""
    named = [*log.frame_signals, *log.incomplete]
    links, forces = {link.name for link in robot.links}, forces_of(log)
    turned = dict.fromkeys(frame for frame, quantity in named if quantity == "torque")
    return tuple(frame for frame in turned if frame in links and frame not in forces)


def refuse_incomplete(log: Log, frames: Collection[str]) -> None:
    """Refuse a force or torque of one of these frames that lacks an axis."""
    for (frame, quantity), axes in log.incomplete.items():
        if frame not in frames or quantity not in ("force", "torque"):
            continue
        names = [frame_column_name(frame, quantity, axis) for axis in axes]
        raise LogError(
            f"log '{log.name}': the {quantity} of {_named(frame)} lacks {listed(names)}: without "
            f"all axes it cannot be used, and {FALSIFIES}; record them, or fill the columns with "
            "zeros if they are zero"
        )


def force_findings(
    log: Log, forces: Collection[str], used: Collection[str], why: str
) -> tuple[Finding, ...]:
    """A warning about forces that are not used. why : the reason, and what to do."""
    left = [_named(frame) for frame in forces if frame not in used]
    if not left:
        return ()
    words = f"log '{log.name}' has forces of {listed(left)}, which are not used: {why}"
    return (Finding("warning", "force-not-used", words),)


def unused_of_fixed_base(log: Log, robot: Robot, used: Collection[str]) -> tuple[Finding, ...]:
    """Warnings about a root that moves in the log, and about forces at moving links, of a robot
    whose base is taken as fixed.

    used : names in the log of the wrenches that are used. Forces at the root do not act on joints.
    """
    held = base_links(robot)
    links = {link.name for link in robot.links} - set(held)
    findings = list(
        force_findings(
            log,
            [frame for frame in forces_of(log) if frame in links],
            used,
            f"{FALSIFIES}; state it with --contact LINK, unless it acts between two links, or give "
            "--floating-base for a robot that stands on its links",
        )
    )
    for frame in held:
        moving = [
            quantity.replace("_", " ")
            for (name, quantity), values in log.frame_signals.items()
            if name == frame and quantity in MOVES and _spread(values) > MOVES[quantity]
        ]
        if moving:
            words = (
                f"log '{log.name}': {listed(moving)} of {_named(frame)} change, but the base "
                f"'{robot.root}' of robot '{robot.name}' is taken as fixed, and the motion of the "
                "base is not used; if it floats, give --floating-base (floating_base=True when "
                "the robot is read)"
            )
            findings.append(Finding("warning", "base-motion-not-used", words))
    return tuple(findings)


def _spread(values: np.ndarray) -> float:
    """Largest standard deviation of the axes (n_samples, n_axes); 0 where nothing is known."""
    known = values[np.isfinite(values).all(axis=1)]
    return float(np.std(known, axis=0).max()) if len(known) else 0.0


def _named(frame: str) -> str:
    return f"'{frame}'" if frame else "a frame without a name"
