"""Sequential fits of resampled time blocks, for confidence intervals.

Every resample repeats the whole pass from the leaves to the root, so that what is uncertain about
outer links, and what their conditions do to it, reaches the intervals of the inner ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.parallel._packing import packed_blocks, unpacked_blocks
from steelyard.estimators.parallel.workers import Shared, Solver
from steelyard.estimators.sequential.inward import fit_inward
from steelyard.estimators.sequential.links import Link, LinkLayout, WeakPull, links_of
from steelyard.estimators.sequential.paper import fit_paper
from steelyard.estimators.sequential.sweeps import Sweeper, whole_fit
from steelyard.regression.regression import Regression, triangle

Array = NDArray[np.float64]
SWEEPS = 2
"""Sweeps that refine the fit of a resample."""


def shared_arrays(
    regression: Regression,
    fit: ConstrainedFit,
    layout: LinkLayout,
    pull: WeakPull,
    typical: Array,
    rows: Sequence[Sequence[int]] = (),
) -> dict[str, NDArray[Any]]:
    """What a helper process needs to fit resampled blocks.

    rows : the row groups of each link's joint, for the published method.
    """
    out: dict[str, NDArray[Any]] = {
        "K": regression.base.K,
        "names": np.array(layout.names),
        "first": layout.first,
        "rows": layout.rows,
        "parent": layout.parent,
        "typical": typical,
        "weights": pull.weights,
        "towards": pull.towards,
        "scale": pull.scale,
        **packed_blocks(fit.blocks),
    }
    if rows:
        for g, (group, factors) in enumerate(
            zip(regression.groups, regression.factors, strict=True)
        ):
            out[f"group{g}"] = factors * (fit.weights[g] / fit.sigma)
            out[f"base{g}"] = np.array(group.columns, dtype=np.int64)
        for i, groups in enumerate(rows):
            out[f"joint{i}"] = np.array(groups, dtype=np.int64)
        return out
    small = [
        triangle(regression.block_rows(block, fit.weights)) / fit.sigma
        for block in range(len(regression.keys))
    ]
    out["small"] = np.array(small)
    return out


def _links(given: dict[str, NDArray[Any]]) -> tuple[Link, ...]:
    layout = LinkLayout(
        tuple(given["names"].tolist()), given["first"], given["rows"], given["parent"]
    )
    pull = WeakPull(given["weights"], given["towards"], given["scale"])
    return links_of(layout, given["typical"], unpacked_blocks(given), pull)


def sequential_solver(shared: Shared) -> Solver:
    """Solver from counts of drawn blocks (n_blocks,) to base parameters (n_base,) or NaN."""
    given: dict[str, NDArray[Any]] = dict(shared)
    small, K, links = given["small"], given["K"], _links(given)

    def beta(draw: Array) -> Array:
        rows = np.sqrt(draw)[:, None, None] * small
        factor = triangle(rows[draw > 0].reshape(-1, rows.shape[2]))
        R, z = factor[:-1, :-1], factor[:-1, -1]
        try:
            fit = fit_inward(R, z, K, links)
            sweeper = Sweeper(whole_fit(R, z, K, links))
            for k in range(SWEEPS):
                fit = sweeper.sweep(fit, outward=k % 2 == 0)
        except EstimationError:
            return np.full(len(K), np.nan)
        return np.asarray(K @ fit.theta(links))

    return beta


def paper_solver(shared: Shared) -> Solver:
    """The same for the published method."""
    given: dict[str, NDArray[Any]] = dict(shared)
    K, links = given["K"], _links(given)
    rows = [tuple(given[f"joint{i}"].tolist()) for i in range(len(links))]
    n_groups = sum(name.startswith("group") for name in given)
    columns = [tuple(given[f"base{g}"].tolist()) for g in range(n_groups)]

    def beta(draw: Array) -> Array:
        root = np.sqrt(draw)[:, None, None]
        factors = {}
        for g in range(n_groups):
            blocks = (root * given[f"group{g}"])[draw > 0]
            factors[g] = triangle(blocks.reshape(-1, blocks.shape[2]))
        try:
            fit = fit_paper(rows, columns, factors, K, links)
        except EstimationError:
            return np.full(len(K), np.nan)
        return np.asarray(K @ fit.theta(links))

    return beta
