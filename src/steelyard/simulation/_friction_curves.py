"""Friction laws of any shape as piecewise cubics, which the compiled simulation can evaluate.

A law of `steelyard.model.term_kinds` is a Python function; the simulation needs its value and
slope at any speed. Each piece between two knots interpolates four points of the law, so that
polynomials up to the third degree on either side of zero speed are exact.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from steelyard.model.term_kinds import TermKind

Array = NDArray[np.float64]

_KNOTS_PER_SIDE = 120
_SIDE = np.geomspace(1e-4, 1e3, _KNOTS_PER_SIDE)
KNOTS: Array = np.concatenate([-_SIDE[::-1], [0.0], _SIDE])
"""Speeds (rad/s or m/s) between which a law is one cubic; the outer pieces are extrapolated."""
_TINY = 1e-300
_POINTS = np.array([0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0])


@cache
def friction_pieces(kind: TermKind, shape_speed: float = 1.0) -> Array:
    """Coefficients (n_knots - 1, 4) of x⁰ to x³, x the speed above the piece's lower knot.

    shape_speed : the speed (rad/s or m/s) that shapes the law.

    They describe the law itself or, if it jumps at zero speed, its absolute value: the simulation
    smooths the sign.
    """
    left, right = KNOTS[:-1, None], KNOTS[1:, None]
    speeds = left + (right - left) * _POINTS
    # at zero speed each piece uses the limit from its own side
    speeds = np.where(speeds == 0.0, np.copysign(_TINY, left + right), speeds)
    law = kind.law_at_speed(speeds.ravel(), shape_speed=shape_speed)
    values = law.reshape(speeds.shape)
    if kind.jumps_at_zero_speed:
        values = values * np.sign(speeds)
    # Newton's form: differences of a constant are exactly zero, so that Coulomb friction is exact
    first = values[:, 1] - values[:, 0]
    second = values[:, 2] - 2.0 * values[:, 1] + values[:, 0]
    third = values[:, 3] - 3.0 * values[:, 2] + 3.0 * values[:, 1] - values[:, 0]
    of_unit_piece = np.column_stack(
        [
            values[:, 0],
            3.0 * (first - second / 2.0 + third / 3.0),
            4.5 * (second - third),
            4.5 * third,
        ]
    )
    return np.asarray(of_unit_piece / (right - left) ** np.arange(4))
