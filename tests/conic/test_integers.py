"""Integer arithmetic on floats against fractions, at and around the boundary of the cones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from seeds import every

from steelyard.conic import _integers, exact
from steelyard.conic.blocks import Block, entries_of


def random_block(rng, kind):
    """A block with coefficients of very different sizes, some of them zero."""
    size = int(rng.integers(1, 5))
    n_entries = size * (size + 1) // 2 if kind == "psd" else size
    n = int(rng.integers(1, 6))
    A = rng.normal(size=(n_entries, n)) * 10.0 ** rng.uniform(-12, 12, size=(n_entries, n))
    A[rng.random(A.shape) < 0.5] = 0.0
    return Block(kind, tuple(range(n)), A, rng.normal(size=n_entries))


def both(block, theta):
    """The verdicts of the two implementations."""
    x = [Fraction(float(value)) for value in theta]
    slow = exact.in_cone(block.kind, exact.affine(block.A.tolist(), block.b.tolist(), x))
    values = _integers.entries(_integers.integers(block), theta.tolist())
    return slow, _integers.in_cone(block.kind, values)


@pytest.mark.parametrize("kind", ["zero", "nonnegative", "second_order", "psd"])
def test_the_entries_are_those_of_fractions_times_a_power_of_two(kind):
    """All entries of the affine map have the same positive factor."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        block = random_block(rng, kind)
        theta = rng.normal(size=len(block.columns)) * 10.0 ** rng.uniform(-9, 9)
        x = [Fraction(float(value)) for value in theta]
        expected = exact.affine(block.A.tolist(), block.b.tolist(), x)
        values = _integers.entries(_integers.integers(block), theta.tolist())
        factors = {Fraction(a) / b for a, b in zip(values, expected, strict=True) if b != 0}
        assert len(factors) == 1
        (factor,) = factors
        assert factor > 0
        assert factor.denominator == 1
        assert factor.numerator.bit_count() == 1
        assert [value == 0 for value in values] == [value == 0 for value in expected]


@pytest.mark.parametrize("kind", ["zero", "nonnegative", "second_order", "psd"])
def test_verdicts_agree_on_the_boundary_and_a_last_bit_away(kind):
    """On the boundary, and one float away, integers and fractions give the same verdict."""
    seen = set()
    for seed in range(300):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 5))
        if kind == "psd":
            L = rng.integers(-3, 4, size=(size, int(rng.integers(1, size + 1)))).astype(float)
            edge = entries_of(L @ L.T)
        elif kind == "second_order":
            edge = np.array([5.0, 3.0, 4.0, 0.0][: max(size, 3)]) * 2.0 ** rng.integers(-9, 9)
        else:
            edge = np.zeros(size)
        block = Block(kind, tuple(range(len(edge))), np.eye(len(edge)), 0.0 * edge)
        theta = edge.copy()
        if rng.random() < 0.7:
            k = int(rng.integers(len(theta)))
            theta[k] = np.nextafter(theta[k], rng.choice([-np.inf, np.inf]))
        slow, quick = both(block, theta)
        assert slow == quick
        seen.add(slow)
    assert seen == {True, False}


@every("seed", range(50))
def test_verdicts_agree_on_random_matrices(seed):
    """Random symmetric matrices, shifted to just above or below semidefiniteness."""
    rng = np.random.default_rng(1000 + seed)
    size = int(rng.integers(1, 7))
    M = rng.normal(size=(size, size))
    M = M + M.T
    shift = -np.linalg.eigvalsh(M)[0]
    for nudge in (-1e-3, -1e-14, 0.0, 1e-14, 1e-3):
        values = entries_of(M + (shift + nudge) * np.eye(size))
        block = Block("psd", (0,), np.zeros((len(values), 1)), values)
        slow, quick = both(block, np.zeros(1))
        assert slow == quick
        if abs(nudge) == 1e-3:
            assert quick == (nudge > 0)
