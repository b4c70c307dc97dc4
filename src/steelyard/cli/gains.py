"""Estimate drive gains (true over recorded torque) from runs without and with a payload of known
mass.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from steelyard.cli.logs import add_column_arguments, columns_from, read_logs
from steelyard.cli.output import Output, progress
from steelyard.cli.processing import add_processing_arguments, processing_from
from steelyard.cli.robot import add_robot_arguments, robot_for_logs

if TYPE_CHECKING:
    from steelyard.identification.drive_gains import DriveGains

NAME = "gains"
HELP = "estimate drive gains from runs without and with a payload of known mass"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add("--empty", nargs="+", action="extend", required=True, metavar="LOG",
        help="logs without the payload")  # fmt: skip
    add("--loaded", nargs="+", action="extend", required=True, metavar="LOG",
        help="logs with the payload")  # fmt: skip
    add("--payload", required=True, metavar="LINK", help="link that carries the payload")
    add("--mass", type=float, required=True, metavar="KG", help="mass of the payload")
    add("--mass-sigma", type=float, default=0.0, metavar="KG",
        help="standard deviation of that mass (default: 0)")  # fmt: skip
    add("--com", nargs=3, type=float, metavar=("X", "Y", "Z"),
        help="its centre of mass in the link's frame, m (default: estimated)")  # fmt: skip
    add("--inertia", nargs=6, type=float,
        metavar=("IXX", "IXY", "IXZ", "IYY", "IYZ", "IZZ"),
        help="inertia about its centre of mass, in the link's axes, kg m² (default: estimated; "
        "zeros for a point mass)")  # fmt: skip
    add(
        "--level",
        type=float,
        default=0.95,
        metavar="P",
        help="confidence level of the intervals (default: 0.95)",
    )
    add_column_arguments(parser)
    add_processing_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Estimate the gains and print them; exit code 1 if one cannot be estimated."""
    from steelyard.cli import results
    from steelyard.identification.drive_gains import identify_gains
    from steelyard.knowledge.overlay.terms import terms_to_identify
    from steelyard.knowledge.payload import Payload
    from steelyard.robot.conventions import from_vech
    from steelyard.signals.processing import Processing

    processing = processing_from(arguments, Processing())
    columns = columns_from(arguments)
    payload = Payload.of(
        arguments.payload,
        arguments.mass,
        arguments.com,
        None if arguments.inertia is None else from_vech(arguments.inertia),
        arguments.mass_sigma,
    )
    with progress() as shown:
        empty = read_logs(arguments.empty, shown, columns)
        robot, overlay, empty = robot_for_logs(arguments, empty)
        found = identify_gains(
            robot,
            empty,
            read_logs(arguments.loaded, shown, columns),
            payload,
            terms=terms_to_identify(robot, overlay),
            processing=processing,
            level=arguments.level,
        )
    output = Output(arguments.json)
    show_gains(output, found)
    results.show_findings(output, found.findings)
    output.document(found.to_dict())
    return 0 if all(gain.gain is not None for gain in found.gains) else 1


def show_gains(output: Output, found: DriveGains) -> None:
    """Print a table of the gains, and the lines that state them in an overlay."""
    from steelyard.knowledge.overlay._values import key_name
    from steelyard.report.numbers import percent

    def number(value: float | None) -> str:
        return "?" if value is None else f"{value:.5g}"

    output.table(
        ("motor or joint", "gain", f"{100 * found.level:g} % from", "to", "unit", "residual"),
        [
            (
                gain.name,
                number(gain.gain),
                number(gain.lower),
                number(gain.upper),
                gain.unit,
                percent(found.relative_errors[gain.name]),
            )
            for gain in found.gains
        ],
        title="Drive gains",
        left=("motor or joint", "unit"),
    )
    output.line(
        f"{found.n_rows} torque values in {found.n_blocks} time blocks; {found.kind} intervals"
    )
    for gain in found.gains:
        if gain.words:
            output.line(f"{gain.name}: {gain.words}")
    if found.payload:
        output.table(
            ("payload", "value", f"{100 * found.level:g} % from", "to", "unit"),
            [
                (value.name, number(value.value), number(value.lower), number(value.upper),
                 value.unit)
                for value in found.payload
            ],
            title="Estimated with the gains, in the frame of its link",
            left=("payload", "unit"),
        )  # fmt: skip
    output.line("For the overlay:", "bold")
    for gain in found.gains:
        if gain.gain is not None:
            key = "torque_constant" if gain.unit else "gain"
            output.line(f"[motor.{key_name(gain.name)}]")
            output.line(f"{key} = {gain.gain:.6g}")
