"""Figures of a planned motion, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.report._figures import PREDICTED, RESIDUAL, label_of
from steelyard.report._matplotlib import svg_text

Array = NDArray[np.float64]

BOUND = "#1f7a4d"
OUTSIDE = "#999999"
MOST_POINTS = 1200
WIDTH, LEFT = 5.4, 0.95
"""Of a figure and of its left margin, inches: fixed margins are drawn in half of the time."""
FARTHEST = 3.0
"""A limit farther than this many times the largest value is stated, not drawn."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One quantity of a joint over time.

    values : (n_samples,). limits : values that must not be exceeded. bounds : values that are
    proven not to be exceeded.
    """

    name: str
    unit: str
    values: Array
    limits: tuple[float, ...] = ()
    bounds: tuple[float, ...] = ()


def motion_figure(
    joint: str, time: Array, panels: Sequence[Panel], leads: Sequence[tuple[float, float]]
) -> str:
    """Quantities of one joint over time (n_samples,) s, one below the other.

    leads : (begin, end) in s of the parts that lead into and out of what was optimised.
    """
    shown = slice(None, None, max(1, len(time) // MOST_POINTS))
    height = 0.5 + 1.25 * len(panels)

    def draw(figure: Any) -> None:
        figure.subplots_adjust(
            left=LEFT / WIDTH,
            right=1.0 - 0.2 / WIDTH,
            bottom=0.3 / height,
            top=1.0 - 0.28 / height,
            hspace=0.12,
        )
        axes_of = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, panel in zip(axes_of, panels, strict=True):
            _draw_panel(axes, time[shown], panel, shown)
            for begin, end in leads:
                axes.axvspan(begin, end, color="#888888", alpha=0.13, linewidth=0)
        axes_of[0].set_title(
            label_of(joint), loc="left", fontsize=9.5, fontweight="bold", parse_math=False
        )
        axes_of[-1].set_xlabel("s", loc="right", labelpad=-2)

    return svg_text(draw, WIDTH, height, fitted=False)


def _draw_panel(axes: Any, time: Array, panel: Panel, shown: slice) -> None:
    values = panel.values[shown]
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high), 1e-9)
    near = [x for x in panel.limits if abs(x) <= FARTHEST * size]
    far = [x for x in panel.limits if abs(x) > FARTHEST * size]
    axes.axhline(0.0, color="#bbbbbb", linewidth=0.6)
    for x in near:
        axes.axhline(x, color=RESIDUAL, linewidth=1.1, linestyle=(0, (5, 2)))
    for x in panel.bounds:
        axes.axhline(x, color=BOUND, linewidth=0.8, linestyle=(0, (1, 1.5)))
    axes.plot(time, values, color=PREDICTED, linewidth=1.1)
    axes.set_ylabel(f"{panel.name}\n{panel.unit}", fontsize=8)
    axes.yaxis.set_label_coords(-0.6 / (WIDTH - LEFT), 0.5)
    axes.margins(x=0.0, y=0.25 if far else 0.08)
    if far:
        words = " and ".join(f"{x:.3g}" for x in sorted(set(far)))
        if len(far) == 2 and far[0] == -far[1]:
            words = f"± {abs(far[0]):.3g}"
        kind = "limit" if len(far) == 1 or words.startswith("±") else "limits"
        axes.text(
            0.995,
            0.97,
            f"{kind} {words}",
            transform=axes.transAxes,
            ha="right",
            va="top",
            fontsize=7,
            color=RESIDUAL,
        )
