"""Simulate a robot with friction and sensor noise that follows a motion, and write its log."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from steelyard._files.access import refuse_overwriting
from steelyard.cli.carried import add_payload_arguments, payload_from
from steelyard.cli.floating import (
    add_floating_arguments,
    refuse_floating_options,
    simulated_floating,
)
from steelyard.cli.logs import add_column_arguments, columns_from
from steelyard.cli.output import Output, progress
from steelyard.cli.robot import add_robot_arguments, robot_from
from steelyard.errors import LogError, ModelError

if TYPE_CHECKING:
    from steelyard.excitation.trajectory import Trajectory
    from steelyard.findings import Finding
    from steelyard.knowledge.payload import Payload
    from steelyard.logs.log import Log
    from steelyard.model.model import Model
    from steelyard.simulation.sensors import Sensors
    from steelyard.simulation.simulate import Array, Controller, ControllerKind

NAME = "simulate"
HELP = "simulate a robot that follows a motion, and write its log"

DURATION_S = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add("motion", nargs="?", metavar="MOTION",
        help="CSV or NPZ file with positions over time (default: a sum of sines)")  # fmt: skip
    add("-o", "--out", required=True, metavar="LOG", help="CSV file to write, .csv or .csv.gz")
    add("--duration-s", type=float, metavar="S",
        help=f"duration (default: that of the motion, or {DURATION_S:g} s)")  # fmt: skip
    add(
        "--rate-hz", type=float, default=1000.0, metavar="F", help="rate of the log (default: 1000)"
    )
    add("--controller", choices=("computed_torque", "pd", "ideal"),
        help="ideal: the robot follows exactly (default: computed_torque)")  # fmt: skip
    add("--stiffness", action="append", default=[], metavar="KP|JOINT=KP",
        help="gain of position errors of the controller, 1/s², for all joints or one; may be "
        "repeated (default: 400, and more for joints with much friction)")  # fmt: skip
    add("--damping", action="append", default=[], metavar="KD|JOINT=KD",
        help="gain of speed errors, 1/s (default: 2 sqrt(KP), critically damped)")  # fmt: skip
    add("--controller-model", choices=("true", "file"), default="true",
        help="bodies that the controller computes torques with: those of the simulated robot, "
        "payload included, with drive inertia, or those of the robot file alone, as CAD values; "
        "always without friction (default: true)")  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help="random seed of motion and noise")
    robot = parser.add_argument_group("the robot's joints")
    robot.add_argument("--friction", nargs=2, type=float, metavar=("FV", "FC"),
        help="viscous (N m s/rad) and Coulomb (N m) friction of every joint")  # fmt: skip
    robot.add_argument("--drive-inertia", type=float, metavar="IA",
        help="drive inertia of every joint, kg m²")  # fmt: skip
    robot.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
        help="one parameter, such as elbow.fv=0.3 or forearm.m=2; may be repeated")  # fmt: skip
    sensors = parser.add_argument_group("sensors")
    sensors.add_argument("--torque-noise", type=float, default=0.0, metavar="S",
        help="standard deviation, N m (N)")  # fmt: skip
    sensors.add_argument("--torque-noise-bandwidth-hz", type=float, metavar="F",
        help="low-pass cutoff of that noise (default: white noise)")  # fmt: skip
    sensors.add_argument("--position-noise", type=float, default=0.0, metavar="S",
        help="standard deviation, rad (m)")  # fmt: skip
    sensors.add_argument("--encoder-step", type=float, default=0.0, metavar="S",
        help="positions are rounded to multiples of this step, rad (m)")  # fmt: skip
    sensors.add_argument("--record-velocity", action="store_true", help="log velocities too")
    add_payload_arguments(parser)
    add_column_arguments(parser)
    add_floating_arguments(parser)
    sines = parser.add_argument_group("the sum of sines")
    sines.add_argument(
        "--period-s", type=float, default=10.0, metavar="S", help="period (default: 10)"
    )
    sines.add_argument(
        "--harmonics", type=int, default=5, metavar="N", help="sines per joint (default: 5)"
    )
    sines.add_argument("--share", type=float, default=0.7, metavar="P",
        help="share of the joint limits to use (default: 0.7)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Simulate and write the log."""
    from steelyard.cli.results import show_findings
    from steelyard.knowledge.overlay.model import model_of
    from steelyard.knowledge.overlay.terms import terms_from_overlay
    from steelyard.logs.reading import read_log
    from steelyard.logs.writer_csv import write_csv
    from steelyard.robot.file_changes import change_findings
    from steelyard.simulation.carried_payload import theta_with_payload
    from steelyard.simulation.sensors import Sensors
    from steelyard.simulation.simulate import check_seed

    if not arguments.out.lower().endswith((".csv", ".csv.gz")):
        raise LogError(f"'{arguments.out}': a log is written as .csv or .csv.gz")
    inputs = [arguments.robot, *([] if arguments.motion is None else [arguments.motion])]
    inputs += [] if arguments.payload is None else [arguments.payload]
    refuse_overwriting([arguments.out], inputs, LogError)
    columns = columns_from(arguments)
    motion = None if arguments.motion is None else read_log(arguments.motion, columns=columns)
    robot, overlay = robot_from(arguments, motion)
    model = model_of(robot, terms=terms_from_overlay(robot, overlay))
    theta = model.theta(parameter_values(model, arguments))
    refuse_unphysical(model, theta)
    payload = payload_from(arguments)
    loaded = theta if payload is None else theta_with_payload(model, theta, payload)
    sensors = Sensors(
        torque_noise=arguments.torque_noise,
        torque_noise_bandwidth_hz=arguments.torque_noise_bandwidth_hz,
        position_noise=arguments.position_noise,
        encoder_step=arguments.encoder_step,
        velocity=arguments.record_velocity,
    )
    check_seed(arguments.seed)
    with progress() as shown:
        shown.step(f"simulating {robot.name}")
        trajectory, duration_s, findings = motion_of(model, motion, arguments)
        if robot.floating_base:
            refuse_gains(arguments)
            log = simulated_floating(model, loaded, trajectory, duration_s, sensors, arguments)
        else:
            refuse_floating_options(arguments)
            log = on_fixed_base(model, loaded, trajectory, duration_s, sensors, payload, arguments)
        shown.step(f"writing {arguments.out}")
        write_csv(log, arguments.out)
    output = Output(arguments.json)
    show_findings(output, findings)
    frames = ", ".join(log.frames)
    also = f", and of {frames}" if log.frames else ""
    if arguments.sensor is not None:
        also = f", and the wrench at {arguments.sensor}"
    output.line(
        f"wrote {arguments.out}: {len(log)} samples, {log.duration_s:g} s of {len(log.joints)} "
        f"joints{also}"
    )
    for finding in change_findings(robot):
        output.line(f"note: {finding.words}")
    if payload is not None and not payload.known:
        output.line(
            f"note: the data behind {arguments.payload} do not determine all of the payload; it "
            "has the numbers of one body that fits them"
        )
    output.document(
        {
            "log": arguments.out,
            "robot": robot.name,
            "joints": list(log.joints),
            "n_samples": len(log),
            "duration_s": log.duration_s,
            "rate_hz": arguments.rate_hz,
            "seed": arguments.seed,
            "parameters": dict(zip(model.column_names, theta.tolist(), strict=True)),
            "payload": None
            if payload is None
            else {"link": payload.link, "inertial_parameters": payload.inertial.tolist()},
            "sensor": arguments.sensor,
        }
    )
    return 0


