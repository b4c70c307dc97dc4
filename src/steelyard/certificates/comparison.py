"""Compare a certificate with the result and the robot that it should be about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.certificates.bound import Bound, compare_names
from steelyard.certificates.document import ParsedCertificate
from steelyard.certificates.file_binding import bound_to_files
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
    given = result if isinstance(result, Mapping) or result is None else read_exactly(result)
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
                kept = None if saved is None else saved.not_estimated
                files = stated_files(document)
                found += bound_to_files(files, folder, certificate, claimed, model, kept)
    if given is None or saved is None:
        return found
    terms = stated_terms(document)
    if terms is not None and terms != saved.terms:
        found += Bound(problems=("the terms of the model are not those of the result",))
    if model is None:
        return bound_to_result(document, certificate, given) + found
    base = base_named(model, saved.names)
    found += compare_names(saved.names, base.names, "base parameters of the result", "its robot")
    return bound_to_result(document, certificate, given, entries_of_map(base)) + found


def _model(
    document: Mapping[str, Any], claimed: ClaimedRobot, result: Result | None
) -> tuple[Model | None, Bound]:
    try:
        return claimed.model(document, result), Bound()
    except ResultError as failure:
        return None, Bound(problems=(str(failure),))


def _name(result: object) -> str:
    return "the result" if isinstance(result, Mapping) else str(result)
