"""Look at logs without fitting anything: say what is wrong with each."""

from __future__ import annotations

import argparse

from steelyard.cli.base import add_json
from steelyard.cli.logs import add_column_arguments, columns_from, open_logs
from steelyard.cli.output import STYLES, Output, progress
from steelyard.cli.processing import add_processing_arguments, processing_from
from steelyard.cli.robot import add_robot_arguments, robot_for_logs

NAME = "logs"
HELP = "say what is wrong with a log, before anything is fitted"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``logs check``."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    check = actions.add_parser(
        "check",
        help="inspect the signals of logs: outliers, slips, dead channels, time stamps, units",
        description="Inspect the signals of logs. Exit code 2 if a finding is severe.",
        allow_abbrev=False,
    )
    add_robot_arguments(check)
    check.add_argument("logs", nargs="+", metavar="LOG", help="CSV or NPZ files")
    add_column_arguments(check)
    add_processing_arguments(check, sensing=True)
    add_json(check)


def run(arguments: argparse.Namespace) -> int:
    """Print what is found; exit code 2 if a finding is severe."""
    from steelyard.diagnosis.checked_log import check_log
    from steelyard.signals.processing import Processing

    processing = processing_from(arguments, Processing())
    columns = columns_from(arguments)
    output = Output(arguments.json)
    documents = []
    severe = False
    with progress() as shown:
        logs = open_logs(arguments.logs, shown, columns)
        robot, _, logs = robot_for_logs(arguments, logs)

        def tell(part: int, n_parts: int) -> None:
            shown.step(f"looking at part {part} of {n_parts}")

        checked = [check_log(log, robot, processing, tell) for log in logs]
    for one in checked:
        alarms = [finding for finding in one.findings if finding.alarming]
        count = f"{len(alarms)} {'finding' if len(alarms) == 1 else 'findings'}"
        output.line(
            f"log '{one.log}': {one.n_samples} samples in {one.duration_s:.6g} s, "
            f"{count if alarms else 'nothing found'}",
            "bold",
        )
        for finding in one.findings:
            words = f"  {finding.level}: {finding.sentence} [{finding.code}]"
            output.line(words, STYLES[finding.level])
        severe |= any(finding.level == "severe" for finding in one.findings)
        documents.append(one.as_json())
    output.document({"robot": robot.name, "logs": documents})
    return 2 if severe else 0
