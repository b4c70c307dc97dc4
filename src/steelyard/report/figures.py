"""Figures of the report, as SVG text. Matplotlib loads when the first one is drawn."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MEASURED, PREDICTED, RESIDUAL = "#777777", "#1f6fb4", "#d9731a"
LONGEST_SHOWN_S = 40.0
MOST_POINTS = 1500
LONGEST_LABEL = 28

STYLE: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#bbbbbb",
    "grid.linewidth": 0.4,
    "axes.linewidth": 0.6,
    "svg.fonttype": "path",
    # the same figure gives the same text
    "svg.hashsalt": "steelyard",
}


def torque_figure(title: str, unit: str, time: Array, measured: Array, predicted: Array) -> str:
    """Measured and predicted torque and their difference over time, all (n_samples,)."""

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        shown = shown_rows(time)
        t, tau, model = time[shown], measured[shown], predicted[shown]
        axes.axhline(0.0, color="#999999", linewidth=0.5)
        axes.plot(t, tau - model, color=RESIDUAL, linewidth=0.7)
        axes.plot(t, tau, color=MEASURED, linewidth=2.4, alpha=0.6)
        axes.plot(t, model, color=PREDICTED, linewidth=0.9)
        axes.set_title(_label(title), loc="left", fontsize=9, fontweight="bold", parse_math=False)
        axes.set_ylabel(unit)
        axes.set_xlabel("s", loc="right", labelpad=-2)
        axes.margins(x=0.0)

    return _svg(draw, 5.4, 2.1)


def error_figure(
    joints: Sequence[str], identified: Sequence[float], prior: Sequence[float | None]
) -> str:
    """Relative error of each joint, of the identified model and the file's inertials, in per cent.

    The model without any torque has 100 % by definition.
    """

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        rows = np.arange(len(joints))[::-1]
        ours = 100.0 * np.array(identified, dtype=float)
        files = 100.0 * np.array([np.nan if p is None else p for p in prior], dtype=float)
        axes.axvline(100.0, color="#999999", linewidth=1.2)
        axes.hlines(rows, ours, files, color="#bbbbbb", linewidth=1.0)
        axes.plot(files, rows, "D", color="none", markeredgecolor=RESIDUAL, markersize=5.5)
        axes.plot(ours, rows, "o", color=PREDICTED, markersize=6)
        axes.set_xscale("log")
        known = np.concatenate([ours, files, [100.0]])
        known = known[np.isfinite(known) & (known > 0.0)]
        axes.set_xlim(0.7 * known.min(), 1.4 * known.max())
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.set_ylim(-0.7, len(joints) - 0.3)
        axes.set_yticks(rows, labels=[_label(name) for name in joints])
        for label in axes.get_yticklabels():
            label.set_parse_math(False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("relative error, % of the torque (zero model: 100 %)")

    return _svg(draw, 8.0, 0.9 + 0.27 * len(joints))


def shown_rows(time: Array) -> slice:
    """The rows that a figure shows: the first part of a long run, thinned."""
    stop = len(time)
    if stop and time[-1] - time[0] > 1.25 * LONGEST_SHOWN_S:
        stop = int(np.searchsorted(time, time[0] + LONGEST_SHOWN_S))
    return slice(0, stop, max(1, stop // MOST_POINTS))


def _label(name: str) -> str:
    return name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"


def _svg(draw: Any, width: float, height: float) -> str:
    """The figure (inches) that ``draw`` makes, without touching Matplotlib's global state."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    stream = io.StringIO()
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # names may have letters that the font lacks: a box in the figure is enough
        warnings.filterwarnings("ignore", message=r"Glyph .* missing", category=UserWarning)
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    return stream.getvalue()
