"""Products with a matrix of many zeros, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.conic.row_panels import row_panels, times_columns


def _staircase(rng: np.random.Generator, n: int) -> np.ndarray:
    """A block upper triangular matrix above small blocks on a diagonal, with rows of zeros."""
    F = np.triu(rng.normal(size=(n, n)))[: 3 * n // 4]
    blocks = np.zeros((n, n))
    for begin in range(0, n, 14):
        size = min(14, n - begin)
        blocks[begin : begin + size, begin : begin + size] = rng.normal(size=(size, size))
    blocks[rng.random(n) < 0.2] = 0.0
    return np.vstack([F, np.zeros((3, n)), blocks])


@pytest.mark.parametrize("n", [1, 40, 300])
def test_products_are_those_of_the_whole_matrix(n):
    """F x, Fᵀ r and the upper half of FᵀF, whatever the pattern of zeros."""
    rng = np.random.default_rng(n)
    for F in (_staircase(rng, n), rng.normal(size=(2 * n, n)), np.zeros((5, n)), np.eye(n)):
        panels = row_panels(F)
        x, r = rng.normal(size=n), rng.normal(size=len(F))
        np.testing.assert_allclose(panels.times(x), F @ x, atol=1e-11)
        np.testing.assert_allclose(panels.back(r), F.T @ r, atol=1e-11)
        np.testing.assert_allclose(np.triu(panels.upper_gram()), np.triu(F.T @ F), atol=1e-10)


def test_products_with_columns_of_few_entries():
    """F T, as NumPy's: unit columns, columns of zeros, and a few full ones."""
    rng = np.random.default_rng(3)
    for n in (1, 30, 200):
        T = np.eye(n)[:, rng.permutation(n)] * rng.normal(size=n)
        T[:, rng.random(n) < 0.1] = 0.0
        T[:, rng.random(n) < 0.2] = 1.0
        for F in (np.triu(rng.normal(size=(n, n))), rng.normal(size=(7, n)), np.zeros((0, n))):
            np.testing.assert_allclose(times_columns(F, T), F @ T, atol=1e-11)


def test_zeros_are_left_out():
    """The panels of a staircase over blocks hold about half of a triangle and few zeros."""
    F = _staircase(np.random.default_rng(1), 600)
    entries = sum(panel.block.size for panel in row_panels(F).panels)
    filled = np.count_nonzero(F)
    assert filled <= entries <= 1.6 * filled < 0.6 * F.size


def test_a_matrix_without_columns_or_rows():
    """Nothing to multiply."""
    assert row_panels(np.zeros((0, 4))).times(np.zeros(4)).shape == (0,)
    assert row_panels(np.zeros((3, 0))).back(np.zeros(3)).shape == (0,)
