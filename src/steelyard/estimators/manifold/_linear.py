"""Compiled linear algebra of the fit on the manifold: damped Newton steps within bounds."""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import jit


@jit
def squares(F, g, theta, residual):  # type: ignore[no-untyped-def]
    """Residual F theta - g in place; returns its square sum."""
    value = 0.0
    for i in range(len(g)):
        total = -g[i]
        for j in range(len(theta)):
            total += F[i, j] * theta[j]
        residual[i] = total
        value += total * total
    return value


@jit
def dot(x, y):  # type: ignore[no-untyped-def]
    """Inner product."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@jit
def factorise(H, n, fixed, shift, C):  # type: ignore[no-untyped-def]
    """Cholesky factor C of H + diag(shift), with unit rows for fixed coordinates; whether found."""
    for j in range(n):
        if fixed[j]:
            for i in range(n):
                C[i, j] = 0.0
                C[j, i] = 0.0
            C[j, j] = 1.0
            continue
        total = H[j, j] + shift[j]
        for k in range(j):
            total -= C[j, k] * C[j, k]
        if not total > 1e-15 * (H[j, j] + shift[j]):
            return False
        root = np.sqrt(total)
        C[j, j] = root
        for i in range(j + 1, n):
            if fixed[i]:
                C[i, j] = 0.0
                continue
            rest = H[i, j]
            for k in range(j):
                rest -= C[i, k] * C[j, k]
            C[i, j] = rest / root
    return True


@jit
def substitute(C, n, x):  # type: ignore[no-untyped-def]
    """Solve C Cᵀ x = x in place."""
    for i in range(n):
        for k in range(i):
            x[i] -= C[i, k] * x[k]
        x[i] /= C[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= C[k, i] * x[k]
        x[i] /= C[i, i]


@jit
def promised(H, n, gradient, step):  # type: ignore[no-untyped-def]
    """Reduction of the objective by a step, in the quadratic model."""
    total = 0.0
    for j in range(n):
        total -= gradient[j] * step[j]
        for i in range(n):
            total -= 0.5 * step[j] * H[j, i] * step[i]
    return total


@jit
def newton_step(  # type: ignore[no-untyped-def]
    H, n, gradient, fixed, free, shift, theta, lower, held, C, step
):
    """Step (n,) with (H + diag(shift)) step = -gradient, free columns within bounds; if found."""
    bound = np.zeros(n)
    for j in range(n):
        held[j] = fixed[j]
    for _ in range(8):
        if not factorise(H, n, held, shift, C):
            return False
        for j in range(n):
            step[j] = bound[j]
            if not held[j]:
                total = -gradient[j]
                for i in range(n):
                    if held[i] and bound[i] != 0.0:
                        total -= H[j, i] * bound[i]
                step[j] = total
        substitute(C, n, step)
        again = False
        for j in range(n):
            if held[j]:
                step[j] = bound[j]
            elif free[j] and theta[j] + step[j] < lower[j]:
                bound[j], held[j], again = lower[j] - theta[j], True, True
        if not again:
            break
    return True