def on_fixed_base(
    model: Model,
    theta: Array,
    trajectory: Trajectory,
    duration_s: float,
    sensors: Sensors,
    payload: Payload | None,
    arguments: argparse.Namespace,
) -> Log:
    """The log of a robot on a fixed base that follows the trajectory."""
    from steelyard.simulation.carried_payload import with_wrench
    from steelyard.simulation.sensors import record
    from steelyard.simulation.simulate import followed
    from steelyard.simulation.wrench_sensor import WrenchSensor

    true, tau = followed(
        model,
        theta,
        trajectory,
        duration_s=duration_s,
        rate_hz=arguments.rate_hz,
        controller=controller_from(model, arguments),
    )
    log = record(model.robot, true.time, true.q, true.v, tau, sensors, arguments.seed, "virtual")
    if arguments.sensor is not None:
        force_noise, torque_noise = arguments.sensor_noise
        below = WrenchSensor(force_noise, torque_noise, bias=arguments.sensor_bias)
        log = with_wrench(log, model, true, payload, arguments.sensor, below, seed=arguments.seed)
    return log


def controller_from(model: Model, arguments: argparse.Namespace) -> Controller:
    """The controller with its gains and its model; gains that it has not are refused."""
    from steelyard.cli.motion_options import per_joint
    from steelyard.simulation.simulate import Controller

    kind: ControllerKind = arguments.controller or "computed_torque"
    if kind == "ideal":
        refuse_gains(arguments)
    stiffness, damping = (
        per_joint(getattr(arguments, name), model.channels, f"--{name}")
        for name in ("stiffness", "damping")
    )
    of_file = arguments.controller_model == "file"
    return Controller(kind, stiffness, damping, model.prior_theta() if of_file else None)


