"""The least-squares problem, compressed from samples to triangular factors.

A joint's torque involves only the links it carries, so each torque row (a *row group*) has
its own small factor of [W_g, tau_g], on base columns only. Samples are taken in time blocks on
a fixed grid, one factor per group and block, and then discarded: memory does not grow with
the length of the log, weights per group are chosen afterwards, and the blocks give
cluster-robust covariances. For every block

    RᵀR = [W tau]ᵀ[W tau].

Known columns besides those of the model (`ExtraColumns`) are placed between W and tau.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RegressionError, listed
from steelyard.model.base_map import BaseMap
from steelyard.regression._staircase import staircase_triangle
from steelyard.regression.equation import TORQUE, Equation
from steelyard.regression.pooled import PooledBlocks
from steelyard.signals.run_record import RunRecord

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

STAIRCASE_FROM = 200
"""Base parameters from which the factors of all groups are joined group by group: with fewer, one
QR of all their rows takes less time."""


@dataclass(frozen=True)
class RowGroup:
    """Rows of one torque channel, or of energy, and the base parameters (by index) that affect
    them.
    """

    name: str
    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Regression:
    """Triangular factors keyed by row group, run and time block.

    base : the base parameters, which are the columns.
    groups : the torque channels; a single group for energy or power.
    block_s : length of a time block, s; block k of a run holds k <= time / block_s < k + 1.
    keys : (run, k) of every block, sorted.
    factors : per group (n_blocks, n + n_extra + 1, n + n_extra + 1), upper triangular, of
        [W_g extra_g tau_g] where n is the group's number of columns; (1, ...) over all blocks where
        these are pooled. The unit of the equation (N m
        or N for torques) over that of the columns; in rows of energy or power, tau stands for the
        work of the torques, in J, or their mean power, in W.
    counts : (n_blocks, n_groups) rows that went into each factor.
    extra : names of the extra columns; usually none.
    runs : what was done to the log of each run, where it was prepared from one.
    equation : what the rows state.
    pooled : the factors of the blocks over all groups, for robots with very many columns.
    """

    base: BaseMap
    groups: tuple[RowGroup, ...]
    block_s: float
    keys: tuple[tuple[str, int], ...]
    factors: tuple[Array, ...]
    counts: IntArray
    runs: tuple[RunRecord, ...] = ()
    extra: tuple[str, ...] = ()
    equation: Equation = TORQUE
    pooled: PooledBlocks | None = None

    def __repr__(self) -> str:
        runs = listed(dict.fromkeys(run for run, _ in self.keys))
        return (
            f"<Regression: {self.n_rows} {self.equation.kind.values}"
            f"{f' of {len(self.groups)} channels' if self.equation.of_joints else ''} on "
            f"{self.base.rank} base parameters, in {len(self.keys)} time blocks of {runs}>"
        )

    @property
    def model_hash(self) -> str:
        """Hash of the model whose regressor this is."""
        return self.base.model_hash

    @property
    def n_rows(self) -> int:
        """Number of torque values, or other rows, that went in."""
        return int(self.counts.sum())

    @cached_property
    def group_factors(self) -> tuple[Array, ...]:
        """One factor (n + n_extra + 1, n + n_extra + 1) per group, over all blocks."""
        if self.pooled is not None:
            return tuple(blocks[0] for blocks in self.factors)
        return tuple(triangle(blocks.reshape(-1, blocks.shape[2])) for blocks in self.factors)

    def block_rows(self, block: int, weights: Array) -> Array:
        """Rows (n_rows, n_base + 1) equivalent to the samples of one block, groups weighted."""
        if self.pooled is not None:
            return self.pooled.rows(block, weights)
        if not self._in_steps:
            return self._spread([factors[block] for factors in self.factors], weights)
        # several estimators ask for the same: those of the last weights are kept
        key = np.asarray(weights).tobytes()
        if key not in self._kept_rows:
            self._kept_rows.clear()
        kept = self._kept_rows.setdefault(key, {})
        if block not in kept:
            kept[block] = self._rows([factors[block] for factors in self.factors], weights)
            kept[block].setflags(write=False)
        return kept[block]

    @cached_property
    def _kept_rows(self) -> dict[bytes, dict[int, Array]]:
        return {}

    def system(self, weights: Array | None = None) -> Array:
        """Triangular factor (n_base + 1, n_base + 1) of all of [W tau], groups weighted.

        weights : (n_groups,) in 1/(N m); None for ones. Refuses a regression with extra columns,
        which only their own estimator can use.
        """
        weights = np.ones(len(self.groups)) if weights is None else weights
        rows = self._rows(self.group_factors, weights)
        return rows if self._in_steps else triangle(rows)

    @property
    def _in_steps(self) -> bool:
        return self.base.rank >= STAIRCASE_FROM and not self.extra

    def _rows(self, factors: Sequence[Array], weights: Array) -> Array:
        """Rows equivalent to those of all groups, weighted; few columns: the groups' own rows, many
        columns: a triangular factor of them.
        """
        if not self._in_steps:
            return self._spread(factors, weights)
        columns = [group.columns for group in self.groups]
        return staircase_triangle(factors, columns, weights, self.base.rank)

    def _spread(self, factors: Iterable[Array], weights: Array) -> Array:
        if self.extra:
            raise RegressionError(
                f"this regression has extra columns, {listed(self.extra)}, that an estimator of "
                "base parameters cannot use: compress the runs without them"
            )
        n_base = self.base.rank
        pieces = []
        for group, factor, weight in zip(self.groups, factors, weights, strict=True):
            rows = np.zeros((len(factor), n_base + 1))
            rows[:, [*group.columns, n_base]] = weight * factor
            pieces.append(rows)
        return np.vstack(pieces)


def triangle(rows: Array) -> Array:
    """Square upper triangular factor of ``rows``, padded with zeros if they are few."""
    n = rows.shape[1]
    R: Array = np.linalg.qr(rows, mode="r")  # type: ignore[assignment]
    return R if len(R) == n else np.vstack([R, np.zeros((n - len(R), n))])


def check_rows(groups: tuple[RowGroup, ...], counts: IntArray) -> None:
    """Refuse a regression in which no torque is left."""
    if counts.sum() == 0:
        names = ", ".join(group.name for group in groups)
        raise RegressionError(f"no torque value of {names} can be used: all are missing")


def check_finite(groups: tuple[RowGroup, ...], factors: tuple[Array, ...]) -> None:
    """Refuse numbers whose squares overflow."""
    for group, blocks in zip(groups, factors, strict=True):
        with np.errstate(over="ignore"):
            finite = np.isfinite(np.vdot(blocks, blocks))
        if not finite:
            raise RegressionError(
                f"the torque or the motion of '{group.name}' is too large to work with (its "
                "squares overflow): look for a spike or a wrong unit in the log"
            )


def check_alike(regressions: Sequence[Regression]) -> None:
    """Refuse regressions whose rows or columns are not the same."""
    first = regressions[0]
    for other in regressions[1:]:
        if other.equation != first.equation:
            raise RegressionError(
                "regressions of different equations cannot be merged: "
                f"{first.equation.words}, and {other.equation.words}"
            )
        if other.model_hash != first.model_hash or other.base.names != first.base.names:
            raise RegressionError(
                "regressions of different models cannot be merged: their robots, terms or friction "
                'widths differ; identify with the same friction_width, and with admit="none"'
            )
        if (other.pooled is None) != (first.pooled is None) or (
            first.pooled is not None
            and not np.array_equal(_pooled(other).weights, first.pooled.weights)
        ):
            raise RegressionError(
                "regressions whose time blocks are pooled can only be merged if all are, with the "
                "same weights: compress the runs together"
            )
        if other.extra != first.extra:
            raise RegressionError(
                "regressions with different extra columns cannot be merged: "
                f"{listed(first.extra)}, and {listed(other.extra)}"
            )
        if other.groups != first.groups:
            raise RegressionError(
                "regressions with different torque rows cannot be merged: "
                f"{listed(g.name for g in first.groups)}, and "
                f"{listed(g.name for g in other.groups)}, which may be other sums of the "
                "joints' torques"
            )


def merge(regressions: Iterable[Regression]) -> Regression:
    """One regression from several, over the union of their runs and blocks.

    Grids that differ by a power of two are brought to the coarsest; a block that occurs
    twice (a run that was cut within it) is joined. Records of runs stay in the order given.
    """
    given = list(regressions)
    if not given:
        raise RegressionError("there is nothing to merge")
    check_alike(given)
    first = given[0]
    if len(given) == 1:  # nothing to join: a copy would double the memory
        return first
    longest = max(regression.block_s for regression in given)
    gathered: dict[tuple[str, int], list[tuple[Regression, int]]] = {}
    for regression in given:
        ratio = longest / regression.block_s
        if ratio != 2.0 ** round(np.log2(ratio)):
            raise RegressionError(
                f"time blocks of {regression.block_s:g} s do not fit into blocks of "
                f"{longest:g} s: choose lengths that differ by powers of two"
            )
        for index, (run, k) in enumerate(regression.keys):
            gathered.setdefault((run, int(k // ratio)), []).append((regression, index))
    keys = tuple(sorted(gathered))
    counts = np.array([sum(r.counts[i] for r, i in gathered[key]) for key in keys])
    runs = tuple(run for regression in given for run in regression.runs)
    merged = replace(first, block_s=longest, keys=keys, counts=counts, runs=runs)
    if first.pooled is not None:
        blocks = [joined([_pooled(r).factors[i] for r, i in gathered[key]]) for key in keys]
        factors = tuple(
            joined([r.factors[g][0] for r in given])[None] for g in range(len(first.groups))
        )
        pooled = replace(first.pooled, factors=np.array(blocks))
        return replace(merged, factors=factors, pooled=pooled)
    factors = tuple(
        np.array([joined([r.factors[g][i] for r, i in gathered[key]]) for key in keys])
        for g in range(len(first.groups))
    )
    return replace(merged, factors=factors)


def _pooled(regression: Regression) -> PooledBlocks:
    assert regression.pooled is not None
    return regression.pooled


def joined(factors: list[Array]) -> Array:
    """One factor from several; a single one is returned unchanged, to the last bit."""
    return factors[0] if len(factors) == 1 else triangle(np.vstack(factors))
