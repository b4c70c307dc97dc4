"""The standard parameters of a report: bodies and joints as tables and _figures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard.estimators.bodies import BodyEstimate, body_estimates, term_estimates
from steelyard.estimators.estimate import StandardEstimate
from steelyard.report import _figures
from steelyard.report._figures import Interval
from steelyard.report.content import Report
from steelyard.report.numbers import significant, with_half_width


@dataclass(frozen=True)
class Cell:
    """A parameter as a table shows it; credible : the range given the prior, empty without one."""

    name: str
    unit: str
    value: str
    interval: str
    kind: str
    at_boundary: bool
    credible: str = ""


@dataclass(frozen=True)
class BodyRow:
    """A body as the table shows it."""

    name: str
    mass: Cell
    com: tuple[Cell, ...]
    principal_moments: tuple[Cell, ...]
    inertia_com: tuple[Cell, ...]
    parameters: tuple[Cell, ...]
    at_boundary: bool


def cell(parameter: StandardEstimate) -> Cell:
    """The texts of one parameter."""
    lower, upper = parameter.lower, parameter.upper
    known = lower is not None and upper is not None and math.isfinite(upper - lower)
    value, interval = significant(parameter.value), ""
    if known and parameter.interval_kind == "confidence":
        value, half = with_half_width(parameter.value, 0.5 * (upper - lower))  # type: ignore[operator]
        interval = f"± {half}"
    elif known:
        interval = _range(lower, upper)
    return Cell(
        parameter.name,
        parameter.unit,
        value,
        interval,
        parameter.interval_kind,
        parameter.at_boundary,
        _range(parameter.credible_lower, parameter.credible_upper),
    )


def _range(lower: float | None, upper: float | None) -> str:
    """A range to three digits, or an empty text."""
    if lower is None or upper is None or not math.isfinite(upper - lower):
        return ""
    size = max(abs(lower), abs(upper))
    # the solver returns a small number instead of zero
    ends = (significant(0.0 if abs(x) < 1e-7 * size else x, 3) for x in (lower, upper))
    return " to ".join(ends)


def body_rows(report: Report) -> list[BodyRow]:
    """A row for each body; empty if the method gives no standard parameters."""
    return [_row(body) for body in body_estimates(report.model, report.estimate, report.level)]


def _row(body: BodyEstimate) -> BodyRow:
    return BodyRow(
        body.name if body.joint is None else f"{body.name} · {body.joint}",
        cell(body.mass),
        tuple(map(cell, body.com)),
        tuple(map(cell, body.principal_moments)),
        tuple(map(cell, body.inertia_com)),
        tuple(map(cell, body.parameters)),
        body.at_boundary,
    )


def term_table(report: Report) -> tuple[list[str], list[tuple[str, list[Cell | None]]]]:
    """Symbols of the terms, and for each joint or coupling a cell for each of them."""
    terms = term_estimates(report.model, report.estimate, report.level)
    symbols = list(dict.fromkeys(symbol for own in terms.values() for symbol in own))
    return symbols, [
        (owner, [cell(own[symbol]) if symbol in own else None for symbol in symbols])
        for owner, own in terms.items()
    ]


def mass_figure(report: Report) -> str | None:
    """SVG of the masses against those of the robot file."""
    stated = dict(zip(report.model.column_names, report.model.prior_theta(), strict=True))
    masses = []
    for body in body_estimates(report.model, report.estimate, report.level):
        mass, file_mass = body.mass, float(stated[body.mass.name])
        if mass.value > 0.0:
            known = file_mass if file_mass > 0.0 else None
            interval = Interval(
                body.name, mass.value, mass.lower, mass.upper, mass.interval_kind, known
            )
            masses.append(interval)
    return _figures.mass_figure(masses) if masses else None


def term_figure(report: Report) -> str | None:
    """SVG of friction, drive inertia and the other terms, joint by joint."""
    terms = term_estimates(report.model, report.estimate, report.level)
    panels: dict[tuple[str, str], list[Interval]] = {}
    for owner, own in terms.items():
        for symbol, p in own.items():
            # revolute and prismatic joints have different units
            panels.setdefault((symbol, p.unit), []).append(
                Interval(owner, p.value, p.lower, p.upper, p.interval_kind)
            )
    if not panels:
        return None
    listed = [(symbol, unit, intervals) for (symbol, unit), intervals in panels.items()]
    return _figures.term_figure(listed, list(terms))
