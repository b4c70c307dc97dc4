"""Compiled loops over one second-order condition: s = A x + b has s_0 >= |(s_1, s_2, ...)|.

In the Jordan algebra of this cone, u∘v = (u·v, u_0 v_1 + v_0 u_1) with unit e = (1, 0), and
J = diag(1, -1, ..., -1). The scaling is eta T with T J Tᵀ = J: s = eta T lam, z = J T J lam / eta.
T is the product of one step's after the other, each [[w_0, wᵀ], [w, 1 + w wᵀ / (1 + w_0)]] with
w J w = 1, which keeps the digits of lam at the boundary. T Tᵀ = 2 t tᵀ - J with t = T e, so the
part of the Newton matrix is one of AᵀJA, which never changes, and one of rank one (Vandenberghe,
The CVXOPT linear and quadratic cone program solvers, 2010).

A : (m, n), AT its transpose, AJA = AᵀJA (n, n), b : (m,); m = 0 if there is no such condition. The
state B (11, m) has s, z, w and lam, and in the scaling the violation, the wanted change of s + z,
the steps of s and z, and the second-order term; eta : (1,), T : (m, m).
"""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import inner

INSIDE = 0.1
S, Z, W, LAM, AWAY, WANTED, DS, DZ, SECOND, ONE, TWO = np.arange(11)
"""Not Python's integers: Numba compiles a function for each of those that it is called with."""


