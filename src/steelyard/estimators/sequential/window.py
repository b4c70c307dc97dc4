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

from steelyard.conic.either_solver import minimise_by_either
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
UNLIKE = 30.0
"""Torques that are larger or smaller than usual ones by this factor hint at other units."""


@dataclass(frozen=True, eq=False)
class StepSolution:
    """u and the duals of the conditions, for each link of a window; whether Clarabel found them."""

    u: tuple[Array, ...]
    duals: tuple[tuple[Array, ...], ...]
    iterations: int
    by_clarabel: bool = False


def window(links: Sequence[Link], top: int, lag: int = LAG, most: int = MOST_LINKS) -> list[int]:
    """A link and what it carries, by level, down to ``lag`` levels and at most ``most`` links.

    Links that a mimic joint or a coupling ties to one of these count as carried by it, unless their
    own step is still to come.
    """
    out = level = [top]
    for _ in range(lag):
        reached: dict[int, None] = {}
        for link in level:
            later = [other for other in links[link].tied if other > top]
            reached.update(dict.fromkeys((*later, *links[link].children)))
        level = [link for link in reached if link not in out]
        out = out + level
    return out[:most]


def cover(links: Sequence[Link], core: int = CORE, most: int = NEIGHBOURHOOD) -> list[list[int]]:
    """Overlapping groups of neighbouring links that cover the tree; one if ``most`` links are all.

    The cores of the groups, at most ``core`` connected links each, contain every link once; a group
    is a core and the links nearest to it, at most ``most`` together. Neighbours are the links on
    both sides of a joint, and those that a mimic joint or a coupling ties.
    """
    if len(links) <= most:
        return [list(range(len(links)))]
    near = [
        [*link.tied, *([link.parent] if link.parent >= 0 else []), *link.children] for link in links
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
    By the interior-point method, or by Clarabel if that does not converge.
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
        found = minimise_by_either(A, b, slope, conditions, np.concatenate(list(u)))
    except EstimationError as trouble:
        names = ", ".join(f"'{link.name}'" for link in members)
        cause = _unlike(F, g, members)
        raise EstimationError(f"the fit of {names} failed{cause} ({trouble})") from None
    parts, duals = [], []
    at = seen = 0
    for link in members:
        parts.append(found.x[at : at + link.size].copy())
        duals.append(tuple(found.duals[seen : seen + len(link.conditions)]))
        at += link.size
        seen += len(link.conditions)
    return StepSolution(tuple(parts), tuple(duals), found.iterations, found.by_clarabel)


def _unlike(F: Array, g: Array, members: Sequence[Link]) -> str:
    """By how much the measured torques differ from those of the links' usual values, if much."""
    usual = float(np.linalg.norm(F @ np.concatenate([link.start for link in members])))
    measured = float(np.linalg.norm(g))
    if not (usual > 0.0 and measured > 0.0) or 1.0 / UNLIKE < measured / usual < UNLIKE:
        return ", although its torques are of usual size: try the method 'feasible'"
    return (
        f": what the torques say about it is {measured / usual:.1g} times the size of what bodies "
        "of the size in the robot file would give. Are torques in N m, forces in N, lengths in m "
        "and masses in kg?"
    )
