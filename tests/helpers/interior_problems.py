"""Random problems for the interior-point method."""

from __future__ import annotations

import numpy as np

from steelyard.conic.interior_conditions import MatrixCondition


def symmetric(rng, size):
    """A random symmetric matrix."""
    M = rng.normal(size=(size, size))
    return M + M.T


def random_conditions(rng, n, inside, floors):
    """Conditions of sizes 1 to 4 that hold strictly at ``inside``, some with a floor."""
    conditions = []
    for _ in range(int(rng.integers(1, 7))):
        size = int(rng.integers(1, 5))
        columns = tuple(int(j) for j in rng.permutation(n)[: rng.integers(1, n + 1)])
        A = np.array([symmetric(rng, size) for _ in columns])
        L = rng.normal(size=(size, size))
        b = L @ L.T + 0.1 * np.eye(size) - np.tensordot(inside[list(columns)], A, 1)
        floor = 10.0 ** rng.uniform(-3, 3) if floors and rng.random() < 0.6 else 0.0
        conditions.append(MatrixCondition(columns, A, b, floor))
    return conditions


def random_problem(seed, floors):
    """F, g, c, conditions and a start, with an optimum."""
    rng = np.random.default_rng([seed, int(floors)])
    n = int(rng.integers(2, 9))
    conditions = random_conditions(rng, n, rng.normal(size=n), floors)
    F = np.vstack([rng.normal(size=(int(rng.integers(0, n + 3)), n)), 0.3 * np.eye(n)])
    return F, 3.0 * rng.normal(size=len(F)), rng.normal(size=n), conditions, rng.normal(size=n)
