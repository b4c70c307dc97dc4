"""Compare a certificate with the result and the robot that it should be about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from steelyard._files.result_seal import files_beside
from steelyard.certificates.bound import Bound, compare_names, several
from steelyard.certificates.document import ParsedCertificate
from steelyard.certificates.file_binding import bound_to_files, bound_to_tables
from steelyard.certificates.files import stated_files
from steelyard.certificates.result_binding import bound_to_result, read_exactly
from steelyard.certificates.robot_binding import (
    ClaimedRobot,
    base_named,
    bound_to_model,
    entries_of_map,
    stated_terms,
)
from steelyard.errors import ResultError
from steelyard.estimators.result_file import Result, result_of
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.model.model import Model
from steelyard.robot.robot import Robot


def compared(
    document: Mapping[str, Any],
    certificate: ParsedCertificate,
    result: str | Path | Mapping[str, Any] | None,
    robot: str | Path | Robot | ClaimedRobot | None,
    overlay: str | Path | Overlay | None = None,
    folder: Path | None = None,
) -> Bound:
    """Whether digits, K and conditions are those of the result and the robot that are given.

    folder : where the robot files that the certificate names are.

    A result that is of another robot is a problem of the comparison, not an error.
    """
    given = read_exactly(result) if isinstance(result, str | Path) else result
    places = [] if folder is None else [folder]
    if isinstance(result, str | Path):
        places += [Path(result).parent] if Path(result).parent not in places else []
    saved = None if given is None else result_of(given, _name(result))
    model: Model | None = None
    found = Bound()
    if robot is not None:
        claimed = robot if isinstance(robot, ClaimedRobot) else ClaimedRobot.read(robot, overlay)
        model, found = _model(document, claimed, saved)
        if model is not None:
            of_parameters = "theta" in certificate.vectors and "beta" not in certificate.vectors
            known = claimed.constraints(model, saved, of_parameters=of_parameters)
            found += bound_to_model(document, certificate, model, known)
            if of_parameters and not found.problems:
                found += _files(document, certificate, places, model, saved)
    elif saved is not None and "theta" in certificate.vectors and "beta" not in certificate.vectors:
        found += _files(document, certificate, places, None, saved)
    if given is None or saved is None:
        return found
    if isinstance(result, str | Path):
        found += _beside(given, Path(result).parent)
    terms = stated_terms(document)
    if terms is not None and terms != saved.terms:
        found += Bound(problems=("the terms of the model are not those of the result",))
    if model is None:
        return bound_to_result(document, certificate, given) + found
    found += _description(given, model)
    base = base_named(model, saved.names)
    found += compare_names(saved.names, base.names, "base parameters of the result", "its robot")
    return bound_to_result(document, certificate, given, entries_of_map(base)) + found


def _description(result: Mapping[str, Any], model: Model) -> Bound:
    """Whether what the result says of its columns and robot is true of this robot."""
    robot = result["robot"]
    columns = [asdict(column) | {"name": column.name} for column in model.columns]
    expected = {
        "columns": (result["model"]["columns"], columns),
        "joints": (robot.get("joints"), list(model.robot.joint_names)),
        "gravity": (robot.get("gravity"), model.robot.gravity.tolist()),
    }
    wrong = [name for name, (stated, true) in expected.items() if stated not in (None, true)]
    if wrong:
        words = f"what the result says of its robot is not true of it: {', '.join(wrong)}"
        return Bound(problems=(words,))
    return Bound()


def _files(
    document: Mapping[str, Any],
    certificate: ParsedCertificate,
    folders: Sequence[Path],
    model: Model | None,
    result: Result | None,
) -> Bound:
    """The robot files and tables in the folders of certificate and result."""
    named = [one.name for one in stated_files(document)]
    theta = [float(x) for x in certificate.vectors["theta"]]
    found = Bound()
    made_with = None if result is None else result.source_sha256
    if model is not None and made_with not in (None, model.robot.source_sha256):
        words = "the robot file is not the one that the result was made with, or has changed since"
        found += Bound(cautions=(words,))
    for folder in folders:
        found += bound_to_files(named, folder, model, theta, result)
        if model is not None and result is not None:
            found += bound_to_tables(folder, model, result)
    return found


def _beside(result: Mapping[str, Any], folder: Path) -> Bound:
    """Whether the files beside a result are those that were written with it."""
    if "files" not in result:
        words = (
            "the result does not name the files that were written with it (earlier versions do "
            "not): those of another run are noticed only where their numbers are compared"
        )
        return Bound(cautions=(words,))
    there = files_beside(result, folder)
    changed = [name for name, same in there.items() if same is False]
    absent = [name for name, same in there.items() if same is None]
    found = Bound()
    if changed:
        words = f"beside the result are files that were not written with it: {several(changed)}"
        found += Bound(problems=(words,))
    elif len(there) > len(absent):
        words = f"{len(there) - len(absent)} files beside the result are those written with it"
        found += Bound(confirmed=(words,))
    if absent:
        words = f"files that were written with the result are not beside it: {several(absent)}"
        found += Bound(cautions=(words,))
    return found


def _model(
    document: Mapping[str, Any], claimed: ClaimedRobot, result: Result | None
) -> tuple[Model | None, Bound]:
    try:
        return claimed.model(document, result), Bound()
    except ResultError as failure:
        return None, Bound(problems=(str(failure),))


def _name(result: object) -> str:
    return "the result" if isinstance(result, Mapping) else str(result)
