"""Compiled least squares of one physical body, by Newton's method with a log-determinant barrier.

    minimise  ½ |R x - z|² - mu log det J(x),     mu from large to small

J is the 4×4 pseudo-inertia. Every iterate is physical, and the optimum for mu is at most 4 mu above
the optimum of the constrained problem. With rows that are divided by their noise, mu = 1e-6 is far
below what noise does. Ten unknowns and one 4×4 matrix take some 100 µs, where a general solver for
semidefinite programmes takes milliseconds.
"""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import jit

N = 10
LESS = 0.2
"""Factor of mu from one stage to the next."""
CENTRED = 1e-3
"""Newton's decrement, relative to mu, at which a stage is done."""
MAX_STEPS = 400


@jit
def cholesky(A, n, L):  # type: ignore[no-untyped-def]
    """Lower factor of A (n, n); False where A is not positive definite."""
    for j in range(n):
        rest = A[j, j]
        for k in range(j):
            rest -= L[j, k] * L[j, k]
        if not rest > 0.0:
            return False
        L[j, j] = np.sqrt(rest)
        for i in range(j + 1, n):
            rest = A[i, j]
            for k in range(j):
                rest -= L[i, k] * L[j, k]
            L[i, j] = rest / L[j, j]
    return True


@jit
def solve(L, n, b):  # type: ignore[no-untyped-def]
    """Overwrite b (n,) by the solution of L Lᵀ x = b."""
    for i in range(n):
        for k in range(i):
            b[i] -= L[i, k] * b[k]
        b[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= L[k, i] * b[k]
        b[i] /= L[i, i]


@jit
def value(R, z, basis, x, mu, J, L):  # type: ignore[no-untyped-def]
    """The objective with its barrier; infinite outside. Leaves J and its factor L."""
    for i in range(4):
        for j in range(4):
            J[i, j] = 0.0
            for k in range(N):
                J[i, j] += x[k] * basis[k, i, j]
    if not cholesky(J, 4, L):
        return np.inf
    total = 0.0
    for i in range(R.shape[0]):
        rest = -z[i]
        for k in range(N):
            rest += R[i, k] * x[k]
        total += 0.5 * rest * rest
    for i in range(4):
        total -= 2.0 * mu * np.log(L[i, i])
    return total


@jit
def barrier_fit(R, z, basis, x, mu, mu_end):  # type: ignore[no-untyped-def]
    """Move x (10,), which is strictly physical, to the optimum for mu_end.

    R (n_rows, 10), z (n_rows,). basis : (10, 4, 4) J of each unit vector. Returns whether it got
    there; not if the numbers overflow.
    """
    J, L, inverse = np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 4))
    H, factor = np.zeros((N, N)), np.zeros((N, N))
    products = np.zeros((N, 4, 4))
    step, gradient, tried, column = np.zeros(N), np.zeros(N), np.zeros(N), np.zeros(4)
    gram = R.T @ R
    now = value(R, z, basis, x, mu, J, L)
    if not np.isfinite(now):
        # numbers that overflow, or a start that is not physical: L has zeros on its diagonal
        return False
    for _ in range(MAX_STEPS):
        for j in range(4):
            column[:] = 0.0
            column[j] = 1.0
            solve(L, 4, column)
            inverse[:, j] = column
        residual = R @ x - z
        gradient[:] = R.T @ residual
        for k in range(N):
            for i in range(4):
                for j in range(4):
                    total = 0.0
                    for m in range(4):
                        total += inverse[i, m] * basis[k, m, j]
                    products[k, i, j] = total
            for i in range(4):
                gradient[k] -= mu * products[k, i, i]
        for k in range(N):
            for m in range(k + 1):
                total = 0.0
                for i in range(4):
                    for j in range(4):
                        total += products[k, i, j] * products[m, j, i]
                H[k, m] = H[m, k] = gram[k, m] + mu * total
        if not cholesky(H, N, factor):
            return False
        step[:] = -gradient
        solve(factor, N, step)
        decrement = -np.dot(gradient, step)
        if decrement <= CENTRED * mu:
            if mu <= mu_end:
                return True
            mu = max(LESS * mu, mu_end)
            now = value(R, z, basis, x, mu, J, L)
            continue
        length = 1.0
        while True:
            for k in range(N):
                tried[k] = x[k] + length * step[k]
            then = value(R, z, basis, tried, mu, J, L)
            if then <= now - 0.1 * length * decrement:
                break
            length *= 0.5
            if length < 1e-10:
                # the objective cannot tell a better point any more: rounding
                value(R, z, basis, x, mu, J, L)
                return mu <= mu_end
        x[:] = tried
        now = then
    return False
