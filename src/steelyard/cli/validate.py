"""Predict the torques of held-out logs, and compare with the robot file's inertials."""

from __future__ import annotations

import argparse

from steelyard.cli.logs import add_column_arguments, columns_from, open_logs
from steelyard.cli.output import Output, progress
from steelyard.cli.processing import add_processing_arguments, processing_from
from steelyard.cli.result_path import result_path
from steelyard.cli.robot import add_robot_arguments, robot_from

NAME = "validate"
HELP = "errors of a result on held-out logs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_robot_arguments(parser)
    parser.add_argument("result", metavar="RESULT", help="result.json of identify, or its folder")
    parser.add_argument("logs", nargs="+", metavar="LOG", help="CSV or NPZ files")
    add_column_arguments(parser)
    add_processing_arguments(parser, sensing=True)


def run(arguments: argparse.Namespace) -> int:
    """Compare; exit code 1 if the verdict on these logs is not to use the result."""
    from steelyard.cli import results
    from steelyard.diagnosis.checked_log import validation_findings
    from steelyard.diagnosis.verdict.judge import judge_held_out
    from steelyard.estimators.result_file import read_result
    from steelyard.validation.saved_results import validate_result

    robot, _ = robot_from(arguments, for_result=True)
    result = read_result(result_path(arguments.result))
    processing = processing_from(arguments, result.processing_as_used)
    same_cutoff = processing.cutoff_hz == result.processing_as_used.cutoff_hz
    automatic = same_cutoff and result.cutoff_is_automatic
    columns = columns_from(arguments)
    with progress() as shown:
        logs = open_logs(arguments.logs, shown, columns)
        held_out = validate_result(
            robot,
            result,
            logs,
            processing=processing,
            check=lambda log, model: validation_findings(
                log, model, processing, cutoff_is_automatic=automatic
            ),
        )
    output = Output(arguments.json)
    results.show_validation(output, held_out)
    results.show_findings(output, held_out.findings)
    verdict = judge_held_out(held_out)
    results.show_verdict(output, verdict)
    output.document({"verdict": verdict.as_json(), **held_out.to_dict()})
    return 0 if verdict.usable else 1
