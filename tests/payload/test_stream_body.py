"""The physical fit and the threshold of a payload stream against outside solvers."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import every

from steelyard.conic.problem import conic_problem
from steelyard.conic.solver import solve
from steelyard.knowledge.physical_blocks import full_consistency
from steelyard.payload._barrier_fit import barrier_fit
from steelyard.payload._change_test import ChangeTest, chi_square_quantile
from steelyard.payload._stream_body import (
    FAR,
    LARGE,
    LEAST_MASS,
    SIZE,
    _basis,
    free_fit,
    mass_change,
    physical_fit,
)
from steelyard.payload._stream_loops import set_gate
from steelyard.robot.inertia import from_com, margin
from steelyard.testing.random_robots import random_body


def random_factor(rng: np.random.Generator) -> np.ndarray:
    """A factor of body, three channels' bias and right-hand side, with noise of any size."""
    phi, bias = random_body(rng) * rng.choice([1.0, 0.3, 0.05]), rng.normal(size=3)
    rows = rng.normal(size=(60, 13)) * 10.0 ** rng.uniform(-1.5, 1.0, size=13)
    noise = rng.normal(size=60) * rng.choice([0.01, 1.0, 10.0])
    right = rows @ np.concatenate([phi, bias]) + noise
    return np.linalg.qr(np.column_stack([rows, right]), mode="r")


@every("seed", range(40))
def test_physical_fit_is_the_optimum_of_the_conic_solver(seed):
    """Its sum of squares is Clarabel's to 1e-6, at the edge of the physical set and inside."""
    rng = np.random.default_rng(seed)
    fit = free_fit(random_factor(rng), np.ones(3))
    body = physical_fit(fit)
    assert np.all(body.second_moments >= 0.0)
    mass = max(float(fit.phi[0]), LEAST_MASS)
    com = np.clip(fit.phi[1:4] / mass, -FAR, FAR)
    radius = (3.0 * mass / (4000.0 * np.pi)) ** (1.0 / 3.0)
    sphere = from_com(mass, com, 0.4 * mass * radius**2 * np.eye(3))
    F = np.concatenate([fit.R, np.diag(1.0 / LARGE)])
    g = np.concatenate([fit.z, sphere / LARGE])
    problem = conic_problem(10, (full_consistency(None, 0),), mass * SIZE, F=F, g=g)
    best = problem.objective(solve(problem, accuracy=1e-10).theta)
    assert problem.objective(body.phi) <= best + 1e-6 * (1.0 + best)


def test_random_factors_are_often_at_the_edge():
    """The test above has fits inside the physical set and at its edge."""
    factors = [random_factor(np.random.default_rng(seed)) for seed in range(40)]
    physical = [bool(margin(free_fit(S, np.ones(3)).phi) >= 0.0) for S in factors]
    assert 5 <= sum(physical) <= 35


def test_free_fit_is_least_squares():
    """Body, covariance and bias are those of the whole least-squares problem."""
    S = 100.0 * random_factor(np.random.default_rng(3))
    fit = free_fit(S, np.ones(3))
    x = np.linalg.solve(S[:13, :13], S[:13, 13])
    P = np.linalg.inv(S[:13, :13].T @ S[:13, :13])
    assert np.allclose(fit.phi, x[:10], rtol=0, atol=1e-4)
    assert np.allclose(fit.covariance, P[:10, :10], rtol=1e-2, atol=1e-6)
    assert np.allclose(fit.bias_with(x[:10]), x[10:], rtol=0, atol=1e-6)


def test_mass_change_is_least_squares_of_two_bodies_with_one_bias():
    """Both masses and the standard deviation of their difference are those of the whole problem."""
    rng = np.random.default_rng(6)
    before, after = 100.0 * random_factor(rng), 100.0 * random_factor(rng)
    A = np.zeros((28, 23))
    A[:14, :10], A[:14, 20:] = before[:, :10], before[:, 10:13]
    A[14:, 10:20], A[14:, 20:] = after[:, :10], after[:, 10:13]
    x = np.linalg.lstsq(A, np.concatenate([before[:, 13], after[:, 13]]))[0]
    P = np.linalg.inv(A.T @ A)
    old, new, sigma = mass_change(before, after, np.ones(3))
    assert (old, new) == pytest.approx((x[0], x[10]), abs=1e-4)
    assert sigma == pytest.approx(np.sqrt(P[0, 0] + P[10, 10] - 2.0 * P[0, 10]), rel=1e-2)


@every("freedom", (2.0, 5.0, 10.0))
def test_quantiles_of_chi_square(freedom):
    """The far tail is SciPy's within 15 %, and not below it."""
    from scipy.stats import chi2, norm

    for quantile in (3.0, 4.8):
        exact = chi2.isf(norm.sf(quantile), freedom)
        assert exact * 0.995 <= chi_square_quantile(freedom, quantile) <= 1.15 * exact


def test_threshold_follows_the_statistic():
    """For a scaled chi-square with few degrees of freedom the rate of alarms stays below 1e-3."""
    rng = np.random.default_rng(1)
    block_s, per_hour = 0.05, 1e-3 * 3600.0 / 0.05
    test = ChangeTest(np.array([0.1]), block_s, per_hour)
    values = 40.0 * rng.chisquare(2.0, size=20_000)
    alarms = 0
    for k, value in enumerate(values):
        thresholds = test.thresholds(1.0)
        alarms += k > 2000 and value > thresholds[0]
        test.watch(np.array([value]), thresholds, block_s)
    assert 0 < alarms < 1e-3 * len(values)
    assert 6.0 < test.inflation(1.0) < 10.0


def test_gate_is_the_least_squares_solution_with_its_information():
    """Solution and triangular factor of samples and weak priors are those of NumPy's QR."""
    rng = np.random.default_rng(5)
    S, weak = random_factor(rng), rng.uniform(1e-3, 1.0, size=13)
    gate, largest = np.zeros((14, 14)), 50.0
    set_gate(S, weak, largest, gate, np.zeros((14, 14)), np.zeros(14))
    A = np.concatenate([S[:, :13], np.diag(weak)])
    x = np.linalg.lstsq(A, np.concatenate([S[:, 13], np.zeros(13)]))[0]
    assert np.allclose(gate[13] * largest, np.append(x, -1.0), rtol=0, atol=1e-12)
    assert np.allclose(gate[:13, :13].T @ gate[:13, :13], A.T @ A, rtol=0, atol=1e-12)
    assert not np.tril(gate[:13, :13], -1).any()


@every("start", (np.nan, 0.0, 1e200))
def test_numbers_that_overflow_are_an_error_of_the_fit(start):
    """The barrier method says that it found nothing; it does not divide by zero."""
    fit = free_fit(random_factor(np.random.default_rng(1)), np.ones(3))
    R, z = np.ascontiguousarray(fit.R), np.ascontiguousarray(fit.z)
    assert not barrier_fit(R, z, _basis(), np.full(10, start), 1.0, 1e-7)
