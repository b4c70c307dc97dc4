"""Find a small group of constraints that contradict each other, with a proof where possible.

The conditions A_k theta + b_k in cone k are relaxed by a common slack s >= 0, in units of typical
parameters, and s is minimised. If the minimum is above zero, no robot meets them all. A deletion
filter then removes one condition after the other, as long as the rest is still infeasible, until
every remaining condition is needed. Duals z_k in the dual cones with

    sum_k A_kᵀ z_k = 0        and        sum_k z_k · b_k < 0

prove the conflict: pairing them with the conditions would give 0 <= sum_k z_k · b_k < 0. They
are made exact in rational arithmetic (`steelyard.conic._conflict_proof`).

Conditions that leave only a face of a cone (a mass of exactly 2 kg, a massless link) do not
contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import BAND, Block, linear_block
from steelyard.conic.conflicts import Conflict, conflict_among, crossed_limits
from steelyard.conic.connected import connected
from steelyard.errors import EstimationError
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.statements import (
    AttachedRest,
    DefaultBound,
    HasMass,
    Limit,
    Massless,
    Physical,
)
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale

Array = NDArray[np.float64]


def check_constraints(model: Model, constraints: Constraints) -> tuple[Block, ...]:
    """The blocks of the constraints; raises EstimationError that names contradicting ones."""
    conflict = find_conflict(model, constraints)
    if conflict is not None:
        files = any(isinstance(block.statement, AttachedRest) for block in conflict.blocks)
        lump = ", or let one link have the whole body (--attached lump)" if files else ""
        raise EstimationError(f"{conflict.words}; change or leave out one of them{lump}")
    return blocks(model, constraints)


def implied(block: Block) -> int:
    """2 for a default bound, 1 for physical consistency, 0 for a condition that the user stated.

    The search for a conflict tries first to leave out conditions with a higher number.
    """
    statement = block.statement
    if isinstance(statement, Limit) and isinstance(statement.quantity, DefaultBound):
        return 2
    return 1 if isinstance(statement, Physical) else 0


def find_conflict(model: Model, constraints: Constraints) -> Conflict | None:
    """A group of constraints that cannot all hold, each of them needed for that; or None."""
    given = blocks(model, constraints)
    scale = parameter_scale(model)
    for indices in connected(given):
        group = [given[k] for k in indices]
        conflict = crossed_limits(group, scale) or conflict_among(group, scale, implied)
        if conflict is not None:
            return conflict
    return _body_without_mass(model, constraints, given, scale)


def _body_without_mass(
    model: Model, constraints: Constraints, given: Sequence[Block], scale: Array
) -> Conflict | None:
    """Conflict among conditions on a body's mass distribution that only a massless body meets.

    They are homogeneous and hold for a massless body, so that requiring any positive mass decides
    it.
    """
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        if body.name not in {*constraints.com, *constraints.inside, *constraints.symmetric}:
            continue
        own = set(range(first, first + 10))
        local = [
            block
            for block in given
            if own.issuperset(block.columns)
            and np.all(np.abs(block.b) <= max(constraints.margin, BAND if block.band else 0.0))
        ]
        if any(block.statement == Massless(body.name) for block in local):
            continue
        local.append(linear_block(HasMass(body.name), [first], [1.0], [-scale[first]]))
        conflict = conflict_among(local, scale, implied)
        if conflict is not None:
            return conflict
    return None
