"""Compiled formulas of one body (m, c, Q, L). Imported on first use only: Numba loads slowly.

The pseudo-inertia is J = T diag(L, m) Tᵀ with T = [[Q, c], [0, 1]]; the dual matrix Z of a body is
defined by <Z, J(phi)> = gradient · phi, and Zt = Tᵀ Z T. A step of a body is a symmetric matrix X
(4, 4) in the frame T, ten numbers in the order of `PAIRS`, which is zero between the axes N along
which the body has no extent:

    J' = T (diag(L, m) + X + [X_NP (diag + X)_PP⁻¹ X_PN on N]) Tᵀ

(P: the other axes, mass included). J' has as many zero eigenvalues as J, and parameters move
linearly with X but for the last term, so that the step is exact where the body is not flat. Its
principal form, J' -> m', c', Q', L', is the retraction: equal moments need no care.
"""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import jit

PAIRS = np.array([(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)])
"""Indices (i, j) of the entries of a step X."""


@jit
def eigen(A, V):  # type: ignore[no-untyped-def]
    """Eigenvalues on the diagonal of A (n, n), eigenvectors in the columns of V; Jacobi."""
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(30):
        off = 0.0
        size = 0.0
        for i in range(n):
            size += A[i, i] * A[i, i]
            for j in range(i):
                off += A[i, j] * A[i, j]
        if off <= 1e-34 * size:
            return
        for p in range(n - 1):
            for q in range(p + 1, n):
                if A[p, q] == 0.0:
                    continue
                half = 0.5 * (A[q, q] - A[p, p]) / A[p, q]
                t = 1.0 / (abs(half) + np.sqrt(1.0 + half * half))
                if half < 0.0:
                    t = -t
                c = 1.0 / np.sqrt(1.0 + t * t)
                s = t * c
                for k in range(n):
                    x, y = A[k, p], A[k, q]
                    A[k, p], A[k, q] = c * x - s * y, s * x + c * y
                for k in range(n):
                    x, y = A[p, k], A[q, k]
                    A[p, k], A[q, k] = c * x - s * y, s * x + c * y
                A[p, q] = A[q, p] = 0.0
                for k in range(n):
                    x, y = V[k, p], V[k, q]
                    V[k, p], V[k, q] = c * x - s * y, s * x + c * y


@jit
def put(dm, dh, dS, out):  # type: ignore[no-untyped-def]
    """phi (10,) of mass, first moment and second moment about the origin."""
    out[0] = dm
    out[1], out[2], out[3] = dh[0], dh[1], dh[2]
    out[4] = dS[1, 1] + dS[2, 2]
    out[5] = -dS[0, 1]
    out[6] = dS[0, 0] + dS[2, 2]
    out[7] = -dS[0, 2]
    out[8] = -dS[1, 2]
    out[9] = dS[0, 0] + dS[1, 1]


@jit
def parameters(m, c, Q, L, out):  # type: ignore[no-untyped-def]
    """phi (10,) of a body."""
    h = np.empty(3)
    S = np.empty((3, 3))
    for i in range(3):
        h[i] = m * c[i]
        for j in range(i + 1):
            total = m * c[i] * c[j]
            for k in range(3):
                total += Q[i, k] * L[k] * Q[j, k]
            S[i, j] = S[j, i] = total
    put(m, h, S, out)


@jit
def tangents(c, Q, D):  # type: ignore[no-untyped-def]
    """D (10, 10): derivative of phi by each entry of X, one a row."""
    T = np.zeros((4, 4))
    for i in range(3):
        T[i, 3] = c[i]
        for j in range(3):
            T[i, j] = Q[i, j]
    T[3, 3] = 1.0
    dh, dS = np.empty(3), np.empty((3, 3))
    for n in range(10):
        a, b = PAIRS[n]
        factor = 0.5 if a == b else 1.0
        for i in range(3):
            dh[i] = factor * (T[i, a] * T[3, b] + T[i, b] * T[3, a])
            for j in range(3):
                dS[i, j] = factor * (T[i, a] * T[j, b] + T[i, b] * T[j, a])
        put(factor * 2.0 * T[3, a] * T[3, b], dh, dS, D[n])


