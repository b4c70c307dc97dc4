"""Round numbers for the ticks of an axis, and their texts."""

from __future__ import annotations

import math
from itertools import pairwise

from steelyard.report.charts import Axis

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MOST_DECADES = 7
"""Ticks of an axis over more decades leave some of them out."""


def ticks(axis: Axis, most: int) -> list[tuple[float, str]]:
    """(value, text) of at most about ``most`` ticks between the ends of the axis."""
    if not axis.log:
        values = _even(axis.low, axis.high, most)
        return list(zip(values, _plain_texts(values), strict=True))
    values = _logarithmic(axis.low, axis.high, most)
    powers = any(not 1e-3 <= value < 1e5 for value in values)
    return [(value, _power_text(value) if powers else f"{value:g}") for value in values]


def minor_ticks(axis: Axis) -> list[float]:
    """Multiples of the powers of ten on a logarithmic axis of a few decades."""
    first, last = (
        (math.floor(math.log10(x)) for x in (axis.low, axis.high)) if axis.log else (0, -1)
    )
    if last - first > MOST_DECADES:
        return []
    multiples = (digit * 10.0**k for k in range(first, last + 1) for digit in range(1, 10))
    return [value for value in multiples if axis.low <= value <= axis.high]


def _even(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / max(most, 1)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(s * size for s in STEPS if s * size >= rough * (1.0 - 1e-9))
    slack = 1e-9 * (high - low)
    first, last = math.ceil((low - slack) / step), math.floor((high + slack) / step)
    return [k * step for k in range(first, last + 1)]


def _logarithmic(low: float, high: float, most: int) -> list[float]:
    """Powers of ten; on short axes also twice and five times them, or even steps."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    inside = [10.0**k for k in range(first, last + 1) if low <= 10.0**k <= high]
    if len(inside) >= 3:
        return inside[:: -(-len(inside) // min(most, MOST_DECADES))]
    finer = [
        digit * 10.0**k
        for k in range(first, last + 1)
        for digit in (1.0, 2.0, 5.0)
        if low <= digit * 10.0**k <= high
    ]
    return finer if len(finer) >= 2 else _even(low, high, min(most, 4))


def _plain_texts(values: list[float]) -> list[str]:
    """Texts with the same number of decimals, as many as the step needs."""
    largest = max((abs(v) for v in values), default=0.0)
    if largest >= 1e6 or 0.0 < largest < 1e-4:
        return [f"{v:g}".replace("-", "−") for v in values]
    step = min((b - a for a, b in pairwise(values)), default=1.0)
    decimals = next((d for d in range(9) if abs(step * 10**d - round(step * 10**d)) < 1e-6), 9)
    return [f"{v + 0.0:.{decimals}f}".replace("-", "−") for v in values]


def _power_text(value: float) -> str:
    digits, exponent = f"{value:.3e}".split("e")
    digits, power = digits.rstrip("0").rstrip("."), int(exponent)
    ten = {0: "1", 1: "10"}.get(power, f"10{str(power).translate(SUPERSCRIPT)}")
    return ten if digits == "1" else digits if power == 0 else f"{digits}·{ten}"
