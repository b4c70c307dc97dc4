"""An identification as small HTML tables, as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from steelyard.estimators.bodies import body_estimates, term_estimates
from steelyard.estimators.estimate import StandardEstimate
from steelyard.identification._found_fields import FoundFields
from steelyard.identification._overview import (
    baseline_words,
    data_words,
    error_words,
    headline,
    mass_words,
)
from steelyard.report.cells import cell
from steelyard.report.numbers import significant
from steelyard.report.standard_notes import standard_notes

LEFT = ' style="text-align:left"'
NO_STANDARD = "This method gives base parameters only; see summary()."


def html_tables(found: FoundFields) -> str:
    """Links with mass, interval and its kind, joints with their terms, and warnings; escaped."""
    facts = (
        ("verdict", found.verdict.sentence),
        ("assumed", found.verdict.assumed),
        ("data", data_words(found)),
        ("error", error_words(found)),
        ("error of the robot file", baseline_words(found)),
        ("mass", mass_words(found)),
    )
    known = [f"{escape(label)}: {escape(words)}" for label, words in facts if words is not None]
    warnings = [one.sentence for one in found.findings if one.alarming]
    parts = [f"<p><b>{escape(headline(found))}</b><br>{'<br>'.join(known)}</p>"]
    if found.estimate.standard is None:
        parts.append(f"<p>{escape(NO_STANDARD)}</p>")
    else:
        parts += [_links(found), _joints(found)]
    parts += [f"<p>warning: {escape(words)}</p>" for words in warnings]
    return f"<div>{''.join(parts)}</div>"


def _links(found: FoundFields) -> str:
    stated = dict(zip(found.model.column_names, found.model.prior_theta(), strict=True))
    rows = []
    for body in body_estimates(found.model, found.estimate, found.level):
        mass = cell(body.mass)
        in_file = significant(float(stated[body.mass.name]))
        rows.append((body.name, mass.value, mass.interval, mass.kind, in_file))
    interval = f"{100 * found.level:g} % interval"
    table = _table(("link", "mass, kg", interval, "kind of interval", "in the file, kg"), rows)
    notes = standard_notes(found.estimate)
    return table + "".join(f"<p>{escape(words)}</p>" for words in notes)


def _joints(found: FoundFields) -> str:
    terms = term_estimates(found.model, found.estimate, found.level)
    if not terms:
        return ""
    symbols = list(dict.fromkeys(symbol for own in terms.values() for symbol in own))
    rows = [
        (owner, *(_term(own.get(symbol)) for symbol in symbols)) for owner, own in terms.items()
    ]
    words = {
        column.symbol: f"{column.term_kind.description} {column.symbol}"
        for column in found.model.columns
        if column.term_kind is not None
    }
    return _table(("joint", *(words[symbol] for symbol in symbols)), rows)


def _term(parameter: StandardEstimate | None) -> str:
    if parameter is None:
        return ""
    shown = cell(parameter)
    interval = shown.interval if shown.interval.startswith("±") else f"({shown.interval})"
    known = f"{shown.value} {interval}" if shown.interval else shown.value
    kind = "" if shown.kind == "confidence" else f", {shown.kind}"
    return f"{known} {shown.unit}{kind}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr><td{LEFT}>{escape(row[0])}</td>"
        + "".join(f"<td>{escape(text)}</td>" for text in row[1:])
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
