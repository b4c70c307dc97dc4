"""Quantiles of the distributions that intervals use.

From scipy.special, as scipy.stats does it, whose import alone takes longer than most estimates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def chi2_quantile(level: float, degrees_of_freedom: float) -> float:
    """The value that chi-squared stays below with this probability."""
    from scipy.special import gammaincinv

    return float(2.0 * gammaincinv(0.5 * degrees_of_freedom, level))


def t_quantile(level: float, degrees_of_freedom: float) -> float:
    """The same of Student's t."""
    from scipy.special import ndtri, stdtrit

    if not np.isfinite(degrees_of_freedom):
        return float(ndtri(level))
    return float(stdtrit(degrees_of_freedom, level))


def f_tail(value: float, numerator: float, denominator: float) -> float:
    """Probability that an F-distributed quotient is above a value."""
    from scipy.special import fdtrc

    return float(fdtrc(numerator, denominator, value))
