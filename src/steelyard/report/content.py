"""The content of a report as data; the templates only lay it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.estimate import Estimate, ParameterEstimate
from steelyard.model.model import Model
from steelyard.report.numbers import percent, significant, with_half_width

if TYPE_CHECKING:
    from steelyard.certificates.certificate import Certificate
    from steelyard.diagnosis.hypotheses.stepwise import Missing
    from steelyard.diagnosis.signal_ways import SignalChoice
    from steelyard.diagnosis.verdict.verdict import Verdict
    from steelyard.validation.scores import Score

Array = NDArray[np.float64]

# the axis of the small interval plots, in units of the parameter's own value
FOREST_LEFT, FOREST_RIGHT, FOREST_WIDTH = -1.0, 3.0, 160.0
LONGEST_COMBINATION = 700


@dataclass(frozen=True, eq=False)
class TorqueRun:
    """Torques of one run, on its time base.

    measured, predicted : (n_samples, nv) N m or N, columns as ``Model.channels``; NaN where a
        torque was not measured, or is left out of the comparison.
    filtered : whether the measured torque was filtered.
    """

    name: str
    held_out: bool
    time: Array
    measured: Array
    predicted: Array
    filtered: bool = False


@dataclass(frozen=True)
class JointError:
    """|residual| / |torque| of a channel: of the estimate and of the file's inertials (or None)."""

    name: str
    identified: float
    prior: float | None


