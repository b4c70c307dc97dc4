"""Which conditions contradict each other: a small group, with a proof where possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, inward, linear_block
from steelyard.conic.conflict_proof import ConflictProof, block_sizes, prove_conflict
from steelyard.conic.problem import conic_problem
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError

Array = NDArray[np.float64]

CERTAIN = 1e-6
"""Slack, in units of typical parameters, above which conditions conflict even without proof."""


DOUBTFUL = 1e-10
"""Slack above which a proof is tried."""


@dataclass(frozen=True, eq=False)
class Conflict:
    """A group of conditions that cannot all hold, none of which can be spared.

    blocks : the conditions. amount : the slack that all of them together would need, in units
    of typical parameters. proof : exact, where there is one; None where the conflict rests on
    floating-point arithmetic.
    """

    blocks: tuple[Block, ...]
    amount: float
    proof: ConflictProof | None

    @property
    def names(self) -> tuple[str, ...]:
        """The conditions in words."""
        return tuple(block.name for block in self.blocks)

    @property
    def words(self) -> str:
        """The conflict in one line."""
        sure = "" if self.proof is not None else " (up to rounding)"
        if len(self.blocks) == 1:
            return f"this constraint can never hold{sure}: {self.names[0]}"
        return f"these constraints contradict each other{sure}: {'; '.join(self.names)}"


def conflict_among(given: Sequence[Block], scale: Array) -> Conflict | None:
    """A smallest group of these blocks that cannot all hold, or None."""
    nothing = np.zeros(len(scale))
    if all(block.margin(nothing) >= 0.0 for block in given):
        return None
    amount, duals = least_slack(given, scale)
    if amount <= DOUBTFUL:
        return None
    group = _support(given, duals)
    if least_slack(group, scale)[0] <= 0.5 * amount:
        group = list(given)
    # what the user did not say himself is left out first, if it can be
    for block in sorted(group, key=_generality, reverse=True):
        rest = [other for other in group if other is not block]
        if rest and _cannot_hold(rest, scale, amount):
            group = rest
    amount, _ = least_slack(group, scale)
    proof = prove_conflict(group, scale, amount)
    if proof is None and amount <= CERTAIN:
        return None
    return Conflict(tuple(group), amount, proof)


def crossed_limits(given: Sequence[Block], scale: Array) -> Conflict | None:
    """A lower limit above the upper one of the same thing, if only by the last digit."""
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


def least_slack(given: Sequence[Block], scale: Array) -> tuple[float, list[Array]]:
    """Smallest common slack s >= 0 of these blocks, equations included, and its duals."""
    used = sorted({column for block in given for column in block.columns})
    place = {column: i for i, column in enumerate(used)}
    n = len(used)
    widened: list[Block] = []
    for block in given:
        columns = (*(place[c] for c in block.columns), n)
        sizes = block_sizes(block, scale)
        if block.kind == "zero":
            for sign in (1.0, -1.0):
                A = np.column_stack([sign * block.A / sizes[:, None], np.ones(len(sizes))])
                widened.append(Block(block.name, "nonnegative", columns, A, sign * block.b / sizes))
            continue
        A = np.column_stack([block.A / sizes[:, None], inward(block)])
        widened.append(Block(block.name, block.kind, columns, A, block.b / sizes))
    widened.append(linear_block("the slack is not negative", [n], [1.0], [0.0]))
    c = np.zeros(n + 1)
    c[n] = 1.0
    size = np.append(scale[used], 1.0)
    # a pull that keeps what no condition bounds from running away
    pull = np.append(1e-12 / scale[used] ** 2, 0.0)
    solution = solve(conic_problem(n + 1, widened, size, c=c, pull=pull))
    if solution.status not in ("solved", "stalled"):
        raise EstimationError(
            f"whether the constraints contradict each other could not be found out "
            f"({solution.said}); check their units: masses in kg, lengths in m"
        )
    duals: list[Array] = []
    found = iter(solution.duals)
    for block in given:
        if block.kind == "zero":
            above, below = next(found), next(found)
            duals.append(above - below)
        else:
            duals.append(next(found))
    return max(float(solution.theta[n]), 0.0), duals


def components(given: Sequence[Block]) -> list[list[Block]]:
    """Blocks that share parameters, directly or through others, group by group."""
    root: dict[int, int] = {}

    def find(column: int) -> int:
        while root.setdefault(column, column) != column:
            root[column] = root[root[column]]
            column = root[column]
        return column

    for block in given:
        for column in block.columns[1:]:
            root[find(column)] = find(block.columns[0])
    groups: dict[int, list[Block]] = {}
    for block in given:
        groups.setdefault(find(block.columns[0]), []).append(block)
    return list(groups.values())


def _cannot_hold(group: Sequence[Block], scale: Array, whole: float) -> bool:
    """Whether a smaller group still conflicts: clearly, or provably."""
    amount, _ = least_slack(group, scale)
    if amount <= DOUBTFUL:
        return False
    return amount > max(CERTAIN, 1e-3 * whole) or prove_conflict(group, scale, amount) is not None


def _support(given: Sequence[Block], duals: Sequence[Array]) -> list[Block]:
    """The blocks whose duals are not zero: those that take part in the conflict."""
    sizes = [float(np.max(np.abs(dual), initial=0.0)) for dual in duals]
    return [block for block, size in zip(given, sizes, strict=True) if size > 1e-7 * max(sizes)]


def _generality(block: Block) -> int:
    """How little of it the user said: bounds on second moments, then consistency, then the rest."""
    if block.name.startswith("the second moment of"):
        return 2
    return 1 if block.kind == "psd" else 0
