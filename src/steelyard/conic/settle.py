"""Round parameters to decimals so that they satisfy every condition exactly.

A solver's answer on the boundary may lie slightly outside. `settle` rounds it to decimals and, if
a condition then fails in rational arithmetic, moves the point towards an interior point by about
the smallest share that makes every condition hold. Parameters that share no condition with the
failing ones, directly or through others, are only rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.conic._equations import meet_equations
from steelyard.conic._integers import Integers, entries, in_cone, integers
from steelyard.conic.blocks import Block
from steelyard.conic.common_slack import common_slack
from steelyard.conic.connected import connected
from steelyard.errors import EstimationError

Array = NDArray[np.float64]
WRITTEN_DIGITS = 15
"""The most digits that every decimal keeps as a float. Fewer make the bodies of thin priors depend
on the link frame, by 1e-8 with 12 digits.
"""


@dataclass(frozen=True, eq=False)
class Settled:
    """Parameters that satisfy every block exactly.

    moved : largest change from the given parameters, in units of ``scale``.
    share : largest share of the way to the inner point that was needed, 0 to 1.
    """

    theta: Array
    moved: float
    share: float


def rounded(theta: Array, digits: int = WRITTEN_DIGITS) -> Array:
    """Each number rounded to this many significant decimal digits, as a float."""
    return np.array([float(f"{x:.{digits}g}") for x in theta])


def holds_exactly(block: Block, theta: Array, form: Integers | None = None) -> bool:
    """Whether a block's condition holds for these floats, without any rounding.

    form : the block's coefficients, if already computed.
    """
    values = entries(form or integers(block), theta[list(block.columns)].tolist())
    return in_cone(block.kind, values)


def failing(blocks: Sequence[Block], theta: Array) -> tuple[Block, ...]:
    """The conditions that do not hold exactly."""
    return tuple(block for block in blocks if not holds_exactly(block, theta))


def _first_words(blocks: Sequence[Block]) -> str:
    """The first few conditions, for a message."""
    return "; ".join(block.words for block in blocks[:5])


def inner_point(blocks: Sequence[Block], scale: Array) -> tuple[Array, float]:
    """Parameters as far inside all blocks as possible, and their margin (scaled).

    Every inequality holds with a slack t, in units of the block's own size, and t <= 1 is
    maximised. A margin of zero or less means that the blocks have no interior.
    """
    found = common_slack(blocks, scale, largest=1.0, accuracy=1e-8)
    if not found.found:
        return np.zeros(len(scale)), -1.0
    return found.theta, found.amount


def settle(
    theta: Array, blocks: Sequence[Block], scale: Array, inner: Array | None = None
) -> Settled:
    """Round ``theta`` and move it inside by about the smallest share of the way to ``inner``.

    Raises EstimationError if the failing blocks, with those that share parameters with them, have
    no interior.
    """
    out = meet_equations(rounded(theta), blocks)
    bad = [k for k, block in enumerate(blocks) if not holds_exactly(block, out)]
    if not bad:
        return Settled(out, _moved(out, theta, scale), 0.0)
    parts = [
        [blocks[k] for k in part] for part in connected(blocks) if not set(bad).isdisjoint(part)
    ]
    if inner is None:
        inner = _target([block for part in parts for block in part], scale, out)
    share = max(_move_inside(out, theta, part, inner) for part in parts)
    return Settled(out, _moved(out, theta, scale), share)


def _target(blocks: Sequence[Block], scale: Array, theta: Array) -> Array:
    """An inner point of these blocks alone; all other parameters are as in ``theta``."""
    columns = _columns(blocks)
    place = {column: k for k, column in enumerate(columns)}
    local = [replace(b, columns=tuple(place[column] for column in b.columns)) for b in blocks]
    inner, margin = inner_point(local, scale[columns])
    if margin <= 0.0:
        raise EstimationError(
            "the conditions have no interior, so no rounded parameters satisfy them all; "
            f"relax one of: {_first_words(failing(blocks, theta))}"
        )
    out = theta.copy()
    out[columns] = inner
    return out


def _move_inside(out: Array, theta: Array, blocks: Sequence[Block], inner: Array) -> float:
    """Write parameters that satisfy ``blocks`` into ``out``; returns the share of the way used."""
    columns = _columns(blocks)
    suspects = [(block, integers(block)) for block in blocks]
    share = 1e-14
    while share <= 1.0:
        out[columns] = rounded((1.0 - share) * theta[columns] + share * inner[columns])
        out[columns] = meet_equations(out, blocks)[columns]
        bad = next((it for it in suspects if not holds_exactly(it[0], out, it[1])), None)
        if bad is None:
            return share
        # check the block that failed last first: it often fails again
        suspects.remove(bad)
        suspects.insert(0, bad)
        share *= 4.0
    out[columns] = rounded(inner[columns])
    raise EstimationError(
        "no point between the solution and an inner point satisfies exactly: "
        + _first_words(failing(blocks, meet_equations(out, blocks)))
    )


def _columns(blocks: Sequence[Block]) -> list[int]:
    """Indices of the parameters in these blocks."""
    return sorted({column for block in blocks for column in block.columns})


def _moved(one: Array, other: Array, scale: Array) -> float:
    return float(np.max(np.abs(one - other) / scale, initial=0.0))