def refuse_gains(arguments: argparse.Namespace) -> None:
    """Refuse options of a controller for a robot that follows exactly."""
    for name, default in (("stiffness", []), ("damping", []), ("controller_model", "true")):
        if getattr(arguments, name) != default:
            raise ModelError(
                f"--{name.replace('_', '-')} is of a controller, but this robot follows its motion "
                "exactly; leave it out, or choose another --controller"
            )


def motion_of(
    model: Model, motion: Log | None, arguments: argparse.Namespace
) -> tuple[Trajectory, float, tuple[Finding, ...]]:
    """The motion of the log, or a sum of sines; its duration (s); findings about the log."""
    from steelyard.excitation.motions.fourier import multisine
    from steelyard.excitation.motions.sampled import trajectory_from_log
    from steelyard.signals.numbered_joints import name_numbered_joints

    given = arguments.duration_s
    if motion is None:
        sines = multisine(
            model.robot,
            period_s=arguments.period_s,
            n_harmonics=arguments.harmonics,
            share=arguments.share,
            seed=arguments.seed,
        )
        return sines, DURATION_S if given is None else given, ()
    motion, findings = name_numbered_joints(motion, model.robot)
    sampled = trajectory_from_log(motion)
    return sampled, sampled.duration_s if given is None else given, findings


def refuse_unphysical(model: Model, theta: Array) -> None:
    """Refuse bodies that options changed into ones that cannot exist; the file's own are used."""
    from steelyard.robot.inertia import violations

    stated = model.prior_theta()
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        phi = theta[first : first + 10]
        found = violations(phi, body.name)
        if found and (phi != stated[first : first + 10]).any():
            raise ModelError(f"--set: no such body can exist: {found[0].words}")


def parameter_values(model: Model, arguments: argparse.Namespace) -> dict[str, float]:
    """Values by column name: friction and drive inertia of all joints, then single ones."""
    values: dict[str, float] = {}
    for column in model.columns:
        if column.kind == "viscous" and arguments.friction is not None:
            values[column.name] = arguments.friction[0]
        elif column.kind == "coulomb" and arguments.friction is not None:
            values[column.name] = arguments.friction[1]
        elif column.kind == "drive_inertia" and arguments.drive_inertia is not None:
            values[column.name] = arguments.drive_inertia
    for text in arguments.set:
        name, _, number = text.rpartition("=")
        values[name] = _number(number, text)
    return values


def _number(text: str, whole: str) -> Any:
    try:
        return float(text)
    except ValueError:
        raise ModelError(f"--set is '{whole}'; it must be NAME=VALUE, as in elbow.fv=0.3") from None
