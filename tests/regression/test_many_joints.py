"""Compression of robots with many joints: the same least squares, within a bound on memory."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.regression import compress as compression
from steelyard.regression import regression as regressions
from steelyard.regression._staircase import staircase_triangle
from steelyard.regression.compress import MAX_FACTOR_BYTES, block_length, compress, most_blocks
from steelyard.regression.regression import merge
from steelyard.regression.torque_rows import row_groups
from steelyard.signals.motion import Measurements, Motion
from steelyard.testing.random_robots import random_robot

TOLERANCE = 1e-9


def random_run(model: Model, rng: np.random.Generator, n: int) -> tuple[Motion, Measurements]:
    """Samples of random states and torques, at 10 Hz, some torques missing."""
    q, v, a = random_states(rng, model.robot, n)
    tau = rng.normal(size=(n, model.nv))
    tau[rng.random(tau.shape) < 0.05] = np.nan
    return Motion(np.arange(n) / 10.0, q, v, a, "run"), Measurements(model.channels, tau)


def gram(model: Model, motion: Motion, tau: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """[W tau]ᵀ[W tau] of all samples, channels weighted, from the whole regressor."""
    W = torque_regressor(model, motion.q, motion.v, motion.a)
    W = W[:, :, list(base_map(model).independent)]
    rows = (np.concatenate([W, tau[:, :, None]], axis=2) * weights[:, None])[np.isfinite(tau)]
    return rows.T @ rows


def scaled(A: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A in units in which the diagonal of ``like`` is one."""
    size = np.sqrt(np.diag(like))
    return A / size / size[:, None]


@pytest.mark.parametrize(("n_joints", "chain"), [(100, False), (24, True)])
def test_factors_of_many_joints_are_those_of_the_whole_regressor(n_joints, chain):
    """A tree of 100 joints and a chain of 24, with random weights: all samples, and one block."""
    rng = np.random.default_rng(n_joints)
    model = Model(random_robot(rng, n_joints, chain=chain, fixed=0.0))
    motion, measured = random_run(model, rng, 60)
    found = compress(model, motion, measured, block_s=3.0)
    assert found.base.rank >= regressions.STAIRCASE_FROM
    weights = rng.uniform(0.5, 2.0, size=model.nv)
    truth = gram(model, motion, measured.tau, weights)
    R = found.system(weights)
    assert np.max(np.abs(scaled(R.T @ R - truth, truth))) <= TOLERANCE
    one = gram(model, motion[30:], measured.tau[30:], weights)
    rows = found.block_rows(1, weights)
    assert np.max(np.abs(scaled(rows.T @ rows - one, truth))) <= TOLERANCE
    assert found.block_rows(1, weights) is rows
    other = found.block_rows(1, 2.0 * weights)
    assert np.allclose(other.T @ other, 4.0 * rows.T @ rows)


def test_joined_factors_are_those_of_all_rows():
    """Joined group by group or by one QR of all rows: the same, for any columns of the groups."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        n = int(rng.integers(1, 60))
        sizes = rng.integers(0, n + 1, size=8)
        columns = [np.sort(rng.choice(n, size=k, replace=False)).tolist() for k in sizes]
        factors = [np.triu(rng.normal(size=(k + 1, k + 1))) for k in sizes]
        weights = rng.uniform(0.5, 2.0, size=8)
        rows = []
        for factor, own, weight in zip(factors, columns, weights, strict=True):
            row = np.zeros((len(factor), n + 1))
            row[:, [*own, n]] = weight * factor
            rows.append(row)
        stacked = np.vstack(rows)
        R = staircase_triangle(factors, columns, weights, n)
        assert np.array_equal(R, np.triu(R))
        assert np.allclose(R.T @ R, stacked.T @ stacked, atol=1e-11)


def test_joined_factors_give_the_same_estimates(monkeypatch):
    """Weighted least squares and its cluster-robust covariance, with and without joining."""
    from steelyard.estimators.least_squares import wls

    rng = np.random.default_rng(2)
    model = Model(random_robot(rng, 6, chain=True, fixed=0.0))
    motion, measured = random_run(model, rng, 600)
    usual = wls(compress(model, motion, measured))
    monkeypatch.setattr(regressions, "STAIRCASE_FROM", 0)
    joined = wls(compress(model, motion, measured))
    assert np.allclose(joined.beta, usual.beta, rtol=TOLERANCE, atol=TOLERANCE)
    assert np.allclose(joined.spread.sigma, usual.spread.sigma, rtol=TOLERANCE)


def test_blocks_are_fewer_where_factors_would_not_fit():
    """64 blocks for 7 joints, 24 for 30, and never more than 512 MB: counted, not measured."""
    rng = np.random.default_rng(3)
    counts = []
    for n_joints in (7, 30, 60):
        model = Model(random_robot(rng, n_joints, chain=True, prismatic=0.0, fixed=0.0))
        groups = row_groups(model, base_map(model))
        most = most_blocks(groups)
        n_bytes = 8 * sum((len(group.columns) + 1) ** 2 for group in groups)
        assert most * n_bytes <= MAX_FACTOR_BYTES
        counts.append(most)
    assert counts[:2] == [64, 24]
    assert 8 <= counts[2] < 24
    assert block_length(60.0, 0.0, counts[2]) == 4.0
    assert block_length(60.0) == 1.0


def test_factors_keep_the_bound(monkeypatch):
    """`compress` itself makes as many blocks as fit, from the bytes of its factors."""
    rng = np.random.default_rng(4)
    model = Model(random_robot(rng, 5, chain=True, fixed=0.0))
    motion, measured = random_run(model, rng, 400)
    whole = compress(model, motion, measured)
    n_bytes = sum(factors.nbytes for factors in whole.factors)
    bound = n_bytes // 4
    monkeypatch.setattr(compression, "MAX_FACTOR_BYTES", bound)
    fewer = compress(model, motion, measured)
    assert sum(factors.nbytes for factors in fewer.factors) <= bound
    assert len(fewer.keys) >= 8
    R, whole_R = fewer.system(), whole.system()
    assert np.allclose(R.T @ R, whole_R.T @ whole_R)


def test_shorter_pieces_change_nothing(monkeypatch):
    """The rows of a piece take a bounded memory; how long pieces are has no effect."""
    rng = np.random.default_rng(6)
    model = Model(random_robot(rng, 8, chain=True, fixed=0.0))
    motion, measured = random_run(model, rng, 900)
    usual = compress(model, motion, measured, block_s=60.0).system()
    monkeypatch.setattr(compression, "MAX_PIECE_BYTES", 0)
    short = compress(model, motion, measured, block_s=60.0).system()
    assert np.allclose(short.T @ short, usual.T @ usual, rtol=1e-12, atol=1e-9)


def test_one_regression_is_merged_without_a_copy():
    """A single run stays as it is: its factors may be hundreds of MB."""
    rng = np.random.default_rng(7)
    model = Model(random_robot(rng, 3, fixed=0.0))
    found = compress(model, *random_run(model, rng, 100))
    assert merge([found]) is found
