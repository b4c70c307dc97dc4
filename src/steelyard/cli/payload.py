"""Weigh a payload: on a force/torque sensor, or by the torques of the robot's joints."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from steelyard._files.access import refuse_overwriting
from steelyard.cli.logs import add_column_arguments, columns_from, read_logs
from steelyard.cli.output import Output, Progress, output_folder, progress
from steelyard.cli.processing import add_processing_arguments, processing_from
from steelyard.cli.robot import add_robot_arguments, robot_for_logs
from steelyard.errors import EstimationError, LogError, ResultError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from steelyard.payload.payload_estimate import PayloadEstimate

    Weigh = Callable[[Progress], PayloadEstimate]

NAME = "payload"
HELP = "weigh a payload on a force/torque sensor, or by joint torques"

SOLVERS = ("sdp", "manifold")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``payload ft`` and ``payload joints``."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    ft = actions.add_parser(
        "ft",
        help="on a force/torque sensor",
        description="Weigh what a force/torque sensor carries: mass, centre of mass, inertia, and "
        "the bias of the sensor.",
        allow_abbrev=False,
    )
    _add_ft_arguments(ft)
    joints = actions.add_parser(
        "joints",
        help="by the torques of the joints",
        description="Weigh what the flange carries, from runs with and without it, or from runs "
        "with it and an identified model of the arm.",
        allow_abbrev=False,
    )
    _add_joints_arguments(joints)
    for action in (ft, joints):
        _add_shared_arguments(action)


def _add_ft_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE",
        help="the robot file, if the log has joint positions; then logs, CSV or NPZ")  # fmt: skip
    add("--sensor", required=True, metavar="FRAME",
        help="frame of the sensor: a link of the robot, or the name that the columns have; the "
        "payload is stated in its axes")  # fmt: skip
    add("--poses", metavar="FILE",
        help="table of the motion over time, where it is not in the log: poses (position and "
        "quaternion, or a rotation only), or joint positions with a robot file")  # fmt: skip
    add("--kinematics", choices=("joints", "pose", "twist", "imu"),
        help="where the motion of the sensor is from: joint positions and the robot (default with "
        "a robot file), poses (default without), velocities, or an IMU")  # fmt: skip
    add("--axes", metavar="sensor|base|LINK", default="sensor",
        help="axes in which the wrench was recorded: of the sensor (default), the base, or a link "
        "that does not move; base is the link of that name, if there is one, or the "
        "root")  # fmt: skip
    add("--sign", choices=("on-body", "by-body"), default="on-body",
        help="whether the recorded force is that on the payload, upwards at rest (default), or "
        "that which the payload exerts, downwards at rest")  # fmt: skip
    add("--wrench-columns", metavar="NAME",
        help="name of the sensor in the columns of its forces, where it is not that of the "
        "frame")  # fmt: skip
    add("--motion-columns", metavar="NAME",
        help="name of the frame in the columns of its poses, velocities or IMU, or the link that "
        "carries the sensor, where it is not that of the frame")  # fmt: skip
    add("--mounting", nargs=6, type=float, metavar=("X", "Y", "Z", "ROLL", "PITCH", "YAW"),
        help="pose of what is recorded, or of that link, in the frame of the sensor, m and "
        "rad")  # fmt: skip
    add("--twist-axes", choices=("frame", "base"), default="frame",
        help="axes of recorded velocities and accelerations (default: frame)")  # fmt: skip
    add("--at-rest", action="store_true",
        help="every row is a pose at rest: nothing is filtered or differentiated")  # fmt: skip
    add("--quaternion", choices=("x-first", "w-first"),
        help="order of recorded quaternions (default: x-first)")  # fmt: skip
    add("--inertia", choices=("auto", "needed", "none"), default="auto",
        help="auto: estimate the inertia, and say if the motion does not determine it (default); "
        "needed: refuse such data; none: only mass and centre of mass")  # fmt: skip
    add("--rotation", action="store_true",
        help="estimate by how much the sensor is turned against its frame, too")  # fmt: skip
    add("--no-bias", action="store_true", help="the sensor shows zero without load")
    add("--budget-s", type=float, metavar="S",
        help="stop the steps of --solver manifold after so many seconds; the body is physical then "
        "too, and a warning says how far it is from the optimum")  # fmt: skip
    add_robot_arguments(parser, file=False)


def _add_joints_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot_arguments(parser)
    add = parser.add_argument
    add("loaded", nargs="+", metavar="LOADED", help="logs with the payload, CSV or NPZ files")
    add("--empty", nargs="+", action="extend", default=[], metavar="LOG",
        help="logs without the payload; motions may differ")  # fmt: skip
    add("--arm", metavar="RESULT",
        help="result.json of the arm without payload, in place of --empty")  # fmt: skip
    add("--frame", metavar="LINK",
        help="link that carries the payload, in whose axes it is stated (default: the last "
        "link)")  # fmt: skip
    add("--friction", choices=("estimate", "none"), default="estimate",
        help="whether to estimate how friction changes with the load, or to assume that it does "
        "not (default: estimate)")  # fmt: skip


def _add_shared_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-o", "--out", metavar="FOLDER",
        help="write payload.json, report.html and the payload as URDF and MJCF there")  # fmt: skip
    add("--solver", choices=SOLVERS, default="sdp",
        help="sdp: conic optimisation; manifold: steps on mass, centre of mass, principal axes and "
        "second moments (default: sdp; both find the same optimum)")  # fmt: skip
    add("--write-anyway", action="store_true",
        help="write the URDF and MJCF files (with -o) even if the verdict is not to use the "
        "payload")  # fmt: skip
    add("--level", type=float, default=0.95, metavar="P",
        help="confidence level of the intervals (default: 0.95)")  # fmt: skip
    add("--json", action="store_true", default=argparse.SUPPRESS,
        help="print one JSON object on standard output")  # fmt: skip
    add_column_arguments(parser)
    add_processing_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Weigh, print, and write files if asked; exit code 1 if the verdict is not to use it."""
    from steelyard.cli.payload_tables import show_payload
    from steelyard.cli.results import show_verdict_sentence
    from steelyard.identification.payload_outputs import PAYLOAD_FILES, ROBOT_FILES, write_payload
    from steelyard.payload.payload_file import payload_document

    if not 0.0 < arguments.level < 1.0:
        raise EstimationError(
            f"--level is {arguments.level:g}; it must be between 0 and 1, such as 0.95"
        )
    inputs, weigh = (_ft_task if arguments.action == "ft" else _joints_task)(arguments)
    folder = None if arguments.out is None else output_folder(arguments.out)
    if folder is not None:
        refuse_overwriting([folder / name for name in PAYLOAD_FILES.values()], inputs, ResultError)
    elif arguments.write_anyway:
        raise ResultError("--write-anyway is about the files in the folder of -o; give -o")
    files: dict[str, Path] = {}
    with progress() as shown:
        estimate = weigh(shown)
        if folder is not None:
            shown.step("writing the report")
            files = write_payload(estimate, folder, write_anyway=arguments.write_anyway)
    output = Output(arguments.json)
    show_payload(output, estimate)
    show_verdict_sentence(output, estimate.verdict)
    for path in files.values():
        output.line(f"wrote {path}")
    withheld = [PAYLOAD_FILES[kind] for kind in ROBOT_FILES if folder and kind not in files]
    if withheld:
        output.line(
            f"note: {' and '.join(withheld)} are not written, since the verdict is not to use the "
            "payload; --write-anyway writes them in spite of that"
        )
    output.document(payload_document(estimate))
    return 0 if estimate.verdict.usable else 1


