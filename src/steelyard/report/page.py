"""The report as HTML: templates filled with content, figures inlined.

Every text is escaped by the template engine. Figures are data URIs in <img>, in which browsers
run no scripts, and the page forbids scripts by its own policy as well.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard._files.access import write_text
from steelyard.errors import ResultError
from steelyard.estimators.estimate import ChannelFit
from steelyard.estimators.estimate_record import PriorRecord
from steelyard.estimators.solver_names import SOLVER_WORDS
from steelyard.model.mechanism import row_words
from steelyard.model.row_groups import group_words
from steelyard.report import _figures, _standard
from steelyard.report._environment import template_environment
from steelyard.report.content import (
    FOREST_WIDTH,
    STRENGTH_SIGNS,
    Report,
    error_rows,
    fate_table,
    parameter_groups,
    strengths,
)
from steelyard.report.measurements import measurement_rows
from steelyard.report.processing import covered, processing_rows
from steelyard.report.standard_notes import standard_notes
from steelyard.report.total_mass import total_mass_words
from steelyard.robot.file_changes import brief_change_findings
from steelyard.validation.scores import BASELINE

Array = NDArray[np.float64]

SECTIONS = (
    "summary",
    "findings",
    "torques",
    "errors",
    "missing",
    "standard",
    "parameters",
    "prior",
    "fates",
    "proof",
    "processing",
)
MOST_WARNINGS = 4
"""Warnings that stand in the first lines; all are in their own section."""
ALL_FIGURES_UP_TO = 32
MOST_FIGURES = 16
"""Torques of so many joints are shown of a robot with more than `ALL_FIGURES_UP_TO` joints."""
MISSING_STATES = {
    "friction": "law of friction, no fault",
    "believed": "named above",
    "open": "not certain: parts of the log disagree, or it explains too little",
}
INTERVALS_FROM = {
    "resampling": "constrained fits to resampled time blocks",
    "cluster": "time blocks (cluster-robust)",
    "classical": "the classical covariance, which assumes independent residuals",
}


def write_report(path: str | Path, report: Report) -> None:
    """Write the report, whole or not at all."""
    write_text(path, render_report(report), ResultError)


def render_report(report: Report) -> str:
    """The report as one HTML text."""
    return template_environment().get_template("page.html").render(_context(report))


def _context(report: Report) -> dict[str, Any]:
    from steelyard._version import __version__

    model, estimate = report.model, report.estimate
    symbols, fates = fate_table(report)
    masses, joints = _standard.mass_figure(report), _standard.term_figure(report)
    term_symbols, term_rows = _standard.term_table(report)
    advice = estimate.measurement_advice
    advice_rows = measurement_rows(advice)
    return {
        "sections": SECTIONS,
        "version": __version__,
        "report": report,
        "robot": model.robot,
        "estimate": estimate,
        "solver_words": SOLVER_WORDS[estimate.solver],
        "brief": {one.code: one.words for one in brief_change_findings(model.robot)},
        "level": report.level,
        "warnings": [one for one in estimate.findings if one.alarming],
        "most_warnings": MOST_WARNINGS,
        "n_columns": len(model.columns),
        "strengths": strengths(report),
        "signs": STRENGTH_SIGNS,
        "error_rows": error_rows(report),
        "run_names": [run.log for run in estimate.runs],
        "duration_s": sum(run.duration_s for run in estimate.runs),
        "groups": parameter_groups(report),
        "forest_width": FOREST_WIDTH,
        "symbols": symbols,
        "fates": fates,
        "runs": [
            (run.log, processing_rows(run, model.terms, report.signals)) for run in estimate.runs
        ],
        "torque_figures": torque_figures(report),
        "error_figure": error_figure(report),
        "missing_states": MISSING_STATES,
        "shown_s": shown_seconds(report),
        "equation": estimate.equation,
        "error_column": report.error_column,
        "error_quantity": report.error_quantity,
        "fits": fits_of_errors(report),
        "baseline": BASELINE,
        "covered": covered(estimate.runs),
        "fit_groups": group_words(estimate.channels),
        "prediction_groups": ""
        if report.prediction is None
        else group_words(report.prediction.channels),
        "total_mass": total_mass_words(model, estimate, report.level),
        "intervals_from": INTERVALS_FROM[estimate.spread.kind],
        "prior": estimate.prior,
        "prior_figure": prior_figure(estimate.prior),
        "standard_notes": standard_notes(estimate),
        "term_comparison": estimate.term_comparison,
        "bodies": _standard.body_rows(report),
        "mass_figure": None if masses is None else data_uri(masses),
        "term_figure": None if joints is None else data_uri(joints),
        "term_symbols": term_symbols,
        "term_rows": term_rows,
        "advice": advice,
        "advice_rows": advice_rows,
        "more_advice": 0 if advice is None else len(advice.measurements) - len(advice_rows),
    }


def fits_of_errors(report: Report) -> list[tuple[ChannelFit, str]]:
    """The fit behind each error, with its unit; none where the errors are of joints and the fit is
    not.
    """
    estimate = report.estimate
    if estimate.equation.of_joints:
        pairs = zip(estimate.channels, report.model.channel_units, strict=True)
        fits = {row_words(fit.name): (fit, unit) for fit, unit in pairs}
        return [fits[error.name] for error in report.errors]
    if report.error_column == "joint":
        return []
    return [(fit, estimate.equation.kind.unit) for fit in estimate.channels]


def torque_figures(report: Report) -> list[tuple[str, str]]:
    """(channel, data URI) of the measured torque channels of the run that is shown: all, or of a
    robot with many joints those with the largest relative errors.
    """
    if report.run is None:
        return []
    run, model = report.run, report.model
    figures = []
    for k in shown_channels(run.measured, run.predicted):
        name, measured, predicted = row_words(model.channels[k]), run.measured[:, k], run.predicted
        figure = _figures.torque_figure(
            name, model.channel_units[k], run.time, measured, predicted[:, k]
        )
        figures.append((name, data_uri(figure)))
    return figures


def shown_channels(measured: Array, predicted: Array) -> list[int]:
    """Which columns of torques (n_samples, n_channels) are shown: all that were measured, or of
    more than `ALL_FIGURES_UP_TO` the `MOST_FIGURES` with the largest relative errors, in their
    order.
    """
    recorded = np.flatnonzero(np.isfinite(measured).any(axis=0))
    if len(recorded) <= ALL_FIGURES_UP_TO:
        return recorded.tolist()
    left = np.nansum((measured - predicted)[:, recorded] ** 2, axis=0)
    size = np.nansum(measured[:, recorded] ** 2, axis=0)
    errors = np.divide(left, size, out=np.zeros(len(recorded)), where=size > 0.0)
    worst = np.argsort(-errors, kind="stable")[:MOST_FIGURES]
    return sorted(recorded[worst].tolist())


def prior_figure(prior: PriorRecord | None) -> str | None:
    """Data URI of the errors by weight of the prior, and of each body's distance from it."""
    if prior is None or prior.rule == "no prior":
        return None
    tried = prior.trials if prior.rule == "leave-blocks-out" else ()
    trials = [(trial.gamma, trial.score, trial.as_good) for trial in tried]
    bodies = list(prior.divergence.items())
    if not trials and not bodies:
        return None
    return data_uri(_figures.prior_figure(trials, prior.gamma, bodies))


def error_figure(report: Report) -> str | None:
    """Data URI of the errors per joint, or None where there are none."""
    known = [error for error in report.errors if error.identified > 0.0]
    if not known:
        return None
    names = [error.name for error in known]
    svg = _figures.error_figure(
        names, [error.identified for error in known], [error.prior for error in known]
    )
    return data_uri(svg)


def shown_seconds(report: Report) -> tuple[float, float]:
    """Seconds of the run that the figures show, and its whole duration (s)."""
    if report.run is None or len(report.run.time) == 0:
        return 0.0, 0.0
    time = report.run.time
    shown = time[_figures.shown_rows(time)]
    return float(shown[-1] - shown[0]), float(time[-1] - time[0])


def data_uri(svg: str) -> str:
    """An SVG as the source of an <img>."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode("ascii")
