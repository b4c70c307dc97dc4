"""The model of a robot with an overlay."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.errors import ModelError
from steelyard.knowledge.overlay.apply import apply_overlay
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.overlay.terms import terms_to_identify
from steelyard.model.model import Model
from steelyard.model.term_kinds import Side
from steelyard.model.terms import Term
from steelyard.robot.robot import Robot


def model_of(
    robot: Robot,
    *,
    terms: Iterable[Term] | None = None,
    overlay: Overlay | None = None,
    torque: Side | None = None,
) -> Model:
    """The model of a robot with these terms, or those of an overlay, or the default terms for
    the side on which torque is measured.
    """
    refuse_contradictions(robot, terms, overlay, torque)
    if overlay is not None:
        robot = apply_overlay(robot, overlay)
    return model_with_terms(robot, terms, overlay, torque)


def refuse_contradictions(
    robot: Robot, terms: Iterable[Term] | None, overlay: Overlay | None, torque: Side | None
) -> None:
    """Refuse terms that are stated twice, and a side of torque that does not fit."""
    if terms is not None and overlay is not None and overlay.states_terms:
        raise ModelError("terms are given twice, as an argument and in the overlay; give them once")
    if torque == "link" and robot.transmission is not None:
        raise ModelError(
            "torque is 'link', but the overlay states motors, whose torques or currents are "
            "measured on the motor side; set torque for single joints in the overlay"
        )
    if terms is not None and torque is not None:
        raise ModelError("terms and torque are both given; torque only chooses terms: give one")


def model_with_terms(
    robot: Robot, terms: Iterable[Term] | None, overlay: Overlay | None, torque: Side | None
) -> Model:
    """:func:`model_of` a robot to which the overlay has been applied."""
    if terms is None:
        return Model(robot, terms_to_identify(robot, overlay, torque=torque))
    return Model(robot, tuple(terms))
