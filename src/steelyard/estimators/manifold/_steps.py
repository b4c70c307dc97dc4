"""Compiled iterations of the fit on the manifold. Imported on first use only.

All arrays are in scaled units (see `steelyard.estimators.manifold.fit`). The state of a fit:

    mass (n_bodies,), com (n_bodies, 3), Q (n_bodies, 3, 3), L (n_bodies, 3): the bodies
    theta (n,): all parameters, with those of the bodies; residual (n_rows,) = F theta - g

A step has one coordinate per column: the ten of a body (X of `_bodies`) stand in the place of its
ten parameters, other columns are their own coordinate.
"""

from __future__ import annotations

import numpy as np

from steelyard.estimators.manifold._added_mass import add_mass, drop_bodies, gain_of_mass, point
from steelyard.estimators.manifold._bodies import (
    PAIRS,
    add_point,
    dual,
    eigen,
    in_principal_frame,
    parameters,
    retract,
    tangents,
    turn_repeated,
)
from steelyard.estimators.manifold._linear import newton_step, promised, squares, substitute
from steelyard.model._loops import jit

PROGRESS, OPTIMUM, STALLED = 0, 1, 2
LEAST_MASS = 1e-10
"""Smallest mass of a body that has second moments, in scaled units; below it is massless."""
LIGHT = 1e-6
"""Below this mass, in scaled units, points that are added to a body are not almost at infinity."""
CORRECTIONS = 6
"""How often a step is corrected, at most, for what its linear model misses."""
FIRST_DAMPING, LEAST_DAMPING, LARGEST_DAMPING = 1e-10, 1e-14, 1e12


