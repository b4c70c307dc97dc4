"""Compiled steps that add mass to a body, or take all of it, in the fit on the manifold.

Where a body is flat, a rod, a point or massless, the first-order conditions in (m, c, Q, L) do not
show whether extent or mass where there is none would reduce the objective; the negative
eigenvalues of its dual matrix do.
"""

from __future__ import annotations

import numpy as np

from steelyard.estimators.manifold._bodies import add_point, eigen, parameters, put
from steelyard.estimators.manifold._linear import factorise, squares, substitute
from steelyard.model._loops import jit


@jit
def point(c, Q, w, phi):  # type: ignore[no-untyped-def]
    """v (4,) = T w; phi (10,) of v vᵀ in place."""
    v, dh, dS = np.empty(4), np.empty(3), np.empty((3, 3))
    v[3] = w[3]
    for i in range(3):
        v[i] = c[i] * w[3]
        for j in range(3):
            v[i] += Q[i, j] * w[j]
    for i in range(3):
        dh[i] = v[i] * v[3]
        for j in range(3):
            dS[i, j] = v[i] * v[j]
    put(v[3] * v[3], dh, dS, phi)
    return v


@jit
def gain_of_mass(  # type: ignore[no-untyped-def]
    F, A, C, held, begin, light, c, Q, Zt, step, points, turned
):
    """What added mass, J + T W Tᵀ with W >= 0, is expected to gain; W in the worst directions.

    These are the eigenvectors of S Zt S with negative eigenvalues, S = diag(r, r, r, 1), for the
    length r (in scaled units, from much smaller to much larger than a body) that gains most along
    one of them. All other coordinates may move with the mass: with the Newton step ``step`` (n,)
    and the factor C of its matrix, they move by step - turned. In place: points (4, 4), one row
    w each, W = sum of w wᵀ; turned (n,).
    """
    M, V, V_best = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    phi, trial = np.empty(10), np.empty(4)
    own = np.ascontiguousarray(F[:, begin : begin + 10])
    n = len(step)
    best, n_best = 0.0, 0
    r = 1e-3
    for _ in range(6):
        r *= 10.0
        for i in range(4):
            for j in range(4):
                M[i, j] = Zt[i, j] * (r if i < 3 else 1.0) * (r if j < 3 else 1.0)
        eigen(M, V)
        count, gain = 0, 0.0
        for k in range(4):
            if M[k, k] >= 0.0:
                continue
            for i in range(4):
                trial[i] = V[i, k] * (r if i < 3 else 1.0)
            far = 1e-4 * (abs(trial[0]) + abs(trial[1]) + abs(trial[2]))
            if light and abs(trial[3]) < far:
                trial[3] = far
            for i in range(4):
                V[i, count] = trial[i]
            count += 1
            point(c, Q, trial, phi)
            moved = np.dot(own, phi)
            along = 2.0 * np.dot(A.T, moved)
            for j in range(n):
                if held[j]:
                    along[j] = 0.0
            slope = np.dot(along, step)
            for i in range(4):
                for j in range(4):
                    slope += trial[i] * Zt[i, j] * trial[j]
            if slope >= 0.0:
                continue
            whole = 2.0 * np.dot(moved, moved)
            solved = along.copy()
            substitute(C, n, solved)
            bend = max(whole - np.dot(along, solved), 1e-9 * whole)
            if bend > 0.0:
                gain = max(gain, 0.5 * slope * slope / bend)
        if gain > best:
            best, n_best = gain, count
            V_best[:] = V
    points[:] = 0.0
    turned[:] = 0.0
    if n_best == 0:
        return 0.0
    # all directions together: W = sum over a <= b of y_ab (w_a w_bᵀ + w_b w_aᵀ)
    size = n_best * (n_best + 1) // 2
    rows, along_all = np.zeros((size, len(own))), np.zeros((size, n))
    slopes = np.zeros(size)
    e = 0
    one, other, both = np.empty(10), np.empty(10), np.empty(4)
    for a in range(n_best):
        for b in range(a, n_best):
            for i in range(4):
                both[i] = V_best[i, a] + V_best[i, b]
            point(c, Q, both, phi)
            point(c, Q, V_best[:, a].copy(), one)
            point(c, Q, V_best[:, b].copy(), other)
            if a == b:
                phi[:] = one
            else:
                phi -= one
                phi -= other
            for i in range(4):
                for j in range(4):
                    slopes[e] += V_best[i, a] * Zt[i, j] * V_best[j, b] * (1.0 if a == b else 2.0)
            rows[e] = np.dot(own, phi)
            along_all[e] = 2.0 * np.dot(A.T, rows[e])
            for j in range(n):
                if held[j]:
                    along_all[e, j] = 0.0
            slopes[e] += np.dot(along_all[e], step)
            e += 1
    solved_all = along_all.copy()
    for e in range(size):
        substitute(C, n, solved_all[e])
    bends = 2.0 * np.dot(rows, rows.T)
    shift = np.empty(size)
    for e in range(size):
        shift[e] = 1e-9 * bends[e, e]
    bends -= np.dot(along_all, solved_all.T)
    factor, y = np.zeros((size, size)), -slopes
    free = np.zeros(size, dtype=np.bool_)
    while not factorise(bends, size, free, shift, factor):
        shift *= 10.0
    substitute(factor, size, y)
    joint = -0.5 * np.dot(y, slopes)
    # only W >= 0 is mass
    W, U = np.zeros((n_best, n_best)), np.empty((n_best, n_best))
    e = 0
    for a in range(n_best):
        for b in range(a, n_best):
            W[a, b] = W[b, a] = y[e]
            e += 1
    eigen(W, U)
    for k in range(n_best):
        if W[k, k] <= 0.0:
            continue
        root = np.sqrt(W[k, k])
        for i in range(4):
            for a in range(n_best):
                points[k, i] += root * V_best[i, a] * U[a, k]
        e = 0
        for a in range(n_best):
            for b in range(a, n_best):
                turned += W[k, k] * U[a, k] * U[b, k] * solved_all[e]
                e += 1
    return max(best, joint)


