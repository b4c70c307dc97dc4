"""The compressed least-squares problem: samples go in, triangular factors stay.

A joint's torque involves only the links it carries, so each torque row (a *row group*) has
its own small factor of [W_g, tau_g], on base columns only. Samples are taken in time blocks on
a fixed grid, one factor per group and block, and then forgotten: memory does not grow with
the length of the log, weights per group are chosen afterwards, and the blocks give
cluster-robust covariances. For every block

    RᵀR = [W tau]ᵀ[W tau].
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RegressionError
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.kernels import fill_regressor, state_arrays
from steelyard.model.model import Model, check_joint_names
from steelyard.regression._lapack import PANEL, absorb_rows
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.run_record import RunRecord

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

MAX_BLOCKS = 64  # per run, above which neighbours are joined: between 32 and 64 remain
MAX_FACTOR_BYTES = 512 * 2**20
# Samples absorbed at a time, counted from the start of a block. Not a power of two: columns
# would then lie in the same few places of the cache.
PIECE = 1000


@dataclass(frozen=True)
class RowGroup:
    """A torque channel and the base parameters (by index) that can reach it."""

    name: str
    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Regression:
    """Triangular factors keyed by row group, run and time block.

    base : the base parameters, which are the columns.
    groups : the torque channels.
    block_s : length of a time block, s; block k of a run holds k <= time / block_s < k + 1.
    keys : (run, k) of every block, sorted.
    factors : per group (n_blocks, n + 1, n + 1), upper triangular, of [W_g tau_g] where n is
        the group's number of columns. N m (N) times the columns' units.
    counts : (n_blocks, n_groups) rows that went into each factor.
    runs : what was done to the log of each run, where it was prepared from one.
    """

    base: BaseMap
    groups: tuple[RowGroup, ...]
    block_s: float
    keys: tuple[tuple[str, int], ...]
    factors: tuple[Array, ...]
    counts: IntArray
    runs: tuple[RunRecord, ...] = ()

    @property
    def model_hash(self) -> str:
        """Hash of the model whose regressor this is."""
        return self.base.model_hash

    @property
    def n_rows(self) -> int:
        """Number of torque values that went in."""
        return int(self.counts.sum())

    @cached_property
    def group_factors(self) -> tuple[Array, ...]:
        """One factor (n + 1, n + 1) per group, over all blocks."""
        return tuple(triangle(blocks.reshape(-1, blocks.shape[2])) for blocks in self.factors)

    def block_rows(self, block: int, weights: Array) -> Array:
        """Rows (n_rows, n_base + 1) that stand for one block, groups weighted."""
        return self._spread([factors[block] for factors in self.factors], weights)

    def system(self, weights: Array | None = None) -> Array:
        """Triangular factor (n_base + 1, n_base + 1) of all of [W tau], groups weighted.

        weights : (n_groups,) in 1/(N m); None for ones.
        """
        weights = np.ones(len(self.groups)) if weights is None else weights
        return triangle(self._spread(self.group_factors, weights))

    def _spread(self, factors: Iterable[Array], weights: Array) -> Array:
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


def compress(
    model: Model,
    motion: Motion,
    measurements: Measurements,
    *,
    base: BaseMap | None = None,
    block_s: float | None = None,
    correlation_s: float = 0.0,
    threads: int = 1,
    record: RunRecord | None = None,
) -> Regression:
    """Compress one recording.

    block_s : length of the time blocks in s; by default the power of two (of seconds) that
        gives 32 to 64 blocks. Recordings to be merged may differ by powers of two.
    correlation_s : time (s) over which residuals resemble each other, such as 1.5 periods of a
        low-pass filter's cutoff: blocks are not made shorter, or they would not be independent.
    threads : blocks are independent, and the loops release the interpreter lock.
    record : what was done to the run's log, to be kept with the factors.
    """
    if block_s is None and len(motion) > 1:
        block_s = block_length(float(motion.time[-1] - motion.time[0]), correlation_s)
    return compress_stream(
        model,
        [(motion, measurements)],
        base=base,
        block_s=block_s,
        threads=threads,
        runs=() if record is None else (record,),
    )


def compress_stream(
    model: Model,
    chunks: Iterable[tuple[Motion, Measurements]],
    *,
    base: BaseMap | None = None,
    block_s: float | None = None,
    threads: int = 1,
    runs: Iterable[RunRecord] = (),
) -> Regression:
    """Compress any number of chunks, each forgotten before the next is taken.

    Chunks of one run come in the order of time. Without ``block_s`` blocks start short, and
    neighbours are joined whenever a run has more than 64 of them. runs : what was done to the
    log of each run, to be kept with the factors.
    """
    from threadpoolctl import threadpool_limits

    accumulator = Accumulator(model, base_map(model) if base is None else base, block_s)
    # the matrices are small: LAPACK's own threads would only get in each other's way
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for motion, measurements in chunks:
            accumulator.add(motion, measurements, pool)
        return accumulator.finish(tuple(runs))


def block_length(duration_s: float, correlation_s: float = 0.0) -> float:
    """The power of two (s) that splits this duration into 32 to 64 blocks, or into fewer that
    are no shorter than ``correlation_s``.
    """
    shortest = max(duration_s / MAX_BLOCKS, correlation_s)
    return float(2.0 ** np.ceil(np.log2(shortest))) if shortest > 0.0 else 1.0


def row_groups(model: Model, base: BaseMap) -> tuple[RowGroup, ...]:
    """The base columns that each torque row can see, from the shape of the tree."""
    seen = np.zeros((model.nv, len(model.columns)), dtype=bool)
    mechanism = model.mechanism
    for i, first in enumerate(model.first_column_of_body):
        seen[mechanism.path[i, : mechanism.path_length[i]], first : first + 10] = True
    terms = model.term_arrays
    for k, column in enumerate(terms.column):
        seen[terms.row[terms.start[k] : terms.start[k + 1]], column] = True
    visible = seen[:, list(base.independent)]
    return tuple(
        RowGroup(name, tuple(int(i) for i in np.flatnonzero(visible[row])))
        for row, name in enumerate(model.channels)
    )


@dataclass(eq=False)
class _Block:
    """A block being filled: its factors so far, and samples that wait for company."""

    factors: list[Array]
    counts: IntArray
    waiting: list[tuple[Array, Array, Array, Array]] = field(default_factory=list)


class Accumulator:
    """The one mutable thing here: takes chunks, keeps factors."""

    def __init__(self, model: Model, base: BaseMap, block_s: float | None) -> None:
        if base.model_hash != model.hash:
            raise RegressionError("the base parameters belong to another model")
        if block_s is not None and not (np.isfinite(block_s) and block_s > 0):
            raise RegressionError(f"block_s must be a positive time in s, not {block_s!r}")
        self.model = model
        self.base = base
        self.groups = row_groups(model, base)
        self.fixed_grid = block_s is not None
        self.block_s = 2.0**-6 if block_s is None else float(block_s)
        self.blocks: dict[tuple[str, int], _Block] = {}
        self.last_time: dict[str, float] = {}
        # where the kernel puts the entry of row r and column c: groups side by side,
        # each with its columns and then its torque
        self.slot = np.full((model.nv, len(model.columns)), -1, dtype=np.int64)
        self.start: list[int] = []
        n = 0
        for row, group in enumerate(self.groups):
            self.start.append(n)
            for place, column in enumerate(group.columns):
                self.slot[row, base.independent[column]] = n + place
            n += len(group.columns) + 1
        self.n_slots = n
        factor_bytes = 8 * sum((len(g.columns) + 1) ** 2 for g in self.groups)
        self.max_blocks = max(2, min(MAX_BLOCKS, MAX_FACTOR_BYTES // factor_bytes))

    def add(self, motion: Motion, measurements: Measurements, pool: ThreadPoolExecutor) -> None:
        """Absorb a chunk, block by block."""
        time, q, v, a, tau = self._checked(motion, measurements)
        if len(time) == 0:
            return
        while not self.fixed_grid and time[-1] - time[0] > self.max_blocks * self.block_s:
            self.coarsen()
        block = np.floor(time / self.block_s).astype(np.int64)
        edges = [0, *(np.flatnonzero(np.diff(block)) + 1), len(time)]
        jobs = []
        for begin, end in pairwise(edges):
            key = (motion.run, int(block[begin]))
            if key not in self.blocks:
                self.blocks[key] = self._empty_block()
            samples = (q[begin:end], v[begin:end], a[begin:end], tau[begin:end])
            jobs.append(pool.submit(self._extend, self.blocks[key], samples))
        for job in jobs:
            job.result()
        while not self.fixed_grid and self._count(motion.run) > self.max_blocks:
            self.coarsen()

    def finish(self, runs: tuple[RunRecord, ...] = ()) -> Regression:
        """Absorb what still waits and freeze the factors."""
        for block in self.blocks.values():
            self._absorb_waiting(block, everything=True)
        if not self.blocks:
            raise RegressionError("there are no samples to compress")
        limit = self.max_blocks * max(1, len({run for run, _ in self.blocks}))
        if self.fixed_grid and len(self.blocks) > 16 * limit:
            raise RegressionError(
                f"{len(self.blocks)} time blocks of {self.block_s:g} s are too many to keep: "
                "choose a longer block_s, or none"
            )
        keys = tuple(sorted(self.blocks))
        factors = tuple(
            np.array([np.triu(self.blocks[key].factors[g]) for key in keys])
            for g in range(len(self.groups))
        )
        counts = np.array([self.blocks[key].counts for key in keys])
        check_rows(self.groups, counts)
        check_finite(self.groups, factors)
        return Regression(self.base, self.groups, self.block_s, keys, factors, counts, runs)

    def coarsen(self) -> None:
        """Join neighbouring blocks on a grid twice as long."""
        self.block_s *= 2.0
        joined: dict[tuple[str, int], _Block] = {}
        for (run, k), block in sorted(self.blocks.items()):
            self._absorb_waiting(block, everything=True)
            key = (run, k // 2)
            if key in joined:
                joined[key] = self._join(joined[key], block)
            else:
                joined[key] = block
        self.blocks = joined

    def _count(self, run: str) -> int:
        return sum(1 for name, _ in self.blocks if name == run)

    def _empty_block(self) -> _Block:
        sizes = [len(group.columns) + 1 for group in self.groups]
        return _Block(
            [np.zeros((n, n), order="F") for n in sizes], np.zeros(len(sizes), dtype=np.int64)
        )

    def _join(self, one: _Block, other: _Block) -> _Block:
        factors = [
            np.asfortranarray(triangle(np.vstack([np.triu(x), np.triu(y)])))
            for x, y in zip(one.factors, other.factors, strict=True)
        ]
        return _Block(factors, one.counts + other.counts)

    def _extend(self, block: _Block, samples: tuple[Array, Array, Array, Array]) -> None:
        block.waiting.append(samples)
        self._absorb_waiting(block, everything=False)

    def _absorb_waiting(self, block: _Block, *, everything: bool) -> None:
        """Absorb whole pieces, so that factors do not depend on how samples arrived."""
        if len(block.waiting) > 1:
            q, v, a, tau = (np.concatenate(parts) for parts in zip(*block.waiting, strict=True))
        elif block.waiting:
            q, v, a, tau = block.waiting[0]
        else:
            return
        n = len(q)
        stop = n if everything else n - n % PIECE
        buffer = np.empty(self.n_slots * min(PIECE, n))
        for begin in range(0, stop, PIECE):
            piece = slice(begin, min(begin + PIECE, stop))
            self._absorb(block, q[piece], v[piece], a[piece], tau[piece], buffer)
        rest = slice(stop, n)
        # copies, so that a chunk's arrays are not kept alive by its last few samples
        left = (q[rest].copy(), v[rest].copy(), a[rest].copy(), tau[rest].copy())
        block.waiting = [left] if stop < n else []

    def _absorb(
        self, block: _Block, q: Array, v: Array, a: Array, tau: Array, buffer: Array
    ) -> None:
        n = len(q)
        table = buffer[: self.n_slots * n]
        table[:] = 0.0
        fill_regressor(self.model, q, v, a, self.slot, n, 1, table)
        columns = table.reshape(self.n_slots, n)
        missing = np.isnan(tau)
        for row, group in enumerate(self.groups):
            first, width = self.start[row], len(group.columns) + 1
            mine = columns[first : first + width]
            mine[-1] = tau[:, row]
            if missing[:, row].any():
                # a row of zeros adds nothing to the factor
                mine[:, missing[:, row]] = 0.0
            block.counts[row] += n - np.count_nonzero(missing[:, row])
            work = np.empty(2 * PANEL * width)
            absorb_rows(block.factors[row], mine.ctypes.data, n, n, work)

    def _checked(
        self, motion: Motion, measurements: Measurements
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Arrays in the model's order, or a refusal that says what and where."""
        model = self.model
        if len(motion) != len(measurements):
            raise RegressionError(
                f"run '{motion.run}': {len(motion)} samples of motion, but "
                f"{len(measurements)} of torque"
            )
        check_joint_names(model, measurements.channels, "the torque")
        time = np.ascontiguousarray(motion.time, dtype=float)
        q, v, a = state_arrays(model, motion.q, motion.v, motion.a)
        for name, array in (("time", time), ("q", q), ("v", v), ("a", a)):
            if not np.isfinite(array).all():
                row = int(np.argwhere(~np.isfinite(array))[0][0])
                raise RegressionError(
                    f"run '{motion.run}': {name} is not a number at sample {row}; "
                    "mark missing torques by NaN and leave samples without motion out"
                )
        if len(time):
            before = self.last_time.get(motion.run, -np.inf)
            if np.any(np.diff(time, prepend=before) <= 0.0):
                raise RegressionError(f"run '{motion.run}': time does not increase")
            self.last_time[motion.run] = float(time[-1])
        tau = np.full((len(time), model.nv), np.nan)
        for column, channel in enumerate(measurements.channels):
            tau[:, model.channels.index(channel)] = measurements.tau[:, column]
        if np.isinf(tau).any():
            row, column = np.argwhere(np.isinf(tau))[0]
            raise RegressionError(
                f"run '{motion.run}': the torque of '{model.channels[column]}' is infinite at "
                f"sample {row}"
            )
        return time, q, v, a, tau


