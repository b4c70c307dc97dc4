"""The same path at a lower speed."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import every

from steelyard.errors import SignalError
from steelyard.excitation.extremes import QUANTITIES
from steelyard.excitation.motions.fourier import multisine
from steelyard.excitation.motions.slowed import SlowedTrajectory
from steelyard.testing.random_robots import random_robot


@every("seed", range(10))
def test_the_path_is_the_same_and_its_derivatives_are_those_of_the_slow_motion(seed):
    """Positions agree at scaled times; derivatives agree with finite differences."""
    fast = multisine(random_robot(np.random.default_rng(seed), 3), seed=seed)
    speed = (0.1, 0.3, 0.77)[seed % 3]
    slow = SlowedTrajectory(fast, speed)
    assert slow.duration_s == pytest.approx(fast.duration_s / speed)
    time = np.linspace(0.0, slow.duration_s, 57)
    np.testing.assert_allclose(slow.evaluate(time).q, fast.evaluate(speed * time).q, atol=1e-12)
    h = 1e-4 / speed
    for order in range(3):
        ahead, behind = slow.derivative(time + h, order), slow.derivative(time - h, order)
        now = slow.derivative(time, order + 1)
        np.testing.assert_allclose((ahead - behind) / (2 * h), now, atol=1e-6)


@every("seed", range(10))
def test_bounds_are_scaled_and_hold_between_all_samples(seed):
    """No dense sample is beyond the bounds, and they are as tight as those of the fast motion."""
    fast = multisine(random_robot(np.random.default_rng(seed), 3), seed=seed)
    slow = SlowedTrajectory(fast, 0.3)
    bounds = slow.extremes()
    time = np.linspace(0.0, slow.duration_s, 5001)
    q = slow.derivative(time, 0)
    assert (q >= bounds.lower).all()
    assert (q <= bounds.upper).all()
    for order, quantity in enumerate(QUANTITIES[2:], start=1):
        largest = np.abs(slow.derivative(time, order)).max(axis=0)
        assert (largest <= bounds.of(quantity)).all()
        np.testing.assert_allclose(largest, bounds.of(quantity), rtol=2e-3)


def test_a_speed_above_one_is_refused():
    """A motion can only be slowed down: its limits were proven at full speed."""
    fast = multisine(random_robot(np.random.default_rng(0), 2))
    for speed in (0.0, 1.2, np.nan):
        with pytest.raises(SignalError, match="above 0 and at most 1"):
            SlowedTrajectory(fast, speed)
