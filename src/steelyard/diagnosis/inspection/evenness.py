"""Whether rows were sampled evenly, judged by how smooth positions are from row to row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

UNEVEN = 0.05
"""Stamps further (rms) from an even grid than this share of a period are uneven."""
SMOOTHER = 3.0
"""Rows are even if positions are smoother by this factor with even stamps."""


def sampled_evenly(time: Array, moving: Iterable[tuple[Array, Mask]]) -> bool:
    """Whether the rows were sampled evenly although their stamps (n_samples,) are uneven.

    moving : positions (n_samples,) of each joint, and where it moves. For each joint, how far
    samples are from the line between their neighbours is computed with the stamps and with even
    ones; the median of the ratios counts.
    """
    n = len(time)
    even = np.linspace(time[0], time[-1], n)
    period = float(even[1] - even[0])
    if n < 50 or float(np.sqrt(np.mean(_detrended(time - even) ** 2))) < UNEVEN * period:
        return False
    before, after = np.diff(time)[:-1], np.diff(time)[1:]
    share = before / (before + after)
    ratios = []
    for q, moves in moving:
        use = moves[1:-1] & np.isfinite(q[2:] + q[1:-1] + q[:-2])
        if np.count_nonzero(use) < 30:
            continue
        by_row = _size((q[1:-1] - 0.5 * (q[:-2] + q[2:]))[use])
        by_stamp = _size((q[1:-1] - (1.0 - share) * q[:-2] - share * q[2:])[use])
        if by_row > 0.0:
            ratios.append(by_stamp / by_row)
    return bool(ratios) and float(np.median(ratios)) > SMOOTHER


def _size(x: Array) -> float:
    """Root mean square (n,) without its largest half percent."""
    size = np.abs(x)
    return float(np.sqrt(np.mean(np.minimum(size, np.percentile(size, 99.5)) ** 2)))


def _detrended(x: Array) -> Array:
    """``x`` (n,) without its mean in each of up to 20 parts, so that gaps count little."""
    n = max(len(x) // 20, 1)
    whole = x[: len(x) // n * n].reshape(-1, n)
    return np.asarray(whole - whole.mean(axis=1, keepdims=True)).ravel()
