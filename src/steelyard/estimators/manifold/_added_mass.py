"""Compiled steps that add mass to a body, or take all of it, in the fit on the manifold.

Where a body is flat, a rod, a point or massless, the first-order conditions in (m, c, Q, L) do not
show whether extent or mass where there is none would reduce the objective; the negative
eigenvalues of its dual matrix do.
"""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import jit
from steelyard.estimators.manifold._bodies import add_point, eigen, parameters, put
from steelyard.estimators.manifold._linear import dot, factorise, squares, substitute

CALLED = "64d5dfca38f7"
"""Digest of the compiled files that this one calls, so that Numba's cache follows them."""


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
def moved_by(F, A, held, begin, phi, rows, along):  # type: ignore[no-untyped-def]
    """In place: rows (n_rows,) = F phi of a body; along (n,) = 2 Aᵀ rows, zero where held."""
    for i in range(len(rows)):
        rows[i] = 0.0
        for e in range(10):
            rows[i] += F[i, begin + e] * phi[e]
    for j in range(len(along)):
        along[j] = 0.0
    for i in range(len(rows)):
        for j in range(len(along)):
            along[j] += 2.0 * A[i, j] * rows[i]
    for j in range(len(along)):
        if held[j]:
            along[j] = 0.0


@jit
def negative_directions(Zt, r, far, V):  # type: ignore[no-untyped-def]
    """Eigenvectors of S Zt S with negative eigenvalues, times S = diag(r, r, r, 1).

    In the first columns of V (4, 4); returns how many. far : least share of mass in a
    direction, so that none is almost at infinity.
    """
    M, U = np.empty((4, 4)), np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            M[i, j] = Zt[i, j] * (r if i < 3 else 1.0) * (r if j < 3 else 1.0)
    eigen(M, U)
    count = 0
    for k in range(4):
        if M[k, k] >= 0.0:
            continue
        for i in range(4):
            V[i, count] = U[i, k] * (r if i < 3 else 1.0)
        least = far * (abs(V[0, count]) + abs(V[1, count]) + abs(V[2, count]))
        if abs(V[3, count]) < least:
            V[3, count] = least
        count += 1
    return count


@jit
def slope_along(Zt, V, a, b):  # type: ignore[no-untyped-def]
    """w_aᵀ Zt w_b for columns a and b of V."""
    total = 0.0
    for i in range(4):
        for j in range(4):
            total += V[i, a] * Zt[i, j] * V[j, b]
    return total


@jit
def between(c, Q, V, a, b, phi):  # type: ignore[no-untyped-def]
    """phi (10,) of T (w_a w_bᵀ + w_b w_aᵀ) Tᵀ, or of T w_a w_aᵀ Tᵀ if a == b, in place."""
    w, other = np.empty(4), np.empty(10)
    for i in range(4):
        w[i] = V[i, a] if a == b else V[i, a] + V[i, b]
    point(c, Q, w, phi)
    if a == b:
        return
    for one in (a, b):
        for i in range(4):
            w[i] = V[i, one]
        point(c, Q, w, other)
        for e in range(10):
            phi[e] -= other[e]


