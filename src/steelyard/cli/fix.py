"""``check --fix``: write a URDF with the closest physical inertials and print what changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard._files.xml import read_file
from steelyard.cli.output import Output
from steelyard.errors import RobotError, shown_path
from steelyard.knowledge.overlay.read_robot import first_element
from steelyard.robot.formats.dh import is_dh_file

if TYPE_CHECKING:
    from steelyard.export.physical import LinkRepair


def refuse_fix(files: list[str], out: str) -> None:
    """Refuse arguments that cannot be fixed, before anything is printed."""
    if len(files) != 1:
        raise RobotError(f"--fix writes one file; {len(files)} were given, fix them one by one")
    source, target = Path(files[0]), Path(out)
    if is_dh_file(source):
        raise RobotError(
            f"{shown_path(source)} is a Denavit-Hartenberg table, and --fix writes URDF only; "
            "correct its inertials in the file"
        )
    if first_element(read_file(source)) == "mujoco":
        raise RobotError(
            f"{shown_path(source)} is MJCF, and --fix writes URDF only; "
            "correct the links that check names by hand"
        )
    if target.exists() and target.samefile(source):
        raise RobotError(f"{shown_path(out)} is the file that is checked; give --fix another name")
    if target.is_dir():
        raise RobotError(f"{shown_path(out)} is a folder; give --fix the name of a file")
    if target.exists() and not target.is_file():
        raise RobotError(f"{shown_path(out)} is not a regular file; give --fix another name")


def fix(output: Output, source: str, out: str, verbose: bool) -> dict[str, Any]:
    """Write the URDF with the closest physical inertials, and return what changed as plain data."""
    from steelyard.export.physical import write_nearest_urdf

    nearest = write_nearest_urdf(source, out)
    _show(output, out, nearest.repairs, dict(nearest.refused), verbose)
    return {
        "path": out,
        "physical": nearest.physical,
        "repairs": [_document(repair) for repair in nearest.repairs],
        "not_repaired": [
            {"link": link, "reason": reason} for link, reason in nearest.refused.items()
        ],
    }


def _document(repair: LinkRepair) -> dict[str, Any]:
    return {
        "link": repair.link,
        "rules": [broken.rule for broken in repair.violations],
        "distance": repair.distance,
        "relative": repair.relative,
        "changes": [
            {"what": change.what, "before": change.before, "after": change.after}
            for change in repair.changes
        ],
    }


def _show(
    output: Output,
    out: str,
    repairs: tuple[LinkRepair, ...],
    refused: dict[str, str],
    verbose: bool,
) -> None:
    if repairs:
        output.table(
            ("link", "inertia changed by", "of its norm", "numbers"),
            [
                (
                    repair.link,
                    f"{repair.distance:.4g} kg m²",
                    f"{100.0 * repair.relative:.3g} %",
                    ", ".join(change.what.removeprefix("inertia ") for change in repair.changes),
                )
                for repair in repairs
            ],
            left=("link", "numbers"),
        )
    if verbose:
        for repair in repairs:
            for change in repair.changes:
                words = f"{change.what}: {change.before} -> {change.after}"
                output.line(f"  {repair.link}, {words}")
    for reason in refused.values():
        output.line(f"  not repaired: {reason}", "bold red")
    count = f"{len(repairs)} {'link' if len(repairs) == 1 else 'links'}"
    if refused:
        output.line(f"{out}: {count} repaired, {len(refused)} not; the file is not physical")
    elif not repairs:
        output.line(f"{out}: all links were physical; the file is an exact copy")
    else:
        output.line(f"{out}: {count} repaired, all links exactly physical in the digits written")
