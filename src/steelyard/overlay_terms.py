"""The terms that an overlay asks for, as the model knows them."""

from __future__ import annotations

from steelyard.robot.overlay import Overlay
from steelyard.robot.tree import Robot
from steelyard.terms import KINDS, Term, coupled_terms, joint_terms


def terms_from_overlay(robot: Robot, overlay: Overlay | None) -> tuple[Term, ...]:
    """Terms of every joint of ``robot``, then those of the couplings.

    A joint has the terms that the overlay gives it, or else those it gives to every joint, or
    else all of them. ``robot`` has the overlay applied already: its locked joints are gone.
    """
    if overlay is None:
        return joint_terms(robot.joint_names)
    usual = KINDS if overlay.default_terms is None else overlay.default_terms
    terms: list[Term] = []
    for joint in robot.joint_names:
        terms.extend(joint_terms([joint], overlay.joint_terms.get(joint, usual)))
    for coupling in overlay.couplings:
        terms.extend(coupled_terms(coupling.name, dict(coupling.direction), coupling.terms))
    return tuple(terms)
