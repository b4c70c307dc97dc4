"""Decimal texts of a link's mass and inertia that are exactly physical as written.

A URDF states mass ``m`` and the inertia ``I`` about the centre of mass, in its own axes. Rotating
the axes does not change eigenvalues, so the link is physical if and only if ``m > 0`` and
``½ tr(I) 1 - I`` is positive semidefinite for the six numbers as written (or all are zero).
Decimal texts are rational numbers, so this is decided without rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, Inexact, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.exact import is_psd
from steelyard.errors import ModelError

Array = NDArray[np.float64]
FILE_DIGITS = 12
"""Significant digits of written numbers, unless more are needed to stay physical."""
SMALLEST_EXPONENT = -400  # a 64-bit float cannot hold less than about 1e-324
LARGEST_MOVE = 1e-9
MARGIN_DIGITS = 1000  # a difference of two numbers of a file is exact in so many
ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # xx, xy, xz, yy, yz, zz


@dataclass(frozen=True)
class WrittenInertia:
    """Six decimal texts xx, xy, xz, yy, yz, zz, and the largest difference of one from its
    requested value (kg m²).
    """

    texts: tuple[str, ...]
    moved: float


def file_decimal(value: float, digits: int = FILE_DIGITS) -> str:
    """The shortest text of ``value`` at this many significant digits."""
    text = f"{value:.{digits}g}"
    return "0" if float(text) == 0.0 else text


def kept_or_decimal(stated: str, value: float, noise: float = 0.0) -> str:
    """The stated text if it equals ``value`` to ``FILE_DIGITS`` digits or ``noise``."""
    old = float(stated)
    if abs(value - old) <= max(noise, 10.0**-FILE_DIGITS * abs(old)):
        return stated.strip()
    return "0" if abs(value) <= noise else file_decimal(value)


def rational(text: str) -> Fraction:
    """A decimal text as an exact rational number.

    Exponents are checked first: 1e-999999999 as a fraction would not fit into memory.
    """
    mantissa, _, exponent = text.strip().lower().partition("e")
    if not any(digit in mantissa for digit in "123456789"):
        return Fraction(0)
    if exponent and int(exponent) < SMALLEST_EXPONENT:
        raise ModelError(f"'{text.strip()}', too small for a 64-bit float; write 0")
    return Fraction(text.strip())


def exactly_physical(mass: str, inertia: Sequence[str]) -> bool:
    """Whether mass and inertia (xx, xy, xz, yy, yz, zz) are exactly physical as written."""
    m = rational(mass)
    xx, xy, xz, yy, yz, zz = (rational(text) for text in inertia)
    if m == 0:
        return not any((xx, xy, xz, yy, yz, zz))
    half = (xx + yy + zz) / 2
    second = [[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]]
    return m > 0 and is_psd(second)


def physical_texts(
    mass: str,
    inertia: Array,
    stated: Sequence[str] | None,
    noise: float,
    name: str,
    margin: float = 0.0,
) -> WrittenInertia:
    """Texts of an inertia (3, 3) about the centre of mass that are physical with ``mass``.

    The stated text of an entry is kept if its value is the same. If the decimals are not physical,
    more digits are tried, and then growing multiples of the unit matrix are added, until they
    are. Raises ModelError if that needs more than rounding errors explain.

    noise : kg m², rounding error of the given entries.
    margin : kg m², by which two principal moments together exceed the third, for readers that
        check this with rounding errors.
    """
    wanted = [float(inertia[i, j]) for i, j in ENTRIES]
    if stated is not None:
        texts = tuple(
            kept_or_decimal(text, value, noise) for text, value in zip(stated, wanted, strict=True)
        )
        if _physical_by(margin, mass, texts):
            return WrittenInertia(texts, _moved(texts, wanted))
    size = float(np.abs(inertia).max())
    # a diagonal entry is never rounding noise: it is a sum of squares
    clean = [
        0.0 if i != j and abs(x) <= noise else x for (i, j), x in zip(ENTRIES, wanted, strict=True)
    ]
    most = max(LARGEST_MOVE * size, 16.0 * noise, 4.0 * margin)
    added = 0.0
    while added <= most:
        lifted = [x + added if i == j else x for (i, j), x in zip(ENTRIES, clean, strict=True)]
        for digits in (FILE_DIGITS, 15, 17):
            texts = tuple(file_decimal(x, digits) for x in lifted)
            if _physical_by(margin, mass, texts):
                return WrittenInertia(texts, _moved(texts, wanted))
        added = max(2.0 * added, 1e-16 * size, 1e-3 * noise, margin)
        if added == 0.0:
            break
    raise ModelError(
        f"link '{name}': its inertia about the centre of mass is not physical, by more than "
        "rounding; steelyard.nearest_physical gives the closest physical inertia"
    )


def _physical_by(margin: float, mass: str, texts: Sequence[str]) -> bool:
    """Whether the texts are exactly physical, and stay so if each moment is less by ``margin``."""
    if not exactly_physical(mass, texts):
        return False
    if margin == 0.0:
        return True
    with localcontext() as context:
        context.prec = MARGIN_DIGITS
        context.traps[Inexact] = True
        less = [
            str(Decimal(text) - Decimal(repr(margin))) if i == j else text
            for (i, j), text in zip(ENTRIES, texts, strict=True)
        ]
    return exactly_physical(mass, less)


def _moved(texts: Sequence[str], wanted: Sequence[float]) -> float:
    return max(abs(float(text) - value) for text, value in zip(texts, wanted, strict=True))
