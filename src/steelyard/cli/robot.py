"""Options for the robot, shared by several commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from steelyard.errors import RobotError, shown

if TYPE_CHECKING:
    from steelyard.knowledge.overlay.overlay import Overlay
    from steelyard.logs.log import Log
    from steelyard.logs.stored_log import AnyLog
    from steelyard.robot.robot import Robot

Given = TypeVar("Given", bound="AnyLog")
UNRECORDED = "unrecorded"
NO_LOG = (
    "--lock unrecorded needs a log that says which joints were recorded; give --lock JOINT=POSITION"
)


def add_robot_arguments(parser: argparse.ArgumentParser, *, file: bool = True) -> None:
    """The robot, its overlay, gravity, locked joints and angles.

    file : whether to add the robot file, too; a command may take it in another way.
    """
    if file:
        parser.add_argument(
            "robot", metavar="ROBOT", help="URDF or MJCF file, or Denavit-Hartenberg table (.toml)"
        )
    parser.add_argument(
        "--overlay", metavar="FILE", help="TOML file with facts that the robot file cannot state"
    )
    parser.add_argument(
        "--gravity",
        nargs=3,
        type=float,
        metavar=("X", "Y", "Z"),
        help="gravity in the frame of the root link, or of the world for a floating base, m/s² "
        "(default: the file's, or 0 0 -9.81)",
    )
    parser.add_argument(
        "--floating-base",
        action="store_true",
        help="the root link moves freely in the world, as that of a legged robot",
    )
    add_lock_argument(
        parser,
        "JOINT=POSITION|unrecorded",
        "; unrecorded: all joints of which the log has no column, at 0 or the middle of their "
        "limits",
    )
    parser.add_argument(
        "--keep-angles",
        action="store_true",
        help="keep joint angles that the file rounds, such as 1.5708, as written; by default they "
        "are turned onto right angles where that removes near-dependencies",
    )


def add_lock_argument(
    parser: argparse.ArgumentParser, metavar: str = "JOINT=POSITION", more: str = ""
) -> None:
    """Joints that do not move. more : what the help says besides."""
    parser.add_argument(
        "--lock",
        action="append",
        default=[],
        metavar=metavar,
        help=f"a joint that does not move, and where (rad or m); may be repeated{more}",
    )


def robot_from(
    arguments: argparse.Namespace, log: Log | None = None, *, for_result: bool = False
) -> tuple[Robot, Overlay | None]:
    """The robot as the options state it, and its overlay.

    log : that says which joints were recorded; None for a command without one.
    for_result : whether a result follows, which states the joints that were unrecorded and those
        that were turned.
    """
    from steelyard.knowledge.overlay.read_robot import read_robot
    from steelyard.knowledge.overlay.toml_file import read_overlay
    from steelyard.model.right_angles import with_right_angles
    from steelyard.signals.unrecorded import lock_unrecorded

    positions = locked_positions(arguments.lock)
    overlay = None if arguments.overlay is None else read_overlay(arguments.overlay)
    robot = read_robot(
        arguments.robot,
        gravity=arguments.gravity,
        overlay=overlay,
        floating_base=True if arguments.floating_base else None,
        keep_angles=True,
    )
    if positions:
        robot = robot.lock(positions)
    if for_result:
        return robot, overlay
    if UNRECORDED in arguments.lock:
        if log is None:
            raise RobotError(NO_LOG)
        robot = lock_unrecorded(robot, log)
    return robot if arguments.keep_angles else with_right_angles(robot), overlay


def robot_for_logs(
    arguments: argparse.Namespace, logs: Iterator[Given]
) -> tuple[Robot, Overlay | None, Iterator[Given]]:
    """:func:`robot_from` these logs, and all of them; the first is read only if that is needed."""
    from steelyard.logs.stored_log import first_rows

    if UNRECORDED not in arguments.lock:
        return (*robot_from(arguments), logs)
    first = next(logs)  # the command line has at least one
    return (*robot_from(arguments, first_rows(first)), chain((first,), logs))


def locked_positions(given: list[str]) -> dict[str, float]:
    """Positions (rad or m) by joint, from texts such as elbow=0.5."""
    positions: dict[str, float] = {}
    for text in given:
        if text == UNRECORDED:
            continue
        name, equals, number = text.rpartition("=")
        try:
            position = float(number)
        except ValueError:
            equals = ""
        if not (equals and name):
            raise RobotError(
                f"--lock is {shown(text)}; it must be JOINT=POSITION (rad or m), or {UNRECORDED}"
            )
        if name in positions:
            raise RobotError(f"--lock is given twice for joint {shown(name)}; give it once")
        positions[name] = position
    return positions
