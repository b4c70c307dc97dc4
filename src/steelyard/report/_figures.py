"""Figures of the report, as SVG text. Matplotlib loads when the first one is drawn."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MEASURED, PREDICTED, RESIDUAL = "#777777", "#1f6fb4", "#d9731a"
KIND_COLORS = {
    "confidence": "#1f7a4d",
    "mostly prior": "#8544b8",
    "feasible range": PREDICTED,
    "closest to prior": "#7a5aa6",
    "prior only": "#999999",
}
HOLLOW_KIND = "mostly prior"
"""Its dots are rings: not everybody can tell its colour from the others."""
LONGEST_SHOWN_S = 40.0
MOST_POINTS = 1500
LONGEST_LABEL = 28
ROWS_WIDTH = 5.4
"""Width of figures with one row for each joint or body, inches; readable on narrow screens."""

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


def torque_figure(title: str, unit: str, time: Array, measured: Array, predicted: Array) -> str:
    """Measured and predicted torque and their difference over time, all (n_samples,)."""

    def draw(figure: Any) -> None:
        draw_torques(figure.add_subplot(), title, unit, time, measured, predicted)

    return svg_text(draw, 5.4, 2.1)


def draw_torques(
    axes: Any, title: str, unit: str, time: Array, measured: Array, predicted: Array
) -> None:
    """The curves of one joint on axes."""
    shown = shown_rows(time)
    t, tau, model = time[shown], measured[shown], predicted[shown]
    axes.axhline(0.0, color="#999999", linewidth=0.5)
    axes.plot(t, tau - model, color=RESIDUAL, linewidth=0.7)
    axes.plot(t, tau, color=MEASURED, linewidth=2.4, alpha=0.6)
    axes.plot(t, model, color=PREDICTED, linewidth=0.9)
    axes.set_title(label_of(title), loc="left", fontsize=9, fontweight="bold", parse_math=False)
    axes.set_ylabel(unit)
    axes.set_xlabel("s", loc="right", labelpad=-2)
    axes.margins(x=0.0)


def error_figure(
    joints: Sequence[str], identified: Sequence[float], prior: Sequence[float | None]
) -> str:
    """Relative error of each joint, of the identified model and the file's inertials, in per cent.

    The zero model, which predicts no torque, has 100 % by definition.
    """

    def draw(figure: Any) -> None:
        draw_errors(figure.add_subplot(), joints, identified, prior)

    return svg_text(draw, ROWS_WIDTH, 0.9 + 0.27 * len(joints))


def draw_errors(
    axes: Any, joints: Sequence[str], identified: Sequence[float], prior: Sequence[float | None]
) -> None:
    """The errors of all joints on axes."""
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
    _name_rows(axes, rows, joints)
    axes.set_xlabel("relative error, % of the torque (zero model: 100 %)")


@dataclass(frozen=True)
class Interval:
    """A value with its interval, as a figure shows it.

    kind : of the interval; sets the colour. reference : another value to show, or None.
    """

    label: str
    value: float
    lower: float | None
    upper: float | None
    kind: str
    reference: float | None = None


def mass_figure(masses: Sequence[Interval]) -> str:
    """Masses (kg) of bodies on a logarithmic axis; an arrow where the range extends to zero."""

    def draw(figure: Any) -> None:
        draw_masses(figure.add_subplot(), masses)

    return svg_text(draw, ROWS_WIDTH, 0.9 + 0.27 * len(masses))


def draw_masses(axes: Any, masses: Sequence[Interval]) -> None:
    """The masses of all bodies on axes."""
    rows = np.arange(len(masses))[::-1]
    shown = [m.value for m in masses] + [m.reference for m in masses if m.reference]
    left = 0.3 * min(x for x in shown if x > 0.0)
    ends = [m.upper for m in masses if m.upper is not None and np.isfinite(m.upper)]
    right = 1.5 * max([*shown, *ends])
    axes.set_xscale("log")
    axes.set_xlim(left, right)
    _draw_intervals(axes, rows, masses, left, right)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.xaxis.set_minor_formatter("")
    _name_rows(axes, rows, [m.label for m in masses])
    axes.set_xlabel("mass, kg")


def prior_figure(
    trials: Sequence[tuple[float, float, bool]],
    chosen: float,
    divergence: Sequence[tuple[str, float]],
) -> str:
    """Left-out error against gamma, and the divergence D of each body from its prior.

    trials : (gamma, score, whether as good as the best). divergence : (body, D).
    """
    across = 2 if trials and divergence else 1

    def draw(figure: Any) -> None:
        if trials:
            axes = figure.add_subplot(1, across, 1)
            gamma = np.array([trial[0] for trial in trials])
            score = np.array([trial[1] for trial in trials], dtype=float)
            good = np.array([trial[2] for trial in trials])
            axes.axvline(chosen, color=RESIDUAL, linewidth=1.2)
            axes.plot(gamma, score, color=PREDICTED, linewidth=0.9)
            axes.plot(gamma, score, "o", color="white", markeredgecolor=PREDICTED, markersize=5)
            axes.plot(gamma[good], score[good], "o", color=PREDICTED, markersize=5)
            axes.set_xscale("log")
            if np.isfinite(score).any():
                low = float(np.nanmin(score))
                axes.set_ylim(0.95 * low, min(1.05 * float(np.nanmax(score)), 2.5 * low))
            axes.set_xlabel("weight of the prior, γ")
            axes.set_title("error on left-out data", loc="left", fontsize=9)
        if divergence:
            axes = figure.add_subplot(1, across, across)
            rows = np.arange(len(divergence))[::-1]
            values = [max(value, 1e-6) for _, value in divergence]
            axes.barh(rows, values, height=0.55, color=KIND_COLORS["mostly prior"], zorder=2.5)
            axes.set_xscale("log")
            _name_rows(axes, rows, [name for name, _ in divergence])
            axes.set_title("distance from the prior, D", loc="left", fontsize=9)

    return svg_text(draw, 8.0, max(2.2, 0.9 + 0.24 * len(divergence)))


def term_figure(
    panels: Sequence[tuple[str, str, Sequence[Interval]]], owners: Sequence[str]
) -> str:
    """Parameters of joints, one panel for each (symbol, unit, intervals), rows as ``owners``."""
    across = min(len(panels), 4)
    down = -(-len(panels) // across)

    def draw(figure: Any) -> None:
        rows = dict(zip(owners, np.arange(len(owners))[::-1], strict=True))
        for k, (symbol, unit, intervals) in enumerate(panels):
            axes = figure.add_subplot(down, across, k + 1)
            values = np.array([i.value for i in intervals])
            size = max(1e-12, float(np.max(np.abs(values))))
            left, right = min(0.0, 1.6 * values.min()) - 0.08 * size, max(0.0, 1.6 * values.max())
            right += 0.08 * size
            axes.set_xlim(left, right)
            axes.axvline(0.0, color="#999999", linewidth=0.8)
            own_rows = np.array([rows[i.label] for i in intervals])
            _draw_intervals(axes, own_rows, intervals, left, right)
            _name_rows(axes, np.array(list(rows.values())), owners if k % across == 0 else None)
            axes.set_title(f"{label_of(symbol)}, {unit}", loc="left", fontsize=9, parse_math=False)
            axes.xaxis.set_major_locator(_few_ticks())

    return svg_text(draw, 10.0, down * (0.8 + 0.27 * len(owners)))


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def _draw_intervals(
    axes: Any, rows: NDArray[np.int64], intervals: Sequence[Interval], left: float, right: float
) -> None:
    """Dots with bars; a bar that extends beyond the axis ends in an arrow."""
    for row, one in zip(rows, intervals, strict=True):
        color = KIND_COLORS.get(one.kind, MEASURED)
        if one.lower is not None and one.upper is not None and np.isfinite(one.upper - one.lower):
            ends = np.clip([one.lower, one.upper], left, right)
            axes.hlines(row, *ends, color=color, linewidth=2.2, alpha=0.55)
            if one.lower < left:
                axes.plot(left, row, "<", color=color, markersize=6, clip_on=False)
            if one.upper > right:
                axes.plot(right, row, ">", color=color, markersize=6, clip_on=False)
        if one.reference is not None:
            axes.plot(
                one.reference, row, "D", color="none", markeredgecolor=RESIDUAL, markersize=5.5
            )
        inside = "white" if one.kind == HOLLOW_KIND else color
        axes.plot(one.value, row, "o", color=color, markerfacecolor=inside, markersize=5.5)


def _name_rows(axes: Any, rows: NDArray[np.int64], names: Sequence[str] | None) -> None:
    axes.set_ylim(-0.7, len(rows) - 0.3)
    labels = [""] * len(rows) if names is None else [label_of(name) for name in names]
    axes.set_yticks(rows, labels=labels)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.tick_params(axis="y", length=0, pad=7)


def shown_rows(time: Array) -> slice:
    """The rows that a figure shows: the first part of a long run, downsampled."""
    stop = len(time)
    if stop and time[-1] - time[0] > 1.25 * LONGEST_SHOWN_S:
        stop = int(np.searchsorted(time, time[0] + LONGEST_SHOWN_S))
    return slice(0, stop, max(1, stop // MOST_POINTS))


def label_of(name: str) -> str:
    """A name as a figure shows it, cut to a readable length."""
    return name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"


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
