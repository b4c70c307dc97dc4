"""White and slow noise of torques: rows that are independent of each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular

from steelyard.diagnosis.hypotheses.noise import Noise, noise_of, whitening_of


def covariance(time: np.ndarray, sigma: float, slow: float, memory_s: float) -> np.ndarray:
    """Of white noise and an Ornstein-Uhlenbeck process at these times."""
    apart = np.abs(time[:, None] - time)
    return sigma**2 * (np.eye(len(time)) + slow * np.exp(-apart / memory_s))


@pytest.mark.parametrize("seed", range(20))
def test_whitening_is_that_of_the_covariance(seed: int) -> None:
    """Rows are those that the Cholesky factor of the covariance gives; unused rows are zero."""
    rng = np.random.default_rng([seed, 61])
    n, sigma, slow, memory = 120, *10.0 ** rng.uniform(-1.0, 1.0, (3, 2))
    time = np.cumsum(rng.uniform(0.005, 0.4, n))
    used = rng.random((n, 2)) > 0.2
    table = rng.normal(size=(n, 2, 3)) * used[:, :, None]
    white = whitening_of(Noise(sigma, slow, memory), time, used)(table)
    for j in range(2):
        rows = used[:, j]
        factor = cholesky(covariance(time[rows], sigma[j], slow[j], memory[j]), lower=True)
        expected = solve_triangular(factor, table[rows, j], lower=True)
        np.testing.assert_allclose(white[rows, j], expected, rtol=1e-9, atol=1e-12)
        assert not white[~rows, j].any()


def test_noise_is_recognised() -> None:
    """Of 30 drawn residuals the sizes of both kinds of noise are found within a factor of two in
    most; rows that were whitened with it have unit variance and are not correlated.
    """
    near, lags = [], []
    for seed in range(30):
        rng = np.random.default_rng([seed, 62])
        time = np.arange(600) * 0.05
        sigma, slow = 10.0 ** rng.uniform(-2.0, 1.0), rng.choice([0.0, 1.0, 10.0])
        true = covariance(time, sigma, slow, 1.5)
        r = (cholesky(true, lower=True) @ rng.normal(size=len(time)))[:, None]
        used = np.ones(r.shape, dtype=bool)
        found = noise_of(r, time, used, np.zeros(1))
        both = sigma**2 * (1.0 + slow), found.sigma[0] ** 2 * (1.0 + found.slow[0])
        near.append(0.5 < both[1] / both[0] < 2.0 and 0.7 < found.sigma[0] / sigma < 1.4)
        white = whitening_of(found, time, used)(r[:, :, None])[:, 0, 0]
        assert np.mean(white**2) == pytest.approx(1.0, abs=1e-6)
        lags.append(float(np.mean(white[1:] * white[:-1])))
    assert np.mean(near) > 0.8
    assert abs(np.mean(lags)) < 0.02
    assert np.max(np.abs(lags)) < 0.15


def test_noise_is_never_below_the_least() -> None:
    """A residual of zero has the least noise that is stated."""
    zeros = np.zeros((50, 3))
    found = noise_of(zeros, np.arange(50.0), zeros == 0.0, np.array([1e-3, 1.0, 5.0]))
    np.testing.assert_allclose(found.sigma, [1e-3, 1.0, 5.0])
    assert np.all(found.slow == 0.0)
