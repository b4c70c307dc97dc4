"""A weighed payload as one offline HTML page: the body in its frame, values, what is left open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.export.payload_texts import payload_mjcf, payload_urdf
from steelyard.payload.payload_estimate import PayloadEstimate, PayloadValue, Unconstrained
from steelyard.report._environment import template_environment
from steelyard.report._payload_figures import VIEWS, DrawnBody, body_figure
from steelyard.report.numbers import percent, significant, with_half_width
from steelyard.report.page import data_uri
from steelyard.report.payload_notes import (
    KIND_SIGNS,
    KIND_WORDS,
    is_about_origin,
    label_of,
    open_values,
    payload_notes,
)

SHOWN_UNITS = {"m": ("mm", 1000.0), "rad": ("°", 57.29577951308232)}
"""Units of lengths and angles for people, and the factor to them."""
MODE_WORDS = {"ft": "on a force/torque sensor", "joints": "by the torques of the joints"}
COM = ("cx", "cy", "cz")
DENSEST = 22_600.0
"""kg/m³, of osmium: an equivalent box of more is smaller than the body can be."""
NOISE = 1e-15
"""A value that is not determined is shown as 0 below this: rounding errors of a symmetric body."""


@dataclass(frozen=True)
class ValueRow:
    """A value as a table shows it. sign : of its kind, for those who do not see colours."""

    name: str
    label: str
    value: str
    interval: str
    unit: str
    kind: str
    sign: str
    at_boundary: bool


def render_payload_page(estimate: PayloadEstimate) -> str:
    """The page as one HTML text."""
    return template_environment().get_template("payload.html").render(_context(estimate))


def _context(estimate: PayloadEstimate) -> dict[str, Any]:
    from steelyard._version import __version__

    box, body = estimate.box, estimate.body
    main = [value for value in estimate.values if not is_about_origin(value.name)]
    origin = [value for value in estimate.values if is_about_origin(value.name)]
    left = open_values(estimate.values)
    return {
        "version": __version__,
        "estimate": estimate,
        "verdict": estimate.verdict,
        "mode": MODE_WORDS[estimate.mode],
        "level": f"{100.0 * estimate.level:g} %",
        "mass": value_row(estimate.value("m")) if _has(estimate, "m") else None,
        "com": [value_row(estimate.value(name)) for name in COM if _has(estimate, name)],
        "figures": figures(estimate),
        "box_known": box_known(estimate),
        "box_drawn": box_drawn(estimate),
        "box_mm": [significant(2000.0 * float(half), 3) for half in box.half_sizes],
        "density": box.density,
        "too_dense": box.density is not None and box.density > DENSEST,
        "at_edge": any(one.at_boundary for one in main if one.name.endswith("_com")),
        "moments": [significant(float(one), 4) for one in body.principal_moments],
        "tables": [
            ("The body", [value_row(value) for value in main]),
            ("Estimated with it", [value_row(value) for value in estimate.others]),
        ],
        "both": both_rows(estimate),
        "unconstrained_words": None
        if estimate.unconstrained is None
        else unconstrained_words(estimate.unconstrained),
        "origin_rows": [value_row(value) for value in origin],
        "kinds": [(KIND_SIGNS[kind], kind, words) for kind, words in KIND_WORDS.items()],
        "open_names": [label_of(value.name) for value in left if not is_about_origin(value.name)],
        "notes": payload_notes(estimate),
        "channels": channel_rows(estimate.channels),
        "urdf": payload_urdf(estimate),
        "mjcf": payload_mjcf(estimate),
    }


def value_row(value: PayloadValue) -> ValueRow:
    """One value with its interval, in units that people read easily."""
    unit, factor = SHOWN_UNITS.get(value.unit, (value.unit, 1.0))
    own = f"{factor * value.value:.4g}" if abs(value.value) > NOISE else "0"
    shown, interval = own, "any value"
    if value.lower is not None and value.upper is not None:
        half = 0.5 * factor * (value.upper - value.lower)
        shown, low, high = (
            with_half_width(factor * x, half)[0] for x in (value.value, value.lower, value.upper)
        )
        interval = f"{low} to {high}"
        if value.kind == "feasible range":
            # the width of a range says nothing about the digits of one value in it
            shown = own
    return ValueRow(
        value.name,
        label_of(value.name),
        shown,
        interval,
        unit,
        value.kind,
        KIND_SIGNS[value.kind],
        value.at_boundary,
    )


@dataclass(frozen=True)
class BothRow:
    """One value of the physical body, and that of unconstrained least squares."""

    label: str
    physical: str
    unconstrained: str
    unit: str


def both_rows(estimate: PayloadEstimate) -> list[BothRow]:
    """Mass, centre of mass and inertia about it, of the physical body and without constraint."""
    beside = estimate.unconstrained
    if beside is None:
        return []
    rows = []
    for one in estimate.values:
        if is_about_origin(one.name):
            continue
        unit, factor = SHOWN_UNITS.get(one.unit, (one.unit, 1.0))
        other = beside.value(one.name)
        rows.append(
            BothRow(
                label_of(one.name),
                significant(factor * one.value),
                significant(factor * other) if np.isfinite(other) else "?",
                unit,
            )
        )
    return rows


def unconstrained_words(unconstrained: Unconstrained) -> str:
    """Whether unconstrained least squares is a body, and how well it fits."""
    error = f"relative error {percent(unconstrained.relative_error)}"
    if not unconstrained.broken:
        return f"Unconstrained least squares is physical ({error})."
    return f"Unconstrained least squares fits no body ({error}): {'; '.join(unconstrained.broken)}."


def channel_rows(channels: Iterable[tuple[str, float, str]]) -> list[tuple[str, str, float]]:
    """Name, rms with unit, and the share (%) of the largest rms of that unit, for a bar."""
    channels = list(channels)
    largest = {unit: max(rms for _, rms, u in channels if u == unit) for _, _, unit in channels}
    return [
        (name, f"{significant(rms, 3)} {unit}", round(100.0 * rms / max(largest[unit], 1e-300), 1))
        for name, rms, unit in channels
    ]


def box_known(estimate: PayloadEstimate) -> bool:
    """Whether the data determine everything that the equivalent box is made of."""
    return not any(not is_about_origin(one.name) for one in open_values(estimate.values))


def box_drawn(estimate: PayloadEstimate) -> bool:
    """Whether the data say anything about the inertia, and so about the equivalent box."""
    inertia = [value for value in estimate.values if value.name.endswith("_com")]
    return any(value.kind != "not determined" for value in inertia)


def figures(estimate: PayloadEstimate) -> list[tuple[str, str]]:
    """(what it shows, data URI) of the body from two sides; none for a body without mass."""
    if estimate.body.mass == 0.0:
        return []
    drawn = DrawnBody(
        estimate.box,
        tuple(_ends(estimate.value(name)) if _has(estimate, name) else None for name in COM),
        box_known(estimate),
        box_drawn(estimate),
    )
    return [(view.name, data_uri(body_figure(drawn, view))) for view in VIEWS]


def _ends(value: PayloadValue) -> tuple[float, float] | None:
    if value.lower is None or value.upper is None:
        return None
    return value.lower, value.upper


def _has(estimate: PayloadEstimate, name: str) -> bool:
    return any(value.name == name for value in estimate.values)
