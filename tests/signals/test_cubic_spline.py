"""The cubic spline through samples, against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, make_interp_spline

from steelyard.signals.cubic_spline import cubic_spline


def stamps(rng: np.random.Generator, n: int, uneven: bool) -> np.ndarray:
    """Times (n,) s of about 100 Hz, from any start; uneven steps differ up to fifty times."""
    steps = rng.uniform(0.02, 1.0, n - 1) if uneven else np.ones(n - 1)
    return rng.uniform(-50.0, 50.0) + 0.01 * np.concatenate([[0.0], np.cumsum(steps)])


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 300])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_it_is_scipys(n: int, uneven: bool, shape: tuple[int, ...]) -> None:
    """Values between samples, at them and a little beyond the ends, and slopes at samples."""
    rng = np.random.default_rng([n, uneven, len(shape)])
    time = stamps(rng, n, uneven)
    values = rng.normal(size=(n, *shape))
    ours, theirs = cubic_spline(time, values), CubicSpline(time, values)
    step = (time[-1] - time[0]) / n
    at = np.concatenate([rng.uniform(time[0] - step, time[-1] + step, 500), time])
    for got, wanted in ((ours(at), theirs(at)), (ours.slopes, theirs(time, 1))):
        assert got.shape == wanted.shape
        assert np.abs(got - wanted).max() < 1e-12 * np.abs(wanted).max()
    b_spline = make_interp_spline(time, values, k=min(3, n - 1))(at)
    assert np.abs(ours(at) - b_spline).max() < 1e-10 * np.abs(b_spline).max()


def test_one_sample_is_a_constant() -> None:
    """A log with a single known value has it everywhere."""
    assert cubic_spline(np.array([2.0]), np.array([7.0]))(np.array([1.0, 3.0])).tolist() == [7, 7]


def test_cubics_are_reproduced() -> None:
    """Any cubic is its own spline, whatever the stamps: the closed form."""
    rng = np.random.default_rng(3)
    time = stamps(rng, 40, uneven=True)
    cubic = np.polynomial.Polynomial(rng.normal(size=4), domain=[time[0], time[-1]])
    at = np.linspace(time[0], time[-1], 777)
    spline = cubic_spline(time, cubic(time))
    assert np.abs(spline(at) - cubic(at)).max() < 1e-12
    assert np.abs(spline.slopes - cubic.deriv()(time)).max() < 1e-9


def test_repeated_stamps_are_refused() -> None:
    """Through two values at one time there is no curve; NaN would go unnoticed."""
    time = np.array([0.0, 0.0, 0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="have to increase"):
        cubic_spline(time, np.zeros(5))
