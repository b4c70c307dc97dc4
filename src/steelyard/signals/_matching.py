"""Match the signals of a log with the joints of a robot, and check their units."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import LogError, SignalError, is_name, listed, quoted_list, shown
from steelyard.logs.columns import SLIDING_UNITS, TURNING_UNITS
from steelyard.logs.log import Log
from steelyard.logs.suggestions import suggestion
from steelyard.robot.parts import Joint
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
    log: Log, robot: Robot, torques: Torques = "all", without: Collection[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Joints of the robot in model order, and joints of the log that the robot does not have.

    Every free joint needs a position and, unless ``torques`` is "recorded" or it is one of
    ``without``, a torque, in units that fit its kind.
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
            "or lock the joints that were not recorded: all of them with --lock unrecorded"
            f"{_also_still(log, robot)} "
            f'(lock="unrecorded" in Python), or each with --lock {absent[0]}=POSITION'
        )
    for joint in robot.free_joints:
        fitting = SLIDING_UNITS if joint.kind == "prismatic" else TURNING_UNITS
        needed = torques == "all" and joint.name not in without
        for quantity in NEEDED if needed else NEEDED[:1]:
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


def _also_still(log: Log, robot: Robot) -> str:
    """Options that lock the joints that were recorded and do not move, for a message."""
    words = ""
    for joint in robot.free_joints:
        q = log.signals.get((joint.name, "position"), np.empty(0))
        q = q[np.isfinite(q)]
        if len(q) and float(np.ptp(q)) < STILL[joint.kind][0]:
            words += f" {lock_option(joint.name, float(np.median(q)))}"
    return words and f"{words} (these do not move)"


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
    left_out = _left_out(robot, processing)
    needed = {
        (joint, quantity): log.signal(joint, quantity)
        for quantity in NEEDED
        for joint in robot.joint_names
        if quantity == "position"
        or (joint not in left_out and (torques == "all" or (joint, quantity) in log.signals))
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


def _left_out(robot: Robot, processing: Processing) -> set[str]:
    """Joints whose torque is not used; refuses strangers, and all joints."""
    left_out = set(processing.torques_left_out)
    strangers = [joint for joint in processing.torques_left_out if joint not in robot.joint_names]
    if strangers:
        raise SignalError(
            f"without_torque names {shown(strangers[0])}, which is no joint with its own "
            f"coordinate; these are {listed(robot.joint_names)}"
        )
    if left_out and left_out == set(robot.joint_names) and not robot.floating_base:
        raise SignalError("without_torque names all joints; no torque would be left")
    return left_out


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
    span = {joint.name: float(np.ptp(positions[joint.name])) for joint in robot.free_joints}
    moving = [span[joint.name] >= STILL[joint.kind][0] for joint in robot.free_joints]
    still = [one for one, moves in zip(robot.free_joints, moving, strict=True) if not moves]
    if still and processing.still_joints == "refuse":
        raise SignalError(_still_words(log, still, span, positions, every=not any(moving)))
    return np.array(moving)


def _still_words(
    log: Log,
    still: Sequence[Joint],
    span: Mapping[str, float],
    positions: Mapping[str, Array],
    *,
    every: bool,
) -> str:
    """What is said of joints that do not move, with the option that locks them all."""
    one = len(still) == 1
    spans = listed(f"{span[joint.name]:.3g} {STILL[joint.kind][1]}" for joint in still)
    least = " or ".join(dict.fromkeys(f"{size:g} {unit}" for size, unit in _limits(still)))
    words = (
        f"log '{log.name}': {'joint' if one else 'joints'} "
        f"{quoted_list(joint.name for joint in still)} never {'moves' if one else 'move'}: "
        f"{'its position stays' if one else 'their positions stay'} within {spans} (at least "
        f"{least} is needed); "
    )
    if every:
        return f"{words}nothing can be identified from a robot at rest: record a motion"
    where = {joint.name: float(np.median(positions[joint.name])) for joint in still}
    locked = " ".join(lock_option(joint, position) for joint, position in where.items())
    return (
        f"{words}lock {'it' if one else 'them'} with {locked}, record a motion that moves "
        f"{'it' if one else 'them'}, or keep {'it' if one else 'them'} with --still-joints keep "
        "where the log serves for prediction only"
    )


def _limits(joints: Sequence[Joint]) -> list[tuple[float, str]]:
    return [STILL[joint.kind] for joint in joints]


def lock_option(joint: str, position: float) -> str:
    """The option that locks a joint at a position (rad or m), as a user types it."""
    return f"--lock {shlex.quote(f'{joint}={position:.6g}')}"
