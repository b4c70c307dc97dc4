"""Quantiles against scipy.stats."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from steelyard.estimators.quantiles import chi2_quantile, f_tail, t_quantile


@pytest.mark.parametrize("freedom", [0.5, 1.0, 2.7, 15.0, 70.0, 1e5])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.975, 0.999])
def test_quantiles_are_those_of_scipy(level, freedom):
    """All digits but the last few."""
    assert chi2_quantile(level, freedom) == pytest.approx(stats.chi2.ppf(level, freedom), rel=1e-12)
    assert t_quantile(level, freedom) == pytest.approx(
        stats.t.ppf(level, freedom), rel=1e-10, abs=1e-14
    )


def test_no_limit_of_freedom_is_the_normal_distribution():
    """t with infinitely many degrees of freedom."""
    assert t_quantile(0.975, np.inf) == pytest.approx(stats.norm.ppf(0.975), rel=1e-14)


@pytest.mark.parametrize("value", [0.0, 0.3, 2.0, 40.0])
def test_tails_are_those_of_scipy(value):
    """The probability above a value."""
    assert f_tail(value, 3, 17) == pytest.approx(stats.f.sf(value, 3, 17), rel=1e-12)
