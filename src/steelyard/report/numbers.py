"""Numbers formatted for people."""

from __future__ import annotations

import math


def with_half_width(value: float, half: float) -> tuple[str, str]:
    """A value and the half width of its interval, to two digits of the latter.

    (1.23456, 0.0123) gives ("1.235", "0.012"). Where there is no interval, six digits.
    """
    if not math.isfinite(value):
        return "?", "?"
    if not math.isfinite(half) or half <= 0.0:
        return f"{value:.6g}", "0" if half == 0.0 else "?"
    places = 1 - math.floor(math.log10(half))
    if -3 <= places <= 7 and abs(value) < 1e7:
        places = max(places, 0)
        return f"{value:.{places}f}", f"{half:.{places}f}"
    digits = max(0, places + math.floor(math.log10(abs(value)))) if value else 1
    return f"{value:.{min(digits, 12)}e}", f"{half:.1e}"


def percent(share: float | None) -> str:
    """A fraction as per cent, to three digits: 0.01234 gives "1.23 %"."""
    if share is None or not math.isfinite(share):
        return "?"
    size = 100.0 * share
    if size >= 1e5:  # of a value that is nearly zero
        return "> 99999 %"
    if size and size < 0.001:
        return f"{size:.1e} %"
    return f"{size:.3g} %" if size < 1000 else f"{size:.0f} %"


def significant(value: float | None, digits: int = 4) -> str:
    """A number to ``digits`` significant digits, or a question mark for None and NaN."""
    if value is None or not math.isfinite(value):
        return "?"
    shown = f"{value:.{digits}g}"
    # 2.42e+03 is harder to read than 2420
    return f"{float(shown):.0f}" if "e+" in shown and abs(value) < 1e6 else shown


def duration(seconds: float) -> str:
    """A duration in s, min or h."""
    if seconds < 120.0:
        return f"{seconds:.3g} s"
    return f"{seconds / 60.0:.3g} min" if seconds < 7200.0 else f"{seconds / 3600.0:.3g} h"