def _ft_task(arguments: argparse.Namespace) -> tuple[list[str], Weigh]:
    """Input files, and the function that weighs on the sensor."""
    from steelyard.signals.processing import Processing

    arguments.robot, logs = robot_and_logs(arguments.files)
    if arguments.robot is None:
        _refuse_robot_options(arguments)
    columns = columns_from(arguments)
    processing = processing_from(arguments, Processing())

    def weigh(shown: Progress) -> PayloadEstimate:
        from steelyard.identification.payload import weigh_payload_ft

        recorded = read_logs(logs, shown, columns, count_rows=arguments.at_rest)
        robot = None
        if arguments.robot is not None:
            robot, _, recorded = robot_for_logs(arguments, recorded)
        return weigh_payload_ft(
            robot,
            recorded,
            arguments.sensor,
            source=arguments.kinematics,
            poses=arguments.poses,
            interpolation=arguments.interpolation or "auto",
            axes=arguments.axes,
            sign=arguments.sign,
            quaternion=arguments.quaternion,
            twist_axes=arguments.twist_axes,
            columns=arguments.motion_columns,
            wrench_columns=arguments.wrench_columns,
            mounting=mounting_from(arguments.mounting),
            at_rest=arguments.at_rest,
            gravity=arguments.gravity if robot is None else None,  # a robot has its own
            keep_angles=True,  # turned already, unless they are to be kept
            static={"auto": None, "needed": False, "none": True}[arguments.inertia],
            rotation=arguments.rotation,
            bias=not arguments.no_bias,
            solver=arguments.solver,
            budget_s=arguments.budget_s,
            level=arguments.level,
            processing=processing,
        )

    return [*arguments.files, *_given(arguments.poses, arguments.overlay)], weigh