def check_rows(groups: tuple[RowGroup, ...], counts: IntArray) -> None:
    """Refuse a regression in which no torque is left."""
    if counts.sum() == 0:
        names = ", ".join(group.name for group in groups)
        raise RegressionError(f"no torque value of {names} can be used: all are missing")


def check_finite(groups: tuple[RowGroup, ...], factors: tuple[Array, ...]) -> None:
    """Refuse numbers so large that their squares are not numbers any more."""
    for group, blocks in zip(groups, factors, strict=True):
        with np.errstate(over="ignore"):
            finite = np.isfinite(np.sum(blocks**2))
        if not finite:
            raise RegressionError(
                f"the torque or the motion of '{group.name}' is too large to work with (its "
                "squares overflow): look for a spike or a wrong unit in the log"
            )


def merge(regressions: Iterable[Regression]) -> Regression:
    """One regression of several, over the union of their runs and blocks.

    Grids that differ by a power of two are brought to the coarsest; a block that occurs
    twice (a run that was cut within it) is joined. Records of runs stay in the order given.
    """
    given = list(regressions)
    if not given:
        raise RegressionError("there is nothing to merge")
    first = given[0]
    for other in given[1:]:
        if other.model_hash != first.model_hash or other.base.names != first.base.names:
            raise RegressionError("regressions of different models cannot be merged")
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
    factors = tuple(
        np.array([joined([r.factors[g][i] for r, i in gathered[key]]) for key in keys])
        for g in range(len(first.groups))
    )
    counts = np.array([sum(r.counts[i] for r, i in gathered[key]) for key in keys])
    runs = tuple(run for regression in given for run in regression.runs)
    return Regression(first.base, first.groups, longest, keys, factors, counts, runs)


def joined(factors: list[Array]) -> Array:
    """One factor of several; a single one is kept as it is, to the last bit."""
    return factors[0] if len(factors) == 1 else triangle(np.vstack(factors))
