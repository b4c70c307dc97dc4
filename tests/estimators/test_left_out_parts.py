"""Parts of the data left out in turn: the same rows as leaving out their time blocks."""

from __future__ import annotations

import numpy as np

from steelyard.estimators._left_out_parts import left_out_parts


def test_factors_without_a_part_are_those_of_the_other_blocks():
    """Every task on the joined factors has the Gram matrix of the blocks that it stands for."""
    rng = np.random.default_rng(0)
    small = np.triu(rng.normal(size=(11, 5, 5)))
    counts = rng.integers(1, 50, size=11).astype(float)
    parts = left_out_parts({"small": small, "sigma": np.ones(1)}, counts)
    assert len(parts.rows) == 4
    assert parts.counts.sum() == counts.sum()
    draws = np.ones((5, 2 + 4))
    draws[:, :2] = rng.uniform(size=(5, 2))
    for k in range(4):
        draws[k, 2 + k] = 0.0
    tasks = parts.tasks(draws)
    assert np.array_equal(tasks[:, :2], draws[:, :2])
    factors = np.asarray(parts.shared["small"])
    for task, draw in zip(tasks, draws, strict=True):
        used = np.einsum("k,kij->ij", task[2:], factors)
        kept = parts.rows[draw[2:] > 0.0].reshape(-1, 5)
        assert np.allclose(used.T @ used, kept.T @ kept)
    whole = small.reshape(-1, 5)
    joined = parts.rows.reshape(-1, 5)
    assert np.allclose(joined.T @ joined, whole.T @ whole)
    assert parts.shared["sigma"] == 1.0
