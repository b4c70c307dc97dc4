"""Compiled loops over conditions on one number, ``a·x + b >= 0``, with sparse rows a.

Row k is entries start[k] to start[k + 1] of (col, weight), plus b[k]. The state N (9, k) has rows
S, Z, lam, scaling (lam² = S Z, scaling² = S / Z), and in that scaling the violation, the wanted
change of S + Z, the steps of S and Z, and the second-order term.
"""

from __future__ import annotations

import numpy as np

from steelyard.conic._small_matrices import apart
from steelyard.conic.jit import inner

INSIDE = 0.1
S, Z, LAM, SCALING, AWAY, WANTED, DS, DZ, SECOND = np.arange(9)
"""Not Python's integers: Numba compiles a function for each of those that it is called with."""


@inner
def along_numbers(start, col, weight, step, N, which, add):  # type: ignore[no-untyped-def]
    """N[which] = A step in the scaling, plus ``add`` × the violation."""
    for k in range(N.shape[1]):
        total = 0.0
        for e in range(start[k], start[k + 1]):
            total += weight[e] * step[col[e]]
        N[which, k] = total / N[SCALING, k] + add * N[AWAY, k]


@inner
def pull_numbers(start, col, weight, N, which, less, sign, out):  # type: ignore[no-untyped-def]
    """Add sign × Aᵀ (N[which] - less × violation), in the scaling, to out (n,)."""
    for k in range(N.shape[1]):
        value = sign * (N[which, k] - less * N[AWAY, k]) / N[SCALING, k]
        for e in range(start[k], start[k + 1]):
            out[col[e]] += weight[e] * value


@inner
def rescale_numbers(N):  # type: ignore[no-untyped-def]
    """lam and the scaling of S and Z; False if one is not positive."""
    for k in range(N.shape[1]):
        s, z = N[S, k], N[Z, k]
        if not (s > 0.0 and z > 0.0):
            return False
        N[LAM, k] = np.sqrt(s * z)
        N[SCALING, k] = np.sqrt(s / z)
    return True


@inner
def begin_numbers(start, col, weight, b, floor, x, above, N):  # type: ignore[no-untyped-def]
    """S from x, at least INSIDE; Z with S Z = floor + above."""
    for k in range(N.shape[1]):
        value = b[k]
        for e in range(start[k], start[k + 1]):
            value += weight[e] * x[col[e]]
        N[S, k] = max(value, INSIDE)
        N[Z, k] = (floor[k] + above) / N[S, k]
    return rescale_numbers(N)


@inner
def resume_numbers(start, col, weight, b, floor, x, dual, above, N):  # type: ignore[no-untyped-def]
    """S from x and Z from dual (k,), near an optimum; products at least floor + above."""
    for k in range(N.shape[1]):
        value = b[k]
        for e in range(start[k], start[k + 1]):
            value += weight[e] * x[col[e]]
        N[S, k], N[Z, k] = apart(value, dual[k], floor[k] + above)
    return rescale_numbers(N)


@inner
def look_numbers(start, col, weight, b, floor, x, gradient, N):  # type: ignore[no-untyped-def]
    """Violation, gap, distance from the floor, divergence, excess; takes Aᵀ Z off the gradient."""
    violation = gap = off = divergence = excess = 0.0
    for k in range(N.shape[1]):
        s, z = N[S, k], N[Z, k]
        value = b[k]
        for e in range(start[k], start[k + 1]):
            value += weight[e] * x[col[e]]
            gradient[col[e]] -= weight[e] * z
        away = value - s
        violation = max(violation, abs(away) / max(s, 1.0))
        N[AWAY, k] = away / N[SCALING, k]
        product = s * z
        excess += abs(product - floor[k])
        if floor[k] > 0.0:
            ratio = product / floor[k]
            gap += floor[k] * (ratio - 1.0 - np.log(ratio))
            off = max(off, abs(ratio - 1.0))
            divergence += floor[k] * (s - np.log(s) - 1.0)
        else:
            gap += product
    return violation, gap, off, divergence, excess


@inner
def curve_numbers(start, col, weight, N, H):  # type: ignore[no-untyped-def]
    """Add Aᵀ W⁻² A to the upper triangle of the Newton matrix."""
    for k in range(N.shape[1]):
        scale = N[Z, k] / N[S, k]
        for e in range(start[k], start[k + 1]):
            value, i = scale * weight[e], col[e]
            for f in range(e, start[k + 1]):
                j = col[f]
                H[min(i, j), max(i, j)] += value * weight[f]


@inner
def aim_numbers(floor, above, least, correct, N):  # type: ignore[no-untyped-def]
    """The wanted change of the products S Z, over lam."""
    for k in range(N.shape[1]):
        target = floor[k] + (above if floor[k] > 0.0 else max(above, least))
        change = target - N[S, k] * N[Z, k]
        N[WANTED, k] = (change - correct * N[SECOND, k]) / N[LAM, k]


@inner
def reach_numbers(N):  # type: ignore[no-untyped-def]
    """The smallest of dS / lam and dZ / lam."""
    low = np.inf
    for k in range(N.shape[1]):
        low = min(low, min(N[DS, k], N[DZ, k]) / N[LAM, k])
    return low


@inner
def move_numbers(length, N):  # type: ignore[no-untyped-def]
    """Take the step; False if it leaves the positive numbers."""
    for k in range(N.shape[1]):
        N[S, k] = (N[LAM, k] + length * N[DS, k]) * N[SCALING, k]
        N[Z, k] = (N[LAM, k] + length * N[DZ, k]) / N[SCALING, k]
    return rescale_numbers(N)
