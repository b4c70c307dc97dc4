"""The model of a robot with an overlay."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.errors import ModelError
from steelyard.knowledge.overlay.apply import apply_overlay
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.overlay.terms import terms_from_overlay
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
    if terms is not None and overlay is not None and overlay.states_terms:
        raise ModelError("terms are given twice, as an argument and in the overlay; give them once")
    if torque == "link" and robot.transmission is not None:
        raise ModelError(
            "torque is 'link', but the overlay states motors, whose torques or currents are "
            "measured on the motor side; set torque for single joints in the overlay"
        )
    if terms is not None and torque is not None:
        raise ModelError("terms and torque are both given; torque only chooses terms: give one")
    if overlay is not None:
        robot = apply_overlay(robot, overlay)
    chosen = terms_from_overlay(robot, overlay, torque=torque) if terms is None else tuple(terms)
    return Model(robot, chosen)
