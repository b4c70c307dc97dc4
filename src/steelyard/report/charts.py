"""Charts as data: axes and the marks on them, for every way to draw them.

Coordinates are those of the data; sizes of lines and dots are in points (1/72 inch).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """A scale between two ends.

    label : what is along it. label_at_end : whether that is right of the last tick, as units are.
    """

    low: float
    high: float
    label: str = ""
    log: bool = False
    label_at_end: bool = False


@dataclass(frozen=True)
class Rows:
    """Named rows, the first on top, at n - 1, ..., 0. shown : whether the names are written."""

    names: tuple[str, ...]
    shown: bool = True

    @property
    def low(self) -> float:
        """The lower end of the chart."""
        return -0.7

    @property
    def high(self) -> float:
        """The upper end of the chart."""
        return len(self.names) - 0.3

    @property
    def places(self) -> NDArray[np.int64]:
        """(n_rows,)."""
        return np.arange(len(self.names))[::-1]


@dataclass(frozen=True, eq=False)
class Curve:
    """A line through points (n_points,), interrupted where y is NaN."""

    x: Array
    y: Array
    color: str
    width: float
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class Dots:
    """Marks at points (n_points,); those that are not finite are left out.

    shape : "o" circle, "D" diamond, "<" and ">" arrows. fill : colour, or "none".
    """

    x: Array
    y: Array
    shape: str
    fill: str
    edge: str
    size: float = 5.5


@dataclass(frozen=True, eq=False)
class Bars:
    """Horizontal bars at y from ``left`` to ``right``, all (n_bars,)."""

    y: Array
    left: Array
    right: Array
    color: str
    width: float
    opacity: float = 1.0


@dataclass(frozen=True)
class Rule:
    """A line across the chart at a value of x (vertical) or of y."""

    at: float
    color: str
    width: float
    vertical: bool = True


Mark = Curve | Dots | Bars | Rule


@dataclass(frozen=True, eq=False)
class Chart:
    """Axes and marks, drawn in their order."""

    marks: tuple[Mark, ...]
    x: Axis
    y: Axis | Rows
    title: str = ""
    bold: bool = False


def span(values: Sequence[Array], margin: float) -> tuple[float, float]:
    """Smallest and largest finite value, with a margin as a share of their distance."""
    finite = np.concatenate([v[np.isfinite(v)] for v in values])
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    # values that are all alike are in the middle of something
    extra = margin * (high - low) if high > low else max(0.5 * abs(high), 1e-9)
    return low - extra, high + extra


def envelope(values: Array, n_stretches: int) -> NDArray[np.int64]:
    """Rows of values (n_samples,) that look like all of them: ends of many equal stretches.

    Of each stretch, the rows of its smallest and its largest value, in their order, so that no
    peak is lost. A stretch of NaN gives two rows of NaN.
    """
    length = -(-len(values) // max(n_stretches, 1))
    if length <= 2:
        return np.arange(len(values))
    n_whole = len(values) // length
    table = values[: n_whole * length].reshape(n_whole, length)
    hidden = np.isnan(table)
    lowest = np.where(hidden, np.inf, table).argmin(axis=1)
    highest = np.where(hidden, -np.inf, table).argmax(axis=1)
    first = np.arange(n_whole) * length
    pairs = np.sort(np.stack([first + lowest, first + highest], axis=1), axis=1)
    rest = np.arange(n_whole * length, len(values))
    # the ends of the curve stay where they are
    pairs[:1, 0] = 0
    return np.concatenate([pairs.ravel(), rest, [len(values) - 1]])
