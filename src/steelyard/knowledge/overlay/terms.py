"""The terms of an overlay, as terms of a model."""

from __future__ import annotations

from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.model.term_kinds import Side
from steelyard.model.terms import Term, coupled_terms, default_terms, terms_of
from steelyard.model.weight_offsets import weight_offsets
from steelyard.robot.robot import Robot


def terms_from_overlay(
    robot: Robot, overlay: Overlay | None, *, torque: Side | None = None
) -> tuple[Term, ...]:
    """Terms of every joint of ``robot``, of its motors, and of the couplings.

    A joint or motor has the terms that the overlay gives it, or else those it gives to every
    joint, or else the default ones for the side on which its torque is measured. The overlay must
    have been applied to ``robot`` already.

    torque : where torque is measured; replaces the overlay's value for the whole robot, not its
        values for single joints.
    """
    if overlay is None:
        return default_terms(robot, torque or "motor")
    terms = terms_of(
        robot,
        {joint: overlay.side(joint, torque) for joint in robot.joint_names},
        overlay.joint_terms,
        overlay.motor_terms,
        overlay.default_terms,
    )
    coupled = [
        term
        for coupling in overlay.couplings
        for term in coupled_terms(coupling.name, dict(coupling.direction), coupling.terms)
    ]
    return (*terms, *coupled)


def terms_to_identify(
    robot: Robot, overlay: Overlay | None, *, torque: Side | None = None
) -> tuple[Term, ...]:
    """:func:`terms_from_overlay` without default offsets of slides that cannot be told from weight.

    Terms that the overlay states are kept; see :mod:`steelyard.model.weight_offsets`.
    """
    terms = terms_from_overlay(robot, overlay, torque=torque)
    if overlay is not None and overlay.default_terms is not None:
        return terms
    stated = () if overlay is None else (*overlay.joint_terms, *overlay.motor_terms)
    named = {coupling.name for coupling in overlay.couplings} if overlay is not None else set()
    left_out = [
        term
        for term in weight_offsets(robot, terms)
        if term.owner not in stated and term.owner not in named
    ]
    return tuple(term for term in terms if term not in left_out)
