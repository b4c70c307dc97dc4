"""Verify a certificate in exact arithmetic, and compare it with a result and a robot."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.constraints import add_constraint_arguments, constraints_from
from steelyard.cli.output import Output
from steelyard.cli.result_path import result_path
from steelyard.cli.robot import add_robot_arguments, robot_from
from steelyard.errors import RobotError

if TYPE_CHECKING:
    from steelyard.certificates.robot_binding import ClaimedRobot

NAME = "verify"
HELP = "verify a certificate in exact arithmetic"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("certificate", metavar="CERTIFICATE", help="JSON file of a certificate")
    parser.add_argument(
        "--result",
        metavar="RESULT",
        help="result.json of identify, or its folder: the certificate must be about its digits",
    )
    parser.add_argument(
        "--robot",
        metavar="FILE",
        help="URDF or MJCF file: K and the conditions are computed anew from it, with the "
        "options below as they were for identify, and must be those of the certificate",
    )
    parser.add_argument(
        "--model", metavar="HASH", help="hash of the model that the certificate must be for"
    )
    parser.add_argument(
        "--constraints",
        metavar="HASH",
        help="hash of the constraints that the certificate must be for",
    )
    add_robot_arguments(parser, file=False)
    add_constraint_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Verify; exit code 1 if a claim is wrong, a hash does not match, or another is meant."""
    from steelyard.certificates.document import read_certificate
    from steelyard.certificates.verify import verify

    document = read_certificate(arguments.certificate)
    verdict = verify(
        document,
        model=arguments.model,
        constraints=arguments.constraints,
        folder=Path(arguments.certificate).parent,
        result=None if arguments.result is None else result_path(arguments.result),
        robot=_claimed_robot(arguments),
    )
    output = Output(arguments.json)
    output.line(
        f"{arguments.certificate}: {verdict.kind}, {'valid' if verdict.valid else 'INVALID'}",
        None if verdict.valid else "bold red",
    )
    if verdict.valid:
        output.line(f"  {verdict.words}")
        for words in verdict.details["confirmed"]:
            output.line(f"  {words}")
        for file in verdict.details.get("files", ()):
            output.line(f"  {file['name']}: {file['words']}")
    for problem in verdict.details["problems"][:20]:
        output.line(f"  {problem}")
    for words in verdict.details["cautions"]:
        output.line(f"  caution: {words}", "yellow")
    output.document(
        {
            "valid": verdict.valid,
            "kind": verdict.kind,
            "words": verdict.words,
            "details": dict(verdict.details),
            "hashes": document["hashes"],
        }
    )
    return 0 if verdict.valid else 1


OF_ROBOT = ("overlay", "gravity", "lock", "floating_base", "keep_angles")
OF_CONSTRAINTS = ("consistency", "total_mass", "mass")


def _claimed_robot(arguments: argparse.Namespace) -> ClaimedRobot | None:
    """The robot that the options state."""
    if arguments.robot is None:
        given = [key for key in (*OF_ROBOT, *OF_CONSTRAINTS) if getattr(arguments, key)]
        if given:
            option = f"--{given[0].replace('_', '-')}"
            raise RobotError(f"{option} needs the robot file; give --robot FILE")
        return None
    from steelyard.certificates.robot_binding import ClaimedRobot

    robot, overlay = robot_from(arguments, for_result=True)
    return ClaimedRobot(
        robot,
        overlay,
        arguments.attached,
        partial(constraints_from, arguments),
        arguments.keep_angles,
    )
