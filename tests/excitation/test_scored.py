"""Scores of existing motions."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import every

from steelyard.errors import SignalError
from steelyard.excitation.motions.fourier import multisine
from steelyard.excitation.predicted import predicted_precision
from steelyard.excitation.scored import scored_log
from steelyard.excitation.torque_noise import TorqueNoise, given_noise
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.signals.processing import Processing
from steelyard.simulation.sensors import Sensors
from steelyard.simulation.simulate import Controller, simulate
from steelyard.testing.random_robots import random_robot

RATE_HZ = 1000.0


def recorded(seed: int) -> tuple:
    """A robot, its motion, and a log of it at 1 kHz."""
    model = Model(random_robot(np.random.default_rng(seed), 2, prismatic=0.0))
    motion = multisine(model.robot, period_s=6.0, seed=seed)
    theta = model.prior_theta()
    log = simulate(
        model,
        theta,
        motion,
        duration_s=12.0,
        rate_hz=RATE_HZ,
        controller=Controller(kind="ideal"),
        sensors=Sensors(torque_noise=0.1, encoder_step=1e-6),
    )
    return model, motion, log


@every("seed", range(3))
def test_a_decimated_recording_is_worth_what_its_whole_log_is(seed):
    """Samples that are left after decimation stand for all samples of the log: sigma is that of
    the planned motion at the rate of the log, for white noise and for filtered noise.
    """
    model, motion, log = recorded(seed)
    white = given_noise(model, 0.1)
    for noise in (white, TorqueNoise(white.joints, white.rms, "given", bandwidth_hz=30.0)):
        score = scored_log(model, log, noise, processing=Processing(decimate=10, cutoff_hz=20.0))
        assert score.recorded
        assert score.predicted.n_samples < 0.6 * len(log)
        plan = predicted_precision(model, motion, noise, rate_hz=RATE_HZ, duration_s=12.0)
        per_second = score.predicted.sigma * np.sqrt(score.duration_s)
        np.testing.assert_allclose(per_second, plan.sigma * np.sqrt(12.0), rtol=0.1)
        assert score.predicted.rate_hz == pytest.approx(RATE_HZ)


def test_a_file_of_positions_is_a_plan_and_must_have_every_joint():
    """Without torques the motion is the spline through positions; a missing joint is named."""
    model, motion, log = recorded(0)
    positions = {key: values for key, values in log.signals.items() if key[1] == "position"}
    plan = Log(log.time, positions, "plan")
    score = scored_log(model, plan, given_noise(model, 0.1))
    assert not score.recorded
    exact = predicted_precision(
        model, motion, given_noise(model, 0.1), rate_hz=RATE_HZ, duration_s=12.0
    )
    # positions in steps of 1e-6 rad at 1 kHz make accelerations of a spline noisy
    friction = [k for k, name in enumerate(exact.names) if name.endswith((".fc", ".fv"))]
    np.testing.assert_allclose(score.predicted.sigma[friction], exact.sigma[friction], rtol=0.1)
    one = Log(log.time, dict(list(positions.items())[:1]), "plan")
    with pytest.raises(SignalError, match="has no position of joint_"):
        scored_log(model, one, given_noise(model, 0.1))
