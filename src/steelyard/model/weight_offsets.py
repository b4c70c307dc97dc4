"""Offsets that cannot be told from weight: on a vertical slide, gravity is a constant force too.

The force of a slide that never tilts is m (a + g) for what it carries, Ia a for its drive, and fo
for its offset. The three columns have rank two, so that no motion tells mass, drive inertia and
offset apart, and a prior on the mass decides. Without the offset, the weight gives the mass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from steelyard.errors import listed
from steelyard.findings import Finding
from steelyard.model.base_map import base_map
from steelyard.model.model import RIGID_BODY, Model
from steelyard.model.terms import Term
from steelyard.robot.inertia import PARAMETERS
from steelyard.robot.robot import Robot


def weight_offsets(robot: Robot, terms: Collection[Term]) -> tuple[Term, ...]:
    """The offsets of slides among ``terms`` that are part of a combination with a mass.

    A slide has such an offset if its column depends on others, masses among them.
    """
    suspects = [term for term in terms if _acts_on_a_slide_alone(robot, term)]
    if not suspects:
        return ()
    model = Model(robot, tuple(terms))
    base = base_map(model)
    masses = [
        i
        for i, column in enumerate(model.columns)
        if column.kind == RIGID_BODY and column.symbol == PARAMETERS[0]
    ]
    found = []
    for term in suspects:
        column = model.column_names.index(term.name)
        rows = np.flatnonzero(base.K[:, column])
        if column not in base.independent and base.K[rows][:, masses].any():
            found.append(term)
    return tuple(found)


def left_out_findings(stated: Iterable[Term], used: Collection[Term]) -> tuple[Finding, ...]:
    """A note on the offsets among ``stated`` that are not among the terms ``used``."""
    joints = [term.owner for term in stated if term not in used]
    if not joints:
        return ()
    return (
        Finding(
            "info",
            "offset-left-out",
            f"the offset of {listed(joints)} was left out: along this slide weight is a constant "
            "force too, and no motion tells an offset from mass. To estimate one all the same, "
            "state the terms of the joint, in the overlay ([joint.NAME], terms = "
            '["drive_inertia", "viscous", "coulomb", "offset"]) or as terms= in Python',
        ),
    )


def _acts_on_a_slide_alone(robot: Robot, term: Term) -> bool:
    if term.term_kind.response != "constant" or len(term.direction) != 1:
        return False
    ((joint, _),) = term.direction
    return robot.joint(joint).kind == "prismatic"
