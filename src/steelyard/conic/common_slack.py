"""The largest slack that all conditions can have at once; negative if they cannot all hold.

    maximise t   subject to   A_k theta + b_k - t e_k in cone k,   t <= largest

with e_k the unit element of cone k in units of the block's typical entries, so that masses and
inertias are relaxed alike. At t > 0 all conditions hold strictly; at t < 0 they cannot all hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, inward, triangle_index
from steelyard.conic.problem import Status, conic_problem
from steelyard.conic.solver import solve

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CommonSlack:
    """The answer of `common_slack`.

    status : of the solver; theta, amount and duals are valid if it is "solved" or "stalled".
    said : the solver's own status text.
    theta : (n,) the point. amount : t, in units of typical entries.
    duals : one array per block, of its entries in units of their typical sizes.
    """

    status: Status
    said: str
    theta: Array
    amount: float
    duals: tuple[Array, ...]

    @property
    def found(self) -> bool:
        """Whether the solver found a point."""
        return self.status in ("solved", "stalled")


def common_slack(
    blocks: Sequence[Block],
    scale: Array,
    *,
    largest: float,
    relax_equations: bool = False,
    equations: Block | None = None,
    pull: float = 0.0,
    accuracy: float = 1e-9,
) -> CommonSlack:
    """The largest common slack t of these blocks, at most ``largest``, and where it is reached.

    scale : (n,) typical size of each variable.
    relax_equations : whether equations, and bands that replace equations, are relaxed by the
        slack too.
    equations : further equations, which are never relaxed.
    pull : weight that keeps variables without bounds near zero.
    """
    n = len(scale)
    relaxed: list[Block] = []
    counts = []
    for block in blocks:
        own = _relaxed(block, scale, n, relax_equations)
        relaxed.extend(own)
        counts.append(len(own))
    n_own = len(relaxed)
    if equations is not None:
        relaxed.append(equations)
    relaxed.append(Block("nonnegative", (n,), -np.ones((1, 1)), np.array([largest])))
    c = np.zeros(n + 1)
    c[n] = -1.0
    weights = np.append(pull / scale**2, 0.0)
    problem = conic_problem(n + 1, relaxed, np.append(scale, 1.0), c=c, pull=weights)
    solution = solve(problem, accuracy=accuracy)
    duals: list[Array] = []
    found = iter(solution.duals[:n_own])
    for block, count in zip(blocks, counts, strict=True):
        dual = next(found)
        if count == 2:  # a relaxed equation is two inequalities, each with its dual
            dual = dual - next(found)
        duals.append(dual * typical_entries(block, scale))
    return CommonSlack(
        solution.status,
        solution.said,
        solution.theta[:n],
        float(solution.theta[n]),
        tuple(duals),
    )


def _relaxed(block: Block, scale: Array, slack: int, relax_equations: bool) -> list[Block]:
    """The block minus the slack (variable ``slack``), in units of its typical entries."""
    if (block.kind == "zero" or block.band) and not relax_equations:
        return [block]
    sizes = typical_entries(block, scale)
    columns = (*block.columns, slack)
    if block.kind != "zero":
        A = np.column_stack([block.A, -inward(block) * sizes])
        return [Block(block.kind, columns, A, block.b)]
    return [
        Block("nonnegative", columns, np.column_stack([sign * block.A, -sizes]), sign * block.b)
        for sign in (1.0, -1.0)
    ]


def typical_entries(block: Block, scale: Array) -> Array:
    """Typical size (n_entries,) of a block's entries, such that dividing by it keeps the cone."""
    sizes = np.max(np.abs(block.A * scale[list(block.columns)]), axis=1, initial=0.0)
    if block.kind == "second_order":
        return np.full(len(sizes), max(float(sizes.max()), 1e-300))
    if block.kind == "psd":
        places = triangle_index(block.size)
        root = np.sqrt([size for size, (i, j) in zip(sizes, places, strict=True) if i == j])
        root = np.where(root > 0.0, root, 1.0)
        return np.array([root[i] * root[j] for i, j in places])
    return np.where(sizes > 0.0, sizes, 1.0)
