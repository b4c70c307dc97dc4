"""The standard parameters of a report: bodies and joints as tables and _figures."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.estimators.bodies import BodyEstimate, body_estimates, term_estimates
from steelyard.report import _figures
from steelyard.report._figures import Interval
from steelyard.report.cells import Cell, cell
from steelyard.report.content import Report


@dataclass(frozen=True)
class BodyRow:
    """A body as the table shows it. file_mass : what the robot file states, kg."""

    name: str
    file_mass: float
    mass: Cell
    com: tuple[Cell, ...]
    principal_moments: tuple[Cell, ...]
    inertia_com: tuple[Cell, ...]
    parameters: tuple[Cell, ...]
    at_boundary: bool


def body_rows(report: Report) -> list[BodyRow]:
    """A row for each body; empty if the method gives no standard parameters."""
    stated = _stated(report)
    bodies = body_estimates(report.model, report.estimate, report.level)
    return [_row(body, stated[body.mass.name]) for body in bodies]


def _stated(report: Report) -> dict[str, float]:
    """Standard parameters of the robot file, by name."""
    values = report.model.prior_theta().tolist()
    return dict(zip(report.model.column_names, values, strict=True))


def _row(body: BodyEstimate, file_mass: float) -> BodyRow:
    return BodyRow(
        body.name if body.joint is None else f"{body.name} · {body.joint}",
        file_mass,
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
    masses = mass_intervals(report)
    return _figures.mass_figure(masses) if masses else None


def mass_intervals(report: Report) -> list[Interval]:
    """The mass of each body with its interval, and that of the robot file."""
    stated = _stated(report)
    masses = []
    for body in body_estimates(report.model, report.estimate, report.level):
        mass, file_mass = body.mass, stated[body.mass.name]
        if mass.value > 0.0:
            known = file_mass if file_mass > 0.0 else None
            interval = Interval(
                body.name, mass.value, mass.lower, mass.upper, mass.interval_kind, known
            )
            masses.append(interval)
    return masses


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
