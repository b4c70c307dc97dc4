"""Compiled loops over conditions that matrices S = sum_j x_j A_j + b are positive semidefinite.

Condition k has entries start[k] to start[k + 1] of (col, A (D, D)), b[k] (D, D) and its own size
size[k] <= D. The state M (9, k, D, D) has S, Z, R and R⁻¹ with R⁻¹ S R⁻ᵀ = Rᵀ Z R = diag(lam),
lam (k, D), and in that scaling the violation, the wanted change of S + Z, the steps of S and Z, and
the second-order term; ``scaled`` is A in it. work : (4, D, D).
"""

from __future__ import annotations

import numpy as np

from steelyard.conic._small_matrices import (
    apart,
    invert_lower,
    lowest_eigenvalue,
    rotate_columns,
    small_cholesky,
)
from steelyard.conic.jit import inner

INSIDE = 0.1
S, Z, R, INVERSE, AWAY, WANTED, DS, DZ, SECOND = np.arange(9)
"""Not Python's integers: Numba compiles a function for each of those that it is called with."""


@inner
def along_matrices(start, col, A, size, step, M, which, add):  # type: ignore[no-untyped-def]
    """M[which] = sum_j step_j A_j, plus ``add`` × the violation."""
    for k in range(size.shape[0]):
        d = size[k]
        for i in range(d):
            for j in range(d):
                M[which, k, i, j] = add * M[AWAY, k, i, j]
        for e in range(start[k], start[k + 1]):
            value = step[col[e]]
            for i in range(d):
                for j in range(d):
                    M[which, k, i, j] += value * A[e, i, j]


@inner
def pull_matrices(start, col, A, size, M, which, less, sign, out):  # type: ignore[no-untyped-def]
    """Add sign × the inner products of A with M[which] - less × violation to out (n,)."""
    for k in range(size.shape[0]):
        d = size[k]
        for e in range(start[k], start[k + 1]):
            total = 0.0
            for i in range(d):
                for j in range(d):
                    total += A[e, i, j] * (M[which, k, i, j] - less * M[AWAY, k, i, j])
            out[col[e]] += sign * total


@inner
def congruence(T, X, d, half, out):  # type: ignore[no-untyped-def]
    """out = T X Tᵀ, for symmetric X, which may be ``out``."""
    for i in range(d):
        for j in range(d):
            total = 0.0
            for m in range(d):
                total += T[i, m] * X[m, j]
            half[i, j] = total
    for i in range(d):
        for j in range(i, d):
            total = 0.0
            for m in range(d):
                total += half[i, m] * T[j, m]
            out[i, j] = total
            out[j, i] = total


@inner
def unscale(k, d, M, lam):  # type: ignore[no-untyped-def]
    """S = R diag(lam) Rᵀ and Z = R⁻ᵀ diag(lam) R⁻¹."""
    for i in range(d):
        for j in range(i, d):
            s = z = 0.0
            for m in range(d):
                s += M[R, k, i, m] * lam[k, m] * M[R, k, j, m]
                z += M[INVERSE, k, m, i] * lam[k, m] * M[INVERSE, k, m, j]
            M[S, k, i, j] = s
            M[S, k, j, i] = s
            M[Z, k, i, j] = z
            M[Z, k, j, i] = z


@inner
def centre(k, d, product, M, lam, work):  # type: ignore[no-untyped-def]
    """The scaling of S and of Z with S Z = product 1; False if S is not positive definite."""
    L, inverse = work[0], work[1]
    if not small_cholesky(M[S, k], L, d):
        return False
    invert_lower(L, inverse, d)
    value = np.sqrt(product)
    root = np.sqrt(value)
    for i in range(d):
        lam[k, i] = value
        for j in range(d):
            M[R, k, i, j] = L[i, j] / root
            M[INVERSE, k, i, j] = inverse[i, j] * root
    return True


@inner
def begin_matrices(start, col, A, b, size, floor, x, above, M, lam, work):  # type: ignore[no-untyped-def]
    """S from x, with eigenvalues of at least INSIDE; Z with S Z = (floor + above) 1."""
    copy = work[2]
    along_matrices(start, col, A, size, x, M, S, 0.0)
    for k in range(size.shape[0]):
        d = size[k]
        for i in range(d):
            for j in range(d):
                M[S, k, i, j] += b[k, i, j]
                copy[i, j] = M[S, k, i, j]
        shift = max(INSIDE - lowest_eigenvalue(copy, d), 0.0)
        for i in range(d):
            M[S, k, i, i] += shift
        if not centre(k, d, floor[k] + above, M, lam, work):
            return False
        unscale(k, d, M, lam)
    return True