@jit
def drop_bodies(F, g, first, mass, com, L, theta, residual, figures):  # type: ignore[no-untyped-def]
    """Make light bodies massless where that does not increase the objective; whether any was."""
    dropped = False
    trial, left = theta.copy(), residual.copy()
    for k in range(len(first)):
        if mass[k] == 0.0 or mass[k] > 1e-2:
            continue
        begin = first[k]
        trial[begin : begin + 10] = 0.0
        value = squares(F, g, trial, left)
        if value <= figures[0]:
            mass[k] = 0.0
            com[k], L[k] = 0.0, 0.0
            theta[begin : begin + 10] = 0.0
            residual[:] = left
            figures[0] = value
            dropped = True
        trial[begin : begin + 10] = theta[begin : begin + 10]
    return dropped


@jit
def add_mass(  # type: ignore[no-untyped-def]
    F, g, begin, k, w, mass, com, Q, L, theta, residual, figures
):
    """Step from J to J + t T w wᵀ Tᵀ with the best t; whether that reduced the objective."""
    unit = np.empty(10)
    v = point(com[k], Q[k], w, unit)
    change = np.dot(np.ascontiguousarray(F[:, begin : begin + 10]), unit)
    bend = np.dot(change, change)
    slope = np.dot(change, residual)
    if slope >= 0.0 or bend <= 0.0:
        return False
    t = -slope / bend
    c, q, moments = com[k].copy(), Q[k].copy(), L[k].copy()
    m = add_point(mass[k], c, q, moments, v, t)
    trial, left = theta.copy(), residual.copy()
    parameters(m, c, q, moments, trial[begin : begin + 10])
    value = squares(F, g, trial, left)
    if not value < figures[0]:
        return False
    mass[k] = m
    com[k], Q[k], L[k] = c, q, moments
    theta[:], residual[:] = trial, left
    figures[0] = value
    return True
