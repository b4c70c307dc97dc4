"""Compiled factorisations: one dense matrix of a few hundred rows, and small symmetric ones.

The small ones (inertias: 4×4) use Jacobi rotations, which keep the digits of small eigenvalues.
"""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import inner

SWEEPS = 40
"""Most sweeps of Jacobi rotations; usually four to six are enough."""


@inner
def cholesky(H):  # type: ignore[no-untyped-def]
    """H = UᵀU with U in the upper triangle of H (n, n), in place; False if not positive definite.

    Four rows at a time, since the loops are bound by memory.
    """
    n = H.shape[0]
    for first in range(0, n, 4):
        last = min(first + 4, n)
        for k in range(first, last):
            for p in range(first, k):
                u = H[p, k]
                for j in range(k, n):
                    H[k, j] -= u * H[p, j]
            pivot = H[k, k]
            if not (pivot > 0.0 and pivot < np.inf):
                return False
            root = np.sqrt(pivot)
            H[k, k] = root
            inverse = 1.0 / root
            for j in range(k + 1, n):
                H[k, j] *= inverse
        if last - first < 4:
            break
        r0, r1, r2, r3 = H[first], H[first + 1], H[first + 2], H[first + 3]
        for i in range(last, n):
            u0, u1, u2, u3 = r0[i], r1[i], r2[i], r3[i]
            row = H[i]
            for j in range(i, n):
                row[j] -= u0 * r0[j] + u1 * r1[j] + u2 * r2[j] + u3 * r3[j]
    return True


@inner
def solve_factored(U, x):  # type: ignore[no-untyped-def]
    """x (n,) becomes the solution of UᵀU y = x, with U in the upper triangle."""
    n = U.shape[0]
    for k in range(n):
        row = U[k]
        value = x[k] / row[k]
        x[k] = value
        for j in range(k + 1, n):
            x[j] -= value * row[j]
    for k in range(n - 1, -1, -1):
        row = U[k]
        s0 = s1 = s2 = s3 = 0.0
        j = k + 1
        while j + 4 <= n:
            s0 += row[j] * x[j]
            s1 += row[j + 1] * x[j + 1]
            s2 += row[j + 2] * x[j + 2]
            s3 += row[j + 3] * x[j + 3]
            j += 4
        while j < n:
            s0 += row[j] * x[j]
            j += 1
        x[k] = (x[k] - ((s0 + s1) + (s2 + s3))) / row[k]


@inner
def apart(s, z, product):  # type: ignore[no-untyped-def]
    """s and z with a product of at least ``product``: the smaller one raised, or both."""
    if not (s > 0.0 and z > 0.0 and s * z >= product):
        root = np.sqrt(product)
        if s >= z:
            s = max(s, root)
            z = product / s
        else:
            z = max(z, root)
            s = product / z
    return s, z


@inner
def small_cholesky(S, L, d):  # type: ignore[no-untyped-def]
    """S = L Lᵀ of the first d rows, L lower triangular with zeros above; False if not definite."""
    for j in range(d):
        total = S[j, j]
        for k in range(j):
            total -= L[j, k] * L[j, k]
        if not (total > 0.0 and total < np.inf):
            return False
        root = np.sqrt(total)
        L[j, j] = root
        for i in range(j + 1, d):
            total = S[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total / root
            L[j, i] = 0.0
    return True


@inner
def invert_lower(L, inverse, d):  # type: ignore[no-untyped-def]
    """The inverse of a lower triangular matrix, with zeros above."""
    for j in range(d):
        for i in range(j):
            inverse[i, j] = 0.0
        inverse[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, d):
            total = 0.0
            for k in range(j, i):
                total += L[i, k] * inverse[k, j]
            inverse[i, j] = -total / L[i, i]


@inner
def lowest_eigenvalue(M, d):  # type: ignore[no-untyped-def]
    """Smallest eigenvalue of a symmetric matrix, which is overwritten; NaN if it has one."""
    size = 0.0
    for i in range(d):
        for j in range(d):
            size += M[i, j] * M[i, j]
    if not size < np.inf:
        return np.nan
    for _ in range(SWEEPS):
        off = 0.0
        for i in range(d):
            for j in range(i + 1, d):
                off += M[i, j] * M[i, j]
        if off <= 1e-22 * size:
            break
        for p in range(d):
            for q in range(p + 1, d):
                apq = M[p, q]
                if apq * apq <= 1e-26 * size:
                    continue
                slope = 0.5 * (M[q, q] - M[p, p]) / apq
                t = 1.0 / (abs(slope) + np.sqrt(slope * slope + 1.0))
                if slope < 0.0:
                    t = -t
                c = 1.0 / np.sqrt(t * t + 1.0)
                s = t * c
                M[p, p] -= t * apq
                M[q, q] += t * apq
                M[p, q] = M[q, p] = 0.0
                for r in range(d):
                    if r != p and r != q:
                        one, other = M[p, r], M[q, r]
                        M[p, r] = M[r, p] = c * one - s * other
                        M[q, r] = M[r, q] = s * one + c * other
    low = M[0, 0]
    for i in range(1, d):
        low = min(low, M[i, i])
    return low


@inner
def rotate_columns(G, B, d):  # type: ignore[no-untyped-def]
    """Rotations of the columns of G (d, d) that make them orthogonal, applied to B too.

    Then G = U diag(s) and B V of the singular value decomposition of the given G.
    """
    for _ in range(SWEEPS):
        done = True
        for p in range(d):
            for q in range(p + 1, d):
                a = b = g = 0.0
                for i in range(d):
                    a += G[i, p] * G[i, p]
                    b += G[i, q] * G[i, q]
                    g += G[i, p] * G[i, q]
                if not abs(g) > 1e-15 * np.sqrt(a * b):
                    continue
                done = False
                slope = (b - a) / (2.0 * g)
                t = 1.0 / (abs(slope) + np.sqrt(slope * slope + 1.0))
                if slope < 0.0:
                    t = -t
                c = 1.0 / np.sqrt(t * t + 1.0)
                s = t * c
                for i in range(d):
                    one, other = G[i, p], G[i, q]
                    G[i, p] = c * one - s * other
                    G[i, q] = s * one + c * other
                    one, other = B[i, p], B[i, q]
                    B[i, p] = c * one - s * other
                    B[i, q] = s * one + c * other
        if done:
            break