@dataclass(frozen=True, eq=False)
class Reference:
    """Values (n_base,) to compare with, such as the true parameters of a simulated robot."""

    label: str
    beta: Array


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that one report shows.

    errors : per channel; ``errors_on`` says on which data.
    prediction, baseline : errors over all channels of the held-out runs, which are then the data
        of ``errors``: of the estimate, and of the file's inertials.
    errors_cover : how the torques of these data were filtered and selected, in words.
    signals : how filters and friction widths were chosen, if they were.
    missing : what explains the first log besides the model, or would.
    certificate : of a constrained estimate.
    verdict : whether the result can be used, if it was judged.
    """

    model: Model
    estimate: Estimate
    level: float = 0.95
    run: TorqueRun | None = None
    errors: tuple[JointError, ...] = ()
    errors_on: str = "the data that was used"
    prediction: Score | None = None
    baseline: Score | None = None
    errors_cover: str = ""
    signals: SignalChoice | None = None
    missing: tuple[Missing, ...] = ()
    reference: Reference | None = None
    certificate: Certificate | None = None
    verdict: Verdict | None = None

    @property
    def _errors_of_joints(self) -> bool:
        return self.prediction is not None or self.estimate.equation.of_joints

    @property
    def error_column(self) -> str:
        """What ``errors`` lists: joints, or the equation that was fitted."""
        return "joint" if self._errors_of_joints else "equation"

    @property
    def error_quantity(self) -> str:
        """What the errors are a share of."""
        return "torque" if self._errors_of_joints else self.estimate.equation.kind.quantity


@dataclass(frozen=True)
class Row:
    """One base parameter as the table shows it; x positions are pixels of the small plot."""

    name: str
    unit: str
    value: str
    half: str
    relative: str
    sigma: str
    combination: str
    strength: str
    low_x: float
    mid_x: float
    high_x: float
    cut_low: bool
    cut_high: bool
    reference: str
    reference_x: float | None


def parameter_groups(report: Report) -> list[tuple[str, list[Row]]]:
    """Base parameters as table rows, grouped by the link, joint or coupling they belong to."""
    groups: dict[str, list[Row]] = {}
    base = report.estimate.base
    for k, parameter in enumerate(report.estimate.parameters(report.level)):
        owner = base.columns[base.independent[k]].owner
        truth = None if report.reference is None else float(report.reference.beta[k])
        groups.setdefault(owner, []).append(parameter_row(parameter, truth))
    return list(groups.items())


def parameter_row(parameter: ParameterEstimate, truth: float | None) -> Row:
    """The texts and positions of one row."""
    value, half = parameter.value, 0.5 * (parameter.upper - parameter.lower)
    shown, shown_half = with_half_width(value, half)
    low, high = 1.0, 1.0
    if np.isfinite(half) and value:
        low, high = 1.0 - half / abs(value), 1.0 + half / abs(value)
    reference_x = None
    if truth is not None and np.isfinite(value) and value:
        reference_x = _x(truth / value)
    return Row(
        name=parameter.name,
        unit=parameter.unit,
        value=shown,
        half=shown_half,
        relative=percent(half / abs(value)) if value and np.isfinite(value) else "?",
        sigma=significant(
            parameter.sigma if parameter.sigma_cluster is None else parameter.sigma_cluster, 2
        ),
        combination=shortened(parameter.combination),
        strength=strength(parameter),
        low_x=_x(low),
        mid_x=_x(1.0),
        high_x=_x(high),
        cut_low=low < FOREST_LEFT,
        cut_high=high > FOREST_RIGHT,
        reference="" if truth is None else significant(truth),
        reference_x=reference_x,
    )


def error_rows(report: Report) -> list[tuple[str, str, str]]:
    """Which samples, the error of the estimate and that of the file's inertials on them.

    Empty without held-out runs, and where one error is all that is known.
    """
    if report.prediction is None or len(report.prediction.errors) < 2:
        return []
    others = {} if report.baseline is None else dict(report.baseline.errors)
    return [
        (where, percent(error), percent(others[where]) if where in others else "?")
        for where, error in report.prediction.errors
    ]


def shortened(combination: str) -> str:
    """A combination, truncated to fit in a table; the result file has all of it."""
    if len(combination) <= LONGEST_COMBINATION:
        return combination
    cut = combination[:LONGEST_COMBINATION].rsplit(" ", 2)[0]
    return f"{cut} … (complete in result.json)"


def strength(parameter: ParameterEstimate) -> str:
    """How well the data determine a parameter: "well" (± 10 %), "roughly", "barely" (zero is in
    the interval), "open" (not at all), "held" (not estimated), "prior" (mostly by the prior).
    """
    if parameter.interval_kind == "held":
        return "held"
    if parameter.interval_kind == "mostly prior":
        return "prior"
    if parameter.interval_kind == "undetermined" or not np.isfinite(parameter.upper):
        return "open"
    half = 0.5 * (parameter.upper - parameter.lower)
    if parameter.lower <= 0.0 <= parameter.upper:
        return "barely"
    return "well" if half <= 0.1 * abs(parameter.value) else "roughly"


STRENGTH_SIGNS = {
    "well": "■",
    "roughly": "◆",
    "barely": "●",
    "open": "●",
    "held": "●",
    "prior": "□",
}
"""Shown beside the colour of a strength, which not everybody can tell from the others."""


def strengths(report: Report) -> dict[str, int]:
    """Number of base parameters of each strength."""
    counts = {"well": 0, "roughly": 0, "barely": 0, "open": 0, "held": 0, "prior": 0}
    for parameter in report.estimate.parameters(report.level):
        counts[strength(parameter)] += 1
    return counts


def fate_table(report: Report) -> tuple[list[str], list[tuple[str, list[dict[str, str] | None]]]]:
    """Symbols of the columns, and per body the fate of each of them (None: not modelled).

    The terms of a joint are in the row of the link that it moves; a coupling has its own row.
    """
    columns, base = report.model.columns, report.estimate.base
    symbols = list(dict.fromkeys(column.symbol for column in columns))
    label_of: dict[str, str] = {}
    for body in report.model.mechanism.bodies:
        label_of[body.name] = body.name
        if body.joint is not None:
            label_of[body.name] = label_of[body.joint] = f"{body.name} · {body.joint}"
    rows_of: dict[str, dict[str, dict[str, str]]] = {}
    for k, (column, fate) in enumerate(zip(columns, report.estimate.fates(), strict=True)):
        words = fate.words
        if fate.kind == "combination":
            # the table of base parameters has the combinations: their names are enough here
            rows = np.flatnonzero(base.K[:, k])
            words = f"only in combinations: {', '.join(base.names[row] for row in rows)}"
        cell = {"kind": fate.kind, "words": f"{column.name} ({column.unit}): {words}"}
        label = label_of.get(column.owner, column.owner)
        rows_of.setdefault(label, {})[column.symbol] = cell
    return symbols, [
        (label, [cells.get(symbol) for symbol in symbols]) for label, cells in rows_of.items()
    ]


def _x(relative: float) -> float:
    """Pixel of a value in units of the parameter, clipped to the small plot."""
    share = (relative - FOREST_LEFT) / (FOREST_RIGHT - FOREST_LEFT)
    return round(FOREST_WIDTH * min(max(share, 0.0), 1.0), 1)
