"""Write identified parameters as a robot file, or as a file for another program."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.output import Output
from steelyard.cli.result_path import result_path
from steelyard.export.formats import ATTACHED_CHOICES, FORMATS, IDENTIFIED, format_named

if TYPE_CHECKING:
    from steelyard.export.urdf import Change

NAME = "export"
HELP = "write a result as URDF, table or YAML"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("result", metavar="RESULT", help="folder of identify, or its result.json")
    parser.add_argument(
        "--to",
        required=True,
        metavar="FORMAT",
        help="; ".join(f"{one.name}: {one.description}" for one in FORMATS),
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help="file to write (default: ROBOT.identified with the ending of the format, beside the "
        "result)",
    )
    parser.add_argument(
        "--robot",
        metavar="FILE",
        help="the robot file of the result (default: the path in the result, or a file of that "
        "name beside it)",
    )
    parser.add_argument(
        "--overlay", metavar="FILE", help="the TOML file that the result was made with"
    )
    parser.add_argument(
        "--attached",
        choices=ATTACHED_CHOICES,
        help="links behind fixed joints: keep their inertials, and the moving link gets the rest; "
        "lump everything into the moving link and empty them; or refuse them (default: as the "
        "result was made)",
    )
    parser.add_argument(
        "--drake", action="store_true", help="urdf: state drive inertia as drake:rotor_inertia"
    )
    parser.add_argument(
        "--accept-changed",
        action="store_true",
        help="accept a robot file that has changed since, if its joints and geometry are the same",
    )
    parser.add_argument(
        "--write-anyway",
        action="store_true",
        help="write the file even if the verdict of the result is not to use it",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="list every number of the robot file that changes"
    )


def run(arguments: argparse.Namespace) -> int:
    """Render, then write; exit code 0."""
    from steelyard._files.access import refuse_overwriting, write_files
    from steelyard.errors import ResultError
    from steelyard.estimators.result_entries import stored_verdict
    from steelyard.estimators.result_file import read_result
    from steelyard.export.formats import ExportRequest
    from steelyard.export.robot_file import robot_of_result
    from steelyard.knowledge.overlay.toml_file import read_overlay

    chosen = format_named(arguments.to)
    if arguments.drake and chosen.name != "urdf":
        raise ResultError(f"--drake is given, but only --to urdf uses it, not {chosen.name}")
    result_file = result_path(arguments.result)
    result = read_result(result_file)
    verdict = stored_verdict(result)
    if not (verdict is None or verdict.usable or arguments.write_anyway):
        raise ResultError(f"{verdict.sentence}; --write-anyway writes the file in spite of that")
    overlay = None if arguments.overlay is None else read_overlay(arguments.overlay)
    robot = robot_of_result(
        result,
        result_file,
        robot=arguments.robot,
        overlay=overlay,
        accept_changed=arguments.accept_changed,
    )
    out = result_file.parent / f"{robot.file.stem}{IDENTIFIED}{chosen.suffix}"
    if arguments.out is not None:
        out = Path(arguments.out)
    if out.is_dir():
        raise ResultError(f"'{out}' is a folder; give -o the name of a file")
    request = ExportRequest(
        out.name,
        result,
        robot.model,
        robot.file,
        arguments.attached or result.attached,
        arguments.drake,
    )
    exported = chosen.render(request)
    files = {out: exported.data}
    for suffix, data in exported.beside.items():
        files[out.with_name(out.stem + suffix)] = data
    inputs = [result_file, robot.file.path]
    inputs += [] if arguments.overlay is None else [arguments.overlay]
    refuse_overwriting(files, inputs, ResultError)
    write_files(files, ResultError)
    output = Output(arguments.json)
    notes = (*robot.notes, *exported.notes)
    if arguments.verbose:
        for change in exported.changes:
            output.line(f"  {_words(change)}")
    for note in notes:
        output.line(f"note: {note}")
    for path in files:
        output.line(f"wrote {path}")
    output.document(
        {
            "format": chosen.name,
            "files": [str(path) for path in files],
            "changes": [
                {
                    "link": change.link,
                    "joint": change.joint,
                    "what": change.what,
                    "before": change.before,
                    "after": change.after,
                }
                for change in exported.changes
            ],
            "notes": list(notes),
        }
    )
    return 0


def _words(change: Change) -> str:
    owner = change.link or change.joint
    where = "" if owner is None else f"{owner}, "
    before = "not stated" if change.before is None else change.before
    return f"{where}{change.what}: {before} -> {change.after}"
