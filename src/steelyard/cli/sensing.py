"""Options for what a log has besides joints: the motion of a floating base, and wrenches."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from steelyard.errors import SignalError, shown

if TYPE_CHECKING:
    from steelyard.signals.sensing import BaseForces, BaseMotion, MeasuredWrench, Sensing


def add_sensing_arguments(parser: argparse.ArgumentParser) -> None:
    """Options for the fields of `Sensing`; by default they follow from the columns' names."""
    group = parser.add_argument_group(
        "floating base, contacts and missing torques",
        "What the logs have besides positions and torques of the joints. For a floating base it is "
        "read from the names of the columns where no option states it: LINK.position_x, "
        "LINK.quaternion_w, LINK.linear_velocity_x, LINK.angular_velocity_x, "
        "LINK.proper_acceleration_x (an accelerometer) of the root or a link fixed to it; "
        "LINK.force_x and LINK.torque_x at any link.",
    )
    add = group.add_argument
    add(
        "--base-motion",
        choices=("pose", "twist", "imu"),
        help="what tells the motion of the base: its pose, its velocities and orientation, or an "
        "IMU",
    )
    add(
        "--base-frame",
        metavar="LINK",
        help="the link whose motion that is, the root or one that is fixed to it (default: root)",
    )
    add("--base-columns", metavar="NAME", help="the name of that link in the columns of the log")
    add(
        "--base-twist-axes",
        choices=("frame", "world"),
        help="axes of the velocities of the base (default: frame, its own)",
    )
    add(
        "--base-angular-axes",
        choices=("frame", "world"),
        help="axes of its angular velocity and acceleration, where they are others: frame, with "
        "--base-twist-axes world, for MuJoCo's qvel (default: as --base-twist-axes)",
    )
    add(
        "--base-quaternion",
        choices=("x-first", "w-first"),
        help="order of numbered quaternions of the base (default: x-first)",
    )
    add(
        "--base-wrench",
        metavar="LINK[=COLUMNS]|nothing|unmeasured",
        help="the wrench that holds the base, measured at this link; nothing: only the contacts "
        "touch the robot; unmeasured: joint torques alone are used",
    )
    add(
        "--contact",
        action="append",
        metavar="LINK[=COLUMNS]",
        help="a measured wrench on this link, such as that of a foot; may be repeated. With a "
        "force and no torque in the log it is a point contact",
    )
    add(
        "--wrench-axes",
        choices=("frame", "world"),
        help="axes of these wrenches: of their link (default), or of the world",
    )
    add(
        "--wrench-sign",
        choices=("on-robot", "by-robot"),
        help="what they are: acting on the robot (default), or exerted by it",
    )
    add(
        "--torques",
        choices=("all", "recorded"),
        help="whether every joint must have a torque, or those are used that have one (default: "
        "all; recorded for a floating base)",
    )


def sensing_from(arguments: argparse.Namespace) -> Sensing | None:
    """The sensing that the options state; None where none is given.

    What they leave open for a floating base follows from the columns' names.
    """
    from steelyard.signals.sensing import BASE_FORCES, Sensing

    base, held = _base(arguments), arguments.base_wrench
    contacts = tuple(_wrench("--contact", text, arguments) for text in arguments.contact or ())
    wrench: MeasuredWrench | BaseForces | None = held
    if held is not None and held not in BASE_FORCES:
        wrench = _wrench("--base-wrench", held, arguments)
    found = Sensing(
        base, wrench, contacts, arguments.torques, arguments.wrench_axes, arguments.wrench_sign
    )
    return None if found == Sensing() else found


def _base(arguments: argparse.Namespace) -> BaseMotion | None:
    from steelyard.signals.sensing import BaseMotion

    found = BaseMotion(
        arguments.base_motion,
        arguments.base_frame,
        arguments.base_columns,
        arguments.base_twist_axes or "frame",
        arguments.base_quaternion or "x-first",
        arguments.base_angular_axes,
    )
    return None if found == BaseMotion() else found


def _wrench(option: str, text: str, arguments: argparse.Namespace) -> MeasuredWrench:
    from steelyard.signals.sensing import MeasuredWrench

    frame, equals, columns = text.partition("=")
    if not frame or (equals and not columns):
        raise SignalError(f"{option} is {shown(text)}; it must be LINK or LINK=COLUMNS")
    return MeasuredWrench(
        frame,
        columns or None,
        arguments.wrench_axes or "frame",
        arguments.wrench_sign or "on-robot",
        torque="where recorded",
    )
