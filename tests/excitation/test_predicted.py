"""Predicted precision of a motion, against simulated noise and dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import every

from steelyard.errors import ModelError, SignalError
from steelyard.excitation.limits import motion_limits
from steelyard.excitation.motion_factors import (
    condition_numbers,
    log_determinant,
    model_motion,
    motion_factors,
    standard_deviations,
)
from steelyard.excitation.motions.fourier import multisine
from steelyard.excitation.predicted import PredictedParameter, predicted_precision
from steelyard.excitation.torque_noise import TorqueNoise, assumed_noise, given_noise
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque, torque_regressor
from steelyard.model.model import Model
from steelyard.simulation.sensors import low_pass_noise
from steelyard.testing.random_robots import random_robot

RATE_HZ = 100.0


def problem(seed: int, n_joints: int = 3) -> tuple:
    """A random robot, a motion of it, and noise that differs between joints."""
    rng = np.random.default_rng(seed)
    model = Model(random_robot(rng, n_joints, prismatic=0.2))
    motion = multisine(model.robot, period_s=6.0, n_harmonics=4, seed=seed)
    noise = TorqueNoise(model.channels, rng.uniform(0.05, 2.0, size=model.nv), "given")
    return model, motion, noise


def base_matrix(model: Model, trajectory, rate_hz: float) -> np.ndarray:
    """The base regressor (n_samples, nv, n_base), all samples at once."""
    motion = model_motion(model, trajectory, rate_hz=rate_hz)
    W = torque_regressor(model, motion.q, motion.v, motion.a)
    return W[:, :, list(base_map(model).independent)]


@every("seed", range(3))
def test_200_simulated_runs_show_the_predicted_sigma(seed):
    """Estimates of weighted least squares spread as predicted, within statistical bounds."""
    model, motion, noise = problem(seed)
    predicted = predicted_precision(model, motion, noise, rate_hz=RATE_HZ)
    rng = np.random.default_rng(100 + seed)
    W = base_matrix(model, motion, RATE_HZ)
    truth = rng.normal(size=len(model.columns))
    planned = model_motion(model, motion, rate_hz=RATE_HZ)
    tau = torque(model, truth, planned.q, planned.v, planned.a)
    rows = (W / noise.rms[:, None]).reshape(-1, W.shape[2])
    runs = 200
    errors = rng.normal(size=(runs, *tau.shape)) * noise.rms
    weighted = ((tau + errors) / noise.rms).reshape(runs, -1)
    estimates = np.linalg.lstsq(rows, weighted.T, rcond=None)[0]
    shown = np.std(estimates - (base_map(model).K @ truth)[:, None], axis=1)
    # the standard deviation of 200 draws has a relative spread of 1 / sqrt(400) = 5 %
    np.testing.assert_allclose(shown, predicted.sigma, rtol=0.25)
    assert abs(np.mean(np.log(shown / predicted.sigma))) < 0.05


def test_noise_of_a_filter_counts_as_200_runs_show():
    """Low-pass noise is correlated: estimates spread more than white noise would let them."""
    model, motion, white = problem(5, 2)
    noise = TorqueNoise(white.joints, white.rms, "given", bandwidth_hz=8.0)
    predicted = predicted_precision(model, motion, noise, rate_hz=RATE_HZ)
    as_if_white = predicted_precision(model, motion, white, rate_hz=RATE_HZ)
    rng = np.random.default_rng(3)
    W = base_matrix(model, motion, RATE_HZ)
    rows = (W / noise.rms[:, None]).reshape(-1, W.shape[2])
    draws = rng.normal(size=(W.shape[0], 200 * W.shape[1]))
    errors = low_pass_noise(draws, 8.0, 1.0 / RATE_HZ).reshape(W.shape[0], W.shape[1], 200)
    estimates = np.linalg.lstsq(rows, errors.reshape(-1, 200), rcond=None)[0]
    shown = np.std(estimates, axis=1)
    ratio = np.exp(np.mean(np.log(shown / predicted.sigma)))
    # Coulomb friction jumps, which filtered noise follows only in part: sigma is a little less
    assert 0.85 < ratio < 1.1
    assert np.exp(np.mean(np.log(shown / as_if_white.sigma))) > 1.6


@every("seed", range(20))
def test_sigma_is_that_of_the_dense_matrix(seed):
    """Factors by chunks give the diagonal of the inverse of the whole information matrix."""
    model, motion, noise = problem(seed, 2)
    predicted = predicted_precision(model, motion, noise, rate_hz=300.0)
    W = base_matrix(model, motion, 300.0)
    rows = (W / noise.rms[:, None]).reshape(-1, W.shape[2])
    scale = np.linalg.norm(rows, axis=0)
    dense = np.sqrt(np.diag(np.linalg.pinv(rows / scale, rcond=1e-13) @
                            np.linalg.pinv(rows / scale, rcond=1e-13).T)) / scale  # fmt: skip
    np.testing.assert_allclose(predicted.sigma, dense, rtol=1e-6)
    assert predicted.n_samples == len(W)
    plain = W.reshape(-1, W.shape[2])
    factor = motion_factors(model, model_motion(model, motion, rate_hz=300.0)).unweighted
    ours = condition_numbers(factor)
    scaled = plain / np.linalg.norm(plain, axis=0)
    np.testing.assert_allclose(ours, (np.linalg.cond(plain), np.linalg.cond(scaled)), rtol=1e-6)
    singular = np.linalg.svd(plain, compute_uv=False)
    assert log_determinant(factor) == pytest.approx(2.0 * np.log(singular).sum(), rel=1e-9)


def test_what_the_rows_do_not_see_is_infinite():
    """A column that depends on others, or is zero, has no sigma; the others keep theirs."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 4))
    rows[:, 3] = rows[:, 1] - 2.0 * rows[:, 2]
    found = standard_deviations(np.column_stack([rows, np.zeros(30)]))
    assert list(np.isinf(found)) == [False, True, True, True, True]
    alone = np.linalg.pinv(rows) @ np.linalg.pinv(rows).T
    assert found[0] == pytest.approx(np.sqrt(alone[0, 0]), rel=1e-9)


