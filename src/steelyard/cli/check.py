"""Check whether the inertial of every link in a robot file is physical."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from steelyard.cli.fix import fix, refuse_fix
from steelyard.cli.output import Output, one_line
from steelyard.cli.robot import NO_LOG, UNRECORDED, add_lock_argument, locked_positions
from steelyard.errors import RobotError, SteelyardError
from steelyard.knowledge.overlay.read_robot import read_robot
from steelyard.robot.file_changes import change_findings
from steelyard.robot.physical_links import LinkVerdict, check_links

NAME = "check"
HELP = "check whether every link of a robot file is physical"

RULES = {
    "not_finite": "numbers must be finite",
    "mass": "mass must be positive",
    "massless_with_inertia": "a massless link must have no inertia",
    "inertia_positive_definite": "principal moments must not be negative",
    "triangle_inequality": "no principal moment above the sum of the others",
}
UNITS = {
    "not_finite": "numbers",
    "mass": "kg",
    "massless_with_inertia": "kg m²",
    "inertia_positive_definite": "kg m²",
    "triangle_inequality": "kg m²",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="URDF or MJCF files, or Denavit-Hartenberg tables (.toml)",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also list links without mass or inertial, and each number that --fix changes",
    )
    add_lock_argument(parser)
    parser.add_argument(
        "--fix",
        metavar="OUT",
        help="write a URDF here in which each unphysical inertial is replaced by the closest "
        "physical one",
    )


def run(arguments: argparse.Namespace) -> int:
    """Check every file; exit code 2 if one cannot be read, 1 if a link is not physical.

    With --fix, 1 only if a link could not be repaired.
    """
    output = Output(arguments.json)
    if arguments.fix is not None:
        refuse_fix(arguments.files, arguments.fix)
    if UNRECORDED in arguments.lock:
        raise RobotError(NO_LOG)
    positions = locked_positions(arguments.lock)
    documents: list[dict[str, Any]] = []
    for path in arguments.files:
        try:
            # neither mimic joints, which some files state wrongly, nor angles matter here
            robot = read_robot(path, mimics=False, keep_angles=True)
            # it changes no link: a name or position that is wrong is refused as elsewhere
            robot = robot.lock(positions) if positions else robot
        except SteelyardError as error:
            print(f"steelyard: error: {one_line(str(error))}", file=sys.stderr)
            documents.append({"path": path, "error": str(error)})
            continue
        verdicts = check_links(robot)
        notes = (*robot.notes, *(finding.words for finding in change_findings(robot)))
        documents.append(
            {"path": path, "robot": robot.name, "notes": list(notes), **_document(verdicts)}
        )
        _show(output, path, verdicts, notes, arguments.verbose)
    bad_links = sum(len(document.get("not_physical", ())) for document in documents)
    bad_files = sum(bool(document.get("not_physical")) for document in documents)
    errors = [document["error"] for document in documents if "error" in document]
    if len(documents) > 1:
        unread = f", {len(errors)} cannot be read" if errors else ""
        output.line(
            f"{len(documents)} files: {bad_links} links in {bad_files} of them are not physical"
            + unread
        )
    summary: dict[str, Any] = {"error": errors[0]} if errors else {}
    fixed = None
    if arguments.fix is not None and not errors:
        fixed = fix(output, arguments.files[0], arguments.fix, arguments.verbose)
        summary["fixed"] = fixed
    output.document({**summary, "files": documents, "bad_links": bad_links, "bad_files": bad_files})
    if errors:
        return 2
    if fixed is not None:
        return 0 if fixed["physical"] else 1
    return 1 if bad_links else 0


def _document(verdicts: tuple[LinkVerdict, ...]) -> Mapping[str, Any]:
    """The verdicts on one file as plain data."""
    return {
        "n_links": len(verdicts),
        "not_physical": [
            {
                "link": verdict.link,
                "mass": verdict.mass,
                "violations": [
                    {"rule": broken.rule, "amount": broken.amount, "words": broken.words}
                    for broken in verdict.violations
                ],
            }
            for verdict in verdicts
            if verdict.verdict == "not physical"
        ],
        "massless": [v.link for v in verdicts if v.verdict == "massless"],
        "no_inertial": [v.link for v in verdicts if v.verdict == "no inertial"],
    }


def _show(
    output: Output,
    path: str,
    verdicts: tuple[LinkVerdict, ...],
    notes: tuple[str, ...],
    verbose: bool,
) -> None:
    bad = [verdict for verdict in verdicts if verdict.verdict == "not physical"]
    count = f"{len(verdicts)} {'link' if len(verdicts) == 1 else 'links'}"
    if bad:
        output.line(f"{path}: {len(bad)} of {count} not physical", "bold red")
        output.table(
            ("link", "mass kg", "violated rule", "by"),
            [
                (
                    verdict.link,
                    f"{verdict.mass:.6g}",
                    RULES[broken.rule],
                    f"{broken.amount:.4g} {UNITS[broken.rule]}",
                )
                for verdict in bad
                for broken in verdict.violations
            ],
            left=("link", "violated rule"),
        )
    else:
        output.line(f"{path}: {count}, nothing unphysical")
    for note in notes:
        output.line(f"  note: {note}")
    if verbose:
        for words, kind in (("without mass", "massless"), ("without inertial", "no inertial")):
            names = [verdict.link for verdict in verdicts if verdict.verdict == kind]
            if names:
                output.line(f"  note: {len(names)} {words}: {', '.join(names)}")
