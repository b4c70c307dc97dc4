"""The small problem of one step: a link and the links that it carries, up to a number of levels.

A link's own step cannot settle what only inner joints see of it, and a value that is fixed too
early leaves a misfit there that no inner link can physically make up for. So every link stays a
variable for the steps of its next `LAG` ancestors (a fixed-lag smoother, with links for time). The
number of variables does not grow with the robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.interior_point import minimise
from steelyard.errors import EstimationError
from steelyard.estimators.sequential.links import Link, moved
from steelyard.regression.regression import triangle

Array = NDArray[np.float64]
LAG = 6
"""For how many further steps inward a link stays a variable."""
MOST_LINKS = 8
"""Largest number of links in one step, for hubs that carry many."""
CORE, NEIGHBOURHOOD = 8, 14
"""Links of a group that sweeps fit together, first without and then with those around it."""


@dataclass(frozen=True, eq=False)
class StepSolution:
    """u and the duals of the conditions, for each link of a window."""

    u: tuple[Array, ...]
    duals: tuple[tuple[Array, ...], ...]
    iterations: int


def window(links: Sequence[Link], top: int, lag: int = LAG, most: int = MOST_LINKS) -> list[int]:
    """A link and what it carries, by level, down to ``lag`` levels and at most ``most`` links."""
    out = level = [top]
    for _ in range(lag):
        level = [child for link in level for child in links[link].children]
        out = out + level
    return out[:most]


def cover(links: Sequence[Link], core: int = CORE, most: int = NEIGHBOURHOOD) -> list[list[int]]:
    """Overlapping groups of neighbouring links that cover the tree.

    The cores of the groups, at most ``core`` connected links each, contain every link once; a group
    is a core and the links nearest to it, at most ``most`` together.
    """
    near = [
        [*link.children] if link.parent < 0 else [link.parent, *link.children] for link in links
    ]
    taken = [False] * len(links)
    out = []
    for first in range(len(links)):
        if taken[first]:
            continue
        members = [first]
        taken[first] = True
        for member in members:  # grows while it is walked
            for other in near[member]:
                if len(members) < core and not taken[other]:
                    members.append(other)
                    taken[other] = True
        for member in members:
            for other in near[member]:
                if len(members) < most and other not in members:
                    members.append(other)
        out.append(sorted(members))
    return out


def solve_window(
    members: Sequence[Link], F: Array, g: Array, u: Sequence[Array], *, pulled: bool = False
) -> StepSolution:
    """Minimise ½ |F u - g|² plus the links' own parts, within their conditions.

    F : (n_rows, n_u) of all members. u : where to start.
    pulled : whether F and g contain the rows of the pulls already.
    """
    rows, targets = [F], [g]
    conditions = []
    at = 0
    for link in members:
        if not pulled and len(link.wish):
            own = np.zeros((len(link.wish), F.shape[1]))
            own[:, at : at + link.size] = link.pull
            rows.append(own)
            targets.append(link.wish)
        conditions.extend(moved(link.conditions, at))
        at += link.size
    if at == 0:
        empty = tuple(np.zeros(0) for _ in members)
        return StepSolution(empty, tuple(() for _ in members), 0)
    A, b = np.vstack(rows), np.concatenate(targets)
    if len(A) > 2 * at:
        factor = triangle(np.column_stack([A, b]))
        A, b = factor[:, :-1], factor[:, -1]
    slope = np.concatenate([link.slope for link in members])
    try:
        found = minimise(A, b, slope, conditions, np.concatenate(list(u)))
    except EstimationError as trouble:
        names = ", ".join(f"'{link.name}'" for link in members)
        raise EstimationError(f"the fit of {names} failed: {trouble}") from None
    parts, duals = [], []
    at = seen = 0
    for link in members:
        parts.append(found.x[at : at + link.size].copy())
        duals.append(tuple(found.duals[seen : seen + len(link.conditions)]))
        at += link.size
        seen += len(link.conditions)
    return StepSolution(tuple(parts), tuple(duals), found.iterations)
