"""Tables of a weighed payload, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli.output import Output
from steelyard.cli.results import show_findings
from steelyard.report.numbers import percent, significant
from steelyard.report.payload_notes import KIND_WORDS, is_about_origin, payload_notes
from steelyard.report.payload_page import both_rows, box_known, unconstrained_words, value_row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steelyard.payload.payload_estimate import PayloadEstimate, PayloadValue, Unconstrained

MOST_OTHERS = 9
"""Bias and rotation of a sensor are shown; friction changes of all joints would hide the body."""
UNCONSTRAINED_COLUMNS = ("value", "physical", "unconstrained", "unit")
COLUMNS = ("value", "estimate", "interval", "unit", "kind")


def show_payload(output: Output, estimate: PayloadEstimate) -> None:
    """Print the body, what was estimated with it, how well it fits, and what is left open."""
    body = [value for value in estimate.values if not is_about_origin(value.name)]
    show_values(output, f"Payload at {estimate.frame}, in its axes", body)
    if any(value.at_boundary for value in body):
        output.line("* the body is at the edge of what is physical in this value")
    if len(estimate.others) > MOST_OTHERS:
        output.line(
            f"{len(estimate.others)} more values were estimated with it: --json, and the report of "
            "-o, have them."
        )
    elif estimate.others:
        show_values(output, "Estimated with it", estimate.others)
    if estimate.unconstrained is not None:
        show_unconstrained(output, estimate, estimate.unconstrained)
    box = estimate.box
    size = " × ".join(significant(2000.0 * float(half), 3) for half in box.half_sizes)
    density = "" if box.density is None else f", {significant(box.density, 3)} kg/m³"
    if box_known(estimate):
        output.line(f"Equivalent box: {size} mm{density}.")
    residuals = ", ".join(f"{name} {significant(rms, 3)} {u}" for name, rms, u in estimate.channels)
    found = (
        "the optimum"
        if estimate.optimum_reached
        else f"{percent(estimate.excess)} above the optimum"
    )
    output.line(
        f"Relative error {percent(estimate.relative_error)}; residual rms: {residuals}. The body "
        f"is physical; its sum of squares is {found} ({estimate.solver}). Confidence intervals: "
        f"{100.0 * estimate.level:g} %, {estimate.interval_covariance}."
    )
    for kind in dict.fromkeys(value.kind for value in (*body, *estimate.others)):
        if kind != "confidence":
            output.line(f"{kind}: {KIND_WORDS[kind]}.")
    show_findings(output, estimate.findings)
    for note in payload_notes(estimate):
        output.line(f"note: {note}")


def show_unconstrained(
    output: Output, estimate: PayloadEstimate, unconstrained: Unconstrained
) -> None:
    """Print least squares without physical consistency: beside the physical body if it is none."""
    if unconstrained.broken:
        output.table(
            UNCONSTRAINED_COLUMNS,
            [(row.label, row.physical, row.unconstrained, row.unit) for row in both_rows(estimate)],
            title="The physical body beside unconstrained least squares",
            left=("value", "unit"),
        )
    output.line(unconstrained_words(unconstrained))


def show_values(output: Output, title: str, values: Iterable[PayloadValue]) -> None:
    """Print values with their intervals and kinds."""
    rows = [value_row(value) for value in values]
    output.table(
        COLUMNS,
        [
            (
                row.label,
                row.value,
                row.interval,
                row.unit,
                row.kind + (" *" if row.at_boundary else ""),
            )
            for row in rows
        ],
        title=title,
        left=("value", "unit", "kind"),
    )
