"""Missing samples: where they are, and whether they may be interpolated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.logs.log import Log

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def gaps(missing: Mask) -> list[tuple[int, int]]:
    """Gaps of neighbouring missing samples, as indices (first, last + 1)."""
    edge = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]]).astype(np.int8)))
    return list(zip(edge[::2].tolist(), edge[1::2].tolist(), strict=True))


def usable_rows(log: Log, used: dict[str, Array], max_gap_s: float) -> slice:
    """Rows from the first to the last at which every used signal is present.

    used : column name -> (n_samples,). Missing samples inside may be interpolated and those at
    the ends cut if they span at most ``max_gap_s``; anything longer is a SignalError that
    names the column, the count, and the first row and its time.
    """
    time, n = log.time, len(log)
    start, stop = 0, n
    for column, values in used.items():
        missing = ~np.isfinite(values)
        if not missing.any():
            continue
        for first, end in gaps(missing):
            left, right = time[max(first - 1, 0)], time[min(end, n - 1)]
            if end - first == n or right - left > max_gap_s:
                _refuse(log, column, missing, first, end, float(right - left), max_gap_s)
            if first == 0:
                start = max(start, end)
            elif end == n:
                stop = min(stop, first)
    if stop - start < 2:
        raise SignalError(f"log '{log.name}': fewer than two rows have every used signal")
    return slice(start, stop)


def _refuse(
    log: Log, column: str, missing: Mask, first: int, end: int, span: float, max_gap_s: float
) -> None:
    if end - first == len(missing):
        raise SignalError(
            f"log '{log.name}': {column} is NaN or infinite in all {len(missing)} rows"
        )
    raise SignalError(
        f"log '{log.name}': {column} is NaN or infinite in {int(missing.sum())} rows; "
        f"{end - first} of them from row {first + 1} (time {log.time[first]:g} s) leave a gap "
        f"of {span:g} s, longer than max_gap_s = {max_gap_s:g}; raise max_gap_s to bridge it, or "
        "cut the log there"
    )