def _joints_task(arguments: argparse.Namespace) -> tuple[list[str], Weigh]:
    """Input files, and the function that weighs by the torques of the joints."""
    from steelyard.signals.processing import Processing

    if bool(arguments.empty) == (arguments.arm is not None):
        raise EstimationError(
            "the torques of the arm itself must be known: give either logs without the payload "
            "(--empty LOG...) or the result of identify for the arm without it (--arm result.json)"
        )
    columns = columns_from(arguments)
    processing = processing_from(arguments, Processing())

    def weigh(shown: Progress) -> PayloadEstimate:
        from steelyard.cli.result_path import result_path
        from steelyard.identification.payload import weigh_payload_joints
        from steelyard.knowledge.overlay.terms import terms_to_identify

        loaded = read_logs(arguments.loaded, shown, columns)
        robot, overlay, loaded = robot_for_logs(arguments, loaded)
        by_logs = arguments.arm is None
        return weigh_payload_joints(
            robot,
            loaded,
            empty=read_logs(arguments.empty, shown, columns) if by_logs else None,
            arm=None if by_logs else result_path(arguments.arm),
            frame=arguments.frame,
            terms=terms_to_identify(robot, overlay) if by_logs else None,
            keep_angles=True,  # turned already, unless they are to be kept
            # a result has processing of its own, which holds unless another is asked for
            processing=None if processing == Processing() else processing,
            friction=arguments.friction,
            solver=arguments.solver,
            level=arguments.level,
        )

    inputs = [arguments.robot, *arguments.loaded, *arguments.empty]
    return [*inputs, *_given(arguments.arm, arguments.overlay)], weigh


def mounting_from(given: list[float] | None) -> NDArray[np.float64] | None:
    """A pose (4, 4) from its position (m) and roll, pitch and yaw (rad)."""
    from steelyard.robot.rotations import pose, rotation_rpy

    return None if given is None else pose(rotation_rpy(*given[3:]), given[:3])


def robot_and_logs(files: list[str]) -> tuple[str | None, list[str]]:
    """The robot file, if the first file does not have the ending of a log, and the logs."""
    from steelyard.logs.reading import READERS

    if files[0].lower().endswith(tuple(READERS)):
        return None, files
    if len(files) == 1:
        raise LogError(
            f"'{files[0]}' is taken as the robot file, and no log is given; a log ends in "
            f"{', '.join(READERS)}"
        )
    return files[0], files[1:]


def _refuse_robot_options(arguments: argparse.Namespace) -> None:
    """Refuse options about the robot where there is none."""
    for option, given in (
        ("--overlay", arguments.overlay is not None),
        ("--lock", bool(arguments.lock)),
        ("--keep-angles", arguments.keep_angles),
        ("--kinematics joints", arguments.kinematics == "joints"),
    ):
        if given:
            raise EstimationError(
                f"{option} is given, but no robot file: the first file is a log; give the robot "
                "file before the logs"
            )


def _given(*paths: str | None) -> list[str]:
    return [path for path in paths if path is not None]
