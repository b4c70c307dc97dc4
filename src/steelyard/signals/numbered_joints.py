"""Joints that a log only numbers, matched with the joints of a robot by their order.

Joints are matched by name wherever there is one. Numbers are taken in the robot's order, from its
base to its tip, and only where that order is evident; a finding lists what was matched. Joints that
were locked may be counted or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

from steelyard.errors import LogError, listed, shown
from steelyard.findings import Finding
from steelyard.logs.description import Key
from steelyard.logs.foreign_names import marked_number, written_number
from steelyard.logs.likely_names import map_option
from steelyard.logs.log import Log
from steelyard.robot.parts import Joint
from steelyard.robot.robot import Robot

TRAILING = re.compile(r"([0-9]{1,9})[^0-9]*$")


def name_numbered_joints(
    log: Log, robot: Robot, *, fewer: bool = False
) -> tuple[Log, tuple[Finding, ...]]:
    """The log with the names of the robot's joints in place of numbers, and a note on which.

    fewer : whether joints at the tip may lack a number, where the names of the others have numbers
        in the same order.

    A log without numbers, and one that has the positions and torques of all joints by name, is
    returned as it is. Refuses numbers that are not exactly 1 to n or 0 to n-1 for n joints, and a
    robot whose joints have no evident order. A number of a locked joint may be missing.
    """
    numbers = _numbers(log, robot)
    if not numbers or robot.floating_base or _complete(log, robot):
        return log, ()
    if robot.transmission is not None:
        motors = [one.name for one in robot.transmission.motors]
        if not set(motors) <= set(robot.joint_names):
            raise LogError(
                f"log '{log.name}' numbers its signals, which may be those of joints or those of "
                f"motors ({listed(motors)}); {_remedy(log, motors[0], numbers)}"
            )
    meant = _meant(log, robot, numbers, fewer)
    _check_order(log, robot, numbers, meant)
    names = {joint: meant[number].name for joint, number in numbers.items()}
    renamed = _renamed(log, names)
    matched = sorted({(number, names[joint]) for joint, number in numbers.items()})
    return renamed, (
        Finding(
            "info",
            "joints-by-number",
            f"log '{log.name}' numbers its joints; they were matched with the robot's by order: "
            f"{', '.join(f'{number} = {name}' for number, name in matched)}; if they were recorded "
            f"in another order, {_remedy(log, matched[0][1], numbers)}",
        ),
    )


def _numbers(log: Log, robot: Robot) -> dict[str, int]:
    """Numbers of the log's joints that have no other name.

    A name such as ``joint_1`` is a number only where the robot has no joint or motor of any of
    these names.
    """
    marked = {name: number for name in log.joints if (number := marked_number(name)) is not None}
    written = {name: number for name in log.joints if (number := written_number(name)) is not None}
    known = {joint.name for joint in robot.joints}
    if robot.transmission is not None:
        known |= {motor.name for motor in robot.transmission.motors}
    return marked if known & written.keys() else marked | written


def _complete(log: Log, robot: Robot) -> bool:
    """Whether every joint of the robot has its position and a torque or current by name."""
    found = [set(log.quantities(joint)) for joint in robot.joint_names]
    return all("position" in one and one & {"torque", "current"} for one in found)


def _meant(log: Log, robot: Robot, numbers: Mapping[str, int], fewer: bool) -> dict[int, Joint]:
    """The joint of each number that occurs, ascending."""
    there = set(numbers.values())
    every = [
        joint
        for joint in robot.joints_from_root
        if joint in robot.free_joints or joint.name in robot.locked
    ]
    found = []
    for counted, first in ((robot.free_joints, 0), (robot.free_joints, 1), (every, 0), (every, 1)):
        joints = dict(enumerate(counted[: max(there) + 1 - first], first))
        chosen = {number: joints[number] for number in sorted(there & joints.keys())}
        free = {joint.name for joint in robot.free_joints}
        if fewer:
            fits = there == joints.keys() and (len(joints) == len(counted) or _own_agree(chosen))
        else:
            fits = len(chosen) == len(there) and free <= {joint.name for joint in chosen.values()}
        if fits and len(there) == len(free):
            return chosen
        if fits and chosen not in found:
            found.append(chosen)
    if len(found) > 1:
        found = [chosen for chosen in found if _own_agree(chosen)]
    if len(found) == 1:
        return found[0]
    raise LogError(_counts_differ(log, robot, numbers, len(every)))


def _own_numbers(joints: Iterable[Joint]) -> list[int | None]:
    """The last number in the name of each joint."""
    return [int(found[1]) if (found := TRAILING.search(one.name)) else None for one in joints]


def _own_agree(chosen: Mapping[int, Joint]) -> bool:
    """Whether the names of the joints have these numbers, or all the same number of steps away."""
    own = _own_numbers(chosen.values())
    steps = {None if one is None else one - number for number, one in zip(chosen, own, strict=True)}
    return len(steps) == 1 and None not in steps


def _counts_differ(log: Log, robot: Robot, numbers: Mapping[str, int], n_with_locked: int) -> str:
    """What the numbers are, what is needed, and what to do."""
    n_joints = len(robot.joint_names)
    by_quantity: dict[str, set[int]] = {}
    for joint, number in numbers.items():
        for quantity in log.quantities(joint):
            by_quantity.setdefault(quantity, set()).add(number)
    words = "; ".join(
        f"{quantity}: {listed(map(str, sorted(found)))}" for quantity, found in by_quantity.items()
    )
    with_locked = f", or to {n_with_locked} with the locked joints" * (n_with_locked > n_joints)
    return (
        f"log '{log.name}' numbers its joints ({words}), but the {n_joints} free joints of robot "
        f"'{robot.name}' ({listed(robot.joint_names)}) need all numbers from 1 to {n_joints}"
        f"{with_locked}, or from 0 (fixed joints are not counted); lock the joints that were not "
        f"recorded by name (--lock JOINT=POSITION), or "
        f"{_remedy(log, robot.joint_names[0], numbers)}"
    )


def _check_order(
    log: Log, robot: Robot, numbers: Mapping[str, int], meant: Mapping[int, Joint]
) -> None:
    """Refuse numbers where the robot branches, or has other numbers in the names of its joints."""
    joints = list(meant.values())
    names, own = [joint.name for joint in joints], _own_numbers(joints)
    if own == list(meant):
        return
    stated = [number for number in own if number is not None]
    in_order = list(range(min(stated, default=0), min(stated, default=0) + len(names)))
    if sorted(stated) == in_order != stated:
        raise LogError(
            f"log '{log.name}' numbers its joints, and so does robot '{robot.name}', but in "
            f"another order than from base to tip ({listed(names)}); "
            f"{_remedy(log, names[0], numbers)}"
        )
    above = {joint.child: joint for joint in robot.joints}
    for one, following in pairwise(joints):
        link = following.parent
        while link in above and above[link].name != one.name:
            link = above[link].parent
        if link not in above:
            raise LogError(
                f"log '{log.name}' numbers its joints, but robot '{robot.name}' branches: "
                f"'{following.name}' does not follow '{one.name}', so that the order of its joints "
                f"is not evident; {_remedy(log, names[0], numbers)}"
            )


def _renamed(log: Log, names: dict[str, str]) -> Log:
    """The log with other names of joints; refuses two signals that become the same."""

    def new(key: Key) -> Key:
        return names.get(key[0], key[0]), key[1]

    signals = {}
    origin: dict[Key, Key] = {}
    for key, values in log.signals.items():
        if new(key) in signals:
            both = [log.columns.get(one, ".".join(one)) for one in (origin[new(key)], key)]
            raise LogError(
                f"log '{log.name}': {shown(both[0])} and {shown(both[1])} both give the {key[1]} "
                f"of joint '{new(key)[0]}', one of them by number; leave one out"
            )
        signals[new(key)], origin[new(key)] = values, key
    return replace(
        log,
        signals=signals,
        units={new(key): unit for key, unit in log.units.items()},
        columns={new(key): column for key, column in log.columns.items()},
    )


def _remedy(log: Log, name: str, numbers: Mapping[str, int]) -> str:
    """How to name the columns, shown on the first numbered column that there is."""
    for (joint, quantity), column in log.columns.items():
        if joint in numbers:
            return f"name the columns, such as {map_option(f'{name}.{quantity}', column)}"
    return "state their names in the file, as an array joint_names"
