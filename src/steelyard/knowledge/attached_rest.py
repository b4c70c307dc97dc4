"""Bodies of several links: what is left for the moving link must be physical.

A body's parameters are written to a robot file with the inertials of attached links (a hand, a
sensor) unchanged, and the rest in one link (`steelyard.model.attached_links`, rule "keep"). That
is possible only if the rest is physical, which a fit has to respect:

    J_body - J_kept - margin  is positive semidefinite

with the pseudo-inertia J_kept of the links that keep their inertials. The margin is a millionth of
it, with extent in every direction, so that the rest stays physical in the rounding of a file.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, psd_block
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.physical_blocks import sousa_matrix
from steelyard.knowledge.prior import body_spacing, floor_moments
from steelyard.knowledge.statements import AttachedRest
from steelyard.model.attached_links import attached_links
from steelyard.model.model import Model
from steelyard.robot.inertia import pseudo_inertia

Array = NDArray[np.float64]
MARGIN = 1e-6
"""Smallest rest, as a share of the links that keep their inertials."""


def attached_rest_blocks(model: Model, constraints: Constraints) -> Iterable[Block]:
    """The condition for each body of which links keep their inertials, if they are to keep them.

    Where bodies need not be physical at all, the rest need not be either.
    """
    if not constraints.keep_attached or constraints.consistency == "none":
        return
    matrix = sousa_matrix if constraints.consistency == "sousa" else pseudo_inertia
    names = [body.name for body in model.mechanism.bodies]
    length: float | None = None
    for one in attached_links(model, "keep"):
        if not one.kept:
            continue
        if length is None:
            length = body_spacing(model, model.prior_theta())
        margin = floor_moments(one.known, length)
        assert margin is not None  # links that are kept have mass
        first = model.first_column_of_body[names.index(one.body)]
        yield psd_block(
            AttachedRest(one.body, one.kept, float(one.known[0])),
            range(first, first + 10),
            [matrix(unit) for unit in np.eye(10)],
            -matrix(one.known + MARGIN * margin),
        )
