"""Options of `identify` that mend what a suspect says is wrong with a log, and delays that are
corrected without being asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.diagnosis.hypotheses.hypothesis import Suspect
from steelyard.diagnosis.hypotheses.of_torques import LONGEST_S
from steelyard.logs.likely_names import map_option, unit_option
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals.processing import TorqueDelay

MOVED = {
    "torques-swapped": ("torque",),
    "positions-swapped": ("position",),
    "joints-swapped": ("position", "velocity", "acceleration", "torque"),
    "joints-reversed": ("position", "velocity", "acceleration", "torque"),
    "joints-shifted": ("position", "velocity", "acceleration", "torque"),
}
"""Quantities whose columns belong to other joints."""
POSITION_UNITS = {"degrees": "deg", "turns": "rev"}
SURE, SPREAD = 5.0, 0.3
"""A delay is corrected if it is away from zero by so many half widths of its interval, and by parts
of the log differs by less than this share."""
CORRECTED = 1.2
"""Factor by which a correction has to reduce what is unexplained."""
ROUNDED_S = 6
"""Digits after the point (s) of a correction."""
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


DELAYS = ("delay", "polled-joints")
"""Hypotheses that a delay of each torque mends."""


def is_sure(suspect: Suspect) -> bool:
    """Whether a suspect is a delay that can be corrected without doubt.

    Without it clearly less is unexplained, its interval excludes zero by far, it is the same in
    every part of the log, and nothing else explains the log about as well.
    """
    if suspect.code not in DELAYS or suspect.interval is None or abs(suspect.size) > LONGEST_S:
        return False
    half = 0.5 * (suspect.interval[1] - suspect.interval[0])
    apart = np.abs(np.array(suspect.by_part) - suspect.size)
    return bool(
        suspect.error[0] > CORRECTED * suspect.error[1]
        and abs(suspect.size) > SURE * half
        and np.all(apart < SPREAD * abs(suspect.size))
        and set(suspect.rivals) <= set(DELAYS)
    )


def correction_of(found: Sequence[Suspect], joints: Sequence[str]) -> TorqueDelay:
    """The delay (s) to take out: one for all joints, one for each that is late, or None.

    joints : all that have torques. Delays of all and of single joints add up.
    """
    late = [one for one in found if one.code in DELAYS]
    if not late or not all(is_sure(one) for one in late):
        return None
    delays = dict.fromkeys(joints, 0.0)
    for one in late:
        for k, joint in enumerate(joints):
            if not one.joints or joint in one.joints:
                delays[joint] += one.size * (k if one.code == "polled-joints" else 1)
    rounded = {joint: round(delay, ROUNDED_S) for joint, delay in delays.items() if delay}
    same = set(rounded.values())
    if len(rounded) == len(delays) and len(same) == 1:
        return same.pop()
    return rounded


def beyond_stated(suspect: Suspect, stated: TorqueDelay, joints: Sequence[str]) -> Suspect:
    """A delay that is left after one was taken out, with the option that takes out both.

    stated : what is taken out, in seconds or by joint. joints : all that have torques.
    """
    if suspect.code not in DELAYS or stated is None or stated == "auto":
        return suspect
    by_joint = stated if isinstance(stated, Mapping) else dict.fromkeys(joints, stated)
    late = suspect.joints or tuple(joints)
    polled = suspect.code == "polled-joints"
    delays = {
        joint: float(by_joint.get(joint, 0.0))
        + suspect.size * (joint in late) * (k if polled else 1)
        for k, joint in enumerate(joints)
    }
    return replace(suspect, option=delay_option(delays), beyond=True)


def delay_option(delays: Mapping[str, float]) -> str:
    """The option that takes these delays (s) out."""
    same = set(delays.values())
    if len(same) == 1:
        return f"--torque-delay {same.pop():.4g}"
    rest = {joint: delay for joint, delay in delays.items() if delay}
    return " ".join(f"--torque-delay {joint}={delay:.4g}" for joint, delay in rest.items())
