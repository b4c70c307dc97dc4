"""The interior-point method in compiled loops; the method itself is in `interior_point`.

All conditions are kept in the Nesterov-Todd scaling, in which S and Z are equal.
"""

from __future__ import annotations

import numpy as np

from steelyard.conic import _ball_loops as balls
from steelyard.conic import _matrix_loops as matrices
from steelyard.conic import _number_loops as numbers
from steelyard.conic._small_matrices import cholesky, solve_factored
from steelyard.conic.interior_rules import (
    ABOVE,
    CIRCLING,
    CRAWL,
    GAP,
    LEAST,
    PATIENCE,
    POLISHED,
    SHORTER,
    STALLED,
    STEP,
    USABLE,
)
from steelyard.conic.jit import inner, outer

CALLED = "2e1e0612a497"
"""Digest of the files whose loops are compiled into these, which makes Numba's cache look again."""
times, add_times = balls.times, balls.add_times
S, Z, AWAY, WANTED, DS, DZ = np.arange(8)[[0, 1, 4, 5, 6, 7]]
"""Places in the states of matrices and numbers, and of balls where they are the same."""


@inner
def newton(  # type: ignore[no-untyped-def]
    F, FT, U, rest, mstart, mcol, msize, M, scaled, bA, bAT, B, eta, T, nstart, ncol, nweight, N,
    refined, right, product, step,
):
    """The Newton step of x towards the targets; sets the scaled steps of S and Z.

    right (n,), product (n_rows,) : are overwritten.
    """
    n = step.shape[0]
    for j in range(n):
        step[j] = -rest[j]
    matrices.pull_matrices(mstart, mcol, scaled, msize, M, WANTED, 1.0, 1.0, step)
    balls.pull_ball(bA, B, eta, T, balls.WANTED, 1.0, 1.0, step)
    numbers.pull_numbers(nstart, ncol, nweight, N, WANTED, 1.0, 1.0, step)
    for j in range(n):
        right[j] = step[j]
    solve_factored(U, step)
    for again in range(2):
        matrices.along_matrices(mstart, mcol, scaled, msize, step, M, DS, 0.0)
        balls.along_ball(bAT, step, B, eta, T, balls.DS, 0.0)
        numbers.along_numbers(nstart, ncol, nweight, step, N, DS, 0.0)
        if again == 1 or not refined:
            break
        times(FT, step, product)
        add_times(F, product, -1.0, right)
        matrices.pull_matrices(mstart, mcol, scaled, msize, M, DS, 0.0, -1.0, right)
        balls.pull_ball(bA, B, eta, T, balls.DS, 0.0, -1.0, right)
        numbers.pull_numbers(nstart, ncol, nweight, N, DS, 0.0, -1.0, right)
        solve_factored(U, right)
        for j in range(n):
            step[j] += right[j]
    for k in range(M.shape[1]):
        for i in range(M.shape[2]):
            for j in range(M.shape[2]):
                M[DS, k, i, j] += M[AWAY, k, i, j]
                M[DZ, k, i, j] = M[WANTED, k, i, j] - M[DS, k, i, j]
    for i in range(B.shape[1]):
        B[balls.DS, i] += B[balls.AWAY, i]
        B[balls.DZ, i] = B[balls.WANTED, i] - B[balls.DS, i]
    for k in range(N.shape[1]):
        N[DS, k] += N[AWAY, k]
        N[DZ, k] = N[WANTED, k] - N[DS, k]


@inner
def reach(msize, M, lam, work, B, N):  # type: ignore[no-untyped-def]
    """Largest step length that keeps S and Z positive semidefinite; NaN if there is no answer."""
    low = numbers.reach_numbers(N)
    for other in (matrices.reach_matrices(msize, M, lam, work), balls.reach_ball(B)):
        if not other >= low:
            low = other
    return -1.0 / low if not low >= 0.0 else np.inf


