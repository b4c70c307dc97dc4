"""Match the signals of a log with the joints of a robot, and check their units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, SignalError, is_name, listed, shown
from steelyard.logs.columns import SLIDING_UNITS, TURNING_UNITS
from steelyard.logs.log import Log
from steelyard.logs.suggestions import suggestion
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import Torques
from steelyard.signals.steps import whole_turns

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

NEEDED = ("position", "torque")
"""What must be recorded of every joint."""

STILL = {"revolute": (1e-3, "rad"), "continuous": (1e-3, "rad"), "prismatic": (1e-4, "m")}
"""A joint whose position stays within this range counts as not moving."""


def match_joints(
    log: Log, robot: Robot, torques: Torques = "all"
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Joints of the robot in model order, and joints of the log that the robot does not have.

    Every free joint needs a position and, unless ``torques`` is "recorded", a torque, in units
    that fit its kind.
    """
    joints = robot.joint_names
    if not joints and not robot.floating_base:
        raise SignalError(f"robot '{robot.name}' has no joint that moves")
    absent = [joint for joint in joints if joint not in log.joints]
    extra = tuple(joint for joint in log.joints if joint not in joints)
    if absent:
        wanted = [(joint, quantity) for quantity in NEEDED for joint in joints]
        lacking = [key for key in wanted if key not in log.signals]
        meant = suggestion(log, lacking, joints)
        strangers = [name if is_name(name) else shown(name) for name in extra]
        raise LogError(
            f"log '{log.name}' lacks joints of robot '{robot.name}': {listed(absent)}; "
            f"in the log but not in the robot: {listed(strangers)}"
            f"{meant or f'; name the columns, as with --map {absent[0]}.position=COLUMN'}, "
            "or lock the joints that were not recorded: all of them with --lock unrecorded "
            f'(lock="unrecorded" in Python), or each with --lock {absent[0]}=POSITION'
        )
    for joint in robot.free_joints:
        fitting = SLIDING_UNITS if joint.kind == "prismatic" else TURNING_UNITS
        for quantity in NEEDED if torques == "all" else NEEDED[:1]:
            if (joint.name, quantity) not in log.signals:
                meant = suggestion(log, [(joint.name, quantity)], joints)
                raise LogError(
                    f"{log.lacks(joint.name, quantity)}{meant}{_without_torque(log, robot)}"
                )
        for quantity in log.quantities(joint.name):
            unit = log.units.get((joint.name, quantity), "")
            if unit in (TURNING_UNITS | SLIDING_UNITS) - fitting:
                raise LogError(
                    f"log '{log.name}': {joint.name}.{quantity} is given in [{unit}], but joint "
                    f"'{joint.name}' of robot '{robot.name}' is {joint.kind}"
                )
    return joints, extra


def _without_torque(log: Log, robot: Robot) -> str:
    """How to go on without some torques, for a message; empty where nothing would be left."""
    has = [joint for joint in robot.joint_names if (joint, "torque") in log.signals]
    lacks = [joint for joint in robot.joint_names if (joint, "torque") not in log.signals]
    if not has or len(has) == len(robot.joint_names):
        return ""
    return (
        f"; to use the torques of {listed(has)} alone, give --torques recorded: then links that "
        f"only {listed(lacks)} {'carries' if len(lacks) == 1 else 'carry'} cannot be identified, "
        "and the result says which"
    )


def needed_signals(
    log: Log, robot: Robot, processing: Processing, torques: Torques = "all"
) -> dict[tuple[str, str], Array]:
    """The signals that are used: position, torque, and measured derivatives where asked."""
    needed = {
        (joint, quantity): log.signal(joint, quantity)
        for quantity in NEEDED
        for joint in robot.joint_names
        if torques == "all" or quantity == "position" or (joint, quantity) in log.signals
    }
    quantities: tuple[Literal["velocity", "acceleration"], ...] = ("velocity", "acceleration")
    for quantity in quantities:
        if not processing.takes_measured(quantity):
            continue
        found: dict[tuple[str, str], Array] = {
            (joint, quantity): log.signals[joint, quantity]
            for joint in robot.joint_names
            if (joint, quantity) in log.signals
        }
        if not found and getattr(processing, quantity) == "measured":
            raise SignalError(
                f"log '{log.name}' has no measured {quantity} of any joint; "
                f"choose {quantity}='differentiate'"
            )
        needed.update(found)
    return needed


def unwrap(q: Array) -> tuple[Array, int]:
    """Positions (n,) rad without jumps by multiples of 2 pi, and how many there were.

    Jumps that are not near a multiple of 2 pi stay: they are no wraps.
    """
    rows = np.flatnonzero(np.isfinite(q))
    turns = whole_turns(np.diff(q[rows]), np.diff(rows))
    out = q.copy()
    out[rows[1:]] -= 2.0 * math.pi * np.cumsum(turns)
    return out, int(np.count_nonzero(turns))


def moving_joints(
    log: Log, robot: Robot, positions: Mapping[str, Array], processing: Processing
) -> Mask:
    """Which joints move (n_joints,); refuses a log in which one does not, unless it is kept."""
    moving = []
    for joint in robot.free_joints:
        least, unit = STILL[joint.kind]
        span = float(np.ptp(positions[joint.name]))
        if span < least and processing.still_joints == "refuse":
            raise SignalError(
                f"log '{log.name}': joint '{joint.name}' never moves: its position stays within "
                f"{span:.3g} {unit} (at least {least:g} {unit} is needed); lock it at "
                f"{positions[joint.name][0]:.6g} {unit} (--lock {joint.name}="
                f"{positions[joint.name][0]:.6g}), record a motion that moves it, or "
                "keep it with still_joints='keep' where the log serves for prediction only"
            )
        moving.append(span >= least)
    return np.array(moving)
