"""Splines through positions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, make_interp_spline

from steelyard.errors import SignalError
from steelyard.excitation.motions.sampled import SampledTrajectory
from steelyard.excitation.motions.spline import spline

JOINTS = ("x", "y", "z")


def some_points(rng: np.random.Generator, n_points: int = 40) -> tuple[np.ndarray, np.ndarray]:
    time = 3.0 + np.cumsum(rng.uniform(0.01, 0.1, size=n_points))
    return time, rng.normal(size=(n_points, 3)).cumsum(axis=0)


@pytest.mark.parametrize(("ends", "scipys"), [("rest", "clamped"), ("natural", "natural")])
def test_cubics_are_those_of_scipy(ends, scipys):
    """Values and derivatives are those of SciPy's cubic spline, which is computed otherwise."""
    time, q = some_points(np.random.default_rng(0))
    ours, theirs = spline(JOINTS, time, q, 3, ends), CubicSpline(time, q, bc_type=scipys)
    asked = np.random.default_rng(1).uniform(0.0, ours.duration_s, size=500)
    for order in range(4):
        exact = theirs(time[0] + asked, order)
        np.testing.assert_allclose(
            ours.derivative(asked, order), exact, atol=1e-10 * np.abs(exact).max()
        )


@pytest.mark.parametrize("degree", [3, 5])
def test_ends_and_continuity(degree):
    """A spline passes its points, is at rest at its ends and jumps only in its last derivative."""
    time, q = some_points(np.random.default_rng(2))
    motion = spline(JOINTS, time, q, degree)
    np.testing.assert_allclose(motion.derivative(time - time[0], 0), q, atol=1e-10)
    for order in range(1, (degree + 1) // 2):
        assert not motion.end_values(order).any()
    for order in range(degree):
        assert not motion.jumps(order).any()
    assert motion.jumps(degree).all()
    natural = spline(JOINTS, time, q, degree, "natural")
    for order in range((degree + 1) // 2, degree):
        assert not natural.end_values(order).any()
    assert natural.end_values(1).all()


def test_motions_from_files_are_what_they_were():
    """A motion through the points of a file is SciPy's spline, and has bounds that hold."""
    rng = np.random.default_rng(3)
    time = np.arange(0.0, 5.0, 0.01)
    q = np.stack([np.sin(rng.uniform(1.0, 5.0) * time + k) for k in range(3)], axis=1)
    sampled = SampledTrajectory(JOINTS, time + 2.0, q)
    reference = make_interp_spline(time, q, k=5)
    asked = rng.uniform(0.0, time[-1], size=1000)
    motion = sampled.evaluate(asked)
    for order, ours in enumerate((motion.q, motion.v, motion.a)):
        exact = reference(asked, order)
        np.testing.assert_allclose(ours, exact, atol=1e-12 * 100.0**order)
    found = sampled.extremes()
    for order, name in ((1, "velocity"), (2, "acceleration"), (3, "jerk")):
        size = np.abs(reference(np.linspace(0.0, time[-1], 50_000), order)).max(axis=0)
        # a file's times begin anywhere, which rounds their differences
        assert (size <= found.of(name) * (1.0 + 1e-7)).all()
        assert (found.of(name) <= size * (1.0 + 1e-4)).all()


def test_too_few_points_are_refused():
    """A spline without conditions at its ends needs more points than its degree."""
    with pytest.raises(SignalError, match="5 points is too short for a spline of degree 5"):
        spline(JOINTS, np.arange(5.0), np.zeros((5, 3)), 5, "free")