@inner
def factor(  # type: ignore[no-untyped-def]
    gram, mstart, mcol, mA, msize, M, scaled, work, bA, AJA, B, eta, T, nstart, ncol, nweight,
    N, column, H,
):
    """Factor of the Newton matrix in H; diagonal raised if rounding makes it indefinite."""
    n = H.shape[0]
    nudge = 0.0
    for _ in range(4):
        for i in range(n):
            for j in range(i, n):
                H[i, j] = gram[i, j]
        matrices.curve_matrices(mstart, mcol, mA, msize, M, scaled, work, H)
        balls.curve_ball(bA, AJA, B, eta, T, H, column)
        numbers.curve_numbers(nstart, ncol, nweight, N, H)
        for i in range(n):
            H[i, i] *= 1.0 + nudge
        if cholesky(H):
            return True
        nudge = 1e-15 if nudge == 0.0 else 100.0 * nudge
    return False


@outer
def iterate(  # type: ignore[no-untyped-def]
    F, FT, g, c, gram, mstart, mcol, mA, mb, msize, mfloor, nstart, ncol, nweight, nb, nfloor,
    bA, bAT, AJA, bb, x, near, accuracy, max_iterations, mdual, ndual, info,
):
    """Minimise from x (n,), which becomes the answer; returns whether it could begin.

    near : if positive, x, mdual and ndual are near an optimum, and the products of S and Z begin
    this far above their floors. mdual, ndual : become the duals. info : stationarity, violation,
    gap, distance from the floors and step of the answer, whether it converged, number of steps.
    """
    n, D = x.shape[0], mb.shape[1]
    M, lam = np.zeros((9, mb.shape[0], D, D)), np.ones((mb.shape[0], D))
    scaled, work = np.zeros(mA.shape), np.zeros((4, D, D))
    N, B, eta = np.zeros((9, nb.shape[0])), np.zeros((11, bb.shape[0])), np.ones(1)
    T = np.zeros((bb.shape[0], bb.shape[0]))
    H = np.empty((n, n))
    residual, rest, step, right = np.empty(g.shape[0]), np.empty(n), np.empty(n), np.empty(n)
    best_x = np.empty(n)
    size = 1.0
    n_ordinary, dimension = 0, nb.shape[0]
    for k in range(mfloor.shape[0]):
        size = max(size, mfloor[k])
        dimension += msize[k]
        n_ordinary += 0 if mfloor[k] > 0.0 else msize[k]
    for k in range(nfloor.shape[0]):
        size = max(size, nfloor[k])
        n_ordinary += 0 if nfloor[k] > 0.0 else 1
    if bb.shape[0] > 0:
        dimension += 1
        n_ordinary += 1
    for j in range(n):
        right[j] = -c[j]
        best_x[j] = x[j]
    add_times(F, g, 1.0, right)
    for j in range(n):
        size = max(size, abs(right[j]))
    best_worst, best_at, progress, gap_before = np.inf, -1, 0, np.inf
    polished_at, polished_off = -1, np.inf
    iteration = 0
    while True:
        times(FT, x, residual)
        value = 0.0
        for i in range(residual.shape[0]):
            residual[i] -= g[i]
            value += residual[i] * residual[i]
        for j in range(n):
            rest[j] = c[j]
        add_times(F, residual, 1.0, rest)
        if iteration == 0:
            total = 0.0
            for j in range(n):
                total += rest[j] * rest[j]
            above = ABOVE * max(1.0, np.sqrt(total) / np.sqrt(max(n, 1)))
            resumed = (
                near > 0.0
                and matrices.resume_matrices(
                    mstart, mcol, mA, mb, msize, mfloor, x, mdual, near, M, lam, work
                )
                and numbers.resume_numbers(nstart, ncol, nweight, nb, nfloor, x, ndual, near, N)
                and balls.begin_ball(bAT, bb, x, near, 0.0, B, eta, T)
            )
            if not resumed and not (
                matrices.begin_matrices(
                    mstart, mcol, mA, mb, msize, mfloor, x, above, M, lam, work
                )
                and balls.begin_ball(bAT, bb, x, above, balls.INSIDE, B, eta, T)
                and numbers.begin_numbers(nstart, ncol, nweight, nb, nfloor, x, above, N)
            ):
                return False
        v1, g1, o1, d1, e1 = matrices.look_matrices(
            mstart, mcol, mA, mb, msize, mfloor, x, rest, M, lam, work
        )
        v2, g2 = balls.look_ball(bA, bAT, bb, x, rest, B, eta, T)
        v3, g3, o3, d3, e3 = numbers.look_numbers(
            nstart, ncol, nweight, nb, nfloor, x, rest, N
        )
        value = 1.0 + 0.5 * value + d1 + d3
        stationarity = 0.0
        for j in range(n):
            if not abs(rest[j]) <= stationarity:
                stationarity = abs(rest[j])
        stationarity /= size
        violation, off = max(v1, v2, v3), max(o1, o3)
        gap = (g1 + g2 + g3) / value
        worst = max(stationarity, violation, gap)
        enough = accuracy if gap > CRAWL * gap_before else GAP * accuracy
        gap_before = gap
        optimal = max(stationarity, violation) <= accuracy and gap <= enough
        keep = optimal and (polished_at < 0 or off < 0.5 * polished_off)
        if keep:
            polished_at, polished_off = iteration, off
        converged = keep and off <= accuracy
        stop = converged or (polished_at >= 0 and iteration >= polished_at + POLISHED)
        if not stop:
            if best_at < 0 or worst < 0.5 * best_worst:
                progress = iteration
            if best_at < 0 or worst < best_worst:
                best_worst, best_at = worst, iteration
                keep = keep or polished_at < 0
        if keep:
            for j in range(n):
                best_x[j] = x[j]
            for k in range(mdual.shape[0]):
                for i in range(D):
                    for j in range(D):
                        mdual[k, i, j] = M[Z, k, i, j]
            for k in range(ndual.shape[0]):
                ndual[k] = N[Z, k]
            info[0], info[1], info[2], info[3] = stationarity, violation, gap, off
            info[4] = iteration
        info[5], info[6] = 1.0 if converged else 0.0, iteration
        patience = PATIENCE if best_worst > USABLE else STALLED
        since = best_at if best_worst > USABLE else progress
        if stop or iteration == max_iterations or iteration >= since + patience:
            break
        if not factor(
            gram, mstart, mcol, mA, msize, M, scaled, work, bA, AJA, B, eta, T, nstart, ncol,
            nweight, N, right, H,
        ):
            break
        least = LEAST * accuracy * value / max(n_ordinary, 1)
        excess = (e1 + g2 + e3) / max(dimension, 1)
        foreseen, length, allowed, share, centre = 0.0, 0.0, 0.0, 0.0, 0.0
        attempt = 0
        while attempt < 4:
            matrices.aim_matrices(msize, mfloor, centre * excess, least, share, M, lam)
            balls.aim_ball(centre * excess, least, share, B)
            numbers.aim_numbers(nfloor, centre * excess, least, share, N)
            newton(
                F, FT, H, rest, mstart, mcol, msize, M, scaled, bA, bAT, B, eta, T, nstart, ncol,
                nweight, N, attempt > 0, right, residual, step,
            )
            length = reach(msize, M, lam, work, B, N)
            if attempt == 0:  # the predictor
                matrices.remember_matrices(msize, M)
                balls.remember_ball(B)
                for k in range(N.shape[1]):
                    N[numbers.SECOND, k] = N[DS, k] * N[DZ, k]
                foreseen = min(1.0, length)
                allowed = STEP[0] + foreseen * (STEP[1] - STEP[0])
                centre = (1.0 - foreseen) * min(1.0, 2.0 * (1.0 - foreseen))
                share = 1.0
                if iteration >= best_at + CIRCLING:
                    attempt = 1
            else:
                length = min(1.0, allowed * length)
                if not length < min(SHORTER * foreseen, 0.9):
                    break
            attempt += 1
            if attempt == 2:
                share = foreseen * foreseen
            elif attempt == 3:
                share, centre = 0.0, max(centre, 0.5)
        if not (
            length >= 0.0
            and matrices.move_matrices(msize, length, M, lam, work)
            and balls.move_ball(length, B, eta, T)
            and numbers.move_numbers(length, N)
        ):
            break
        for j in range(n):
            x[j] += length * step[j]
        iteration += 1
    for j in range(n):
        x[j] = best_x[j]
    return True
