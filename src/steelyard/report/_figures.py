"""The charts of the report, and its figures as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.report._chart_svg import svg_of_charts
from steelyard.report.charts import (
    Axis,
    Bars,
    Chart,
    Curve,
    Dots,
    Mark,
    Rows,
    Rule,
    envelope,
    span,
)

Array = NDArray[np.float64]

MEASURED, PREDICTED, RESIDUAL = "#777777", "#1f6fb4", "#d9731a"
ZERO, SOFT = "#999999", "#bbbbbb"
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
STRETCHES = 700
"""A curve goes through the smallest and largest value of so many parts: one for each pixel."""
LONGEST_LABEL = 28
ROWS_WIDTH = 5.4
"""Width of figures with one row for each joint or body, inches; readable on narrow screens."""


def torque_figure(title: str, unit: str, time: Array, measured: Array, predicted: Array) -> str:
    """Measured and predicted torque and their difference over time, all (n_samples,)."""
    return svg_of_charts([torque_chart(title, unit, time, measured, predicted)], 5.4, 2.1)


def torque_chart(title: str, unit: str, time: Array, measured: Array, predicted: Array) -> Chart:
    """The curves of one joint."""
    shown = shown_rows(time)
    t, tau, model = time[shown], measured[shown], predicted[shown]

    def curve(values: Array, color: str, width: float, opacity: float = 1.0) -> Curve:
        rows = envelope(values, STRETCHES)
        return Curve(t[rows], values[rows], color, width, opacity)

    residual = tau - model
    begin, end = span([t], 0.0)
    return Chart(
        (
            Rule(0.0, ZERO, 0.5, vertical=False),
            curve(residual, RESIDUAL, 0.7),
            curve(tau, MEASURED, 2.4, 0.6),
            curve(model, PREDICTED, 0.9),
        ),
        Axis(begin, end, "s", label_at_end=True),
        Axis(*span([residual, tau, model], 0.05), unit),
        label_of(title),
        bold=True,
    )


def error_figure(
    joints: Sequence[str], identified: Sequence[float], prior: Sequence[float | None]
) -> str:
    """Relative error of each joint, of the identified model and the file's inertials, in per cent.

    The zero model, which predicts no torque, has 100 % by definition.
    """
    chart = error_chart(joints, identified, prior)
    return svg_of_charts([chart], ROWS_WIDTH, 0.9 + 0.27 * len(joints))


def error_chart(
    joints: Sequence[str],
    identified: Sequence[float],
    prior: Sequence[float | None],
    title: str = "",
    label: str = "relative error, % of the torque (zero model: 100 %)",
) -> Chart:
    """The errors of all joints."""
    rows = _rows(joints)
    y = rows.places.astype(float)
    ours = 100.0 * np.array(identified, dtype=float)
    files = 100.0 * np.array([np.nan if p is None else p for p in prior], dtype=float)
    known = np.concatenate([ours, files, [100.0]])
    known = known[np.isfinite(known) & (known > 0.0)]
    return Chart(
        (
            Rule(100.0, ZERO, 1.2),
            Bars(y, ours, files, SOFT, 1.0),
            Dots(files, y, "D", "none", RESIDUAL),
            Dots(ours, y, "o", PREDICTED, PREDICTED, 6.0),
        ),
        Axis(0.7 * float(known.min()), 1.4 * float(known.max()), label, log=True),
        rows,
        title,
        bold=True,
    )


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
    return svg_of_charts([mass_chart(masses)], ROWS_WIDTH, 0.9 + 0.27 * len(masses))


def mass_chart(masses: Sequence[Interval], title: str = "") -> Chart:
    """The masses of all bodies."""
    rows = _rows([m.label for m in masses])
    shown = [m.value for m in masses] + [m.reference for m in masses if m.reference]
    left = 0.3 * min(x for x in shown if x > 0.0)
    ends = [m.upper for m in masses if m.upper is not None and np.isfinite(m.upper)]
    right = 1.5 * max([*shown, *ends])
    marks = _intervals(rows.places, masses, left, right)
    return Chart(marks, Axis(left, right, "mass, kg", log=True), rows, title, bold=True)


def prior_figure(
    trials: Sequence[tuple[float, float, bool]],
    chosen: float,
    divergence: Sequence[tuple[str, float]],
) -> str:
    """Left-out error against gamma, and the divergence D of each body from its prior.

    trials : (gamma, score, whether as good as the best). divergence : (body, D).
    """
    charts = [_trial_chart(trials, chosen)] if trials else []
    if divergence:
        rows = _rows([name for name, _ in divergence])
        y = rows.places.astype(float)
        values = np.array([max(value, 1e-6) for _, value in divergence])
        low, high = float(values.min()) / 1.5, 1.3 * float(values.max())
        bars = Bars(y, np.full(len(y), low), values, KIND_COLORS["mostly prior"], 8.0)
        title = "distance from the prior, D"
        charts.append(Chart((bars,), Axis(low, high, log=True), rows, title))
    height = max(2.2, 0.9 + 0.24 * len(divergence))
    return svg_of_charts(charts, 8.0, height, across=len(charts))


def _trial_chart(trials: Sequence[tuple[float, float, bool]], chosen: float) -> Chart:
    gamma = np.array([trial[0] for trial in trials])
    score = np.array([trial[1] for trial in trials], dtype=float)
    good = np.array([trial[2] for trial in trials])
    low, high = 0.0, 1.0
    if np.isfinite(score).any():
        best = float(np.nanmin(score))
        low, high = 0.95 * best, min(1.05 * float(np.nanmax(score)), 2.5 * best)
    known = np.concatenate([gamma, [chosen]])
    known = known[np.isfinite(known) & (known > 0.0)]
    return Chart(
        (
            Rule(chosen, RESIDUAL, 1.2),
            Curve(gamma, score, PREDICTED, 0.9),
            Dots(gamma[~good], _inside(score[~good], high), "o", "white", PREDICTED, 5.0),
            Dots(gamma[good], score[good], "o", PREDICTED, PREDICTED, 5.0),
        ),
        Axis(
            float(known.min()) / 1.6, 1.6 * float(known.max()), "weight of the prior, γ", log=True
        ),
        Axis(low, high),
        "error on left-out data",
    )


def _inside(values: Array, high: float) -> Array:
    """NaN for values above the chart."""
    return np.where(values <= high, values, np.nan)


def term_figure(
    panels: Sequence[tuple[str, str, Sequence[Interval]]], owners: Sequence[str]
) -> str:
    """Parameters of joints, one panel for each (symbol, unit, intervals), rows as ``owners``."""
    across = min(len(panels), 4)
    down = -(-len(panels) // across)
    places = dict(zip(owners, _rows(owners).places, strict=True))
    charts = []
    for k, (symbol, unit, intervals) in enumerate(panels):
        values = np.array([i.value for i in intervals])
        size = max(1e-12, float(np.max(np.abs(values))))
        left = min(0.0, 1.6 * float(values.min())) - 0.08 * size
        right = max(0.0, 1.6 * float(values.max())) + 0.08 * size
        own_places = np.array([places[i.label] for i in intervals])
        charts.append(
            Chart(
                (Rule(0.0, ZERO, 0.8), *_intervals(own_places, intervals, left, right)),
                Axis(left, right),
                Rows(_rows(owners).names, shown=k % across == 0),
                f"{label_of(symbol)}, {unit}",
            )
        )
    return svg_of_charts(charts, 10.0, down * (0.8 + 0.27 * len(owners)), across)


def _intervals(
    places: NDArray[np.int64], intervals: Sequence[Interval], left: float, right: float
) -> tuple[Mark, ...]:
    """Dots with bars; a bar that extends beyond the axis ends in an arrow."""
    marks: list[Mark] = []
    for place, one in zip(places, intervals, strict=True):
        y = np.array([float(place)])
        color = KIND_COLORS.get(one.kind, MEASURED)
        if one.lower is not None and one.upper is not None and np.isfinite(one.upper - one.lower):
            ends = np.clip([[one.lower], [one.upper]], left, right)
            marks.append(Bars(y, ends[0], ends[1], color, 2.2, 0.55))
            if one.lower < left:
                marks.append(Dots(np.array([left]), y, "<", color, color, 6.0))
            if one.upper > right:
                marks.append(Dots(np.array([right]), y, ">", color, color, 6.0))
        if one.reference is not None:
            marks.append(Dots(np.array([one.reference]), y, "D", "none", RESIDUAL))
        inside = "white" if one.kind == HOLLOW_KIND else color
        marks.append(Dots(np.array([one.value]), y, "o", inside, color))
    return tuple(marks)


def _rows(names: Sequence[str]) -> Rows:
    return Rows(tuple(map(label_of, names)))


def shown_rows(time: Array) -> slice:
    """The rows that a figure shows: all, or the first part of a long run."""
    stop = len(time)
    if stop and time[-1] - time[0] > 1.25 * LONGEST_SHOWN_S:
        stop = int(np.searchsorted(time, time[0] + LONGEST_SHOWN_S))
    return slice(0, stop)


def label_of(name: str) -> str:
    """A name as a figure shows it, cut to a readable length."""
    return name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"
