"""The interior-point method: convex problems with a known solution, and every iterate inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from steelyard.excitation.search._interior import minimise


@dataclass(frozen=True, eq=False)
class Quadratic:
    """½ (x - c)ᵀ A (x - c)."""

    A: np.ndarray
    c: np.ndarray
    x: np.ndarray

    @property
    def value(self) -> float:
        d = (self.x - self.c).ravel()
        return float(0.5 * d @ self.A @ d)

    def gradient(self) -> np.ndarray:
        return (self.A @ (self.x - self.c).ravel()).reshape(self.x.shape)


def solve(function, rows, x, weights=(1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)):
    B = np.eye(x.size)
    for weight in weights:
        state = minimise(
            function, rows, x, B, weight=weight, iterations=60, tolerance=1e-14, stop=lambda: False
        )
        x, B = state.x, state.curvature
    return x


@pytest.mark.parametrize("seed", range(20))
def test_quadratic_programs(seed):
    """Against SciPy's SLSQP on random quadratic programs with coupled blocks."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    n_blocks, n, n_rows = int(rng.integers(1, 4)), int(rng.integers(1, 5)), 12
    root = rng.normal(size=(n_blocks * n, n_blocks * n))
    A = root @ root.T + 0.1 * np.eye(n_blocks * n)
    c = 2.0 * rng.normal(size=(n_blocks, n))
    rows = rng.normal(size=(n_blocks, n_rows, n))
    seen = []

    def values(x):
        return np.einsum("jrc,jc->jr", rows, x)

    def function(x):
        seen.append(x)
        return Quadratic(A, c, x)

    x = solve(function, rows, np.zeros((n_blocks, n)))
    expected = minimize(
        lambda y: Quadratic(A, c, y.reshape(n_blocks, n)).value,
        np.zeros(n_blocks * n),
        jac=lambda y: Quadratic(A, c, y.reshape(n_blocks, n)).gradient().ravel(),
        constraints={
            "type": "ineq",
            "fun": lambda y: np.outer([1.0, -1.0], values(y.reshape(n_blocks, n))).ravel() + 1.0,
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert Quadratic(A, c, x).value == pytest.approx(expected.fun, rel=1e-5, abs=1e-6)
    assert all((np.abs(values(y)) < 1.0).all() for y in seen)


def test_it_stops_when_asked_and_refuses_a_start_outside():
    rows = np.array([[[1.0]]])
    calls = iter([False, False, True])

    def function(x):
        return Quadratic(np.eye(1), np.array([[5.0]]), x)

    options = {"weight": 1e-3, "iterations": 50, "tolerance": 0.0}
    state = minimise(
        function, rows, np.zeros((1, 1)), np.eye(1), stop=lambda: next(calls), **options
    )
    assert not state.finished
    assert 0.0 < state.x[0, 0] < 1.0
    outside = minimise(function, rows, np.array([[2.0]]), np.eye(1), stop=lambda: False, **options)
    assert outside.value == np.inf
