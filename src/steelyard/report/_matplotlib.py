"""Drawing with Matplotlib, which loads when the first figure is drawn, without its global state."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from steelyard.report.charts import Axis, Bars, Chart, Curve, Dots, Rule

STYLE: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#bbbbbb",
    "grid.linewidth": 0.4,
    "axes.linewidth": 0.6,
    "svg.fonttype": "path",
    # makes the SVG text reproducible
    "svg.hashsalt": "steelyard",
}


def draw_chart(axes: Any, chart: Chart) -> None:
    """A chart on Matplotlib's axes."""
    if chart.x.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.xaxis.set_minor_formatter("")
    axes.set_xlim(chart.x.low, chart.x.high)
    axes.set_ylim(chart.y.low, chart.y.high)
    for mark in chart.marks:
        _draw_mark(axes, mark)
    if isinstance(chart.y, Axis):
        axes.set_ylabel(chart.y.label)
    else:
        labels = chart.y.names if chart.y.shown else [""] * len(chart.y.names)
        axes.set_yticks(chart.y.places, labels=labels)
        for label in axes.get_yticklabels():
            label.set_parse_math(False)
        axes.tick_params(axis="y", length=0, pad=7)
    at_end = {"loc": "right", "labelpad": -2} if chart.x.label_at_end else {}
    axes.set_xlabel(chart.x.label, **at_end)
    weight = "bold" if chart.bold else "normal"
    axes.set_title(chart.title, loc="left", fontsize=9, fontweight=weight, parse_math=False)


def _draw_mark(axes: Any, mark: Curve | Dots | Bars | Rule) -> None:
    if isinstance(mark, Curve):
        axes.plot(mark.x, mark.y, color=mark.color, linewidth=mark.width, alpha=mark.opacity)
    elif isinstance(mark, Rule):
        across = axes.axvline if mark.vertical else axes.axhline
        across(mark.at, color=mark.color, linewidth=mark.width)
    elif isinstance(mark, Bars):
        axes.hlines(
            mark.y,
            mark.left,
            mark.right,
            color=mark.color,
            linewidth=mark.width,
            alpha=mark.opacity,
        )
    else:
        axes.plot(
            mark.x,
            mark.y,
            mark.shape,
            markerfacecolor=mark.fill,
            markeredgecolor=mark.edge,
            markersize=mark.size,
            clip_on=mark.shape not in "<>",
        )


def svg_text(draw: Any, width: float, height: float, *, fitted: bool = True) -> str:
    """The figure (inches) that ``draw`` makes, without touching Matplotlib's global state.

    fitted : whether margins are computed from what is drawn, which takes half of the time; else
    ``draw`` sets them.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    stream = io.StringIO()
    with matplotlib.rc_context(STYLE), quiet_about_glyphs():
        figure = Figure(figsize=(width, height), layout="constrained" if fitted else None)
        FigureCanvasSVG(figure)
        draw(figure)
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    return stream.getvalue()


@contextmanager
def quiet_about_glyphs() -> Iterator[None]:
    """Characters that the font lacks become boxes; that needs no warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing", category=UserWarning)
        yield
