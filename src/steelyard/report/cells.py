"""A parameter and its interval as tables show them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard.estimators.estimate import StandardEstimate
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
