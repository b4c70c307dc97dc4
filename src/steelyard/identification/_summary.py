"""An identification as text: links and joints with intervals, errors, findings."""

from __future__ import annotations

import textwrap

from steelyard.estimators.bodies import body_estimates, term_estimates
from steelyard.estimators.estimate import StandardEstimate
from steelyard.identification._found_fields import FoundFields
from steelyard.identification._overview import (
    WIDTH,
    added_words,
    baseline_words,
    data_words,
    error_words,
    headline,
    mass_words,
)
from steelyard.identification.outputs import joint_errors
from steelyard.report.cells import cell
from steelyard.report.numbers import percent, with_half_width
from steelyard.report.standard_notes import standard_notes
from steelyard.report.text_table import text_table
from steelyard.robot.file_changes import brief_change_findings
from steelyard.validation.scores import BASELINE


def summary(found: FoundFields) -> str:
    """Every mass, centre of mass and joint term with its interval and the interval's kind."""
    facts = (
        ("Verdict: ", found.verdict.sentence),
        ("Assumed: ", found.verdict.assumed),
        ("Data: ", data_words(found)),
        ("Error: ", error_words(found)),
        ("Error of the robot file: ", baseline_words(found)),
        ("Added terms: ", added_words(found)),
        ("Mass: ", mass_words(found)),
        ("Proven: ", None if found.certificate is None else found.certificate.words),
    )
    lines = [*_wrapped(headline(found))]
    for label, words in facts:
        lines += [] if words is None else _wrapped(label + words)
    sections = (_base(found),) if found.estimate.standard is None else (_links(found),)
    for section in (*sections, _joints(found), _errors(found), _findings(found)):
        lines += ["", *section] if section else []
    return "\n".join(lines) + "\n"


def _links(found: FoundFields) -> list[str]:
    rows = [
        _row(body.name, parameter)
        for body in body_estimates(found.model, found.estimate, found.level)
        for parameter in (body.mass, *body.com)
    ]
    notes = [line for words in standard_notes(found.estimate) for line in _wrapped(words)]
    title = "Links: mass m, centre of mass cx, cy, cz in the link's frame"
    return [title, *_table(found, rows), *notes]


def _joints(found: FoundFields) -> list[str]:
    terms = term_estimates(found.model, found.estimate, found.level)
    rows = [_row(owner, one) for owner, own in terms.items() for one in own.values()]
    kinds = {
        column.symbol: column.term_kind.description
        for column in found.model.columns
        if column.term_kind is not None
    }
    words = ", ".join(f"{name} {symbol}" for symbol, name in kinds.items())
    return [f"Joints: {words}", *_table(found, rows)] if rows else []


def _row(owner: str, parameter: StandardEstimate) -> tuple[str, ...]:
    shown = cell(parameter)
    symbol = parameter.name.removeprefix(f"{owner}.")
    return owner, symbol, shown.value, shown.interval, shown.unit, shown.kind


def _table(found: FoundFields, rows: list[tuple[str, ...]]) -> list[str]:
    interval = f"{100 * found.level:g} % interval"
    columns = ("name", "", "value", interval, "unit", "kind of interval")
    return text_table(columns, rows, left=("name", "", "unit", "kind of interval"))


def _base(found: FoundFields) -> list[str]:
    """Base parameters, of a method that gives no others."""
    rows: list[tuple[str, ...]] = []
    for one in found.estimate.parameters(found.level):
        value, half = with_half_width(one.value, 0.5 * (one.upper - one.lower))
        rows.append((one.name, "", value, f"± {half}", one.unit, one.interval_kind))
    return [
        "Base parameters; the combinations that they stand for are in .estimate",
        *(_table(found, rows)),
    ]


def _errors(found: FoundFields) -> list[str]:
    rows = [
        (one.name, percent(one.identified), "?" if one.prior is None else percent(one.prior))
        for one in joint_errors(found)
    ]
    data, kind = "the data that was used", found.estimate.equation.kind
    what, column = kind.quantity, "joint" if found.estimate.equation.of_joints else "equation"
    if found.validation is not None:
        data, what, column = found.validation.data, "torque", "joint"
    return [
        f"Errors as a share of the {what}, on {data}",
        *text_table((column, "identified", BASELINE), rows, left=(column,)),
    ]


def _findings(found: FoundFields) -> list[str]:
    brief = {one.code: one.words for one in brief_change_findings(found.model.robot)}
    lines = []
    for one in found.findings:
        lines += _wrapped(f"{one.level}: {brief.get(one.code, one.sentence)} [{one.code}]")
    return lines


def _wrapped(words: str) -> list[str]:
    return textwrap.wrap(" ".join(words.split()), WIDTH, subsequent_indent="  ")
