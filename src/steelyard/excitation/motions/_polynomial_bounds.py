"""Largest values of polynomials on an interval, as bounds that hold whatever rounding does.

A polynomial is written in the Bernstein basis of its interval: its largest value is then at most
its largest coefficient, whatever the place of the maximum. Intervals are divided (de Casteljau) at
the estimated maxima until that bound is close to a value that is attained. An inaccurate estimate
costs more divisions; the bound holds all the same.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

TIGHT = 1e-11
"""Bounds are this close to an attained value, relative to the largest coefficient."""
ROUNDING = 2048.0 * np.finfo(float).eps
"""Covers conversion and all divisions, relative to the sum of the coefficients' sizes: below
3 (degree + 1) units for the conversion and 4 degree per division, to degree 8 or so."""
MOST_DIVISIONS = 60
NEWTON_STEPS = 4


def largest_values(powers: Array, *, of_size: bool = False) -> Array:
    """Bounds (n_columns,) on the polynomials of each column for u in [0, 1].

    powers : (n_pieces, n_columns, degree + 1), coefficients of ascending powers of u.
    of_size : bound the absolute values instead.
    """
    n_pieces, n_columns, n_powers = powers.shape
    if n_pieces * n_columns == 0:
        return np.zeros(n_columns)
    rounding = ROUNDING * np.abs(powers).sum(axis=2).max(axis=0)
    coefficients = powers @ _to_bernstein(n_powers - 1).T
    both = (coefficients, -coefficients) if of_size else (coefficients,)
    # the first and the last coefficient are the values at the ends
    attained = np.max([rows[:, :, [0, -1]].max(axis=(0, 2)) for rows in both], axis=0)
    close = TIGHT * np.abs(coefficients).max(axis=(0, 2))
    proven = np.array(attained)
    loose_rows, loose_columns = [], []
    for rows in both:
        bound = rows.max(axis=2)
        loose = bound > attained + close
        proven = np.maximum(proven, np.where(loose, -np.inf, bound).max(axis=0))
        loose_rows.append(rows[loose])
        loose_columns.append(np.nonzero(loose)[1])
    _divide(np.concatenate(loose_rows), np.concatenate(loose_columns), attained, close, proven)
    return np.asarray(proven + rounding)


def _to_bernstein(degree: int) -> Array:
    """Matrix (degree + 1, degree + 1) from powers of u to coefficients in the Bernstein basis."""
    return np.array(
        [
            [comb(i, k) / comb(degree, k) if k <= i else 0.0 for k in range(degree + 1)]
            for i in range(degree + 1)
        ]
    )


def _divide(rows: Array, column: Indices, attained: Array, close: Array, proven: Array) -> None:
    """Divide intervals until their bounds are close to attained values; raises `proven`.

    rows : (n_rows, degree + 1). column : (n_rows,), to which column each belongs.
    attained, close, proven : (n_columns,), the first and the last are updated.
    """
    for division in range(MOST_DIVISIONS):
        if not len(rows):
            return
        # every second time in the middle, so that all intervals shrink
        at = _estimated_maximum(rows) if division % 2 == 0 else np.full(len(rows), 0.5)
        left, right = _divided(rows, at)
        rows, column = np.concatenate([left, right]), np.concatenate([column, column])
        np.maximum.at(attained, column, np.maximum(rows[:, 0], rows[:, -1]))
        bound = rows.max(axis=1)
        loose = bound > (attained + close)[column]
        np.maximum.at(proven, column[~loose], bound[~loose])
        rows, column = rows[loose], column[loose]
    np.maximum.at(proven, column, rows.max(axis=1, initial=-np.inf))


def _estimated_maximum(rows: Array) -> Array:
    """Where (n_rows,) in [0, 1] each polynomial may be largest: Newton's method on its slope."""
    degree = rows.shape[1] - 1
    slope = np.diff(rows, axis=1)
    bend = np.diff(slope, axis=1)
    u = rows.argmax(axis=1) / degree
    if degree < 2:
        return np.full(len(rows), 0.5)
    for _ in range(NEWTON_STEPS):
        s, b = _value(slope, u), (degree - 1) * _value(bend, u)
        u = np.clip(np.where(b < 0.0, u - s / np.where(b < 0.0, b, 1.0), u), 0.0, 1.0)
    return np.where((u > 0.0) & (u < 1.0), u, 0.5)


def _value(rows: Array, u: Array) -> Array:
    """Values (n_rows,) at u (n_rows,) of polynomials in the Bernstein basis."""
    at = u[:, None]
    while rows.shape[1] > 1:
        rows = (1.0 - at) * rows[:, :-1] + at * rows[:, 1:]
    return rows[:, 0]


def _divided(rows: Array, u: Array) -> tuple[Array, Array]:
    """Coefficients (n_rows, degree + 1) on [0, u] and on [u, 1], by de Casteljau's rule."""
    at = u[:, None]
    left, right = np.empty_like(rows), np.empty_like(rows)
    for k in range(rows.shape[1]):
        left[:, k], right[:, -1 - k] = rows[:, 0], rows[:, -1]
        rows = (1.0 - at) * rows[:, :-1] + at * rows[:, 1:]
    return left, right