@jit
def improve(  # type: ignore[no-untyped-def]
    F, g, first, lower, free, mass, com, Q, L, theta, residual, figures
):
    """One iteration in place; returns PROGRESS, OPTIMUM or STALLED.

    free : (n,) columns of no body. figures : (5,) objective, damping, bound of the gap to the
    optimum, tolerance of that gap (relative), smallest gap that counts (absolute).
    """
    n_bodies, n = len(first), len(theta)
    value = figures[0]
    G = 2.0 * np.dot(F.T, residual)
    D = np.zeros((n_bodies, 10, 10))
    Z, Zt, phi = np.empty((4, 4)), np.empty((4, 4)), np.empty(10)
    duals = np.empty((n_bodies, 4, 4))
    bend = np.zeros(n)
    gradient = G.copy()
    fixed = np.zeros(n, dtype=np.bool_)
    for k in range(n_bodies):
        begin = first[k]
        dual(G[begin : begin + 10], Z)
        in_principal_frame(Z, com[k], Q[k], Zt)
        if turn_repeated(Q[k], L[k], Zt):
            in_principal_frame(Z, com[k], Q[k], Zt)
        duals[k] = Zt
        if mass[k] == 0.0:
            fixed[begin : begin + 10] = True
            continue
        tangents(com[k], Q[k], D[k])
        gradient[begin : begin + 10] = np.dot(D[k], G[begin : begin + 10])
        for e in range(10):
            i, j = PAIRS[e]
            empty_i, empty_j = i < 3 and L[k, min(i, 2)] == 0.0, j < 3 and L[k, min(j, 2)] == 0.0
            if empty_i and empty_j:
                fixed[begin + e] = True
            elif empty_i:
                bend[begin + e] = 2.0 * max(Zt[i, i], 0.0) / (L[k, j] if j < 3 else mass[k])
            elif empty_j:
                bend[begin + e] = 2.0 * max(Zt[j, j], 0.0) / L[k, i]
    for j in range(n):
        if free[j]:
            fixed[j] = theta[j] <= lower[j] and G[j] >= 0.0

    A = np.empty((len(g), n))
    for j in range(n):
        if free[j]:
            A[:, j] = F[:, j]
    for k in range(n_bodies):
        begin = first[k]
        A[:, begin : begin + 10] = np.dot(
            np.ascontiguousarray(F[:, begin : begin + 10]), D[k].T.copy()
        )
    H = 2.0 * np.dot(A.T, A)
    weight = np.empty(n)
    largest = 0.0
    for j in range(n):
        H[j, j] += bend[j]
        weight[j] = H[j, j]
        largest = max(largest, 0.0 if fixed[j] else weight[j])
    for j in range(n):
        if not fixed[j] and weight[j] <= 1e-30 * largest:
            fixed[j] = True

    C, step, shift = np.zeros((n, n)), np.empty(n), np.empty(n)
    held = np.empty(n, dtype=np.bool_)
    undamped = LEAST_DAMPING
    found = False
    while not found and undamped < LARGEST_DAMPING:
        shift[:] = undamped * weight
        found = newton_step(H, n, gradient, fixed, free, shift, theta, lower, held, C, step)
        undamped *= 10.0
    gains = np.zeros(n_bodies)
    points, turned = np.empty((n_bodies, 4, 4)), np.zeros((n_bodies, n))
    plain = step.copy()
    if found:
        for k in range(n_bodies):
            gains[k] = gain_of_mass(
                F, A, C, held, first[k], mass[k] < LIGHT, com[k], Q[k], duals[k], plain,
                points[k], turned[k],
            )  # fmt: skip
    # rounding makes this negative where the matrix of the step is almost singular
    newton = promised(H, n, gradient, step)
    figures[2] = newton + np.sum(gains) if found and newton >= 0.0 else np.inf
    if figures[2] <= figures[3] * value + figures[4]:
        return OPTIMUM

    best_mass, best_com, best_Q, best_L = mass.copy(), com.copy(), Q.copy(), L.copy()
    best_theta, best_residual = theta.copy(), residual.copy()
    new_mass, new_com, new_Q, new_L = mass.copy(), com.copy(), Q.copy(), L.copy()
    new_theta, new_residual = theta.copy(), residual.copy()
    reached = value
    for _ in range(40):
        damping = figures[1]
        shift[:] = damping * weight
        if not newton_step(H, n, gradient, fixed, free, shift, theta, lower, held, C, step):
            figures[1] = max(8.0 * damping, 1e-12)
            if figures[1] > LARGEST_DAMPING:
                break
            continue
        expected = promised(H, n, gradient, step)
        inside = 1.0
        for k in range(n_bodies):
            if mass[k] > 0.0:
                begin = first[k]
                inside = min(inside, share_inside(mass[k], L[k], step[begin : begin + 10]))
        # the whole step, moved to the boundary body by body, and corrected for what the linear
        # model misses; else the part that stays inside
        last = np.inf
        for attempt in range(CORRECTIONS):
            now = apply(
                F, g, first, free, lower, mass, com, Q, L, theta, step, 1.0,
                new_mass, new_com, new_Q, new_L, new_theta, new_residual,
            )  # fmt: skip
            if now < reached:
                reached = now
                best_mass[:], best_com[:], best_Q[:], best_L[:] = new_mass, new_com, new_Q, new_L
                best_theta[:], best_residual[:] = new_theta, new_residual
            if not now < 0.9 * last or attempt == CORRECTIONS - 1:
                break
            last = now
            change = -2.0 * np.dot(A.T, new_residual)
            for j in range(n):
                change[j] = 0.0 if held[j] else change[j] - bend[j] * step[j]
            substitute(C, n, change)
            step += change
        if inside < 1.0 and reached == value:
            newton_step(H, n, gradient, fixed, free, shift, theta, lower, held, C, step)
            now = apply(
                F, g, first, free, lower, mass, com, Q, L, theta, step, inside,
                new_mass, new_com, new_Q, new_L, new_theta, new_residual,
            )  # fmt: skip
            if now < reached:
                reached = now
                best_mass[:], best_com[:], best_Q[:], best_L[:] = new_mass, new_com, new_Q, new_L
                best_theta[:], best_residual[:] = new_theta, new_residual
        gain = value - reached
        if gain > 0.0:
            if gain > 0.5 * expected or inside < 1.0:
                figures[1] = max(0.1 * damping, LEAST_DAMPING)
            elif gain < 0.1 * expected:
                figures[1] = min(4.0 * damping, LARGEST_DAMPING)
            break
        figures[1] = max(8.0 * damping, 1e-12)
        if figures[1] > LARGEST_DAMPING:
            break
    # what adding mass promises, against what the step gave
    most = np.max(gains) if n_bodies else 0.0
    if value - reached < most:
        for k in range(n_bodies):
            if gains[k] < most:
                continue
            share = 1.0
            for _ in range(12):
                step[:] = share * (plain - turned[k])
                apply(
                    F, g, first, free, lower, mass, com, Q, L, theta, step, 1.0,
                    new_mass, new_com, new_Q, new_L, new_theta, new_residual,
                )  # fmt: skip
                begin = first[k]
                for one in range(4):
                    v = point(com[k], Q[k], points[k, one], phi)
                    if v[3] != 0.0 or new_mass[k] > 0.0:
                        new_mass[k] = add_point(
                            new_mass[k], new_com[k], new_Q[k], new_L[k], v, share
                        )
                parameters(
                    new_mass[k], new_com[k], new_Q[k], new_L[k], new_theta[begin : begin + 10]
                )
                now = squares(F, g, new_theta, new_residual)
                if now < reached:
                    reached = now
                    best_mass[:], best_com[:] = new_mass, new_com
                    best_Q[:], best_L[:] = new_Q, new_L
                    best_theta[:], best_residual[:] = new_theta, new_residual
                    break
                share *= 0.25
    moved_on = reached < value
    if moved_on:
        mass[:], com[:], Q[:], L[:] = best_mass, best_com, best_Q, best_L
        theta[:], residual[:] = best_theta, best_residual
        figures[0] = reached
    else:
        figures[1] = FIRST_DAMPING
    if drop_bodies(F, g, first, mass, com, L, theta, residual, figures):
        moved_on = True
    if not moved_on and n_bodies:
        for k in range(n_bodies):
            for one in range(4):
                if gains[k] > 0.0 and add_mass(
                    F, g, first[k], k, points[k, one], mass, com, Q, L, theta, residual, figures
                ):
                    moved_on = True
    return PROGRESS if moved_on else STALLED


@jit
def apply(  # type: ignore[no-untyped-def]
    F, g, first, free, lower, mass, com, Q, L, theta, step, share,
    new_mass, new_com, new_Q, new_L, new_theta, new_residual,
):  # fmt: skip
    """The state after share · step, in place of the arrays new_...; returns its objective."""
    new_com[:], new_Q[:], new_L[:] = com, Q, L
    for k in range(len(first)):
        begin = first[k]
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
    diagonal[:3] = L
    diagonal[3] = m
    B, V = np.zeros((4, 4)), np.empty((4, 4))
    for e in range(10):
        i, j = PAIRS[e]
        if diagonal[i] > 0.0 and diagonal[j] > 0.0:
            B[i, j] = B[j, i] = X[e] / np.sqrt(diagonal[i] * diagonal[j])
    eigen(B, V)
    least = min(min(B[0, 0], B[1, 1]), min(B[2, 2], B[3, 3]))
    return 1.0 if least >= -1.0 else -1.0 / least
