"""Random conic problems, and the same problems in CVXPY."""

from __future__ import annotations

import numpy as np

from steelyard.conic.blocks import Block, entries_of
from steelyard.conic.problem import conic_problem


def random_matrix(rng, size):
    """A symmetric matrix."""
    M = rng.normal(size=(size, size))
    return M + M.T


def off_by(problem, one, other, *gaps):
    """How far two points are from each other, over the most that their gaps allow.

    A point that is ``gap`` above the optimum x* lies where ½ (x - x*)ᵀ H (x - x*) <= gap, H the
    curvature of the objective: far from x* only in directions in which the objective is flat.
    """
    away = (one - other) / problem.scale
    rows = problem.F * problem.scale
    squares = np.sum((rows @ away) ** 2) + np.sum(problem.pull * (problem.scale * away) ** 2)
    return float(np.sqrt(0.5 * squares) / sum(np.sqrt(gap) for gap in gaps))


def random_problem(rng):
    """A strictly feasible problem with cones of all kinds, and the same in CVXPY."""
    n = int(rng.integers(3, 9))
    inside = rng.normal(size=n)
    scale = 10.0 ** rng.uniform(-3, 3, size=n)
    inside *= scale
    blocks = []
    for kind in rng.permutation(["zero", "nonnegative", "second_order", "psd", "psd"]):
        columns = tuple(int(i) for i in rng.permutation(n)[: rng.integers(2, n + 1)])
        size = int(rng.integers(2, 5)) if kind != "zero" else 1
        if kind == "psd":
            A = np.array([entries_of(random_matrix(rng, size)) for _ in columns]).T
            L = rng.normal(size=(size, size))
            value = entries_of(L @ L.T + 0.1 * np.eye(size))
        else:
            A = rng.normal(size=(size, len(columns)))
            value = np.zeros(size) if kind == "zero" else rng.uniform(0.1, 1.0, size=size)
            if kind == "second_order":
                value[0] = np.linalg.norm(value[1:]) + 0.3
        A = A / scale[list(columns)]
        blocks.append(Block(kind, columns, A, value - A @ inside[list(columns)]))
    F = rng.normal(size=(int(rng.integers(0, n + 3)), n)) / scale
    pull = rng.uniform(0.05, 1.0, size=n) / scale**2
    return conic_problem(
        n, blocks, scale, F=F, g=rng.normal(size=len(F)), c=rng.normal(size=n) / scale,
        pull=pull, towards=inside + rng.normal(size=n) * scale,
    )  # fmt: skip
