"""Via points with trapezoidal acceleration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from steelyard.errors import SignalError
from steelyard.excitation.extremes import check_limits
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.via_points import (
    jerk_limits,
    move_phases,
    random_via_points,
    via_point_motion,
)


def some_limits(rng: np.random.Generator, n_joints: int = 4) -> MotionLimits:
    velocity, acceleration, jerk = np.exp(rng.uniform(-2.0, 3.0, size=(3, n_joints)))
    names = tuple(f"joint_{j}" for j in range(n_joints))
    lower, upper = np.sort(rng.uniform(-3.0, 3.0, size=(2, n_joints)), axis=0)
    none = np.full(n_joints, np.inf)
    return MotionLimits(names, lower, upper + 0.1, velocity, acceleration, jerk, none)


def test_moves_reach_their_points_and_use_one_limit_fully():
    """Each move is smooth and from rest to rest, and exhausts a limit of one joint, no more."""
    rng = np.random.default_rng(0)
    seen = set()
    for seed in range(150):
        limits = some_limits(rng)
        a, b = random_via_points(limits, 2, seed=seed)
        # short moves never reach the speed limit
        b = a + np.exp(rng.uniform(-7.0, 0.0)) * (b - a)
        motion = via_point_motion([a, b], limits)
        np.testing.assert_allclose(motion.end_values(0), [a, b], atol=1e-7)
        for order in (1, 2):
            assert not motion.end_values(order).any()
        checks = check_limits(motion.extremes(), limits)
        assert all(check.holds for check in checks)
        used = {
            name: max(c.bound / c.limit for c in checks if c.quantity == name)
            for name in ("velocity", "acceleration", "jerk")
        }
        assert used["jerk"] > 1.0 - 1e-8
        full = tuple(name for name, share in used.items() if share > 1.0 - 1e-8)
        seen.add(full)
    # with three, five (either kind) and seven phases
    assert len(seen) == 4


def test_no_rest_to_rest_move_is_faster():
    """A linear program on a fine grid of jerks covers the way in the same time, and not in less."""
    rng = np.random.default_rng(1)
    n = 120
    for _ in range(6):
        limits = some_limits(rng, 1)
        way = np.array([float(np.exp(rng.uniform(-3.0, 1.0)))])
        time = float(move_phases(way, limits, jerk_limits(limits)).sum())
        for factor, reachable in ((1.02, True), (0.98, False)):
            h = factor * time / n
            # speed and acceleration after each step, and the way, are linear in the steps' jerks
            rate = np.tril(np.ones((n, n))) * h
            before = rate - np.eye(n) * h
            speed = np.tril(np.ones((n, n))) @ (before * h + np.eye(n) * 0.5 * h**2)
            speed_before = np.vstack([np.zeros(n), speed[:-1]])
            covered = (speed_before * h + before * 0.5 * h**2 + np.eye(n) * h**3 / 6.0).sum(axis=0)
            found = linprog(
                -covered,
                A_ub=np.vstack([speed, -speed, rate, -rate]),
                b_ub=np.repeat([limits.velocity[0], limits.acceleration[0]], 2 * n),
                A_eq=np.stack([speed[-1], rate[-1]]),
                b_eq=np.zeros(2),
                bounds=(-limits.jerk[0], limits.jerk[0]),
            )
            assert (-found.fun >= way[0]) == reachable


def test_joints_move_together_on_a_straight_line():
    """At any time all joints have done the same share of their ways."""
    limits = some_limits(np.random.default_rng(2))
    a, b = random_via_points(limits, 2, seed=3)
    motion = via_point_motion([a, b], limits)
    share = (motion.derivative(np.linspace(0.0, motion.duration_s, 50), 0) - a) / (b - a)
    assert np.ptp(share, axis=1).max() < 1e-7
    assert (np.diff(share[:, 0]) >= 0.0).all()


def test_many_points_with_rests():
    """A motion through eleven points stands still at each for the stated time."""
    rng = np.random.default_rng(4)
    for seed in range(10):
        limits = some_limits(rng)
        points = random_via_points(limits, seed=seed)
        points[4] = points[3]
        motion = via_point_motion(points, limits, rest_s=0.5)
        assert all(check.holds for check in check_limits(motion.extremes(), limits))
        assert np.isfinite(motion.extremes().jerk).all()
        length = np.diff(motion.breaks)
        still = ~motion.coefficients[:, :, 1:].any(axis=(1, 2))
        np.testing.assert_allclose(length[still], 0.5)
        assert still.sum() == 11
        np.testing.assert_allclose(motion.coefficients[still, :, 0], points, atol=1e-7)


def test_without_a_jerk_limit_the_acceleration_ramps_up_in_a_tenth_of_a_second():
    """Acceleration never jumps, whatever limits are given; without any there is an error."""
    limits = some_limits(np.random.default_rng(5))
    none = np.full(4, np.inf)
    fields = (limits.joints, limits.lower, limits.upper, limits.velocity)
    free = MotionLimits(*fields, limits.acceleration, none, none)
    found = via_point_motion(random_via_points(free, seed=1), free).extremes()
    assert (found.jerk <= 10.0 * limits.acceleration).all()
    only_jerk = MotionLimits(*fields, none, limits.jerk, none)
    found = via_point_motion(random_via_points(free, seed=1), only_jerk).extremes()
    assert (found.jerk <= limits.jerk).all()
    with pytest.raises(SignalError, match="'joint_0' has a limit neither of acceleration nor"):
        via_point_motion(random_via_points(free), MotionLimits(*fields, none, none, none))


def test_refusals():
    """Points outside the limits, single points and points that are all equal are refused."""
    limits = some_limits(np.random.default_rng(6))
    points = random_via_points(limits, 3)
    wrong = np.array(points)
    wrong[1, 2] = limits.lower[2] - 0.5
    with pytest.raises(
        SignalError, match=r"via point 2: joint 'joint_2' .* below its lower .* 0.5"
    ):
        via_point_motion(wrong, limits)
    with pytest.raises(SignalError, match="1 via points"):
        via_point_motion(points[:1], limits)
    with pytest.raises(SignalError, match="all via points are equal"):
        via_point_motion(points[[0, 0]], limits)
    with pytest.raises(SignalError, match="rest_s"):
        via_point_motion(points, limits, rest_s=-1.0)
    with pytest.raises(SignalError, match="n_points is 0"):
        random_via_points(limits, 0)
