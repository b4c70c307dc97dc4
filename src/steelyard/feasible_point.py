"""Parameters that are inside, exactly: on the digits that are written.

A solver's answer touches the boundary from either side. `settle` rounds it to decimals and, where
the exact test fails, moves it towards a point that is well inside, by the least amount that
makes every condition hold in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard import exact
from steelyard.cones import Block, with_slack
from steelyard.conic import conic_problem, solve
from steelyard.equations import meet_equations
from steelyard.errors import EstimationError

Array = NDArray[np.float64]
DIGITS = 12


@dataclass(frozen=True, eq=False)
class Settled:
    """Parameters that satisfy every block exactly.

    moved : largest change, in units of ``scale``, from what was given.
    share : how far towards the inner point it had to go, 0 to 1.
    """

    theta: Array
    moved: float
    share: float


def rounded(theta: Array, digits: int = DIGITS) -> Array:
    """Each number at this many significant decimal digits, as the float next to it."""
    return np.array([float(f"{x:.{digits}g}") for x in theta])


def holds_exactly(block: Block, theta: Array) -> bool:
    """Whether a block's condition holds for these floats, in rational arithmetic."""
    x = [Fraction(float(theta[i])) for i in block.columns]
    return exact.in_cone(block.kind, exact.affine(block.A.tolist(), block.b.tolist(), x))


def failing(blocks: Sequence[Block], theta: Array) -> tuple[str, ...]:
    """Names of the conditions that do not hold exactly."""
    return tuple(block.name for block in blocks if not holds_exactly(block, theta))


def inner_point(blocks: Sequence[Block], scale: Array) -> tuple[Array, float]:
    """Parameters as far inside all blocks as they go, and that margin (scaled).

    Every inequality is met with a slack t, in units of the block's own size, and t <= 1 is
    maximised. A margin of zero or less says that the blocks leave no interior.
    """
    n = len(scale)
    widened = [with_slack(block, scale, n) for block in blocks]
    widened.append(
        Block("the margin is at most one", "nonnegative", (n,), -np.ones((1, 1)), np.ones(1))
    )
    c = np.zeros(n + 1)
    c[n] = -1.0
    problem = conic_problem(n + 1, widened, np.append(scale, 1.0), c=c)
    solution = solve(problem, accuracy=1e-8)
    if solution.status not in ("solved", "stalled"):
        return np.zeros(n), -1.0
    return solution.theta[:n], float(solution.theta[n])


def settle(
    theta: Array, blocks: Sequence[Block], scale: Array, inner: Array | None = None
) -> Settled:
    """Round ``theta`` and move it inside by the least share of the way to an inner point.

    Refuses where the blocks leave no interior.
    """
    close = meet_equations(rounded(theta), blocks)
    if not failing(blocks, close):
        return Settled(close, _moved(close, theta, scale), 0.0)
    if inner is None:
        inner, margin = inner_point(blocks, scale)
        if margin <= 0.0:
            raise EstimationError(
                "the conditions leave no room inside, so that no rounded parameters satisfy them "
                "all; relax one of: " + "; ".join(failing(blocks, close)[:5])
            )
    share = 1e-14
    while share <= 1.0:
        moved = meet_equations(rounded((1.0 - share) * theta + share * inner), blocks)
        if not failing(blocks, moved):
            return Settled(moved, _moved(moved, theta, scale), share)
        share *= 4.0
    raise EstimationError(
        "no point between the answer and the inside satisfies all conditions exactly: "
        + "; ".join(failing(blocks, meet_equations(rounded(inner), blocks))[:5])
    )


def _moved(one: Array, other: Array, scale: Array) -> float:
    return float(np.max(np.abs(one - other) / scale, initial=0.0))