@jit
def dual(G, Z):  # type: ignore[no-untyped-def]
    """Z (4, 4) with <Z, J(phi)> = G · phi."""
    Z[0, 0], Z[1, 1], Z[2, 2] = G[6] + G[9], G[4] + G[9], G[4] + G[6]
    Z[0, 1] = Z[1, 0] = -0.5 * G[5]
    Z[0, 2] = Z[2, 0] = -0.5 * G[7]
    Z[1, 2] = Z[2, 1] = -0.5 * G[8]
    for i in range(3):
        Z[i, 3] = Z[3, i] = 0.5 * G[1 + i]
    Z[3, 3] = G[0]


@jit
def in_principal_frame(Z, c, Q, Zt):  # type: ignore[no-untyped-def]
    """Zt (4, 4) = Tᵀ Z T."""
    T = np.zeros((4, 4))
    for i in range(3):
        T[i, 3] = c[i]
        for j in range(3):
            T[i, j] = Q[i, j]
    T[3, 3] = 1.0
    for i in range(4):
        for j in range(i + 1):
            total = 0.0
            for a in range(4):
                for b in range(4):
                    total += T[a, i] * Z[a, b] * T[b, j]
            Zt[i, j] = Zt[j, i] = total


@jit
def turn(Q, R):  # type: ignore[no-untyped-def]
    """Q becomes Q R, with orthonormal columns again (Gram-Schmidt)."""
    out = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for a in range(3):
                out[i, j] += Q[i, a] * R[a, j]
    for j in range(2):
        for before in range(j):
            dot = 0.0
            for i in range(3):
                dot += out[i, before] * out[i, j]
            for i in range(3):
                out[i, j] -= dot * out[i, before]
        norm = np.sqrt(out[0, j] * out[0, j] + out[1, j] * out[1, j] + out[2, j] * out[2, j])
        for i in range(3):
            out[i, j] /= norm
    for i in range(3):
        Q[i, 0], Q[i, 1] = out[i, 0], out[i, 1]
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        Q[i, 2] = Q[a, 0] * Q[b, 1] - Q[b, 0] * Q[a, 1]


