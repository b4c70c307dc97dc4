"""Held-out errors: the formulas, missing rows, baselines and refusals."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from steelyard.errors import ModelError, ResultError, SignalError
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque, torque_regressor
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.terms import joint_terms
from steelyard.signals.motion import Measurements, Motion
from steelyard.testing.random_robots import random_robot
from steelyard.validation.scores import predict_base, validate


def case(seed: int = 0, n_joints: int = 3, n_samples: int = 40, chain: bool = True, **arguments):
    """A model, a motion, and torques that its file's model predicts with an error."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, n_joints, chain=chain, **arguments)
    model = Model(robot)
    motion = Motion(np.arange(n_samples) / 10.0, *random_states(rng, robot, n_samples), "held out")
    tau = torque(model, model.prior_theta(), motion.q, motion.v, motion.a)
    tau += rng.normal(scale=3.0, size=tau.shape)
    return rng, model, motion, Measurements(model.channels, tau)


def test_errors_are_those_of_their_formulas():
    """rms, relative error (Sousa and Cortesão 2014, eq 84) and fit, against plain sums."""
    rng, model, motion, measured = case()
    predicted = measured.tau + rng.normal(size=measured.tau.shape)
    found = validate(model, predicted, motion, measured)
    for i, channel in enumerate(found.prediction.channels):
        tau, e = measured.tau[:, i], measured.tau[:, i] - predicted[:, i]
        assert channel.name == model.channels[i]
        assert channel.n_rows == len(motion)
        assert channel.rms == pytest.approx(math.sqrt(sum(e**2) / len(e)))
        assert channel.torque_rms == pytest.approx(math.sqrt(sum(tau**2) / len(tau)))
        assert channel.relative_error == pytest.approx(math.sqrt(sum(e**2) / sum(tau**2)))
        spread = math.sqrt(sum((tau - sum(tau) / len(tau)) ** 2))
        assert channel.fit_percent == pytest.approx(100 * (1 - math.sqrt(sum(e**2)) / spread))
    omega, error = measured.tau.ravel(), (measured.tau - predicted).ravel()
    total = np.linalg.norm(error) / np.linalg.norm(omega)
    assert found.prediction.relative_error == pytest.approx(total)
    assert found.prediction.n_rows == measured.tau.size


def test_perfect_and_mean_predictions():
    """A perfect prediction has error 0 and fit 100; the mean torque has fit 0."""
    _, model, motion, measured = case()
    perfect = validate(model, measured.tau, motion, measured).prediction
    assert perfect.relative_error == 0.0
    assert all(channel.fit_percent == 100.0 for channel in perfect.channels)
    mean = np.broadcast_to(measured.tau.mean(axis=0), measured.tau.shape)
    flat = validate(model, mean, motion, measured).prediction
    assert [channel.fit_percent for channel in flat.channels] == pytest.approx([0.0] * 3, abs=1e-9)


def test_baselines_are_the_file_and_nothing():
    """The zero model has an error of 100 %; the prior predicts with the file's inertials."""
    _, model, motion, measured = case()
    found = validate(model, np.zeros_like(measured.tau), motion, measured)
    assert found.zero.relative_error == 1.0
    assert all(channel.relative_error == 1.0 for channel in found.zero.channels)
    assert found.zero.channels == found.prediction.channels
    assert not found.beats_zero
    prior = torque(model, model.prior_theta(), motion.q, motion.v, motion.a)
    again = validate(model, prior, motion, measured)
    assert again.prediction.channels == again.prior.channels
    assert found.prior.channels == again.prior.channels
    assert not again.beats_prior


@pytest.mark.parametrize(("size", "beats"), [(1.0, True), (30.0, False)])
def test_verdict_compares_with_the_prior(size, beats):
    """A prediction with less error than the file's model beats it, one with more does not."""
    rng, model, motion, measured = case()
    predicted = measured.tau + size * rng.normal(size=measured.tau.shape)
    found = validate(model, predicted, motion, measured)
    assert found.beats_prior == beats
    assert found.verdict.startswith("beats" if beats else "does not beat")
    assert f"{found.prior.relative_error:.2%}" in found.verdict


def test_verdict_names_channels_that_became_worse():
    """A channel in which the file's model is better is named, though the whole is better."""
    _, model, motion, measured = case()
    predicted = measured.tau.copy()
    predicted[:, 1] += 4.0
    found = validate(model, predicted, motion, measured)
    assert found.beats_prior
    assert found.worse_channels == ("joint_2",)
    assert found.verdict.endswith("except in joint_2")


