"""The sound sequential fit: from the leaves inward on the global triangular factor.

R is the triangular factor of all torque rows together, with columns from the inner links to the
outer ones. Its block row of link i holds what *all* joints say about link i and the links after it
once the parameters of every inner link are left free (they are projected out by the factorisation).
A step fits link i, together with the links that it carries up to `LAG` levels, to the block rows
from i on; links further out stay at their values. Without conditions this is back-substitution, and
exact. With conditions it is not optimal, because a step does not know what inner links can
physically make up for; `steelyard.estimators.sequential.sweeps` repairs that.

Each step works on a bounded number of columns and on the rows between its first and last link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.sequential.links import Link
from steelyard.estimators.sequential.window import LAG, solve_window, window

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinkwiseFit:
    """Values and duals of every link.

    u : of each link. duals : of each link's conditions.
    step_sizes : (n_rows, n_variables) of the problem of every step that was solved.
    n_clarabel : how many steps, those of sweeps included, Clarabel solved.
    """

    u: tuple[Array, ...]
    duals: tuple[tuple[Array, ...], ...]
    step_sizes: tuple[tuple[int, int], ...] = ()
    n_clarabel: int = 0

    def theta(self, links: Sequence[Link]) -> Array:
        """Standard parameters (n_columns,)."""
        return np.concatenate([link.theta(u) for link, u in zip(links, self.u, strict=True)])


def fit_inward(
    R: Array, z: Array, K: Array, links: Sequence[Link], *, lag: int = LAG
) -> LinkwiseFit:
    """One pass from the last link to the first.

    R : (n_base, n_base) upper triangular and z : (n_base,), in units of the noise.
    """
    u = [link.start.copy() for link in links]
    duals: list[tuple[Array, ...]] = [() for _ in links]
    turned: dict[int, Array] = {}  # K turn of each link, up to its last row
    used: dict[int, NDArray[np.int64]] = {}  # and its rows that are not zero
    beta = K @ np.concatenate([link.origin for link in links])
    sizes, n_clarabel = [], 0
    for top in range(len(links) - 1, -1, -1):
        link = links[top]
        end = link.rows.stop
        turned[top] = K[:end, link.columns] @ link.turn
        used[top] = np.flatnonzero(np.any(turned[top] != 0.0, axis=1))
        beta[:end] += turned[top] @ u[top]
        members = window(links, top, lag)
        low = link.rows.start
        high = max(links[k].rows.stop for k in members)
        blocks = []
        for k in members:
            rows = used[k][np.searchsorted(used[k], low) :]
            blocks.append(R[low:high, rows] @ turned[k][rows])
        F = np.hstack(blocks)
        before = np.concatenate([u[k] for k in members])
        g = z[low:high] - R[low:high, low:] @ beta[low:] + F @ before
        found = solve_window([links[k] for k in members], F, g, [u[k] for k in members])
        for k, new, dual in zip(members, found.u, found.duals, strict=True):
            beta[: len(turned[k])] += turned[k] @ (new - u[k])
            u[k], duals[k] = new, dual
        sizes.append(F.shape)
        n_clarabel += found.by_clarabel
    return LinkwiseFit(tuple(u), tuple(duals), tuple(sizes), n_clarabel)
