"""A Gauss-Newton step of drive gains after which the payload is physical."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.problem import conic_problem
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.estimators.least_squares import RANK_TOLERANCE
from steelyard.identification._gain_payload import PayloadForm

Array = NDArray[np.float64]

PULL = 1e-3
"""Weight of a change of typical size, in units of the noise: it decides only where data do not."""


def physical_step(factor: Array, gamma: Array, u: Array, form: PayloadForm) -> Array:
    """The step of (beta, gamma, u) that minimises |e - J step|² with u + step physical.

    factor : triangular, of [J_beta J_gamma J_u e] in units of the noise. gamma, u : where it
        starts. beta is free, and eliminated before the conic problem in the few others is solved.
    """
    n_others = len(gamma) + len(u)
    n = factor.shape[1] - 1 - n_others
    J_beta, others, e = factor[:, :n], factor[:, n:-1], factor[:, -1]
    size = np.linalg.norm(J_beta, axis=0)
    scale_beta = np.where(size > 0.0, size, 1.0)
    U, s, Vt = np.linalg.svd(J_beta / scale_beta, full_matrices=False)
    kept = s > RANK_TOLERANCE * s[0]
    basis = U[:, kept]

    def without_beta(columns: Array) -> Array:
        return np.asarray(columns - basis @ (basis.T @ columns))

    block = form.physical(len(gamma))
    assert block is not None
    # in terms of the new u, for which the condition is stated
    F = without_beta(others)
    g = without_beta(e) + F[:, len(gamma) :] @ u
    scale = np.concatenate([np.abs(gamma), form.scale])
    towards = np.concatenate([np.zeros(len(gamma)), u])
    solution = solve(
        conic_problem(n_others, (block,), scale, F=F, g=g, pull=PULL**2 / scale**2, towards=towards)
    )
    if solution.status not in ("solved", "stalled"):
        raise EstimationError(
            f"drive gains with a physical payload were not found (solver status: {solution.said}): "
            "check the units of the log, or state the payload's centre of mass and inertia"
        )
    step = solution.theta - towards
    left = e - others @ step
    beta = (Vt[kept].T / s[kept]) @ (basis.T @ left) / scale_beta
    return np.concatenate([beta, step])
