"""Time blocks with one factor over all channels: the same estimates as with one for each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.errors import RegressionError
from steelyard.estimators.least_squares import joint_noise, ols, wls
from steelyard.estimators.prior_fit import fit_with_prior
from steelyard.identification.runs import compressed
from steelyard.knowledge.prior import prior_from_robot
from steelyard.logs.log import Log
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.terms import default_terms
from steelyard.regression import compress as compression
from steelyard.regression import compress_pooled as pooling
from steelyard.regression.compress import compress
from steelyard.regression.compress_pooled import compress_pooled, needs_pooling
from steelyard.regression.factor_file import read_regression, write_regression
from steelyard.regression.fewer_terms import with_fewer_terms
from steelyard.regression.regression import Regression, merge
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.processing import Processing
from steelyard.testing.random_robots import random_robot

TOLERANCE = 1e-9


def noisy_run(model: Model, seed: int, run: str = "run") -> tuple[Motion, Measurements]:
    """Random states at 20 Hz with torques of the file's bodies, noise and missing values."""
    rng = np.random.default_rng(seed)
    q, v, a = random_states(rng, model.robot, 500)
    tau = torque(model, model.prior_theta(), q, v, a)
    tau += rng.uniform(0.5, 3.0, size=model.nv) * rng.normal(size=tau.shape)
    tau[rng.random(tau.shape) < 0.05] = np.nan
    return Motion(np.arange(500) / 20.0, q, v, a, run), Measurements(model.channels, tau)


def weigh(whole: Regression) -> np.ndarray:
    return 1.0 / joint_noise(whole)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(random_robot(np.random.default_rng(0), 5, prismatic=0.2))


def both(model: Model, seed: int = 1, run: str = "run") -> tuple[Regression, Regression]:
    """The same run with one factor for each channel and block, and pooled."""
    motion, measured = noisy_run(model, seed, run)
    pooled = compress_pooled(model, motion, measured, weigh, base=base_map(model))
    return compress(model, motion, measured, block_s=pooled.block_s), pooled


def test_estimates_are_those_of_factors_by_channel(model):
    """Least squares with any weights, its covariance from blocks, and the fit with a prior."""
    usual, pooled = both(model)
    assert pooled.keys == usual.keys
    assert np.array_equal(pooled.counts, usual.counts)
    assert 12 <= len(pooled.keys) <= pooling.POOLED_BLOCKS + 1
    for ours, theirs in ((wls(pooled), wls(usual)), (ols(pooled), ols(usual))):
        assert np.allclose(ours.beta, theirs.beta, rtol=TOLERANCE, atol=TOLERANCE)
    ours, theirs = wls(pooled), wls(usual)
    assert ours.spread.kind == theirs.spread.kind == "cluster"
    assert np.allclose(ours.spread.sigma, theirs.spread.sigma, rtol=1e-7)
    for mine, other in zip(ours.channels, theirs.channels, strict=True):
        assert mine.sigma == pytest.approx(other.sigma, rel=1e-8)
    prior = prior_from_robot(model)
    fits = [fit_with_prior(model, one, prior) for one in (pooled, usual)]
    assert fits[0].pull.gamma == fits[1].pull.gamma
    assert np.allclose(fits[0].beta, fits[1].beta, rtol=1e-6, atol=1e-6)


def test_blocks_with_other_weights_are_refused(model):
    """A common factor is fine; ordinary least squares says why it has no covariance of blocks."""
    _, pooled = both(model)
    weights = pooled.pooled.weights
    rows = pooled.block_rows(2, weights)
    assert np.allclose(pooled.block_rows(2, 3.0 * weights), 3.0 * rows)
    with pytest.raises(RegressionError, match="weights by each joint's noise"):
        pooled.block_rows(2, np.ones(len(weights)))
    assert any("weights of their own" in finding.words for finding in ols(pooled).findings)


def test_merged_runs(model):
    """Runs are merged in any order; weights have to be the same."""
    motion, measured = noisy_run(model, 3, "other")
    usual, pooled = both(model)
    second = compress_pooled(
        model, motion, measured, lambda _: pooled.pooled.weights, base=base_map(model)
    )
    merged, swapped = merge([pooled, second]), merge([second, pooled])
    assert merged.keys == swapped.keys
    truth = merge([usual, compress(model, motion, measured, block_s=usual.block_s)])
    weights = pooled.pooled.weights
    for one in (merged, swapped):
        R, S = one.system(weights), truth.system(weights)
        assert np.allclose(R.T @ R, S.T @ S)
        for block in (0, len(one.keys) - 1):
            rows, others = one.block_rows(block, weights), truth.block_rows(block, weights)
            assert np.allclose(rows.T @ rows, others.T @ others)
    with pytest.raises(RegressionError, match="pooled"):
        merge([pooled, usual])
    doubled = replace(second.pooled, weights=2.0 * weights)
    with pytest.raises(RegressionError, match="same weights"):
        merge([pooled, replace(second, pooled=doubled)])


def test_file_and_fewer_terms(model, tmp_path):
    """Pooled blocks are written and read back, and reduced to a model with fewer terms."""
    _, pooled = both(model)
    write_regression(tmp_path / "pooled.npz", pooled)
    back = read_regression(tmp_path / "pooled.npz", model)
    assert np.array_equal(back.pooled.factors, pooled.pooled.factors)
    assert np.array_equal(back.pooled.weights, pooled.pooled.weights)
    narrow = Model(model.robot, default_terms(model.robot, torque="link"))
    motion, measured = noisy_run(model, 1)
    weights = pooled.pooled.weights
    truth = compress(narrow, motion, measured, block_s=pooled.block_s)
    found = with_fewer_terms(pooled, model, narrow)
    for block in (0, 5):
        rows, others = found.block_rows(block, weights), truth.block_rows(block, weights)
        assert np.allclose(rows.T @ rows, others.T @ others, rtol=1e-8, atol=1e-6)


def test_logs_are_pooled_where_few_blocks_would_fit(model, monkeypatch):
    """By the bytes of the factors; all logs with the weights of the first."""
    base = base_map(model)
    assert not needs_pooling(model, base)
    monkeypatch.setattr(compression, "MAX_FACTOR_BYTES", 40_000)
    assert needs_pooling(model, base)
    logs = []
    for seed in (1, 2):
        motion, measured = noisy_run(model, seed)
        logs.append(
            Log.from_arrays(
                motion.time, motion.q, measured.tau, joints=model.robot.joint_names,
                v=motion.v, a=motion.a, name=f"log{seed}",
            )
        )  # fmt: skip
    processing = Processing(cutoff_hz=None, torque_filter="none", dead_band="rest",
                            velocity="measured", acceleration="measured")  # fmt: skip
    found = compressed(model, model, logs, processing, 1).regression
    assert found.pooled is not None
    assert {run for run, _ in found.keys} == {"log1", "log2"}
    assert all(len(factors) == 1 for factors in found.factors)
    monkeypatch.setattr(pooling, "LARGEST_BYTES", 1000)
    with pytest.raises(RegressionError, match="lock joints"):
        compressed(model, model, logs, processing, 1)