@jit
def retract(m, c, Q, L, X, share, least):  # type: ignore[no-untyped-def]
    """The step share · X (10,) of one body in place (c, Q, L); returns the mass.

    Where the step leaves the physical set, its part in P is moved to the boundary, in units of
    diag(L, m). least : smallest mass of a body that has second moments.
    """
    diagonal = np.empty(4)
    diagonal[0], diagonal[1], diagonal[2], diagonal[3] = L[0], L[1], L[2], m
    A, B, V = np.zeros((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    for n in range(10):
        a, b = PAIRS[n]
        A[a, b] = A[b, a] = share * X[n]
    zeros = 0
    for i in range(4):
        for j in range(4):
            B[i, j] = 0.0
            if diagonal[i] > 0.0 and diagonal[j] > 0.0:
                B[i, j] = A[i, j] / np.sqrt(diagonal[i] * diagonal[j])
        if diagonal[i] > 0.0:
            B[i, i] += 1.0
        else:
            zeros += 1
    eigen(B, V)
    inverse = np.zeros(4)
    for k in range(4):
        if B[k, k] > 1e-14:
            inverse[k] = 1.0 / B[k, k]
        else:
            B[k, k] = 0.0
    lost = 0
    for k in range(4):
        lost += B[k, k] == 0.0
    # P: V diag V in units of sqrt(diagonal); N: the smallest values that keep J' >= 0
    half = np.zeros((4, 4))
    for i in range(4):
        for k in range(4):
            if diagonal[i] > 0.0:
                half[i, k] = np.sqrt(diagonal[i] * B[k, k]) * V[i, k]
            elif inverse[k] > 0.0:
                total = 0.0
                for p in range(4):
                    if diagonal[p] > 0.0:
                        total += A[i, p] * V[p, k] / np.sqrt(diagonal[p])
                half[i, k] = total * np.sqrt(inverse[k])
    # J' = half halfᵀ in the frame T
    mass = 0.0
    for k in range(4):
        mass += half[3, k] * half[3, k]
    S, W, move = np.empty((3, 3)), np.empty((3, 3)), np.zeros(3)
    if mass < least:
        if lost == 4:
            for i in range(3):
                c[i] = 0.0
                L[i] = 0.0
            return 0.0
        mass = least
    for i in range(3):
        for k in range(4):
            move[i] += half[i, k] * half[3, k] / mass
    for i in range(3):
        for j in range(3):
            S[i, j] = 0.0
            for k in range(4):
                S[i, j] += (half[i, k] - move[i] * half[3, k]) * (half[j, k] - move[j] * half[3, k])
    eigen(S, W)
    # eigenvalues in ascending order, so that the zeros are where they must be
    order = np.array([0, 1, 2])
    for i, j in ((0, 1), (1, 2), (0, 1)):
        if S[order[i], order[i]] > S[order[j], order[j]]:
            order[i], order[j] = order[j], order[i]
    R = np.empty((3, 3))
    for k in range(3):
        for i in range(3):
            R[i, k] = W[i, order[k]]
        L[k] = max(S[order[k], order[k]], 0.0) if k >= lost else 0.0
    proper(R)
    for i in range(3):
        for k in range(3):
            c[i] += Q[i, k] * move[k]
    turn(Q, R)
    return mass


@jit
def proper(V):  # type: ignore[no-untyped-def]
    """Make an orthogonal matrix a rotation."""
    det = (
        V[0, 0] * (V[1, 1] * V[2, 2] - V[1, 2] * V[2, 1])
        - V[0, 1] * (V[1, 0] * V[2, 2] - V[1, 2] * V[2, 0])
        + V[0, 2] * (V[1, 0] * V[2, 1] - V[1, 1] * V[2, 0])
    )
    if det < 0.0:
        for i in range(3):
            V[i, 0] = -V[i, 0]


@jit
def turn_repeated(Q, L, Zt):  # type: ignore[no-untyped-def]
    """Turn the axes of equal second moments so that Zt is diagonal there; returns if any are.

    It changes no parameter. First-order conditions on L then say whether splitting the equal
    moments in any direction reduces the objective.
    """
    n = 0
    which = np.empty(3, dtype=np.int64)
    for k in range(3):
        p, q = (k + 1) % 3, (k + 2) % 3
        if L[p] == L[q]:
            which[0], which[1], n = p, q, 2
            if L[k] == L[p]:
                which[2], n = k, 3
            break
    if n == 0:
        return False
    A, V, R = np.empty((n, n)), np.empty((n, n)), np.zeros((3, 3))
    for i in range(n):
        for j in range(n):
            A[i, j] = Zt[which[i], which[j]]
    eigen(A, V)
    for i in range(3):
        R[i, i] = 1.0
    for i in range(n):
        for j in range(n):
            R[which[i], which[j]] = V[i, j]
    proper(R)
    turn(Q, R)
    return True


@jit
def add_point(m, c, Q, L, v, t):  # type: ignore[no-untyped-def]
    """Body with pseudo-inertia J + t v vᵀ in place (c, Q, L); returns its mass.

    v (4,) with v[3] != 0 adds the point mass t v[3]² at v[:3] / v[3].
    """
    mass = m + t * v[3] * v[3]
    S, V, away = np.zeros((3, 3)), np.empty((3, 3)), np.empty(3)
    for i in range(3):
        away[i] = v[3] * c[i] - v[i]
    for i in range(3):
        for j in range(3):
            total = m * t / mass * away[i] * away[j]
            for k in range(3):
                total += Q[i, k] * L[k] * Q[j, k]
            S[i, j] = total
    for i in range(3):
        c[i] = (m * c[i] + t * v[3] * v[i]) / mass
    largest = S[0, 0] + S[1, 1] + S[2, 2]
    eigen(S, V)
    proper(V)
    for k in range(3):
        L[k] = S[k, k] if S[k, k] > 1e-15 * largest else 0.0
        for i in range(3):
            Q[i, k] = V[i, k]
    return mass
