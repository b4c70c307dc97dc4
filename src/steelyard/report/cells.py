"""A parameter and its interval as tables show them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard.estimators.estimate import StandardEstimate
from steelyard.report.numbers import significant, with_half_width


@dataclass(frozen=True)
class Cell:
    """A parameter as a table shows it."""

    name: str
    unit: str
    value: str
    interval: str
    kind: str
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
        size = max(abs(lower), abs(upper))  # type: ignore[arg-type]
        # the solver returns a small number instead of zero
        ends = (significant(0.0 if abs(x) < 1e-7 * size else x, 3) for x in (lower, upper))  # type: ignore[arg-type]
        interval = " to ".join(ends)
    return Cell(
        parameter.name,
        parameter.unit,
        value,
        interval,
        parameter.interval_kind,
        parameter.at_boundary,
    )
