"""Motions through sampled positions."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import every

from steelyard.errors import LogError, SignalError
from steelyard.excitation.motions.fourier import multisine
from steelyard.excitation.motions.sampled import SampledTrajectory, trajectory_from_log
from steelyard.logs.log import Log
from steelyard.testing.random_robots import random_robot


@every("seed", range(5))
def test_the_spline_gives_back_a_smooth_motion(seed):
    """Position, speed and acceleration between samples of a sum of sines match the sines."""
    plan = multisine(random_robot(np.random.default_rng(seed), 3), seed=seed)
    time = np.arange(0.0, 5.0, 0.01)
    sampled = SampledTrajectory(plan.joints, time + 7.0, plan.evaluate(time).q)
    between = np.linspace(0.1, sampled.duration_s - 0.1, 333)
    ours, truth = sampled.evaluate(between), plan.evaluate(between)
    np.testing.assert_allclose(ours.q, truth.q, atol=1e-8)
    np.testing.assert_allclose(ours.v, truth.v, atol=1e-6)
    np.testing.assert_allclose(ours.a, truth.a, atol=1e-3)


def test_outside_its_points_the_robot_stands_still():
    """Before the first and after the last point there is no motion."""
    time = np.arange(8.0)
    sampled = SampledTrajectory(("a",), time, np.sin(time)[:, None])
    motion = sampled.evaluate([-1.0, 9.0])
    np.testing.assert_allclose(motion.q[:, 0], np.sin([0.0, 7.0]), atol=1e-12)
    assert not motion.v.any()
    assert not motion.a.any()


def test_a_log_with_positions_is_a_motion():
    """Only the joints that have a position move, in the order of the log."""
    time = np.arange(10.0)
    log = Log(time, {("b", "position"): time, ("a", "position"): -time, ("c", "torque"): time})
    trajectory = trajectory_from_log(log)
    assert trajectory.joints == ("b", "a")
    np.testing.assert_allclose(trajectory.evaluate([2.5]).q, [[2.5, -2.5]])


def test_refusals():
    """Too few points, missing samples and logs without positions are refused."""
    with pytest.raises(SignalError, match="3 points is too short"):
        SampledTrajectory(("a",), np.arange(3.0), np.zeros((3, 1)))
    with pytest.raises(SignalError, match="shape"):
        SampledTrajectory(("a", "b"), np.arange(9.0), np.zeros((9, 1)))
    hole = np.zeros((9, 1))
    hole[4] = np.nan
    with pytest.raises(SignalError, match="joint 'a' is missing at 4 s"):
        SampledTrajectory(("a",), np.arange(9.0), hole)
    with pytest.raises(LogError, match="no position"):
        trajectory_from_log(Log(np.arange(9.0), {("a", "torque"): np.arange(9.0)}))
