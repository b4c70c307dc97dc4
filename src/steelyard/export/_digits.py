"""Decimal texts of a link's mass and inertia that are exactly physical as written.

What exactly physical means, and how it is decided: :mod:`steelyard.robot.formats.urdf_digits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, Inexact, localcontext

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError
from steelyard.robot.formats.urdf_digits import exactly_physical

Array = NDArray[np.float64]
FILE_DIGITS = 12
"""Significant digits of written numbers, unless more are needed to stay physical."""
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
