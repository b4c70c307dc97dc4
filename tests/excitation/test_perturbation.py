"""Bounds on what errors do to a least-squares solution, and the paper's two examples."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from steelyard.errors import SignalError
from steelyard.excitation.perturbation import (
    least_squares_error_bound,
    matrix_error_bound,
    measurement_error_bound,
    solution_sigma,
)

NORMS = (1, 2, np.inf)


def solved(W, Y):
    return np.linalg.lstsq(W, Y, rcond=None)[0]


def test_first_example_of_the_appendix():
    """Gautier and Khalil (1992), A1 to A7: in the 1-norm the bound (12) is attained."""
    A = [[Fraction(41, 10), Fraction(28, 10)], [Fraction(97, 10), Fraction(66, 10)]]
    determinant = A[0][0] * A[1][1] - A[0][1] * A[1][0]
    assert determinant == Fraction(-1, 10)
    inverse = [
        [A[1][1] / determinant, -A[0][1] / determinant],
        [-A[1][0] / determinant, A[0][0] / determinant],
    ]
    assert inverse == [[-66, 28], [97, -41]]
    dX = [inverse[0][0] / 100, inverse[1][0] / 100]
    assert dX == [Fraction(-66, 100), Fraction(97, 100)]
    exact = abs(dX[0]) + abs(dX[1])  # |X| = 1
    assert exact == Fraction(163, 100)
    bound = measurement_error_bound([[4.1, 2.8], [9.7, 6.6]], [4.1, 9.7], [0.01, 0.0], norm=1)
    assert bound == pytest.approx(float(exact), rel=1e-10)
    assert bound / (0.01 / 13.8) == pytest.approx(2249.4, rel=1e-10)
    assert pytest.approx(7.246e-4, rel=1e-3) == 0.01 / 13.8


def test_second_example_of_the_appendix():
    """A8: of two equal errors one nearly attains the bound and one is a millionth of it."""
    A, Y = np.diag([1.0, 1e-6]), np.array([1.0, 1e-6])
    for dY, expected in (([1e-6, 0.0], 1e-6 / np.sqrt(2.0)), ([0.0, 1e-6], 1.0 / np.sqrt(2.0))):
        error = np.linalg.norm(np.linalg.solve(A, dY)) / np.linalg.norm([1.0, 1.0])
        assert error == pytest.approx(expected, rel=1e-9)
        assert measurement_error_bound(A, Y, dY) == pytest.approx(1.0, rel=1e-9)


def test_square_systems_never_exceed_their_bounds():
    """(12) and (13) hold for many random systems and errors, in all three norms."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(2, 7))
        W = rng.normal(size=(n, n)) * np.exp(2.0 * rng.normal(size=n))
        X = rng.normal(size=n)
        Y = W @ X
        dY = 0.1 * np.abs(Y).max() * rng.normal(size=n)
        dW = 10.0 ** rng.uniform(-4, 0) * rng.normal(size=(n, n))
        of_Y = np.linalg.solve(W, Y + dY) - X
        changed = np.linalg.solve(W + dW, Y)
        for norm in NORMS:
            size = lambda x, norm=norm: np.linalg.norm(x, norm)  # noqa: E731
            assert size(of_Y) / size(X) <= measurement_error_bound(W, Y, dY, norm) * (1 + 1e-8)
            assert size(changed - X) / size(changed) <= matrix_error_bound(W, dW, norm) * (1 + 1e-8)


def test_bounds_are_attained():
    """Along singular vectors (12) and (13) are equalities: nothing smaller would hold."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        W = rng.normal(size=(5, 5))
        U, s, Vt = np.linalg.svd(W)
        X = Vt[0]
        dY = 1e-3 * U[:, -1]
        error = np.linalg.norm(np.linalg.solve(W, W @ X + dY) - X)
        assert error == pytest.approx(measurement_error_bound(W, W @ X, dY), rel=1e-8)
        # W dX = -dW (X + dX): with X + dX along v the loss is |dW| / s_min
        after = rng.normal(size=5)
        after /= np.linalg.norm(after)
        dW = -1e-3 * s[-1] * np.outer(U[:, -1], after)
        before = np.linalg.solve(W, (W + dW) @ after)
        error = np.linalg.norm(after - before) / np.linalg.norm(after)
        assert error == pytest.approx(matrix_error_bound(W, dW), rel=1e-8)


def test_least_squares_never_exceeds_its_bound():
    """Lawson and Hanson's bound holds with residuals and errors of both sides."""
    rng = np.random.default_rng(2)
    finite = 0
    for _ in range(500):
        n = int(rng.integers(1, 7))
        W = rng.normal(size=(n + int(rng.integers(0, 8)), n)) * np.exp(rng.normal(size=n))
        Y = W @ rng.normal(size=n) + rng.uniform(0.0, 5.0) * rng.normal(size=len(W))
        dW = 10.0 ** rng.uniform(-5, -0.5) * rng.normal(size=W.shape)
        dY = 10.0 ** rng.uniform(-5, 0) * rng.normal(size=len(W))
        X, changed = solved(W, Y), solved(W + dW, Y + dY)
        bound = least_squares_error_bound(W, Y, dW, dY)
        finite += np.isfinite(bound)
        assert np.linalg.norm(changed - X) <= bound * np.linalg.norm(X) * (1 + 1e-8)
    assert finite > 350


