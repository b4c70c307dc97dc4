"""Compiled moves of all bodies in the fit on the manifold. Imported on first use only.

A step has one coordinate per column: the ten of a body (X of `_bodies`) stand in the place of its
ten parameters, other columns are their own coordinate. All arrays are in scaled units.
"""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import jit
from steelyard.estimators.manifold._bodies import (
    PAIRS,
    dual,
    eigen,
    in_principal_frame,
    parameters,
    retract,
    tangents,
    turn_repeated,
)
from steelyard.estimators.manifold._linear import squares

CALLED = "64d5dfca38f7"
"""Digest of the compiled files that this one calls, so that Numba's cache follows them."""

LEAST_MASS = 1e-10
"""Smallest mass of a body that has second moments, in scaled units; below it is massless."""


@jit
def prepare(first, mass, com, Q, L, G, duals, D, gradient, bend, fixed):  # type: ignore[no-untyped-def]
    """Dual matrices, tangents, gradient and curvature of every body, in place.

    Axes of equal second moments are turned first. fixed (n,): coordinates that the step leaves:
    those between axes without extent, and all of a massless body.
    """
    Z = np.empty((4, 4))
    for k in range(len(first)):
        begin = first[k]
        Zt = duals[k]
        dual(G[begin : begin + 10], Z)
        in_principal_frame(Z, com[k], Q[k], Zt)
        if turn_repeated(Q[k], L[k], Zt):
            in_principal_frame(Z, com[k], Q[k], Zt)
        if mass[k] == 0.0:
            for e in range(10):
                fixed[begin + e] = True
            continue
        tangents(com[k], Q[k], D[k])
        for e in range(10):
            gradient[begin + e] = 0.0
            for i in range(10):
                gradient[begin + e] += D[k, e, i] * G[begin + i]
            i, j = PAIRS[e]
            empty_i, empty_j = i < 3 and L[k, min(i, 2)] == 0.0, j < 3 and L[k, min(j, 2)] == 0.0
            if empty_i and empty_j:
                fixed[begin + e] = True
            elif empty_i:
                bend[begin + e] = 2.0 * max(Zt[i, i], 0.0) / (L[k, j] if j < 3 else mass[k])
            elif empty_j:
                bend[begin + e] = 2.0 * max(Zt[j, j], 0.0) / L[k, i]


@jit
def apply(  # type: ignore[no-untyped-def]
    F, g, first, free, lower, mass, com, Q, L, theta, step, share,
    new_mass, new_com, new_Q, new_L, new_theta, new_residual,
):  # fmt: skip
    """The state after share · step, in place of the arrays new_...; returns its objective."""
    for j in range(len(theta)):
        new_theta[j] = theta[j]
    for k in range(len(first)):
        begin = first[k]
        new_mass[k] = mass[k]
        for i in range(3):
            new_com[k, i] = com[k, i]
            new_L[k, i] = L[k, i]
            for j in range(3):
                new_Q[k, i, j] = Q[k, i, j]
        if mass[k] > 0.0:
            moved = step[begin : begin + 10]
            new_mass[k] = retract(mass[k], new_com[k], new_Q[k], new_L[k], moved, share, LEAST_MASS)
            parameters(new_mass[k], new_com[k], new_Q[k], new_L[k], new_theta[begin : begin + 10])
    for j in range(len(theta)):
        if free[j]:
            new_theta[j] = max(theta[j] + share * step[j], lower[j])
    return squares(F, g, new_theta, new_residual)


@jit
def share_inside(m, L, X):  # type: ignore[no-untyped-def]
    """Largest share, at most 1, of a body's step that stays in the physical set."""
    diagonal = np.empty(4)
    diagonal[0], diagonal[1], diagonal[2], diagonal[3] = L[0], L[1], L[2], m
    B, V = np.zeros((4, 4)), np.empty((4, 4))
    for e in range(10):
        i, j = PAIRS[e]
        if diagonal[i] > 0.0 and diagonal[j] > 0.0:
            B[i, j] = B[j, i] = X[e] / np.sqrt(diagonal[i] * diagonal[j])
    eigen(B, V)
    least = min(min(B[0, 0], B[1, 1]), min(B[2, 2], B[3, 3]))
    return 1.0 if least >= -1.0 else -1.0 / least
