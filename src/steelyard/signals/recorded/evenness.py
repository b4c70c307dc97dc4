"""Whether rows were sampled evenly, judged by how smooth positions are from row to row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from steelyard.signals._timebase import holes_before
from steelyard.signals.steps import least_change

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

UNEVEN = 0.05
"""Stamps further (rms) from an even grid than this share of a period are uneven."""
DIGIT = 0.3
"""Share of the resolution of a position that is no roughness."""
SMOOTHER = 3.0
"""Rows are even if positions are smoother by this factor with even stamps."""


def sampled_evenly(time: Array, moving: Iterable[tuple[Array, Mask]]) -> bool:
    """Whether the rows were sampled evenly although their stamps (n_samples,) are uneven.

    moving : positions (n_samples,) of each joint, and where it moves. For each joint, how far
    samples are from the line between their neighbours is computed with the stamps and with even
    ones; the median of the ratios counts.
    """
    n = len(time)
    period = float(time[-1] - time[0]) / (n - 1)
    if n < 50 or unevenness_s(time) < UNEVEN * period:
        return False
    before, after = np.diff(time)[:-1], np.diff(time)[1:]
    share = before / (before + after)
    holes = holes_before(time)
    whole = holes[2:] == holes[:-2]
    ratios = []
    for q, moves in moving:
        use = moves[1:-1] & whole & np.isfinite(q[2:] + q[1:-1] + q[:-2])
        if np.count_nonzero(use) < 30:
            continue
        by_row = np.abs(q[1:-1] - 0.5 * (q[:-2] + q[2:]))[use]
        by_stamp = np.abs(q[1:-1] - (1.0 - share) * q[:-2] - share * q[2:])[use]
        # all but the largest see bursts; the median sees jitter in a log that also lacks rows
        least = DIGIT * least_change(np.diff(q[np.isfinite(q)]))
        kinds = ((_size(by_stamp), _size(by_row)), (np.median(by_stamp), np.median(by_row)))
        ratios.append(max(float(a) / max(float(b), least, 1e-300) for a, b in kinds))
    return bool(ratios) and float(np.median(ratios)) > SMOOTHER


def _size(x: Array) -> float:
    """Root mean square of sizes (n,) without the largest half percent."""
    return float(np.sqrt(np.mean(np.minimum(x, np.percentile(x, 99.5)) ** 2)))


def unevenness_s(time: Array) -> float:
    """Distance (s, rms) of stamps (n_samples,) from even ones, in parts of which there are at most
    20, so that gaps count little.
    """
    n = max(len(time) // 20, 2)
    whole = time[: len(time) // n * n].reshape(-1, n)
    row = np.arange(n) - 0.5 * (n - 1)
    away = whole - whole.mean(axis=1, keepdims=True)
    away = away - np.outer(away @ row / (row @ row), row)
    return float(np.sqrt(np.mean(away**2)))