@inner
def times(FT, x, out):  # type: ignore[no-untyped-def]
    """out (m,) = F x, from FT (n, m)."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    for j in range(FT.shape[0]):
        value, row = x[j], FT[j]
        for i in range(out.shape[0]):
            out[i] += value * row[i]


@inner
def add_times(F, y, sign, out):  # type: ignore[no-untyped-def]
    """Add sign × Fᵀ y to out (n,), from F (m, n)."""
    for i in range(F.shape[0]):
        value, row = sign * y[i], F[i]
        for j in range(out.shape[0]):
            out[j] += value * row[j]


@inner
def tail(u, v):  # type: ignore[no-untyped-def]
    """Inner product of all entries but the first."""
    total = 0.0
    for i in range(1, u.shape[0]):
        total += u[i] * v[i]
    return total


@inner
def determinant(u):  # type: ignore[no-untyped-def]
    """u J u, positive inside the cone; NaN outside."""
    length = np.sqrt(tail(u, u))
    if not u[0] > length:
        return np.nan
    return (u[0] - length) * (u[0] + length)


@inner
def boosted(w, v, out):  # type: ignore[no-untyped-def]
    """out = [[w_0, wᵀ], [w, 1 + w wᵀ / (1 + w_0)]] v."""
    along = tail(w, v)
    share = v[0] + along / (1.0 + w[0])
    out[0] = w[0] * v[0] + along
    for i in range(1, v.shape[0]):
        out[i] = v[i] + share * w[i]


@inner
def into_scaling(T, factor, v, out):  # type: ignore[no-untyped-def]
    """out = factor T⁻¹ v = factor J Tᵀ J v."""
    m = v.shape[0]
    for j in range(m):
        out[j] = 0.0
    for i in range(m):
        value = factor * v[i] if i == 0 else -factor * v[i]
        for j in range(m):
            out[j] += value * T[i, j]
    for j in range(1, m):
        out[j] = -out[j]


@inner
def out_of_scaling(T, factor, sign, v, out):  # type: ignore[no-untyped-def]
    """out = factor T v (sign 1) or factor T⁻ᵀ v = factor J T J v (sign -1)."""
    m = v.shape[0]
    for i in range(m):
        total = 0.0
        for j in range(1, m):
            total += T[i, j] * v[j]
        out[i] = factor * (T[i, 0] * v[0] + sign * total)
        if i > 0:
            out[i] *= sign


@inner
def begin_ball(AT, b, x, above, inside, B, eta, T):  # type: ignore[no-untyped-def]
    """s from x, at least ``inside`` the cone; z with s∘z = above e."""
    m = b.shape[0]
    if m == 0:
        return True
    times(AT, x, B[S])
    for i in range(m):
        B[S, i] += b[i]
    low = B[S, 0] - np.sqrt(tail(B[S], B[S]))
    B[S, 0] += max(inside - low, 0.0)
    inside = determinant(B[S])
    # the scaling point of s and a multiple of its inverse is s itself, normalised
    for i in range(m):
        B[Z, i] = -above * B[S, i] / inside
        B[W, i] = B[S, i] / np.sqrt(inside)
        B[LAM, i] = 0.0
        B[SECOND, i] = 0.0
    for i in range(m):
        for j in range(m):
            T[i, j] = B[W, i] * B[W, j] / (1.0 + B[W, 0])
        T[i, i] += 1.0
        T[i, 0] = B[W, i]
        T[0, i] = B[W, i]
    B[Z, 0] *= -1.0
    eta[0] = np.sqrt(inside / above)
    B[LAM, 0] = np.sqrt(above)
    return inside > 0.0


@inner
def look_ball(A, AT, b, x, gradient, B, eta, T):  # type: ignore[no-untyped-def]
    """Violation and gap; takes Aᵀ z off the gradient."""
    m = b.shape[0]
    if m == 0:
        return 0.0, 0.0
    add_times(A, B[Z], -1.0, gradient)
    times(AT, x, B[ONE])
    largest, size = 0.0, 1.0
    for i in range(m):
        value = B[ONE, i] + b[i] - B[S, i]
        B[ONE, i] = value
        largest = max(largest, abs(value))
        size = max(size, abs(B[S, i]))
    into_scaling(T, 1.0 / eta[0], B[ONE], B[AWAY])
    return largest / size, B[LAM, 0] * B[LAM, 0] + tail(B[LAM], B[LAM])


@inner
def curve_ball(A, AJA, B, eta, T, H, column):  # type: ignore[no-untyped-def]
    """Add Aᵀ W⁻² A to the upper triangle of the Newton matrix. column : (n,) is overwritten."""
    m, n = A.shape
    if m == 0:
        return
    scale = 1.0 / (eta[0] * eta[0])
    for i in range(m):
        B[ONE, i] = -T[i, 0]
    B[ONE, 0] = T[0, 0]
    for j in range(n):
        column[j] = 0.0
    add_times(A, B[ONE], 1.0, column)
    for i in range(n):
        value = 2.0 * scale * column[i]
        for j in range(i, n):
            H[i, j] += value * column[j] - scale * AJA[i, j]


@inner
def aim_ball(above, least, correct, B):  # type: ignore[no-untyped-def]
    """The wanted change of lam∘lam, as a change of s + z in the scaling."""
    m = B.shape[1]
    if m == 0:
        return
    first = B[LAM, 0]
    B[ONE, 0] = max(above, least) - first * first - tail(B[LAM], B[LAM]) - correct * B[SECOND, 0]
    for i in range(1, m):
        B[ONE, i] = -2.0 * first * B[LAM, i] - correct * B[SECOND, i]
    value = (first * B[ONE, 0] - tail(B[LAM], B[ONE])) / determinant(B[LAM])
    B[WANTED, 0] = value
    for i in range(1, m):
        B[WANTED, i] = (B[ONE, i] - value * B[LAM, i]) / first


@inner
def pull_ball(A, B, eta, T, which, less, sign, out):  # type: ignore[no-untyped-def]
    """Add sign × Aᵀ W⁻¹ (B[which] - less × violation) to out (n,)."""
    m = B.shape[1]
    if m == 0:
        return
    for i in range(m):
        B[ONE, i] = B[which, i] - less * B[AWAY, i]
    out_of_scaling(T, 1.0 / eta[0], -1.0, B[ONE], B[TWO])
    add_times(A, B[TWO], sign, out)


@inner
def along_ball(AT, step, B, eta, T, which, add):  # type: ignore[no-untyped-def]
    """B[which] = W⁻¹ A step, plus ``add`` × the violation."""
    m = B.shape[1]
    if m == 0:
        return
    times(AT, step, B[ONE])
    into_scaling(T, 1.0 / eta[0], B[ONE], B[TWO])
    for i in range(m):
        B[which, i] = B[TWO, i] + add * B[AWAY, i]


@inner
def remember_ball(B):  # type: ignore[no-untyped-def]
    """Keep the second-order term of the predictor: dS∘dZ."""
    m = B.shape[1]
    if m == 0:
        return
    for i in range(1, m):
        B[SECOND, i] = B[DS, 0] * B[DZ, i] + B[DZ, 0] * B[DS, i]
    B[SECOND, 0] = B[DS, 0] * B[DZ, 0] + tail(B[DS], B[DZ])


@inner
def reach_ball(B):  # type: ignore[no-untyped-def]
    """Smallest eigenvalue of dS and dZ in the frame in which lam is the unit."""
    m = B.shape[1]
    if m == 0:
        return np.inf
    low = np.inf
    inside = determinant(B[LAM])
    root = np.sqrt(inside)
    for which in range(DS, DZ + 1):
        first = (B[LAM, 0] * B[which, 0] - tail(B[LAM], B[which])) / inside
        share = (first * root + B[which, 0]) / (B[LAM, 0] + root)
        total = 0.0
        for i in range(1, m):
            total += (B[which, i] - share * B[LAM, i]) ** 2
        value = first - np.sqrt(total) / root
        if np.isnan(value):
            return np.nan
        low = min(low, value)
    return low


@inner
def move_ball(length, B, eta, T):  # type: ignore[no-untyped-def]
    """Take the step and update the scaling, in the present one; False outside the cone."""
    m = B.shape[1]
    if m == 0:
        return True
    for i in range(m):
        B[ONE, i] = B[LAM, i] + length * B[DS, i]
        B[TWO, i] = B[LAM, i] + length * B[DZ, i]
    inside_s, inside_z = determinant(B[ONE]), determinant(B[TWO])
    if not (inside_s > 0.0 and inside_z > 0.0):
        return False
    out_of_scaling(T, eta[0], 1.0, B[ONE], B[S])
    out_of_scaling(T, 1.0 / eta[0], -1.0, B[TWO], B[Z])
    # the scaling point of the pair, in the present scaling
    root_s, root_z = np.sqrt(inside_s), np.sqrt(inside_z)
    product = B[ONE, 0] * B[TWO, 0] + tail(B[ONE], B[TWO])
    middle = 2.0 * np.sqrt(0.5 * (1.0 + product / (root_s * root_z)))
    for i in range(1, m):
        B[W, i] = (B[ONE, i] / root_s - B[TWO, i] / root_z) / middle
    B[W, 0] = np.sqrt(1.0 + tail(B[W], B[W]))
    ratio = np.sqrt(root_s / root_z)
    boosted(B[W], B[TWO], B[LAM])
    for i in range(m):
        B[LAM, i] *= ratio
        boosted(B[W], T[i], B[ONE])
        for j in range(m):
            T[i, j] = B[ONE, j]
    eta[0] *= ratio
    return B[LAM, 0] > np.sqrt(tail(B[LAM], B[LAM]))
