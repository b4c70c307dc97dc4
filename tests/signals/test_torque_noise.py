"""The noise of torques against the noise that was put into them."""

from __future__ import annotations

import numpy as np
import pytest
from small_arm import URDF, arm_log

from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.signals.torque_noise import torque_noise

ARM = Robot.from_urdf_text(URDF)
RAW = Processing(cutoff_hz=8.0, torque_filter="none", dead_band=None)
SAME = Processing(cutoff_hz=8.0, torque_filter="same", dead_band=None)


def noise_only(seed: int, sigma: np.ndarray) -> Log:
    """The motion of the arm with torques that are nothing but white noise."""
    log = arm_log(ARM, seed, noise=0.0)
    tau = np.random.default_rng(seed).normal(size=(len(log), 2)) * sigma
    q = np.column_stack([log.signal(joint, "position") for joint in ARM.joint_names])
    return Log.from_arrays(log.time, q, tau, joints=ARM.joint_names)


@pytest.mark.parametrize("processing", [RAW, SAME])
def test_white_noise_alone_is_measured_as_it_is_used(processing):
    """With nothing but noise, the estimate is the rms value of the torque after its filter."""
    run = prepare(noise_only(3, np.array([0.5, 2.0])), ARM, processing)
    used = np.sqrt(np.mean(run.all_measurements.tau**2, axis=0))
    np.testing.assert_allclose(torque_noise([run]), used, rtol=0.25)


@pytest.mark.parametrize("processing", [RAW, SAME])
def test_a_motion_hardly_changes_it(processing):
    """Torques of a moving arm with friction have the noise that was added, not more."""
    sigma = 0.3
    moved = prepare(arm_log(ARM, 1, noise=sigma), ARM, processing)
    alone = prepare(noise_only(1, np.array([sigma, sigma])), ARM, processing)
    np.testing.assert_allclose(torque_noise([moved]), torque_noise([alone]), rtol=0.25)


def test_without_noise_it_is_small():
    """Friction that reverses is not taken for noise."""
    run = prepare(arm_log(ARM, 1, noise=0.0), ARM, RAW)
    size = np.sqrt(np.mean(run.all_measurements.tau**2, axis=0))
    assert (torque_noise([run]) < 0.01 * size).all()


def test_several_runs_are_weighted_by_their_samples():
    """Twice the same run has the noise of one; noise of 1 and of 3, their mean square."""
    one, three = (prepare(noise_only(5, np.array([size, size])), ARM, RAW) for size in (1.0, 3.0))
    np.testing.assert_allclose(torque_noise([one, one]), torque_noise([one]))
    np.testing.assert_allclose(torque_noise([one, three]), np.sqrt(5.0) * torque_noise([one]))


def test_it_is_unknown_without_a_filter():
    """Without a cutoff nothing says where motion ends and noise begins."""
    run = prepare(arm_log(ARM, 1), ARM, Processing(cutoff_hz=None, dead_band=None))
    assert np.isnan(torque_noise([run])).all()