def test_missing_rows_are_skipped():
    """Rows with NaN torque are ignored, whatever is predicted there."""
    rng, model, motion, measured = case(n_samples=60)
    tau = measured.tau.copy()
    tau[rng.random(tau.shape) < 0.4] = np.nan
    tau[:, 2] = np.nan
    predicted = measured.tau + 1.0
    predicted[np.isnan(tau)] = np.nan
    found = validate(model, predicted, motion, Measurements(model.channels, tau))
    counts = [channel.n_rows for channel in found.prediction.channels]
    assert counts == list(np.isfinite(tau).sum(axis=0))
    assert found.prediction.n_rows == sum(counts)
    assert found.prediction.rms == pytest.approx(1.0)
    assert [channel.rms for channel in found.prediction.channels[:2]] == pytest.approx([1.0, 1.0])
    assert math.isnan(found.prediction.channels[2].rms)
    assert found.worse_channels == ()


def test_channels_are_matched_by_name():
    """Measured channels may come in another order, and some may be absent."""
    rng, model, motion, measured = case()
    predicted = measured.tau + rng.normal(size=measured.tau.shape)
    all_of_them = {c.name: c for c in validate(model, predicted, motion, measured).prior.channels}
    chosen = (2, 0)
    some = Measurements(tuple(model.channels[i] for i in chosen), measured.tau[:, chosen])
    found = validate(model, predicted, motion, some)
    assert [channel.name for channel in found.prediction.channels] == ["joint_3", "joint_1"]
    for channel in found.prior.channels:
        assert channel == all_of_them[channel.name]


def test_base_parameters_predict_what_the_regressor_does():
    """W_b beta, for random trees with mimic joints and floating bases."""
    for seed in range(12):
        rng, model, motion, _ = case(
            seed, n_joints=1 + seed % 6, chain=False, mimic=0.2, floating_base=seed % 3 == 0
        )
        base = base_map(model)
        beta = rng.normal(size=base.rank)
        W = torque_regressor(model, motion.q, motion.v, motion.a)[:, :, list(base.independent)]
        found = predict_base(model, base, beta, motion)
        np.testing.assert_allclose(found, W @ beta, rtol=1e-9, atol=1e-9)
        theta = rng.normal(size=len(model.columns))
        np.testing.assert_allclose(
            predict_base(model, base, base.K @ theta, motion),
            torque(model, theta, motion.q, motion.v, motion.a),
            rtol=1e-6,
            atol=1e-6,
        )


def test_dictionary_is_json():
    """Everything goes through JSON, with null where nothing was measured."""
    _, model, motion, measured = case()
    tau = measured.tau.copy()
    tau[:, 0] = np.nan
    found = validate(model, measured.tau, motion, Measurements(model.channels, tau))
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["run"] == "held out"
    assert again["prediction"]["channels"][0] == {
        "name": "joint_1",
        "n_rows": 0,
        "rms": None,
        "torque_rms": None,
        "relative_error": None,
        "fit_percent": None,
    }
    assert again["zero"]["relative_error"] == 1.0
    assert again["beats_prior"] is True
    assert again["verdict"] == found.verdict


def test_what_does_not_fit_is_refused():
    """Wrong shapes, foreign channels, no torque at all and predictions that are not finite."""
    _, model, motion, measured = case()
    with pytest.raises(SignalError, match=r"shape \(40, 2\); \(40, 3\) is needed"):
        validate(model, measured.tau[:, :2], motion, measured)
    with pytest.raises(SignalError, match="39 samples of torque for 40 of motion"):
        validate(model, measured.tau, motion, measured[1:])
    empty = Measurements(model.channels, np.full_like(measured.tau, np.nan))
    with pytest.raises(SignalError, match="no torque to compare with"):
        validate(model, measured.tau, motion, empty)
    foreign = Measurements(("joint_1", "elbow", "joint_3"), measured.tau)
    with pytest.raises(ModelError, match="elbow"):
        validate(model, measured.tau, motion, foreign)
    broken = measured.tau.copy()
    broken[7, 1] = np.inf
    with pytest.raises(SignalError, match=r"'joint_2' is not finite in 1 places, first at 0.7 s"):
        validate(model, broken, motion, measured)


def test_base_parameters_of_another_model_are_refused():
    """A base map is tied to its model, and beta to its length."""
    _, model, motion, _ = case()
    base = base_map(model)
    other = Model(model.robot, joint_terms(model.channels, ("viscous",)))
    turned = Model(replace(model.robot, gravity=np.array([1.0, 0.0, 0.0])))
    with pytest.raises(ResultError, match="belong to a different model"):
        predict_base(other, base, np.zeros(base.rank), motion)
    with pytest.raises(ResultError, match="a different model"):
        predict_base(turned, base, np.zeros(base.rank), motion)
    with pytest.raises(ResultError, match=rf"there are {base.rank} base parameters"):
        predict_base(model, base, np.zeros(3), motion)
