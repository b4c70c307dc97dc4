"""Compression of robots with very many columns, in two passes; see `PooledBlocks`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RegressionError
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Model
from steelyard.regression._staircase import staircase_triangle
from steelyard.regression.compress import (
    MAX_BLOCKS_OF_MANY,
    MAX_FACTOR_BYTES,
    block_length,
    compress,
    factor_bytes,
    most_blocks,
)
from steelyard.regression.pooled import PooledBlocks
from steelyard.regression.regression import Regression
from steelyard.regression.torque_rows import row_groups
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.run_record import RunRecord

Array = NDArray[np.float64]

POOLED_BLOCKS = MAX_BLOCKS_OF_MANY
"""Pooled blocks of a run, at most; at least half as many unless the run is short. Where memory
holds fewer with a factor for each channel, blocks are pooled: in chains of about 54 joints and
more."""
LARGEST_BYTES = 2**30
"""Of the factors of all channels over all time: a chain of 200 joints."""


def needs_pooling(model: Model, base: BaseMap) -> bool:
    """Whether too few time blocks with a factor for each channel would fit in memory."""
    return most_blocks(row_groups(model, base)) < POOLED_BLOCKS


def compress_pooled(
    model: Model,
    motion: Motion,
    measurements: Measurements,
    weigh: Callable[[Regression], Array],
    *,
    base: BaseMap,
    correlation_s: float = 0.0,
    threads: int = 1,
    record: RunRecord | None = None,
) -> Regression:
    """Compress one run with pooled time blocks.

    weigh : from the regression of the run in a few blocks to the weights (n_groups,) of the
        channels, which should be 1 over their noise. correlation_s, threads, record : as in
        `compress`.
    """
    groups = row_groups(model, base)
    n_bytes = factor_bytes(groups)
    if n_bytes > LARGEST_BYTES:
        raise RegressionError(
            f"the factors of {len(groups)} torques take {n_bytes / 2**20:.0f} MB, more than "
            f"{LARGEST_BYTES / 2**20:.0f} MB: lock joints (--lock), or identify parts of the robot"
        )
    # how many parts of the run are compressed at a time: as memory holds their factors
    most = max(1, min(4, MAX_FACTOR_BYTES // n_bytes))
    duration_s = float(motion.time[-1] - motion.time[0])
    whole = compress(
        model,
        motion,
        measurements,
        base=base,
        block_s=block_length(duration_s, most=most),
        threads=min(threads, most),
        record=record,
    )
    weights = np.asarray(weigh(whole), dtype=float)
    block_s = block_length(duration_s, correlation_s, POOLED_BLOCKS)
    number = np.floor(motion.time / block_s).astype(np.int64)
    edges = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(number)]
    parts = [slice(begin, end) for begin, end in pairwise(edges)]
    parts = [part for part in parts if np.isfinite(measurements.tau[part]).any()]
    columns = [group.columns for group in groups]

    def pooled(part: slice) -> tuple[Array, Array]:
        one = compress(model, motion[part], measurements[part], base=base, block_s=block_s)
        factor = staircase_triangle(one.group_factors, columns, weights, base.rank)
        return factor, one.counts.sum(axis=0)

    # one after the other: `compress` limits the threads of LAPACK, which must not be done while
    # another thread calls it
    found = [pooled(part) for part in parts]
    return replace(
        whole,
        block_s=block_s,
        keys=tuple((motion.run, int(number[part.start])) for part in parts),
        factors=tuple(factor[None] for factor in whole.group_factors),
        counts=np.array([counts for _, counts in found]),
        pooled=PooledBlocks(weights, np.array([factor for factor, _ in found])),
    )
