"""Factors of draws of time blocks: as QR gives them, and by QR where updating would cost digits."""

from __future__ import annotations

import numpy as np
from seeds import every

from steelyard.estimators.drawn_fits import DrawnFactors
from steelyard.regression.regression import triangle


def random_blocks(rng, n_blocks, n, condition):
    """Factors of blocks whose columns differ in size, and that of all."""
    sizes = np.geomspace(1.0, 1.0 / condition, n + 1)
    small = np.array([triangle(rng.normal(size=(3 * n, n + 1)) * sizes) for _ in range(n_blocks)])
    return DrawnFactors(small, triangle(small.reshape(-1, n + 1)))


def solution(factor):
    """Least squares from a factor."""
    return np.linalg.solve(factor[:-1, :-1], factor[:-1, -1])


@every("seed", range(20))
def test_left_out_blocks_are_those_of_a_qr(seed):
    """Least squares and the Gram matrix agree to 1e-10 in columns of sizes 1 to 1e-6."""
    rng = np.random.default_rng(seed)
    n_blocks, n = int(rng.integers(4, 30)), int(rng.integers(1, 20))
    them = random_blocks(rng, n_blocks, n, 10.0 ** rng.uniform(0, 6))
    draw = np.ones(n_blocks)
    draw[rng.permutation(n_blocks)[: max(1, n_blocks // 3)]] = rng.choice([0.0, 2.0, 3.0])
    used = np.sqrt(draw)[:, None, None] * them.small
    by_qr = triangle(used.reshape(-1, n + 1))
    assert them._updated(draw) is not None
    found = them.factor(draw)
    size = np.sqrt(np.sum(by_qr**2, axis=0))
    gram = (found / size).T @ (found / size) - (by_qr / size).T @ (by_qr / size)
    assert np.max(np.abs(gram)) <= 1e-12
    np.testing.assert_allclose(solution(found), solution(by_qr), rtol=1e-9)


def test_the_only_block_that_shows_a_parameter_is_left_out_by_qr():
    """Updating would subtract equal numbers; the factor is that of the others, exactly singular."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(8, 12, 5))
    rows[1:, :, 0] = 0.0
    small = np.array([triangle(one) for one in rows])
    them = DrawnFactors(small, triangle(small.reshape(-1, 5)))
    draw = np.ones(8)
    draw[0] = 0.0
    assert them._updated(draw) is None
    assert np.max(np.abs(them.factor(draw)[:, 0])) == 0.0


def test_all_blocks_are_the_whole():
    """A draw of every block once needs no work."""
    them = random_blocks(np.random.default_rng(1), 5, 4, 1.0)
    assert them.factor(np.ones(5)) is them.whole
