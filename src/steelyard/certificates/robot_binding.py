"""Recompute what a certificate states from the robot that it should be about.

The base map K follows from the geometry and the terms, the conditions from the robot file, its
overlay and the options of `identify`. Both are computed anew and compared with the certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from steelyard.certificates.block_texts import block_document, term_of_texts
from steelyard.certificates.bound import Bound, compare_conditions, compare_map, compare_names
from steelyard.certificates.document import ParsedCertificate, parsed_conditions
from steelyard.conic.exact_text import CertificateError, quoted
from steelyard.errors import SteelyardError
from steelyard.estimators.result_file import Result
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.overlay.constraints import constraints_from_overlay
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.overlay.read_robot import read_robot
from steelyard.knowledge.overlay.terms import terms_to_identify
from steelyard.knowledge.overlay.toml_file import read_overlay
from steelyard.model.attached_links import AttachedOption
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.model import Model
from steelyard.model.right_angles import with_right_angles
from steelyard.model.terms import Term
from steelyard.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class ClaimedRobot:
    """The robot that a certificate should be about, and what is known of it.

    robot : as read from its file, the overlay applied; joints need not be turned onto right angles.
    attached : the rule for links that fixed joints hold, as for the estimate; "auto" for that of
    the result, and "keep" without one.
    change : of the overlay's constraints, for what options of the command line state.
    keep_angles : whether joint angles stay as written where no result says.
    """

    robot: Robot
    overlay: Overlay | None = None
    attached: AttachedOption = "auto"
    change: Callable[[Constraints], Constraints] | None = None
    keep_angles: bool = False

    @classmethod
    def read(
        cls, robot: str | Path | Robot, overlay: str | Path | Overlay | None = None
    ) -> ClaimedRobot:
        """From files."""
        if isinstance(overlay, str | Path):
            overlay = read_overlay(overlay)
        if isinstance(robot, Robot):
            return cls(robot, overlay)
        return cls(read_robot(robot, overlay=overlay, keep_angles=True), overlay)

    def model(self, document: Mapping[str, Any], result: Result | None) -> Model:
        """The model of the result, or of the terms that the certificate states."""
        if result is not None:
            return result.model_for(self.robot)
        robot = self.robot if self.keep_angles else with_right_angles(self.robot)
        terms = stated_terms(document)
        if terms is None:  # a certificate of an earlier version
            terms = terms_to_identify(robot, self.overlay)
        return Model(robot, terms)

    def constraints(
        self, model: Model, result: Result | None = None, *, of_parameters: bool
    ) -> Constraints:
        """What the estimate was to meet.

        of_parameters : whether the claim is about standard parameters, which are spread over the
            links of the file; one about base parameters is not.
        """
        found, _ = constraints_from_overlay(model, self.overlay)
        found = found if self.change is None else self.change(found)
        stated = "keep" if result is None else result.attached
        rule = stated if self.attached == "auto" else self.attached
        return replace(found, keep_attached=of_parameters and rule == "keep")


def stated_terms(document: Mapping[str, Any]) -> tuple[Term, ...] | None:
    """The terms of the model that a certificate states; None if it states none."""
    if "terms" not in document:
        return None
    try:
        return tuple(term_of_texts(entry) for entry in document["terms"])
    except SteelyardError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as failure:
        raise CertificateError(
            f"the terms of the certificate are damaged; {type(failure).__name__}: {failure}"
        ) from None


def bound_to_model(
    document: Mapping[str, Any],
    certificate: ParsedCertificate,
    model: Model,
    constraints: Constraints,
) -> Bound:
    """Whether names, K and conditions are those of this model."""
    of = f"the robot {quoted(model.robot.name)}"
    names = compare_names(certificate.parameters, model.column_names, "parameters", of)
    if document["hashes"].get("model") != model.hash:
        words = f"it is for another model than {of}: the hashes of their geometry differ"
        names += Bound(problems=(words,))
    if names.problems:
        return names
    expected = parsed_conditions(
        [block_document(block) for block in blocks(model, constraints)], len(model.columns)
    )
    found = compare_conditions(certificate.blocks, expected, of)
    if found.problems:
        words = (
            "conditions also depend on the overlay, --consistency, --mass, --total-mass and "
            "--attached, and on the inertials of the robot file: give what the claim was made with"
        )
        found += Bound(cautions=(words,))
    if certificate.K is None:
        return found
    stated = document.get("base_parameters") or ()
    base = base_named(model, stated)
    same = compare_names(stated, base.names, "base parameters", of)
    if same.problems:
        return same + found
    return compare_map(certificate.K, entries_of_map(base), of) + found


def base_named(model: Model, names: object) -> BaseMap:
    """The base parameters with these names, in either order of columns; else the usual ones."""
    usual = base_map(model)
    if not isinstance(names, list | tuple) or tuple(names) == usual.names:
        return usual
    other = base_map(model, "pinocchio")
    return other if tuple(names) == other.names else usual


def entries_of_map(base: BaseMap) -> dict[tuple[int, int], Fraction]:
    """The entries of K that are not zero, exactly."""
    return {
        (i, j): Fraction(float(value))
        for i, row in enumerate(base.K)
        for j, value in enumerate(row)
        if value != 0.0
    }
