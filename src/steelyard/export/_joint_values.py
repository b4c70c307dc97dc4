"""What the terms of a model give each joint: drive inertia, damping and friction for robot files.

A term along one joint with weight w acts on that joint with the torque w p law(w s). So it is a
drive inertia w² p, a damping w² p, a friction |w| p or an offset w p of that joint. A term along
several joints, such as a coupled drive, has no place in a robot file.

Robot files know damping and a constant friction alone. Other laws become what they are at the
speeds of a motion, as nearly as that: friction that rises with speed counts as constant, friction
in one direction as half of it in both. What falls with speed, or depends on load or position, is
left out, and friction over a travel acts at once; notes say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from steelyard.errors import ModelError, listed
from steelyard.export.identified_robot import IdentifiedRobot, not_estimated_words
from steelyard.findings import Finding
from steelyard.model.term_kinds import term_kind
from steelyard.model.terms import Term, term_unit
from steelyard.robot.file_changes import brief_change_findings

POWER_OF_WEIGHT = {"drive_inertia": 2, "viscous": 2, "coulomb": 1, "offset": 1}
STANDS_FOR = {"rising": ("coulomb", 1.0), "asymmetric": ("viscous", 0.5)}
"""Kinds that count as another one, times a factor."""


@dataclass(frozen=True)
class JointValues:
    """Values of the terms that act on one joint alone, by kind and joint.

    widths : rad/s or m/s, of the joints whose Coulomb friction has one.
    coupled : the terms that act on several joints, with their values. simplified : those of one
    joint that became another kind, or have no place.
    """

    by_kind: dict[str, dict[str, float]]
    widths: dict[str, float] = field(default_factory=dict)
    coupled: tuple[tuple[Term, float], ...] = ()
    simplified: tuple[tuple[Term, float], ...] = ()

    def of(self, kind: str) -> dict[str, float]:
        """The values of one kind of term, by joint."""
        return self.by_kind.get(kind, {})


def joint_values(found: IdentifiedRobot) -> JointValues:
    """The terms of an identified robot, joint by joint.

    A term that was not estimated is left out, so that a robot file keeps what it states. Raises
    ModelError for a value whose sign is not physical.
    """
    by_kind: dict[str, dict[str, float]] = {}
    widths: dict[str, float] = {}
    coupled: list[tuple[Term, float]] = []
    simplified: list[tuple[Term, float]] = []
    columns = found.model.term_arrays.column
    for term, column in zip(found.model.terms, columns, strict=True):
        if term.name in found.not_estimated:
            continue
        value = float(found.theta[column])
        if value < 0.0 and not term.term_kind.may_be_negative:
            raise ModelError(
                f"'{term.owner}': its {term.term_kind.description} is {value:.6g} "
                f"{term_unit(found.robot, term)}, which is not physical; estimate again with "
                "physical constraints"
            )
        if len(term.direction) > 1:
            coupled.append((term, value))
            continue
        if value and (term.travel or term.kind not in POWER_OF_WEIGHT):
            simplified.append((term, value))
        kind, factor = STANDS_FOR.get(term.kind, (term.kind, 1.0))
        if kind not in POWER_OF_WEIGHT:
            continue
        joint, weight = term.direction[0]
        sized = abs(weight) if kind == "coulomb" else weight
        values = by_kind.setdefault(kind, {})
        values[joint] = values.get(joint, 0.0) + sized ** POWER_OF_WEIGHT[kind] * factor * value
        if term.width:
            widths[joint] = term.width / abs(weight)
    return JointValues(by_kind, widths, tuple(coupled), tuple(simplified))


def contents_words(found: IdentifiedRobot, attributes: Mapping[str, str]) -> str:
    """Which terms of the joints a robot file states, and of how many joints.

    attributes : what the format calls each kind of term that it can hold.
    """
    values = joint_values(found)
    parts = []
    for kind, attribute in attributes.items():
        n_joints = sum(value != 0.0 for value in values.of(kind).values())
        if n_joints:
            joints = "1 joint" if n_joints == 1 else f"{n_joints} joints"
            parts.append(f"{attribute} ({term_kind(kind).description}) of {joints}")
    stated = listed(parts) if parts else "no term of a joint"
    kept = not_estimated_words(found)
    laws = [_simplified_words(found, *one, attributes) for one in values.simplified]
    stated += f"; {listed(laws)}" if laws else ""
    return f"besides inertials the file states {stated}" + (
        "" if kept is None else f"; not estimated, and as in the robot file: {kept}"
    )


def left_out_notes(
    found: IdentifiedRobot, values: JointValues, form: str, held: Iterable[str]
) -> tuple[Finding, ...]:
    """Notes on terms that a format cannot hold, and on how the robot differs from its file.

    form : name of the format. held : the kinds of terms that it can hold.
    """
    notes = []
    for kind, by_joint in values.by_kind.items():
        lost = {joint: value for joint, value in by_joint.items() if value != 0.0}
        if kind in held or not lost:
            continue
        slides = {joint: found.robot.joint(joint).kind == "prismatic" for joint in lost}
        words = [
            f"{joint} {value:.6g} {term_kind(kind).unit(slides=slides[joint])}"
            for joint, value in lost.items()
        ]
        notes.append(
            Finding(
                "warning",
                f"{form.lower()}-without-{kind.replace('_', '-')}",
                f"{form} cannot hold {term_kind(kind).description}, left out: {listed(words)}",
            )
        )
    if values.widths and "coulomb" in held:
        words = [f"{joint} {width:.6g}" for joint, width in values.widths.items()]
        notes.append(
            Finding(
                "warning",
                f"{form.lower()}-without-width",
                f"{form} cannot hold the speed (rad/s or m/s) within which Coulomb friction grows "
                f"linearly, left out: {listed(words)}",
            )
        )
    if values.simplified:
        words = [_simplified_words(found, term, value, held) for term, value in values.simplified]
        notes.append(
            Finding(
                "warning",
                f"{form.lower()}-without-laws",
                f"{form} has no such friction laws and springs: {listed(words)}; the file of joint "
                "terms that `steelyard identify -o` writes has them whole",
            )
        )
    lost_terms = [
        f"{term.name} {value:.6g} {term_unit(found.robot, term)}"
        for term, value in values.coupled
        if value != 0.0
    ]
    if lost_terms:
        notes.append(
            Finding(
                "warning",
                f"{form.lower()}-without-couplings",
                f"{form} cannot hold terms of several joints, left out: {listed(lost_terms)}",
            )
        )
    return (*notes, *brief_change_findings(found.robot))


def _simplified_words(found: IdentifiedRobot, term: Term, value: float, held: Iterable[str]) -> str:
    """A term that a robot file states as another, or not at all."""
    kind, _ = STANDS_FOR.get(term.kind, (term.kind, 1.0))
    unit = term_unit(found.robot, term)
    size = f"{term.name} {value:.6g}{'' if unit == '1' else f' {unit}'}"
    if kind not in POWER_OF_WEIGHT or kind not in held:
        return f"{size} ({term.term_kind.description}) is left out"
    if kind != term.kind:
        return f"{size} ({term.term_kind.description}) counts as {term_kind(kind).description}"
    return f"{size} acts at once, not over a travel of {term.travel:.4g} rad or m"
