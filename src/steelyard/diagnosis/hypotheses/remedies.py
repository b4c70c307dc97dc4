"""The options of `identify` that mend what a suspect says is wrong with a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.diagnosis.hypotheses.hypothesis import Suspect
from steelyard.logs.likely_names import map_option, unit_option
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot

MOVED = {
    "torques-swapped": ("torque",),
    "positions-swapped": ("position",),
    "joints-swapped": ("position", "velocity", "acceleration", "torque"),
    "joints-reversed": ("position", "velocity", "acceleration", "torque"),
    "joints-shifted": ("position", "velocity", "acceleration", "torque"),
}
"""Quantities whose columns belong to other joints."""
POSITION_UNITS = {"degrees": "deg", "turns": "rev"}
MILLI, LIKE_MILLI = 1000.0, 1.6
"""Scale of torques in mN m, and the factor by which a scale may differ from it."""


def with_options(
    found: Sequence[Suspect], log: Log, robot: Robot, *, numbered: bool = False
) -> tuple[Suspect, ...]:
    """The suspects of a log with the options that mend them, where `identify` has one.

    log : with the names of the robot's joints; without names of columns, as those of tables, there
    is no option. Where two suspects are about the same columns, only the first gets one: the
    second was found in the log that is mended already. numbered : whether the file only numbers
    the joints.
    """
    out: list[Suspect] = []
    taken: set[str] = set()
    for one in found:
        moved = _moved(one, log, robot.joint_names, numbered)
        if one.option or taken & moved.keys():
            out.append(one)
            continue
        taken |= moved.keys()
        option = " ".join(map_option(signal, column) for signal, column in moved.items())
        out.append(replace(one, option=option or _in_unit(one, log, robot)))
    return tuple(out)


def _moved(suspect: Suspect, log: Log, joints: Sequence[str], numbered: bool) -> Mapping[str, str]:
    """Signals, such as elbow.torque, and the columns of other joints that hold them.

    Where joints are numbered, all are named if two are: what is left has no order.
    """
    every = numbered and suspect.code == "joints-swapped"
    n = len(joints)
    order = list(range(n))
    if suspect.code == "joints-reversed":
        order.reverse()
    elif suspect.code == "joints-shifted":
        order = [(k + round(suspect.size)) % n for k in order]
    elif suspect.code in MOVED:
        i, k = (joints.index(name) for name in suspect.joints)
        order[i], order[k] = k, i
    held = {
        f"{joints[k]}.{quantity}": (joints[other], quantity)
        for k, other in enumerate(order)
        if other != k or every
        for quantity in MOVED[suspect.code]
        if (joints[other], quantity) in log.signals
    }
    if any(key not in log.columns for key in held.values()):
        return {}
    return {signal: log.columns[key] for signal, key in held.items()}


def _in_unit(suspect: Suspect, log: Log, robot: Robot) -> str:
    """The option that states the unit of positions or torques; empty if there is none."""
    sliding = {one.name for one in robot.free_joints if one.kind == "prismatic"}
    if suspect.code == "position-unit":
        turning = [name for name in robot.joint_names if name not in sliding]
        quantity, unit = "position", POSITION_UNITS[suspect.unit]
        joints = suspect.joints or tuple(turning)
    elif suspect.code == "torque-scale" and not sliding:
        if not MILLI / LIKE_MILLI < suspect.size < MILLI * LIKE_MILLI:
            return ""
        quantity, unit, joints = "torque", "mN*m", tuple(robot.joint_names)
    else:
        return ""
    columns = {
        joint: log.columns[joint, quantity] for joint in joints if (joint, quantity) in log.columns
    }
    every = len(joints) == len(robot.joint_names)
    return unit_option(quantity, unit, columns, every=every) if len(columns) == len(joints) else ""