@inner
def resume_matrices(start, col, A, b, size, floor, x, dual, above, M, lam, work):  # type: ignore[no-untyped-def]
    """S from x and Z from dual (k, D, D), near an optimum; their products at least ``above``.

    With a floor Z is (floor + above) S⁻¹. False if such an S is not positive definite.
    """
    G, V = work[0], work[3]
    along_matrices(start, col, A, size, x, M, S, 0.0)
    for k in range(size.shape[0]):
        d = size[k]
        for i in range(d):
            for j in range(d):
                M[S, k, i, j] += b[k, i, j]
        if floor[k] > 0.0:
            if not centre(k, d, floor[k] + above, M, lam, work):
                return False
        else:
            common_axes(M[S, k], dual[k], d, G, V)
            for m in range(d):
                s = z = 0.0
                for i in range(d):
                    for j in range(d):
                        s += V[i, m] * M[S, k, i, j] * V[j, m]
                        z += V[i, m] * dual[k, i, j] * V[j, m]
                s, z = apart(s, z, above)
                lam[k, m] = np.sqrt(s * z)
                root = np.sqrt(np.sqrt(s / z))
                for i in range(d):
                    M[R, k, i, m] = V[i, m] * root
                    M[INVERSE, k, m, i] = V[i, m] / root
        unscale(k, d, M, lam)
    return True


@inner
def common_axes(S, Z, d, G, V):  # type: ignore[no-untyped-def]
    """Axes V (d, d) along which S is large or Z is, if S Z is nearly zero. G : is overwritten."""
    s = z = 0.0
    for i in range(d):
        s += abs(S[i, i])
        z += abs(Z[i, i])
    weight = s / z if z > 0.0 else 0.0
    for i in range(d):
        for j in range(d):
            G[i, j] = S[i, j] - weight * Z[i, j]
            V[i, j] = 0.0
        G[i, i] += 2.0 * s + 1e-300
        V[i, i] = 1.0
    rotate_columns(G, V, d)


@inner
def look_matrices(start, col, A, b, size, floor, x, gradient, M, lam, work):  # type: ignore[no-untyped-def]
    """Violation, gap, distance from the floor, divergence, excess; takes A*(Z) off the gradient."""
    violation = gap = off = divergence = excess = 0.0
    pull_matrices(start, col, A, size, M, Z, 0.0, -1.0, gradient)
    along_matrices(start, col, A, size, x, M, AWAY, 0.0)
    for k in range(size.shape[0]):
        d = size[k]
        largest, entry = 0.0, 1.0
        for i in range(d):
            for j in range(d):
                value = M[AWAY, k, i, j] + b[k, i, j] - M[S, k, i, j]
                M[AWAY, k, i, j] = value
                largest = max(largest, abs(value))
                entry = max(entry, abs(M[S, k, i, j]))
        violation = max(violation, largest / entry)
        congruence(M[INVERSE, k], M[AWAY, k], d, work[0], M[AWAY, k])
        weight = floor[k]
        if weight > 0.0:
            if not small_cholesky(M[S, k], work[0], d):
                divergence = np.inf
            divergence -= weight * d
        for i in range(d):
            product = lam[k, i] ** 2
            excess += abs(product - weight)
            if weight > 0.0:
                ratio = product / weight
                gap += weight * (ratio - 1.0 - np.log(ratio))
                off = max(off, abs(ratio - 1.0))
                divergence += weight * (M[S, k, i, i] - 2.0 * np.log(work[0, i, i]))
            else:
                gap += product
    return violation, gap, off, divergence, excess


