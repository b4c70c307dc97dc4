"""How well parts of a log are predicted from the rest of it.

A log is split into parts of neighbouring time blocks with about as many torque values each. Each
part is predicted by a fit to all others: weighted least squares, with a slight pull to the robot
file's inertials that keeps undetermined parameters small. What is fitted and what is predicted may
be prepared in different ways: filters are compared by how well they predict unfiltered torque.

All torque channels are compared, for robots of usual size (see `steelyard.estimators.size_rules`).
A comparison compresses the log some twenty times, each time with an effort that grows with the cube
of the number of joints in a chain. Robots with many parameters are therefore compared on the joints
that carry the fewest links: filters and friction widths are shared by all joints or, as a share of
each joint's own speed, set for each of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.prior_weight import SAME, as_good_as_the_best, parts_of
from steelyard.estimators.size_rules import has_many
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Model
from steelyard.model.typical_sizes import known_parameters, parameter_scale
from steelyard.regression.regression import Regression, triangle
from steelyard.regression.row_mixing import RowMixing
from steelyard.regression.torque_rows import row_groups

Array = NDArray[np.float64]

MOST_COLUMNS = 100
"""Base parameters that the compared channels of a robot with many parameters depend on,
together."""


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """The rows that are compared.

    rows : their indices among the model's channels, increasing. base : the base parameters that
    affect them. mixing : that selects them; None for all.
    """

    rows: tuple[int, ...]
    base: BaseMap
    mixing: RowMixing | None = None


def compared_rows(model: Model, base: BaseMap, measured: Collection[str]) -> ComparedRows:
    """All channels of a robot with few parameters, the outermost measured ones of a larger one.

    measured : names of the channels with torques.
    """
    channels = row_groups(model, base)
    everything = ComparedRows(tuple(range(len(channels))), base)
    if not has_many(len(model.columns)):
        return everything
    chosen: list[int] = []
    columns: set[int] = set()
    for row in sorted(range(len(channels)), key=lambda row: len(channels[row].columns)):
        if channels[row].name not in measured:
            continue
        both = columns | set(channels[row].columns)
        if chosen and len(both) > MOST_COLUMNS:
            break
        chosen.append(row)
        columns = both
    if not chosen:
        return everything
    kept, rows = sorted(columns), sorted(chosen)
    smaller = replace(base, independent=tuple(base.independent[k] for k in kept), K=base.K[kept])
    names = tuple(channels[row].name for row in rows)
    return ComparedRows(tuple(rows), smaller, RowMixing(names, np.eye(len(channels))[rows]))


@dataclass(frozen=True, eq=False)
class Parts:
    """One way to prepare a log, as factors of its parts.

    channels : per channel (n_parts, n + 1, n + 1) of [W tau], n the number of its columns, weighted
        by its noise. columns : of each channel, as indices of base parameters. counts : (n_parts,
        n_channels) torque values. n_base : number of base parameters.
    """

    channels: tuple[Array, ...]
    columns: tuple[tuple[int, ...], ...]
    counts: Array
    n_base: int

    @cached_property
    def whole(self) -> Array:
        """Factors (n_parts, n_base + 1, n_base + 1) of all channels' rows."""
        n, stacked = self.n_base, []
        for factors, own in zip(self.channels, self.columns, strict=True):
            spread = np.zeros((*factors.shape[:2], n + 1))
            spread[:, :, [*own, n]] = factors
            stacked.append(spread)
        rows = np.concatenate(stacked, axis=1)
        short = max(n + 1 - rows.shape[1], 0)
        return triangles(np.pad(rows, ((0, 0), (0, short), (0, 0))))


def part_edges(regression: Regression) -> NDArray[np.int64]:
    """Numbers (n_parts - 1,) of the time blocks at which a new part of this run starts."""
    groups = parts_of(regression.counts.sum(axis=1))
    return np.array([regression.keys[group[0]][1] for group in groups[1:]], dtype=np.int64)


def part_members(regression: Regression, edges: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The blocks of each part, between these `part_edges`; refuses parts without any."""
    part = np.searchsorted(edges, [number for _, number in regression.keys], side="right")
    members = [np.flatnonzero(part == k) for k in range(len(edges) + 1)]
    if not all(len(one) for one in members):
        raise EstimationError("a part of the log has no torque values after this processing")
    return members


def parts_from(regression: Regression, sigma: Array, members: Sequence[NDArray[np.int64]]) -> Parts:
    """The parts of a regression.

    sigma : (n_channels,) noise of each channel, N m or N. members : the blocks of each part.
    """
    channels = channel_factors(regression, sigma, members)
    columns = tuple(group.columns for group in regression.groups)
    counts = np.array([regression.counts[one].sum(axis=0) for one in members], dtype=float)
    return Parts(channels, columns, counts, regression.base.rank)


def channel_factors(
    regression: Regression, sigma: Array, members: Sequence[NDArray[np.int64]]
) -> tuple[Array, ...]:
    """Factors (n_parts, n + 1, n + 1) of each channel over the blocks of each part, weighted."""
    return tuple(
        np.array([triangle(blocks[one].reshape(-1, blocks.shape[2]) / s) for one in members])
        for blocks, s in zip(regression.factors, sigma, strict=True)
    )


def triangles(rows: Array) -> Array:
    """Triangular factors (n_parts, n, n) of rows (n_parts, at least n, n)."""
    return np.asarray(np.linalg.qr(rows, mode="r"), dtype=float)


def pull_rows(model: Model, K: Array) -> Array:
    """Rows (n_base, n_base + 1) that draw base parameters to those of the robot file.

    A parameter that differs by its typical size counts as much as one torque that differs by its
    noise.
    """
    size = np.sqrt(K**2 @ parameter_scale(model) ** 2)
    size = np.where(size > 0.0, size, 1.0)
    return np.column_stack([np.diag(1.0 / size), K @ known_parameters(model) / size])


def left_out_squares(fitted: Parts, predicted: Parts, pull: Array) -> Array:
    """Sums (n_parts, n_channels) of squared errors of each part, in units of the noise."""
    from scipy.linalg import solve_triangular

    out = np.zeros((len(fitted.whole), len(predicted.channels)))
    for k in range(len(out)):
        R = triangle(np.vstack([*np.delete(fitted.whole, k, axis=0), pull]))
        # of full rank: ``pull`` has a row for each parameter
        beta = solve_triangular(R[:-1, :-1], R[:-1, -1], check_finite=False)
        for c, columns in enumerate(predicted.columns):
            error = predicted.channels[c][k] @ np.append(beta[list(columns)], -1.0)
            out[k, c] = error @ error
    return out


def scores(squares: Array, counts: Array, channels: Sequence[int] | None = None) -> Array:
    """Mean squared error (n_parts,) of each part, over all or some channels."""
    chosen = slice(None) if channels is None else list(channels)
    n = np.maximum(counts[:, chosen].sum(axis=1), 1.0)
    return np.asarray(squares[:, chosen].sum(axis=1) / n)


def best_of(trials: Sequence[Array], preferred: int, same: float = SAME) -> int:
    """The trial (n_parts,) with the smallest mean; ``preferred`` if it is as good.

    As good: worse by at most one standard error of the difference, or a share ``same`` of the best.
    """
    given = np.array(trials)
    good, _ = as_good_as_the_best(given, same)
    return preferred if good[preferred] else int(np.nanargmin(given.mean(axis=1)))
