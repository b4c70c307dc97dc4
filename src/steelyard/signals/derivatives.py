"""Differentiation of uniformly sampled signals.

Every scheme is symmetric about its sample, so it adds no delay. Where the stencil does not
fit (``half_width`` samples at each end) the result is NaN and the samples are cut later:
one-sided formulas would be less accurate, and so are filters there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.signals.processing import Processing

Array = NDArray[np.float64]

# weights of x[i-k] ... x[i+k], for a unit sampling period
CENTRAL = {
    "central3": {
        1: np.array([-1.0, 0.0, 1.0]) / 2.0,
        2: np.array([1.0, -2.0, 1.0]),
    },
    "central5": {
        1: np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12.0,
        2: np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0,
    },
}


def stencil(processing: Processing, order: int) -> Array:
    """Weights (width,) whose dot product with x[i-k] ... x[i+k] is the derivative.

    order : 0 (the value itself: smoothed by ``savgol``, untouched otherwise), 1 or 2, for
        a sampling period of one.

    ``central3`` and ``central5`` are exact for polynomials of degree 2 and 4 (first
    derivative) and 3 and 5 (second), so their errors fall with the second and fourth power
    of the period. ``savgol`` is the least-squares polynomial of Savitzky and Golay (1964).
    """
    if processing.derivative == "savgol":
        from scipy.signal import savgol_coeffs

        weights = savgol_coeffs(
            processing.savgol_window, processing.savgol_order, deriv=order, use="dot"
        )
        return np.asarray(weights, dtype=float)
    if order == 0:
        return np.ones(1)
    return CENTRAL[processing.derivative][order]


def half_width(processing: Processing) -> int:
    """Samples at each end that the stencil cannot reach."""
    return len(stencil(processing, 1)) // 2


def differentiate(x: Array, period_s: float, order: int, processing: Processing) -> Array:
    """The derivative of ``order`` along the first axis; NaN where the stencil does not fit.

    x : (n_samples, ...), period_s apart. Returns (n_samples, ...), per s or s².
    """
    weights = stencil(processing, order)
    reach = len(weights) // 2
    out = np.full(x.shape, np.nan)
    n = len(x) - 2 * reach
    if n <= 0:
        return out
    total = np.zeros((n, *x.shape[1:]))
    for shift, weight in enumerate(weights):
        if weight != 0.0:
            total += weight * x[shift : shift + n]
    out[reach : reach + n] = total / period_s**order
    return out
