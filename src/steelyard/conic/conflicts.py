"""Which conditions contradict each other: a small group, with a proof where possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard.conic._conflict_proof import ConflictProof, prove_conflict
from steelyard.conic.blocks import Block
from steelyard.conic.common_slack import common_slack
from steelyard.errors import EstimationError

Array = NDArray[np.float64]

CERTAIN = 1e-6
"""Slack, in units of typical parameters, above which a conflict is reported without a proof."""


DOUBTFUL = 1e-10
"""Slack above which a proof is tried."""


@dataclass(frozen=True, eq=False)
class Conflict:
    """A minimal group of conditions that cannot all hold: without any one of them, the rest can.

    blocks : the conditions. amount : the common slack that they would need, in units of typical
    parameters. proof : exact duals; None if the conflict was found in floating point only.
    """

    blocks: tuple[Block, ...]
    amount: float
    proof: ConflictProof | None

    @property
    def names(self) -> tuple[str, ...]:
        """The conditions in words."""
        return tuple(block.words for block in self.blocks)

    @property
    def words(self) -> str:
        """The conflict in one line."""
        sure = "" if self.proof is not None else " (up to rounding)"
        if len(self.blocks) == 1:
            return f"this constraint can never hold{sure}: {self.names[0]}"
        return f"these constraints contradict each other{sure}: {'; '.join(self.names)}"


def conflict_among(
    given: Sequence[Block], scale: Array, implied: Callable[[Block], int]
) -> Conflict | None:
    """A minimal group of these blocks that cannot all hold, or None.

    implied : rank of a block, 0 for what the user stated, larger for defaults and implied
        conditions. If a conflict can be explained in several ways, blocks of larger rank are left
        out first.
    """
    zero = np.zeros(len(scale))
    if all(block.margin(zero) >= 0.0 for block in given):
        return None
    amount, duals = least_slack(given, scale)
    if amount <= DOUBTFUL:
        return None
    for rank in sorted({implied(block) for block in given} - {0}, reverse=True):
        stated = [block for block in given if implied(block) < rank]
        if stated and _cannot_hold(stated, scale, amount):
            given = stated
            amount, duals = least_slack(given, scale)
    group = _support(given, duals)
    if least_slack(group, scale)[0] <= 0.5 * amount:
        group = list(given)
    for block in sorted(group, key=implied, reverse=True):
        rest = [other for other in group if other is not block]
        if rest and _cannot_hold(rest, scale, amount):
            group = rest
    amount, _ = least_slack(group, scale)
    proof = prove_conflict(group, scale, amount)
    if proof is None and amount <= CERTAIN:
        return None
    return Conflict(tuple(group), amount, proof)


def crossed_limits(given: Sequence[Block], scale: Array) -> Conflict | None:
    """A lower limit above the upper limit of the same quantity, even by the last digit only."""
    seen: dict[tuple[tuple[int, ...], bytes], Block] = {}
    for block in given:
        if block.kind != "nonnegative" or len(block.b) > 1:
            continue
        other = seen.get((block.columns, (0.0 - block.A).tobytes()))
        seen[(block.columns, (block.A + 0.0).tobytes())] = block
        if other is None:
            continue
        value = Fraction(float(other.b[0])) + Fraction(float(block.b[0]))
        if value < 0:
            proof = ConflictProof(((Fraction(1),), (Fraction(1),)), value)
            return Conflict((other, block), least_slack([other, block], scale)[0], proof)
    return None


def least_slack(given: Sequence[Block], scale: Array) -> tuple[float, Sequence[Array]]:
    """Smallest common slack s >= 0 that makes these blocks, equations included, hold; its duals.

    The duals belong to the blocks' entries in units of their typical sizes.
    """
    used = sorted({column for block in given for column in block.columns})
    place = {column: i for i, column in enumerate(used)}
    local = [
        replace(block, columns=tuple(place[column] for column in block.columns)) for block in given
    ]
    # the pull keeps parameters without bounds finite
    found = common_slack(local, scale[used], largest=0.0, relax_equations=True, pull=1e-12)
    if not found.found:
        raise EstimationError(
            f"the solver could not decide whether the constraints contradict each other "
            f"({found.said}); check their units: masses in kg, lengths in m"
        )
    return max(-found.amount, 0.0), found.duals


def _cannot_hold(group: Sequence[Block], scale: Array, whole: float) -> bool:
    """Whether a smaller group still conflicts: by a clear amount, or with a proof."""
    amount, _ = least_slack(group, scale)
    if amount <= DOUBTFUL:
        return False
    return amount > max(CERTAIN, 1e-3 * whole) or prove_conflict(group, scale, amount) is not None


def _support(given: Sequence[Block], duals: Sequence[Array]) -> list[Block]:
    """The blocks whose duals are not zero: those that take part in the conflict."""
    sizes = [float(np.max(np.abs(dual), initial=0.0)) for dual in duals]
    return [block for block, size in zip(given, sizes, strict=True) if size > 1e-7 * max(sizes)]