def test_what_is_known_already_adds_to_the_information():
    """Information of an earlier run of the same motion makes sigma smaller by sqrt(2)."""
    model, motion, noise = problem(2)
    first = predicted_precision(model, motion, noise, rate_hz=RATE_HZ)
    W = base_matrix(model, motion, RATE_HZ)
    rows = (W / noise.rms[:, None]).reshape(-1, W.shape[2])
    both = predicted_precision(model, motion, noise, rate_hz=RATE_HZ, known=rows.T @ rows)
    np.testing.assert_allclose(both.sigma, first.sigma / np.sqrt(2.0), rtol=1e-5)
    with pytest.raises(SignalError, match="not positive semidefinite"):
        predicted_precision(model, motion, noise, rate_hz=RATE_HZ, known=-np.eye(W.shape[2]))


@pytest.mark.parametrize(
    ("sigma", "verdict"), [(0.05, "well"), (0.0522, "roughly"), (0.52, "not"), (np.inf, "not")]
)
def test_verdicts_follow_the_stated_rule(sigma, verdict):
    """Within 10 % of the size is well, within 100 % roughly, all else not."""
    one = PredictedParameter("a.m", "kg", "a.m", -0.3, sigma, 1.0)
    assert one.verdict == verdict


def test_a_joint_that_stands_still_leaves_its_friction_open():
    """Verdicts of standard parameters follow those of the base parameters they are part of."""
    model, motion, noise = problem(1, 2)
    still = model.channels[1]
    held = type(motion)(
        motion.joints,
        motion.omega,
        np.where(np.array(motion.joints)[:, None] == still, 0.0, motion.a),
        np.where(np.array(motion.joints)[:, None] == still, 0.0, motion.b),
        motion.q0,
    )
    predicted = predicted_precision(model, held, noise, rate_hz=RATE_HZ)
    by_name = {one.name: one for one in predicted.standard()}
    assert by_name[f"{still}.fv"].verdict == "not"
    assert by_name[f"{still}.fv"].words == "not determined"
    assert by_name[f"{model.channels[0]}.fv"].verdict in ("well", "roughly")
    assert predicted.counts["not"] > 0
    assert predicted.mean_sigma == np.inf
    assert sum(predicted.counts.values()) == predicted.base.rank
    assert {one.kind for one in predicted.standard()} >= {"alone", "combination"}


def test_noise_is_assumed_from_the_robot_and_not_from_the_motion():
    """It is 1 % of the largest torque within the limits, cut at the torque limit."""
    model, _, _ = problem(0)
    theta = model.prior_theta()
    free = motion_limits(model.robot, torque=1e9)
    noise = assumed_noise(model, theta, free)
    rng = np.random.default_rng(7)
    shape = (4000, model.nv)
    states = [rng.uniform(low, high, size=shape) for low, high in
              ((free.lower, free.upper), (-free.velocity, free.velocity),
               (-free.acceleration, free.acceleration))]  # fmt: skip
    largest = np.abs(torque(model, theta, *states)).max(axis=0)
    least = 0.05 * largest.max()
    np.testing.assert_allclose(noise.rms, 0.01 * np.maximum(largest, least), rtol=0.3)
    cut = assumed_noise(model, theta, motion_limits(model.robot, torque=0.5))
    assert cut.rms.max() <= 0.005
    with pytest.raises(SignalError, match="--torque-noise"):
        assumed_noise(model, np.zeros_like(theta), free)


def test_noise_by_joint_names_each_joint_once():
    """A wrong or missing name is an error that says so."""
    model, _, _ = problem(0)
    with pytest.raises(ModelError, match="did you mean 'joint_1'"):
        given_noise(model, {"joint_11": 1.0})
    with pytest.raises(ModelError, match="missing for joint_3, joint_2"):
        given_noise(model, {"joint_1": 1.0})
    with pytest.raises(SignalError, match="'joint_1' is 0"):
        given_noise(model, 0.0)
