"""The closest feasible base parameters, with a witness."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard.certificates.base_feasibility import (
    BaseFeasibility,
    base_feasibility,
    correct_base,
)
from steelyard.certificates.writing import provable_base
from steelyard.conic.blocks import Block
from steelyard.errors import EstimationError
from steelyard.model.base_map import BaseMap

Array = NDArray[np.float64]

WITHOUT_LIMIT = 1e3
"""Typical sizes above which a body of the closest parameters may grow without limit."""


@dataclass(frozen=True, eq=False)
class ProvenCorrection:
    """The answer of :func:`proven_correction`.

    before : whether the given base parameters are feasible.
    beta : (n_base,) feasible base parameters as written; the given ones if they are feasible.
    witness : exact standard parameters with K theta = beta, one Fraction per column.
    distance : |beta - given|, Euclidean.
    """

    before: BaseFeasibility
    beta: Array
    witness: tuple[Fraction, ...]
    distance: float


def proven_correction(
    base: BaseMap,
    beta: Array,
    blocks: Sequence[Block],
    scale: Array,
    *,
    stricter: Iterable[Sequence[Block]] = (),
) -> ProvenCorrection:
    """The feasible base parameters closest to beta (n_base,), and a witness.

    :func:`steelyard.correct_base` finds the closest ones. If rounding them to decimals makes them
    infeasible, they are moved inside until a witness is found, by as little as possible.

    scale : (n_columns,) typical size of each standard parameter, from
        :func:`steelyard.model.typical_sizes.parameter_scale`.
    stricter : conditions of which each set implies ``blocks``, such as those with larger margins.
        Where the closest parameters need bodies without limit, the closest of these count, too: a
        solver finds them no better, so that a stricter set may come out closer by its accuracy.
    """
    before = base_feasibility(base, beta, blocks, scale)
    if before.witness is not None:
        return ProvenCorrection(before, beta, before.witness, 0.0)
    closest = correct_base(base, beta, blocks, scale)
    found = [provable_base(base, closest.theta, blocks, scale)]
    if np.abs(closest.theta / scale).max() > WITHOUT_LIMIT:
        for other in stricter:
            with suppress(EstimationError):  # it may have no solution
                theta = correct_base(base, beta, other, scale).theta
                found.append(provable_base(base, theta, other, scale))
    distances = [float(np.linalg.norm(corrected - beta)) for corrected, _ in found]
    best = int(np.argmin(distances))
    return ProvenCorrection(before, *found[best], distances[best])