@inner
def curve_matrices(start, col, A, size, M, scaled, work, H):  # type: ignore[no-untyped-def]
    """A in the present scaling, and A* (W⁻¹ · W⁻¹) A added to the upper triangle of H."""
    for k in range(size.shape[0]):
        d = size[k]
        for e in range(start[k], start[k + 1]):
            congruence(M[INVERSE, k], A[e], d, work[0], scaled[e])
        for e in range(start[k], start[k + 1]):
            p = col[e]
            for f in range(e, start[k + 1]):
                q = col[f]
                total = 0.0
                for i in range(d):
                    for j in range(d):
                        total += scaled[e, i, j] * scaled[f, i, j]
                H[min(p, q), max(p, q)] += total


@inner
def aim_matrices(size, floor, above, least, correct, M, lam):  # type: ignore[no-untyped-def]
    """The wanted change of the products S Z, as a change of S + Z in the scaling."""
    for k in range(size.shape[0]):
        target = floor[k] + (above if floor[k] > 0.0 else max(above, least))
        for i in range(size[k]):
            for j in range(size[k]):
                change = -correct * M[SECOND, k, i, j]
                if i == j:
                    change += target - lam[k, i] * lam[k, i]
                M[WANTED, k, i, j] = 2.0 * change / (lam[k, i] + lam[k, j])


@inner
def remember_matrices(size, M):  # type: ignore[no-untyped-def]
    """Keep the second-order term of the predictor: the symmetric part of dS dZ."""
    for k in range(size.shape[0]):
        d = size[k]
        for i in range(d):
            for j in range(i, d):
                total = 0.0
                for m in range(d):
                    total += M[DS, k, i, m] * M[DZ, k, m, j] + M[DS, k, j, m] * M[DZ, k, m, i]
                M[SECOND, k, i, j] = 0.5 * total
                M[SECOND, k, j, i] = 0.5 * total


@inner
def reach_matrices(size, M, lam, work):  # type: ignore[no-untyped-def]
    """Smallest eigenvalue of lam^-½ dS lam^-½ and of the same of dZ."""
    low = np.inf
    copy = work[0]
    for k in range(size.shape[0]):
        d = size[k]
        for which in range(DS, DZ + 1):
            for i in range(d):
                for j in range(i, d):
                    value = 0.5 * (M[which, k, i, j] + M[which, k, j, i])
                    value /= np.sqrt(lam[k, i] * lam[k, j])
                    copy[i, j] = value
                    copy[j, i] = value
            value = lowest_eigenvalue(copy, d)
            if np.isnan(value):
                return np.nan
            low = min(low, value)
    return low


@inner
def move_matrices(size, length, M, lam, work):  # type: ignore[no-untyped-def]
    """Take the step and update the scaling; False if S or Z is not positive definite."""
    Ls, Lz, G, T = work[0], work[1], work[2], work[3]
    for k in range(size.shape[0]):
        d = size[k]
        for which in range(DS, DZ + 1):
            for i in range(d):
                for j in range(d):
                    T[i, j] = 0.5 * length * (M[which, k, i, j] + M[which, k, j, i])
                T[i, i] += lam[k, i]
            if not small_cholesky(T, work[which - DS], d):
                return False
        for i in range(d):
            for j in range(d):
                total = 0.0
                for m in range(max(i, j), d):
                    total += Lz[m, i] * Ls[m, j]
                G[i, j] = total
        rotate_columns(G, Ls, d)
        for j in range(d):
            total = 0.0
            for i in range(d):
                total += G[i, j] * G[i, j]
            value = np.sqrt(total)
            if not value > 0.0:
                return False
            lam[k, j] = value
            root = np.sqrt(value)
            for i in range(d):
                Ls[i, j] /= root
                G[i, j] /= value * root
        # R <- R Ls V / root, R⁻¹ <- Uᵀ Lzᵀ R⁻¹ / root
        for i in range(d):
            for j in range(d):
                one = other = 0.0
                for m in range(d):
                    one += M[R, k, i, m] * Ls[m, j]
                    other += G[m, i] * Lz[j, m]
                M[S, k, i, j] = one
                T[i, j] = other
        for i in range(d):
            for j in range(d):
                total = 0.0
                for m in range(d):
                    total += T[i, m] * M[INVERSE, k, m, j]
                M[Z, k, i, j] = total
        for i in range(d):
            for j in range(d):
                M[R, k, i, j] = M[S, k, i, j]
                M[INVERSE, k, i, j] = M[Z, k, i, j]
        unscale(k, d, M, lam)
    return True