@jit
def gain_of_mass(  # type: ignore[no-untyped-def]
    F, A, C, held, begin, n_lengths, far, c, Q, Zt, step, points, turned
):
    """What added mass, J + T W Tᵀ with W >= 0, is expected to gain; W in the worst directions.

    These are the eigenvectors of S Zt S with negative eigenvalues, S = diag(r, r, r, 1), for the
    length r = 0.01, 0.1, ... (n_lengths of them, in scaled units) that gains most along one. All
    other coordinates may move with the mass: with the Newton step ``step`` (n,) and the factor C
    of its matrix, they move by step - turned. In place: points (4, 4), one row w each, W = sum of
    w wᵀ; turned (n,).
    """
    V, chosen = np.empty((4, 4)), np.empty((4, 4))
    n, n_rows = len(step), len(F)
    phi, rows, along, solved = np.empty(10), np.empty(n_rows), np.empty(n), np.empty(n)
    best, count = 0.0, 0
    r = 1e-3
    for _ in range(n_lengths):
        r *= 10.0
        n_found = negative_directions(Zt, r, far, V)
        gain = 0.0
        for k in range(n_found):
            between(c, Q, V, k, k, phi)
            moved_by(F, A, held, begin, phi, rows, along)
            slope = dot(along, step) + slope_along(Zt, V, k, k)
            if slope >= 0.0:
                continue
            whole = 2.0 * dot(rows, rows)
            for j in range(n):
                solved[j] = along[j]
            substitute(C, n, solved)
            bend = max(whole - dot(along, solved), 1e-9 * whole)
            if bend > 0.0:
                gain = max(gain, 0.5 * slope * slope / bend)
        if gain > best:
            best, count = gain, n_found
            for i in range(4):
                for k in range(4):
                    chosen[i, k] = V[i, k]
    for i in range(4):
        for k in range(4):
            points[i, k] = 0.0
    for j in range(n):
        turned[j] = 0.0
    if count == 0:
        return 0.0
    # all directions together: W = sum over a <= b of y_ab (w_a w_bᵀ + w_b w_aᵀ)
    size = count * (count + 1) // 2
    all_rows, all_along = np.empty((size, n_rows)), np.empty((size, n))
    all_solved, y, slopes = np.empty((size, n)), np.empty(size), np.empty(size)
    bends, factor, shift = np.empty((size, size)), np.zeros((size, size)), np.empty(size)
    none_held = np.zeros(size, dtype=np.bool_)
    e = 0
    for a in range(count):
        for b in range(a, count):
            between(c, Q, chosen, a, b, phi)
            moved_by(F, A, held, begin, phi, all_rows[e], all_along[e])
            slopes[e] = slope_along(Zt, chosen, a, b) * (1.0 if a == b else 2.0)
            slopes[e] += dot(all_along[e], step)
            y[e] = -slopes[e]
            for j in range(n):
                all_solved[e, j] = all_along[e, j]
            substitute(C, n, all_solved[e])
            e += 1
    for e in range(size):
        for other in range(size):
            bends[e, other] = 2.0 * dot(all_rows[e], all_rows[other])
        shift[e] = 1e-9 * bends[e, e]
        for other in range(size):
            bends[e, other] -= dot(all_along[e], all_solved[other])
    for _ in range(20):
        if factorise(bends, size, none_held, shift, factor):
            break
        for e in range(size):
            shift[e] *= 10.0
    substitute(factor, size, y)
    # only W >= 0 is mass
    W, U = np.empty((count, count)), np.empty((count, count))
    e = 0
    for a in range(count):
        for b in range(a, count):
            W[a, b] = W[b, a] = y[e]
            e += 1
    eigen(W, U)
    for k in range(count):
        if W[k, k] <= 0.0:
            continue
        root = np.sqrt(W[k, k])
        for i in range(4):
            for a in range(count):
                points[k, i] += root * chosen[i, a] * U[a, k]
        e = 0
        for a in range(count):
            for b in range(a, count):
                for j in range(n):
                    turned[j] += W[k, k] * U[a, k] * U[b, k] * all_solved[e, j]
                e += 1
    return max(best, -0.5 * dot(y, slopes))


@jit
def drop_bodies(F, g, first, mass, com, L, theta, residual, value):  # type: ignore[no-untyped-def]
    """Make light bodies massless where that does not increase the objective; returns it."""
    trial, left = theta.copy(), residual.copy()
    for k in range(len(first)):
        if mass[k] == 0.0 or mass[k] > 1e-2:
            continue
        begin = first[k]
        for e in range(10):
            trial[begin + e] = 0.0
        now = squares(F, g, trial, left)
        if now <= value:
            mass[k] = 0.0
            for i in range(3):
                com[k, i] = 0.0
                L[k, i] = 0.0
            for e in range(10):
                theta[begin + e] = 0.0
            for i in range(len(left)):
                residual[i] = left[i]
            value = now
        for e in range(10):
            trial[begin + e] = theta[begin + e]
    return value


@jit
def add_points(  # type: ignore[no-untyped-def]
    F, g, begin, k, c, q, points, share, mass, com, Q, L, theta, residual
):
    """Add share · w wᵀ for each row w of points, given in the frame (c, q), to body k in place.

    Returns the objective.
    """
    phi = np.empty(10)
    for one in range(4):
        v = point(c, q, points[one], phi)
        if v[3] != 0.0 or mass[k] > 0.0:
            mass[k] = add_point(mass[k], com[k], Q[k], L[k], v, share)
    parameters(mass[k], com[k], Q[k], L[k], theta[begin : begin + 10])
    return squares(F, g, theta, residual)


@jit
def add_mass(  # type: ignore[no-untyped-def]
    F, g, begin, k, w, mass, com, Q, L, theta, residual, value
):
    """Step from J to J + t T w wᵀ Tᵀ with the best t, if it reduces the objective; returns it."""
    unit = np.empty(10)
    v = point(com[k], Q[k], w, unit)
    bend, slope = 0.0, 0.0
    for i in range(len(residual)):
        change = 0.0
        for e in range(10):
            change += F[i, begin + e] * unit[e]
        bend += change * change
        slope += change * residual[i]
    if slope >= 0.0 or bend <= 0.0 or (v[3] == 0.0 and mass[k] == 0.0):
        return value
    c, q, moments = com[k].copy(), Q[k].copy(), L[k].copy()
    m = add_point(mass[k], c, q, moments, v, -slope / bend)
    trial, left = theta.copy(), residual.copy()
    parameters(m, c, q, moments, trial[begin : begin + 10])
    now = squares(F, g, trial, left)
    if not now < value:
        return value
    mass[k] = m
    for i in range(3):
        com[k, i], L[k, i] = c[i], moments[i]
        for j in range(3):
            Q[k, i, j] = q[i, j]
    for j in range(len(theta)):
        theta[j] = trial[j]
    for i in range(len(left)):
        residual[i] = left[i]
    return now