def test_the_residual_is_needed_in_the_bound():
    """With a large residual the error exceeds the bound of a system without one."""
    W = np.array([[1.0, 0.0], [0.0, 1e-2], [0.0, 0.0]])
    Y = np.array([1.0, 1e-2, 10.0])
    dW = np.zeros_like(W)
    dW[2, 1] = 1e-3
    X = solved(W, Y)
    error = np.linalg.norm(solved(W + dW, Y) - X) / np.linalg.norm(X)
    k, a = 100.0, 1e-3
    assert error > 10.0 * k / (1.0 - k * a) * a
    assert error <= least_squares_error_bound(W, Y, dW)


def test_bound_without_residual_is_the_square_one():
    """For Y = W X and dW = 0 the bound is |dY| / (s_min |X|), at most (12)."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        W = rng.normal(size=(9, 4))
        X, dY = rng.normal(size=4), rng.normal(size=9)
        s = np.linalg.svd(W, compute_uv=False)
        bound = least_squares_error_bound(W, W @ X, None, dY)
        expected = np.linalg.norm(dY) / (s[-1] * np.linalg.norm(X))
        assert bound == pytest.approx(expected, rel=1e-9)
        assert bound <= measurement_error_bound(W, W @ X, dY) * (1 + 1e-12)


def test_large_errors_of_the_matrix_are_bounded():
    """An error of W that nearly makes it singular moves X far beyond cond(W) |dW| / |W|."""
    W, dW = np.diag([1.0, 0.1]), np.diag([0.0, -0.09])
    X = np.ones(2)
    error = np.linalg.norm(solved(W + dW, W @ X) - X) / np.linalg.norm(X)
    assert error == pytest.approx(9.0 / np.sqrt(2.0))
    assert error <= least_squares_error_bound(W, W @ X, dW) == pytest.approx(9.0)


def test_no_bound_where_columns_may_become_dependent():
    """An error of W as large as its smallest singular value leaves no bound."""
    W = np.diag([1.0, 0.1])
    assert least_squares_error_bound(W, [1.0, 1.0], np.diag([0.0, -0.0999])) < np.inf
    assert least_squares_error_bound(W, [1.0, 1.0], np.diag([0.0, -0.1])) == np.inf
    assert least_squares_error_bound(np.ones((3, 2)), np.ones(3), None, np.ones(3)) == np.inf


def test_sigma_is_that_of_repeated_experiments():
    """The standard deviations are those of 20,000 solutions with random errors."""
    rng = np.random.default_rng(4)
    W = rng.normal(size=(8, 3)) * np.array([1.0, 0.1, 5.0])
    errors = 0.3 * rng.normal(size=(8, 20_000))
    spread = np.linalg.lstsq(W, errors, rcond=None)[0].std(axis=1)
    assert solution_sigma(W, 0.3) == pytest.approx(spread, rel=0.03)


def test_what_a_bound_does_not_cover_is_refused():
    """Tall matrices in other norms, and tall matrices for (13), are refused."""
    with pytest.raises(SignalError, match="2-norm only"):
        measurement_error_bound(np.ones((3, 2)), np.ones(3), np.ones(3), norm=1)
    with pytest.raises(SignalError, match="as many rows as columns"):
        matrix_error_bound(np.ones((3, 2)), np.ones((3, 2)))
    with pytest.raises(SignalError, match="1, 2 or infinite"):
        measurement_error_bound(np.eye(2), np.ones(2), np.ones(2), norm=3)
