"""From samples to triangular factors: the loop over time blocks.

Samples are taken in time blocks on a fixed grid. A piece of a block goes through the regressor
kernel and a QR update of one factor per row group, and is then discarded: memory does not grow
with the length of the log. What a row is, is up to a `RowMaker`: rows of joint torques
(`torque_rows`), or of energy or power over intervals (`energy_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blas_threads import one_blas_thread
from steelyard.errors import RegressionError, listed
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.kernels import state_arrays
from steelyard.model.model import Model, check_joint_names
from steelyard.model.term_signals import TermSignals
from steelyard.regression._lapack import PANEL, absorb_rows
from steelyard.regression.energy_rows import EnergyRows
from steelyard.regression.equation import TORQUE, Equation
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.regression.regression import (
    Regression,
    RowGroup,
    check_finite,
    check_rows,
    triangle,
)
from steelyard.regression.row_maker import Parts, RowMaker
from steelyard.regression.row_mixing import RowMixing
from steelyard.regression.torque_rows import TorqueRows
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.run_record import RunRecord

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

MAX_BLOCKS = 64  # per run, above which neighbours are joined: between 32 and 64 remain
MAX_FACTOR_BYTES = 512 * 2**20
MANY_COLUMNS = 200
MAX_BLOCKS_OF_MANY = 24  # with so many base parameters: estimators join the factors of all blocks
SHORTEST_BLOCK_S = 2.0**-6
# Samples absorbed at a time, counted from the start of a block. Not a power of two: columns
# would then compete for the same cache lines.
PIECE = 1000
# Robots with so many joints that the rows of a piece would take more memory have shorter ones.
MAX_PIECE_BYTES = 48 * 2**20
LEAST_PIECE = 100


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
    extra: ExtraColumns | None = None,
    mixing: RowMixing | None = None,
    equation: Equation = TORQUE,
) -> Regression:
    """Compress one run.

    block_s : length of the time blocks in s; by default the power of two (of seconds) that
        gives 32 to 64 blocks, or fewer where their factors would take more than 512 MB (see
        `most_blocks`). Runs to be merged may differ by powers of two.
    correlation_s : time (s) over which residuals are correlated, such as 1.5 periods of a
        low-pass filter's cutoff: shorter blocks would not be independent, and are not made.
    threads : number of threads; blocks are independent, and the loops release the interpreter
        lock.
    record : what was done to the log of the run, to be kept with the factors.
    extra : known columns between those of the model and the torque.
    mixing : how rows of the regression are summed from those of the model; None keeps the
        model's rows.
    equation : what the rows state: torques, or energy or power over intervals, for which the
        motion needs no accelerations.
    """
    basis = base_map(model) if base is None else base
    if block_s is None and len(motion) > 1:
        duration_s = float(motion.time[-1] - motion.time[0])
        block_s = run_block_s(model, basis, duration_s, correlation_s, equation, extra, mixing)
    return compress_stream(
        model,
        [(motion, measurements)],
        base=basis,
        block_s=block_s,
        threads=threads,
        runs=() if record is None else (record,),
        extra=extra,
        mixing=mixing,
        equation=equation,
    )


def run_block_s(
    model: Model,
    base: BaseMap,
    duration_s: float,
    correlation_s: float,
    equation: Equation = TORQUE,
    extra: ExtraColumns | None = None,
    mixing: RowMixing | None = None,
) -> float:
    """Length (s) of the time blocks of a run that lasts so long; see `compress`."""
    groups = row_maker(model, base, equation, extra, mixing).groups
    most = most_blocks(groups, 0 if extra is None else len(extra.names))
    return block_length(duration_s, max(correlation_s, equation.correlation_s), most)


def compress_stream(
    model: Model,
    chunks: Iterable[tuple[Motion, Measurements]],
    *,
    base: BaseMap | None = None,
    block_s: float | None = None,
    threads: int = 1,
    runs: Iterable[RunRecord] = (),
    extra: ExtraColumns | None = None,
    mixing: RowMixing | None = None,
    equation: Equation = TORQUE,
) -> Regression:
    """Compress any number of chunks, each discarded before the next is taken.

    Chunks of one run must be in the order of time. Without ``block_s`` blocks start short, and
    neighbours are joined whenever a run has more than 64 of them.
    """
    if isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1:
        raise RegressionError(f"threads is {threads!r}; a whole number from 1 on is needed")
    basis = base_map(model) if base is None else base
    rows = row_maker(model, basis, equation, extra, mixing)
    accumulator = Accumulator(model, basis, block_s, rows)
    # the matrices are small: LAPACK's own threads would only slow each other down
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        for motion, measurements in chunks:
            accumulator.add(motion, measurements, pool)
        return accumulator.finish(tuple(runs), pool)


def most_blocks(groups: Sequence[RowGroup], n_extra: int = 0) -> int:
    """How many time blocks a run may have: 64, or 24 with many columns, or as many as
    `MAX_FACTOR_BYTES` can hold.

    The factors of a chain of n joints have of the order of n³ entries: 24 blocks fit for up to
    about 53 joints.
    """
    many = len({column for group in groups for column in group.columns}) >= MANY_COLUMNS
    most = MAX_BLOCKS_OF_MANY if many else MAX_BLOCKS
    return max(2, min(most, MAX_FACTOR_BYTES // factor_bytes(groups, n_extra)))


def factor_bytes(groups: Sequence[RowGroup], n_extra: int = 0) -> int:
    """Bytes of one factor for each group."""
    return 8 * sum((len(group.columns) + n_extra + 1) ** 2 for group in groups)


def block_length(duration_s: float, correlation_s: float = 0.0, most: int = MAX_BLOCKS) -> float:
    """The power of two (s) that splits this duration into ``most`` to half as many blocks, or into
    fewer that are no shorter than ``correlation_s``.
    """
    shortest = max(duration_s / most, correlation_s)
    return float(2.0 ** np.ceil(np.log2(shortest))) if shortest > 0.0 else 1.0


def row_maker(
    model: Model,
    base: BaseMap,
    equation: Equation,
    extra: ExtraColumns | None = None,
    mixing: RowMixing | None = None,
) -> RowMaker:
    """What makes the rows of this equation."""
    if base.model_hash != model.hash:
        raise RegressionError("the base parameters belong to another model")
    if equation.of_joints:
        return TorqueRows(model, base, extra, mixing)
    if extra is not None or mixing is not None:
        raise RegressionError(
            f"rows of {equation.kind.quantity} have no extra columns and are no sums of torque rows"
        )
    return EnergyRows(model, base, equation)


@dataclass(eq=False)
class _Block:
    """A block being filled: its factors so far, and parts of rows that are not yet absorbed."""

    factors: list[Array]
    counts: IntArray
    waiting: list[Parts] = field(default_factory=list)


class Accumulator:
    """Takes chunks of samples and updates the factors of their blocks."""

    def __init__(self, model: Model, base: BaseMap, block_s: float | None, rows: RowMaker) -> None:
        if block_s is not None and not (np.isfinite(block_s) and block_s > 0):
            raise RegressionError(f"block_s must be a positive time in s, not {block_s!r}")
        self.model = model
        self.base = base
        self.rows = rows
        self.fixed_grid = block_s is not None
        shortest = SHORTEST_BLOCK_S
        while shortest < rows.equation.correlation_s:
            shortest *= 2.0
        self.block_s = shortest if block_s is None else float(block_s)
        self.filtered: tuple[str, ...] | None = None  # terms whose friction comes filtered
        self.blocks: dict[tuple[str, int], _Block] = {}
        self.last_time: dict[str, float] = {}
        self.max_blocks = most_blocks(rows.groups, len(rows.extra))
        n_entries = sum(self._width(group) for group in rows.groups)
        self.piece = min(PIECE, max(LEAST_PIECE, MAX_PIECE_BYTES // (8 * n_entries)))

    def add(self, motion: Motion, measurements: Measurements, pool: ThreadPoolExecutor) -> None:
        """Absorb a chunk, block by block."""
        motion, tau = self._checked(motion, measurements)
        time, part = self.rows.take(motion, tau)
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
            jobs.append(pool.submit(self._extend, self.blocks[key], part, slice(begin, end)))
        for job in jobs:
            job.result()
        while not self.fixed_grid and self._count(motion.run) > self.max_blocks:
            self.coarsen()

    def finish(self, runs: tuple[RunRecord, ...], pool: ThreadPoolExecutor) -> Regression:
        """Absorb the remaining samples and return the regression."""
        # all samples, if blocks are shorter than a piece
        jobs = [
            pool.submit(self._absorb_waiting, block, everything=True)
            for block in self.blocks.values()
        ]
        for job in jobs:
            job.result()
        if not self.blocks:
            raise RegressionError(self.rows.why_none())
        limit = self.max_blocks * max(1, len({run for run, _ in self.blocks}))
        if self.fixed_grid and len(self.blocks) > 16 * limit:
            raise RegressionError(
                f"{len(self.blocks)} time blocks of {self.block_s:g} s are too many to keep: "
                "choose a longer block_s, or none"
            )
        keys, groups = tuple(sorted(self.blocks)), self.rows.groups
        factors = tuple(self._taken(keys, g) for g in range(len(groups)))
        counts = np.array([self.blocks[key].counts for key in keys])
        check_rows(groups, counts)
        check_finite(groups, factors)
        return Regression(
            self.base,
            groups,
            self.block_s,
            keys,
            factors,
            counts,
            runs,
            self.rows.extra,
            self.rows.equation,
        )

    def _taken(self, keys: tuple[tuple[str, int], ...], g: int) -> Array:
        """The factors of group g (n_blocks, n, n), no longer kept here: memory holds them once."""
        n = self._width(self.rows.groups[g])
        out = np.empty((len(keys), n, n))
        for place, key in zip(out, keys, strict=True):
            place[:] = self.blocks[key].factors[g]  # zero below: LAPACK writes the triangle only
            self.blocks[key].factors[g] = np.empty((0, 0))
        return out

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

    def _width(self, group: RowGroup) -> int:
        """Columns of [W_g extra_g y_g]."""
        return len(group.columns) + len(self.rows.extra) + 1

    def _empty_block(self) -> _Block:
        sizes = [self._width(group) for group in self.rows.groups]
        return _Block(
            [np.zeros((n, n), order="F") for n in sizes], np.zeros(len(sizes), dtype=np.int64)
        )

    def _join(self, one: _Block, other: _Block) -> _Block:
        factors = [
            np.asfortranarray(triangle(np.vstack([x, y])))
            for x, y in zip(one.factors, other.factors, strict=True)
        ]
        return _Block(factors, one.counts + other.counts)

    def _extend(self, block: _Block, part: Callable[[slice], Parts], rows: slice) -> None:
        block.waiting.append(part(rows))
        self._absorb_waiting(block, everything=False)

    def _absorb_waiting(self, block: _Block, *, everything: bool) -> None:
        """Absorb whole pieces, so that factors do not depend on the sizes of chunks."""
        if not block.waiting:
            return
        waiting = block.waiting[0]
        if len(block.waiting) > 1:
            waiting = tuple(np.concatenate(parts) for parts in zip(*block.waiting, strict=True))
        n = len(waiting[0])
        stop = n if everything else n - n % self.piece
        for begin in range(0, stop, self.piece):
            piece = slice(begin, min(begin + self.piece, stop))
            self._absorb(block, tuple(array[piece] for array in waiting))
        # copies, so that a chunk's arrays are not kept alive by its last few samples
        left = tuple(array[stop:].copy() for array in waiting)
        block.waiting = [left] if stop < n else []

    def _absorb(self, block: _Block, parts: Parts) -> None:
        tables = self.rows.tables(parts, self.filtered or ())
        for g, (group, mine) in enumerate(zip(self.rows.groups, tables, strict=True)):
            n = mine.shape[1]
            missing = np.isnan(mine[-1])
            if missing.any():
                # a row of zeros adds nothing to the factor
                mine[:, missing] = 0.0
            block.counts[g] += n - np.count_nonzero(missing)
            work = np.empty(2 * PANEL * self._width(group))
            absorb_rows(block.factors[g], mine.ctypes.data, n, n, work)

    def _checked(self, motion: Motion, measurements: Measurements) -> tuple[Motion, Array]:
        """Motion and torques (n_samples, nv) in the model's order; refuses what does not fit."""
        model = self.model
        if len(motion) != len(measurements):
            raise RegressionError(
                f"run '{motion.run}': {len(motion)} samples of motion, but "
                f"{len(measurements)} of torque"
            )
        check_joint_names(model, measurements.channels, "the torque")
        time = np.ascontiguousarray(motion.time, dtype=float)
        q, v, a = state_arrays(model, motion.q, motion.v, motion.a)
        needed = {"time": time, "q": q, "v": v}
        if self.rows.needs_acceleration:
            needed["a"] = a
        for name, array in needed.items():
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
        return Motion(time, q, v, a, motion.run, self._friction(motion)), tau

    def _friction(self, motion: Motion) -> TermSignals | None:
        """The filtered friction, checked; all chunks have that of the same terms, or none."""
        given = motion.friction
        names = () if given is None else given.names
        if self.filtered is None:
            self.filtered = names
        if names != self.filtered:
            raise RegressionError(
                f"run '{motion.run}': the friction of {listed(names)} comes filtered, but in "
                f"earlier chunks that of {listed(self.filtered)}: filter the torques of all alike"
            )
        if given is not None and not np.isfinite(given.values).all():
            raise RegressionError(f"run '{motion.run}': the filtered friction is not a number")
        return given
