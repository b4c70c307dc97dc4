"""Refinement: sweeps over groups of links, now with all rows, which converge to the optimum.

The objective is convex and its conditions are separate for each link, so that minimising over
overlapping groups of links in turn (block coordinate descent) converges to the simultaneous
optimum, and no step makes the fit worse. The residual r = z - R K theta is kept up to date; of a
group's columns G only the triangular factor T of [G; pulls] is needed, since

    ½ |G u - r - G u0|² + ½ |pull u - wish|² = ½ |T u - h|² + constant,
    h = T u0 + T⁻ᵀ (Gᵀ r + pullᵀ (wish - pull u0)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.row_panels import times_columns
from steelyard.errors import EstimationError
from steelyard.estimators.sequential.inward import LinkwiseFit
from steelyard.estimators.sequential.links import Link
from steelyard.estimators.sequential.window import cover, solve_window
from steelyard.regression.regression import triangle

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WholeFit:
    """The problem on all links: residual z - G u.

    G : (n_base, n_u) in the links' own coordinates. z : (n_base,) less what the origins explain.
    places : the slice of u of every link.
    """

    G: Array
    z: Array
    places: tuple[slice, ...]
    links: tuple[Link, ...]

    def residual(self, u: Sequence[Array]) -> Array:
        """z - G u (n_base,)."""
        return np.asarray(self.z - self.G @ np.concatenate(list(u)))

    def value(self, u: Sequence[Array]) -> float:
        """The objective of `steelyard.estimators.sequential.links`."""
        residual = self.residual(u)
        own = sum(link.value(one) for link, one in zip(self.links, u, strict=True))
        return 0.5 * float(residual @ residual) + own


def whole_fit(R: Array, z: Array, K: Array, links: Sequence[Link]) -> WholeFit:
    """All links together, from the triangular factor."""
    places, at = [], 0
    for link in links:
        places.append(slice(at, at + link.size))
        at += link.size
    G = np.zeros((K.shape[0], at))
    columns = times_columns(R, K)
    for link, place in zip(links, places, strict=True):
        end = link.rows.stop  # R K is block upper triangular
        G[:end, place] = columns[:end, link.columns] @ link.turn
    origin = np.concatenate([link.origin for link in links])
    return WholeFit(G, z - R @ (K @ origin), tuple(places), tuple(links))


class Sweeper:
    """Sweeps over overlapping groups of links, with the factors that all sweeps share."""

    def __init__(self, whole: WholeFit) -> None:
        self.whole = whole
        self.groups = cover(whole.links)
        self.factors = [self._factor(members) for members in self.groups]

    def _factor(self, members: Sequence[int]) -> Array:
        links = [self.whole.links[k] for k in members]
        last = max(link.rows.stop for link in links)
        G = np.hstack([self.whole.G[:last, self.whole.places[k]] for k in members])
        rows, at = [G], 0
        for link in links:
            own = np.zeros((len(link.wish), G.shape[1]))
            own[:, at : at + link.size] = link.pull
            rows.append(own)
            at += link.size
        return triangle(np.vstack(rows))

    def sweep(self, fit: LinkwiseFit, *, outward: bool) -> LinkwiseFit:
        """One step of every group, from the first link outward or from the last inward.

        A step that fails, or that rounding makes worse, leaves its links as they are.
        """
        whole = self.whole
        u, duals, n_clarabel = list(fit.u), list(fit.duals), fit.n_clarabel
        residual = whole.residual(u)
        order = range(len(self.groups))
        for at in order if outward else reversed(order):
            members = self.groups[at]
            links = [whole.links[k] for k in members]
            before = [u[k] for k in members]
            if not sum(link.size for link in links):
                continue
            T = self.factors[at]
            start = np.concatenate(before)
            force = np.concatenate(
                [
                    whole.G[:, whole.places[k]].T @ residual
                    + link.pull.T @ (link.wish - link.pull @ u[k])
                    for k, link in zip(members, links, strict=True)
                ]
            )
            h = T @ start + _forward(T, force)
            try:
                found = solve_window(links, T, h, before, pulled=True)
            except EstimationError:
                continue
            if _value(T, h, links, found.u) > _value(T, h, links, before):
                continue
            n_clarabel += found.by_clarabel
            for k, new, dual in zip(members, found.u, found.duals, strict=True):
                residual -= whole.G[:, whole.places[k]] @ (new - u[k])
                u[k], duals[k] = new, dual
        return LinkwiseFit(tuple(u), tuple(duals), fit.step_sizes, n_clarabel)


def _value(T: Array, h: Array, links: Sequence[Link], u: Sequence[Array]) -> float:
    """Objective of a group, up to a constant; its pulls are in T."""
    away = T @ np.concatenate(list(u)) - h
    pulls = 0.0
    for link, one in zip(links, u, strict=True):
        drawn = link.pull @ one - link.wish
        pulls += link.value(one) - 0.5 * float(drawn @ drawn)
    return 0.5 * float(away @ away) + pulls


def _forward(T: Array, right: Array) -> Array:
    """T⁻ᵀ right; of least norm where T is singular."""
    from scipy.linalg import solve_triangular

    diagonal = np.abs(np.diag(T))
    if T.shape[0] == T.shape[1] and diagonal.min() > 1e-14 * diagonal.max():
        return np.asarray(solve_triangular(T, right, trans=1, check_finite=False))
    return np.asarray(np.linalg.lstsq(T.T, right, rcond=None)[0])
