"""One figure with the content of a report that people look at first.

Torques measured and predicted, the error of each joint, and masses against the robot file. It is
made without Matplotlib's pyplot, so that no window opens and no global state changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from steelyard.model.mechanism import row_words
from steelyard.report import _figures
from steelyard.report._figures import HOLLOW_KIND, KIND_COLORS, MEASURED, PREDICTED, RESIDUAL
from steelyard.report._matplotlib import STYLE, draw_chart, quiet_about_glyphs
from steelyard.report._standard import mass_intervals
from steelyard.report.content import JointError, Report, TorqueRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 11.0
ROW_HEIGHT = 1.75
"""Inches."""
DOTS_PER_INCH = 150


def report_figure(report: Report) -> Figure:
    """The figure; its height depends on the number of joints."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    masses = mass_intervals(report)
    errors = shown_errors(report)
    n_joints = 0
    if report.run is not None:
        n_joints = int(np.isfinite(report.run.measured).any(axis=0).sum())
    across = 1 if n_joints < 2 else 2 if n_joints <= 8 else 3
    above = 0.7 + ROW_HEIGHT * -(-n_joints // across) if n_joints else 0.0
    below = 1.7 + 0.27 * max(len(masses), len(errors), 3)
    with matplotlib.rc_context(STYLE), quiet_about_glyphs():
        figure = Figure(figsize=(WIDTH, above + below), layout="constrained")
        FigureCanvasAgg(figure)
        parts: Any = [figure]
        if report.run is not None:
            parts = figure.subfigures(2, 1, height_ratios=(above, below))
            _draw_torques(parts[0], report, report.run, across)
        panels = [
            draw
            for draw, any_shown in ((_draw_errors, errors), (_draw_masses, masses))
            if any_shown
        ]
        for draw, panel in zip(panels, _side_by_side(parts[-1], len(panels)), strict=True):
            draw(panel, report)
        figure.draw_without_rendering()  # lays it out, in this style
    return figure


def save_figure(figure: Figure, stream: BinaryIO, ending: str) -> None:
    """Write the figure as "png", "svg" or "pdf"."""
    with quiet_about_glyphs():
        figure.savefig(stream, format=ending, dpi=DOTS_PER_INCH)


def _draw_torques(part: Any, report: Report, run: TorqueRun, across: int) -> None:
    model = report.model
    kind = "held out" if run.held_out else "used for the estimate"
    robot, log = _figures.label_of(model.robot.name), _figures.label_of(run.name)
    part.suptitle(f"Torques of {robot}: {log} ({kind})", fontsize=10, parse_math=False)
    channels = zip(
        map(row_words, model.channels),
        model.channel_units,
        run.measured.T,
        run.predicted.T,
        strict=True,
    )
    shown = [one for one in channels if np.isfinite(one[2]).any()]
    down = -(-len(shown) // across)
    for k, (name, unit, measured, predicted) in enumerate(shown):
        chart = _figures.torque_chart(name, unit, run.time, measured, predicted)
        draw_chart(part.add_subplot(down, across, k + 1), chart)
    measured_as = "measured, filtered" if run.filtered else "measured"
    part.legend(
        handles=[
            _line(MEASURED, measured_as, linewidth=2.4, alpha=0.6),
            _line(PREDICTED, "predicted"),
            _line(RESIDUAL, "difference"),
        ],
        loc="outside lower center",
        ncols=3,
        frameon=False,
    )


def shown_errors(report: Report) -> list[JointError]:
    """The errors that a logarithmic axis can show."""
    return [error for error in report.errors if error.identified > 0.0]


def _side_by_side(part: Any, n_panels: int) -> list[Any]:
    return list(part.subfigures(1, n_panels, squeeze=False)[0]) if n_panels else []


def _draw_errors(panel: Any, report: Report) -> None:
    errors = shown_errors(report)
    what = report.error_quantity
    chart = _figures.error_chart(
        [error.name for error in errors],
        [error.identified for error in errors],
        [error.prior for error in errors],
        f"Errors on {report.errors_on}",
        f"% of the {what} (100 % if no {what} is predicted)",
    )
    draw_chart(panel.add_subplot(), chart)
    handles = [_dot("o", PREDICTED, "identified")]
    if any(error.prior is not None for error in errors):
        handles.append(_file_mark("robot file, no friction"))
    _legend_below(panel, handles)


def _draw_masses(panel: Any, report: Report) -> None:
    masses = mass_intervals(report)
    draw_chart(panel.add_subplot(), _figures.mass_chart(masses, "Masses, with their intervals"))
    kinds = [kind for kind in KIND_COLORS if any(mass.kind == kind for mass in masses)]
    handles = [
        _dot("o", KIND_COLORS[kind], f"identified ({kind})", hollow=kind == HOLLOW_KIND)
        for kind in kinds
    ]
    if any(mass.reference is not None for mass in masses):
        handles.append(_file_mark("robot file"))
    _legend_below(panel, handles)


def _legend_below(panel: Any, handles: list[Any]) -> None:
    panel.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)


def _line(color: str, label: str, **how: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, label=label, **how)


def _dot(marker: str, color: str, label: str, *, hollow: bool = False) -> Any:
    inside = "white" if hollow else color
    return _line(
        color, label, marker=marker, linestyle="none", markersize=6, markerfacecolor=inside
    )


def _file_mark(label: str) -> Any:
    return _line(
        "none", label, marker="D", markeredgecolor=RESIDUAL, linestyle="none", markersize=5.5
    )
