"""Links that fixed joints hold to a moving body: a hand, fingers, a flange, a sensor.

Torques determine a body as a whole, not the links that it consists of. To write a body back to a
robot file, its parameters are spread over its links by one of two rules:

keep    links with an inertial in the file keep it, and one link of the body, its ``receiver``,
        gets the rest. The rest must be a physical body itself. A link whose inertial in the file
        is not physical cannot keep it: a file with it would not be physical either, and a
        repaired inertial would be neither the file's nor identified. Such a link counts as
        emptied, its share is part of the rest, and writers refuse to change its file.
lump    the receiver gets everything, and all other links of the body are emptied.

The receiver is the link that the joint moves. With ``keep``, if that link has next to no mass in
the file (a frame whose mass was given to a link fixed to it), it is the heaviest link of the body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.model.mechanism import Body
from steelyard.model.model import Model
from steelyard.robot.inertia import transform
from steelyard.robot.physical_links import check_link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array

Array = NDArray[np.float64]
AttachedRule = Literal["keep", "lump"]
RULES: tuple[AttachedRule, ...] = ("keep", "lump")
AttachedOption = Literal["auto", "keep", "lump"]
"""A rule, or its choice by how well left-out parts of the data are predicted."""
LITTLE_MASS = 0.05
"""Share of a body's mass below which the link that the joint moves does not receive the rest."""


@dataclass(frozen=True, eq=False)
class AttachedLinks:
    """How one body of several links with inertials is spread over them.

    body : its name. receiver : the link that gets the rest, with T_body_receiver (4, 4).
    kept : links that keep the inertial of the file. known : (10,) sum of these, in the body's
        frame. emptied : links that lose theirs; with the rule "keep" only those that are not
        physical in the file.
    """

    body: str
    receiver: str
    T_body_receiver: Array
    kept: tuple[str, ...]
    known: Array
    emptied: tuple[str, ...]


def attached_links(model: Model, rule: AttachedRule = "keep") -> tuple[AttachedLinks, ...]:
    """The bodies whose inertials in the file are those of several links, or of another link than
    the one that their joint moves.
    """
    found = []
    for body in model.mechanism.bodies:
        masses = _stated_masses(model.robot, body)
        if set(masses) - {body.name}:
            found.append(_spread(model.robot, body, masses, rule))
    return tuple(found)


def link_inertials(
    model: Model, theta: Array, attached: tuple[AttachedLinks, ...]
) -> dict[str, Array]:
    """The inertial (10,), in its link's frame, of every link that these parameters change.

    theta : (n_columns,). Ten zeros for a link that is emptied.
    """
    special: Mapping[str, AttachedLinks] = {one.body: one for one in attached}
    inertials: dict[str, Array] = {}
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        phi = np.asarray(theta[first : first + 10], dtype=float)
        if body.name not in special:
            inertials[body.name] = phi
            continue
        one = special[body.name]
        inertials[one.receiver] = transform(phi - one.known, np.linalg.inv(one.T_body_receiver))
        inertials |= {name: np.zeros(10) for name in one.emptied}
    return inertials


def _stated_masses(robot: Robot, body: Body) -> dict[str, float]:
    """Mass (kg) of each link of the body whose inertial is stated and not ten zeros."""
    return {
        name: float(inertial[0])
        for name, _ in body.links
        if (inertial := robot.link(name).inertial) is not None and np.any(inertial)
    }


def _spread(
    robot: Robot, body: Body, masses: Mapping[str, float], rule: AttachedRule
) -> AttachedLinks:
    receiver = body.name
    if rule == "keep" and masses.get(receiver, 0.0) <= LITTLE_MASS * sum(masses.values()):
        receiver = max(masses, key=lambda name: masses[name])
    others = tuple(name for name in masses if name != receiver)
    kept = tuple(name for name in others if rule == "keep" and _is_physical(robot, name))
    placement = dict(body.links)
    known = np.zeros(10)
    for name in kept:
        inertial = robot.link(name).inertial
        assert inertial is not None  # it has a mass
        known += transform(inertial, placement[name])
    return AttachedLinks(
        body.name,
        receiver,
        frozen_array(placement[receiver], (4, 4)),
        kept,
        frozen_array(known, (10,)),
        tuple(name for name in others if name not in kept),
    )


def _is_physical(robot: Robot, link: str) -> bool:
    return check_link(robot.link(link)).verdict == "physical"
