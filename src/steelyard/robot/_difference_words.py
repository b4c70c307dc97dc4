"""Numbers and lists in sentences about the differences of two robots."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MOST_DIGITS = 15


def told_apart(before: float, after: float, digits: int = 3) -> tuple[str, str]:
    """Two numbers with as many digits, at least ``digits``, as it takes to tell them apart.

    (2.7, 2.41) gives ("2.70", "2.41"); (2.7, 2.70001) gives ("2.70000", "2.70001").
    """
    largest = max(abs(before), abs(after))
    if not (math.isfinite(largest) and 1e-4 <= largest < 1e7):
        return _told_apart_short(before, after, digits)
    for used in range(digits, MOST_DIGITS + 1):
        places = max(0, used - 1 - math.floor(math.log10(largest)))
        first, second = f"{before:.{places}f}", f"{after:.{places}f}"
        vanished = any(
            number and float(text) == 0.0 for number, text in ((before, first), (after, second))
        )
        if first != second and not vanished:
            return first if before else "0", second if after else "0"
    return _told_apart_short(before, after, digits)


def _told_apart_short(before: float, after: float, digits: int) -> tuple[str, str]:
    for used in range(digits, MOST_DIGITS + 3):
        first, second = f"{before:.{used}g}", f"{after:.{used}g}"
        if first != second:
            break
    return first, second


def percent(share: float) -> str:
    """A fraction as per cent, to two digits: 0.0123 gives "1.2 %"."""
    size = 100.0 * share
    return f"{size:.0f} %" if 10.0 <= size < 1e4 else f"{size:.2g} %"


def short(value: float, digits: int = 3) -> str:
    """A number to some digits, without an exponent below a million: 1234 gives "1230"."""
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(value) < 1e6 else text


def moved_mm(vector: Array) -> str:
    """How far and where a point moved, from a vector (3,) in m: "12 mm (x 11, y -4.8, z 0)"."""
    entries = 1e3 * np.asarray(vector)
    length = float(np.linalg.norm(entries))
    floor = 1e-3 * length  # an entry that is a thousandth of the way is shown as zero
    shown = ", ".join(
        f"{axis} {short(entry if abs(entry) > floor else 0.0)}"
        for axis, entry in zip("xyz", entries.tolist(), strict=True)
    )
    return f"{short(length)} mm ({shown})"


def degrees(angle: float) -> str:
    """An angle in degrees: 4.0 or, where small, two digits."""
    return f"{angle:.1f}" if angle >= 1.0 else f"{angle:.2g}"


def joined(parts: Iterable[str]) -> str:
    """Parts of a sentence, separated by commas."""
    return ", ".join(parts)
