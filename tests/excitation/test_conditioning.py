"""Measures of a least-squares matrix, against their definitions and finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.errors import SignalError
from steelyard.excitation.points import conditioning


def matrices(count: int):
    """Random tall matrices of several shapes and condition numbers."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        n_columns = int(rng.integers(2, 9))
        n_rows = n_columns + int(rng.integers(0, 12))
        yield rng.normal(size=(n_rows, n_columns)) * np.exp(rng.normal(size=n_columns))


def pivoted_diagonal(W: np.ndarray) -> list[float]:
    """Diagonal of R by pivoted Gram-Schmidt, written from the definition."""
    rest = W.copy()
    left = list(range(W.shape[1]))
    diagonal = []
    while left:
        sizes = [np.linalg.norm(rest[:, j]) for j in left]
        pivot = left.pop(int(np.argmax(sizes)))
        size = np.linalg.norm(rest[:, pivot])
        diagonal.append(float(size))
        direction = rest[:, pivot] / size
        rest -= np.outer(direction, direction @ rest)
    return diagonal


def test_values_follow_their_definitions():
    """Every measure equals its definition, written with inverses and norms."""
    for W in matrices(60):
        A = W.T @ W
        frobenius = np.linalg.norm(A) * np.linalg.norm(np.linalg.inv(A))
        diagonal = pivoted_diagonal(W)
        S = np.abs(W).max() / np.abs(W).min()
        assert conditioning.condition_number(W) == pytest.approx(np.linalg.cond(W), rel=1e-10)
        assert conditioning.frobenius_condition(W) == pytest.approx(frobenius, rel=1e-6)
        assert conditioning.pivot_condition(W) == pytest.approx(
            diagonal[0] / diagonal[-1], rel=1e-9
        )
        assert conditioning.pivot_condition(W) <= np.linalg.cond(W) * (1 + 1e-12)
        assert conditioning.equilibrium(W) == pytest.approx(S, rel=1e-14)
        assert conditioning.balanced_condition(W, 2.0, 0.5) == pytest.approx(
            2.0 * np.linalg.cond(W) + 0.5 * S, rel=1e-10
        )


GRADIENTS = {
    "condition": conditioning.condition_gradient,
    "pivots": conditioning.pivot_condition_gradient,
    "frobenius": conditioning.frobenius_condition_gradient,
    "smooth 4": lambda W: conditioning.smooth_condition_gradient(W, 4.0),
    "smooth 50": lambda W: conditioning.smooth_condition_gradient(W, 50.0),
    "smooth S": lambda W: conditioning.smooth_equilibrium_gradient(W, 8.0),
    "balanced": lambda W: conditioning.smooth_balanced_gradient(W, 1.0, 0.1, 12.0),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_agree_with_finite_differences(name):
    """Derivatives by W agree with central differences along random directions."""
    measure = GRADIENTS[name]
    rng = np.random.default_rng(1)
    for W in matrices(40):
        direction = rng.normal(size=W.shape) * np.abs(W)
        step = 1e-6
        ahead, behind = (measure(W + sign * step * direction)[0] for sign in (1.0, -1.0))
        value, gradient = measure(W)
        slope = float((gradient * direction).sum())
        scale = max(abs(slope), 0.01 * value)
        assert (ahead - behind) / (2.0 * step) == pytest.approx(slope, abs=2e-6 * scale + 1e-8)


def test_gradient_functions_return_the_value():
    """The value that comes with a derivative is the measure itself."""
    for W in matrices(20):
        pairs = (
            (conditioning.condition_gradient, conditioning.condition_number),
            (conditioning.pivot_condition_gradient, conditioning.pivot_condition),
            (conditioning.frobenius_condition_gradient, conditioning.frobenius_condition),
        )
        for with_gradient, alone in pairs:
            assert with_gradient(W)[0] == pytest.approx(alone(W), rel=1e-9)


def test_smooth_measures_come_close_from_above():
    """K_p lies between the condition number and n^(2/p) times it, S likewise."""
    for W in matrices(40):
        for order in (2.0, 8.0, 64.0, 1000.0):
            K = conditioning.smooth_condition_gradient(W, order)[0] / np.linalg.cond(W)
            S = conditioning.smooth_equilibrium_gradient(W, order)[0] / conditioning.equilibrium(W)
            assert 1.0 - 1e-9 <= K <= W.shape[1] ** (2.0 / order) * (1.0 + 1e-9)
            assert 1.0 - 1e-9 <= S <= W.size ** (2.0 / order) * (1.0 + 1e-9)


def test_dependent_columns_have_no_finite_condition():
    """Dependent columns give infinity, and derivatives that are still finite."""
    W = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    assert conditioning.condition_number(W) == np.inf
    assert conditioning.frobenius_condition(W) == np.inf
    assert conditioning.pivot_condition(W) == np.inf
    assert np.isfinite(conditioning.condition_gradient(W)[1]).all()
    assert np.isfinite(conditioning.smooth_condition_gradient(W, 100.0)[1]).all()
    assert conditioning.equilibrium(np.eye(2)) == np.inf


@pytest.mark.parametrize("W", [np.ones((2, 3)), np.ones(3), np.ones((3, 0))])
def test_matrices_without_enough_rows_are_refused(W):
    """A matrix with fewer rows than columns, or none, has no condition number."""
    with pytest.raises(SignalError, match="at least as many rows"):
        conditioning.condition_number(W)


def test_a_number_that_is_missing_is_named():
    """NaN is refused with its place."""
    W = np.ones((3, 2))
    W[2, 1] = np.nan
    with pytest.raises(SignalError, match="row 3, column 2"):
        conditioning.equilibrium(W)
