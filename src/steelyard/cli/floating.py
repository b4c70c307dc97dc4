"""Options of `simulate` for a floating base, and its log."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from steelyard.errors import SimulationError

if TYPE_CHECKING:
    from steelyard.excitation.trajectory import Trajectory
    from steelyard.logs.log import Log
    from steelyard.model.model import Model
    from steelyard.simulation.sensors import Sensors
    from steelyard.simulation.simulate import Array

FLOATING_OPTIONS = (
    "feet",
    "record_base",
    "imu_frame",
    "without_torque",
    "base_noise",
    "wrench_noise",
)


def add_floating_arguments(parser: argparse.ArgumentParser) -> None:
    """What is measured of a robot whose base floats."""
    group = parser.add_argument_group(
        "a floating base",
        "With --floating-base the robot follows the motion exactly while its base sways and turns.",
    )
    add = group.add_argument
    add("--feet", nargs="+", metavar="LINK",
        help="it stands on these links, whose forces are logged; by default a measured wrench at "
        "the root holds it")  # fmt: skip
    add("--record-base", choices=("pose", "twist", "imu"),
        help="what is logged of the motion of its root link (default: pose)")  # fmt: skip
    add("--imu-frame", metavar="LINK",
        help="the link that carries the IMU, fixed to the root (default: root)")  # fmt: skip
    add("--without-torque", nargs="+", metavar="JOINT", help="joints whose torque is not logged")
    add("--base-noise", nargs=2, type=float, metavar=("LINEAR", "ANGULAR"),
        help="standard deviation of what is logged of the base: m and rad of a pose; m/s, m/s² "
        "and rad/s of velocities; m/s² and rad/s of an IMU")  # fmt: skip
    add("--wrench-noise", nargs=2, type=float, metavar=("FORCE", "TORQUE"),
        help="standard deviation of logged wrenches, N and N m")  # fmt: skip


def refuse_floating_options(arguments: argparse.Namespace) -> None:
    """Refuse options of a floating base for a robot whose base is fixed."""
    for name in FLOATING_OPTIONS:
        if getattr(arguments, name) is not None:
            raise SimulationError(
                f"--{name.replace('_', '-')} is for a robot whose base floats; give "
                "--floating-base, too"
            )


def simulated_floating(
    model: Model,
    theta: Array,
    joints: Trajectory,
    duration_s: float,
    sensors: Sensors,
    arguments: argparse.Namespace,
) -> Log:
    """The log of the robot while its joints follow ``joints`` and its base sways."""
    import numpy as np

    from steelyard.simulation.floating_log import BaseSensors, floating_log
    from steelyard.simulation.simulate import check_simulable
    from steelyard.simulation.whole_body_motion import base_sines, whole_body_motion

    if arguments.controller not in (None, "ideal"):
        raise SimulationError(
            f"--controller is {arguments.controller}, but a robot with a floating base follows "
            "its motion exactly: leave the option out"
        )
    if arguments.sensor is not None:
        raise SimulationError("--sensor is for a robot on a fixed base")
    check_simulable(model, theta, "ideal")
    if arguments.imu_frame is not None and arguments.record_base != "imu":
        raise SimulationError(
            "--imu-frame is given, but no IMU is recorded: give --record-base imu"
        )
    linear, angular = arguments.base_noise or (0.0, 0.0)
    force, torque = arguments.wrench_noise or (0.0, 0.0)
    base = BaseSensors(
        arguments.record_base or "pose",
        frame=arguments.imu_frame,
        position_noise=linear,
        rotation_noise=angular,
        velocity_noise=linear,
        gyro_noise=angular,
        accelerometer_noise=linear,
        force_noise=force,
        torque_noise=torque,
    )
    time = np.arange(round(duration_s * arguments.rate_hz) + 1) / arguments.rate_hz
    swaying = base_sines(
        period_s=arguments.period_s, n_harmonics=arguments.harmonics, seed=arguments.seed
    )
    return floating_log(
        model,
        theta,
        whole_body_motion(model.robot, joints, swaying, time),
        base=base,
        sensors=sensors,
        feet=tuple(arguments.feet or ()),
        without_torque=tuple(arguments.without_torque or ()),
        seed=arguments.seed,
    )
