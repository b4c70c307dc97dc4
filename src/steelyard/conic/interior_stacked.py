"""The interior-point method in NumPy, on stacked conditions, for problems in which BLAS dominates.

The method is described in `steelyard.conic.interior_point`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.interior_conditions import Conditions, MatrixCondition, arranged
from steelyard.conic.interior_rules import (
    ABOVE,
    ACCURACY,
    CIRCLING,
    CRAWL,
    GAP,
    LEAST,
    MAX_ITERATIONS,
    PATIENCE,
    POLISHED,
    SHORTER,
    STALLED,
    STEP,
    USABLE,
)
from steelyard.conic.interior_solution import InteriorSolution, usable
from steelyard.conic.row_panels import RowPanels, row_panels

Array = NDArray[np.float64]
SOLVED = 1e-12
"""Newton equations that are met to this share of their right-hand side need no second solve."""


def minimise_stacked(
    F: Array,
    g: Array,
    c: Array,
    conditions: Sequence[MatrixCondition],
    start: Array,
    *,
    gram: Array | None = None,
    accuracy: float = ACCURACY,
    max_iterations: int = MAX_ITERATIONS,
) -> InteriorSolution:
    """The optimum; arguments as for `steelyard.conic.interior_point.minimise`.

    gram : FᵀF, if it is known; only its upper half is used.
    """
    groups = arranged(conditions, len(start))
    rows = row_panels(F)
    gram = rows.upper_gram() if gram is None else gram
    pull = rows.back(g) - c
    scratch = np.empty(gram.shape)
    floors = [one.floor for one in conditions]
    size = max(1.0, float(np.max(np.abs(pull), initial=0.0)), max(floors, default=0.0))
    x = np.array(start, dtype=float)
    gradient = rows.back(rows.times(x) - g) + c
    above = ABOVE * max(1.0, float(np.linalg.norm(gradient)) / np.sqrt(max(len(x), 1)))
    for group in groups:
        group.begin(x, above)
    n_ordinary = sum(group.n_ordinary for group in groups)
    best: InteriorSolution | None = None
    polished: InteriorSolution | None = None
    progress, gap_before = 0, np.inf
    for iteration in range(max_iterations + 1):
        residual = rows.times(x) - g
        rest = rows.back(residual) + c
        for group in groups:
            group.look(x, rest)
        value = 1.0 + 0.5 * float(residual @ residual) + sum(group.divergence for group in groups)
        least = LEAST * accuracy * value / max(n_ordinary, 1)
        now = InteriorSolution(
            x=x,
            duals=tuple(group.Z for group in groups),  # stacked; see _with_duals
            iterations=iteration,
            converged=False,
            stationarity=float(np.max(np.abs(rest), initial=0.0)) / size,
            violation=max((group.violation for group in groups), default=0.0),
            gap=sum(group.gap for group in groups) / value,
            off_floor=max((group.off_floor for group in groups), default=0.0),
        )
        crawls = now.gap > CRAWL * gap_before
        gap_before = now.gap
        optimal = max(now.stationarity, now.violation) <= accuracy and now.gap <= (
            accuracy if crawls else GAP * accuracy
        )
        if optimal and (polished is None or now.off_floor < 0.5 * polished.off_floor):
            polished = now
            if now.off_floor <= accuracy:
                return replace(_with_duals(now, groups), converged=True)
        if polished is not None and iteration >= polished.iterations + POLISHED:
            break
        if best is None or now.worst < 0.5 * best.worst:
            progress = iteration
        if best is None or now.worst < best.worst:
            best = now
        patience = PATIENCE if best.worst > USABLE else STALLED
        since = best.iterations if best.worst > USABLE else progress
        if iteration == max_iterations or iteration >= since + patience:
            break
        try:
            careful = iteration >= best.iterations + CIRCLING
            x = _step(rows, gram, scratch, groups, x, rest, least, careful)
        except np.linalg.LinAlgError:  # the iterate is at the boundary, up to rounding
            break
    best = polished or best
    assert best is not None
    found = replace(_with_duals(best, groups), iterations=iteration)
    return usable(found, best.iterations)


def _step(
    rows: RowPanels,
    gram: Array,
    scratch: Array,
    groups: Sequence[Conditions],
    x: Array,
    rest: Array,
    least: float,
    careful: bool,
) -> Array:
    """One predictor-corrector step; moves the groups' S and Z, and returns the new x.

    gram : FᵀF on and above the diagonal. scratch : (n, n) is overwritten.
    least : smallest product of ordinary conditions to aim at; smaller ones would make the Newton
    matrix needlessly ill-conditioned.
    careful : whether to skip the full second-order correction, after steps without progress.
    """
    factor = _factor(gram, groups, scratch)

    def newton(*, refined: bool) -> Array:
        """Newton step of x towards the groups' targets."""
        right = -rest
        for group in groups:
            group.add_pull(right)
        step = _solved(factor, right)
        if refined:
            left = right - rows.back(rows.times(step))
            for group in groups:
                group.add_curvature(left, step, -1.0)
            if np.max(np.abs(left)) > SOLVED * np.max(np.abs(right)):
                step = step + _solved(factor, left)
        for group in groups:
            group.follow(step)
        return np.asarray(step)

    for group in groups:
        group.aim(0.0, least)
    newton(refined=False)
    for group in groups:
        group.remember()
    foreseen = min(1.0, _reach(groups))
    # after short predictor steps Mehrotra's cube centres too little: optima far from the start,
    # with eigenvalues of S from 1e-9 to 1e5, are then never reached
    sigma = (1.0 - foreseen) * min(1.0, 2.0 * (1.0 - foreseen))
    dimension = sum(group.dimension for group in groups)
    excess = sum(group.excess for group in groups) / max(dimension, 1)
    allowed = STEP[0] + foreseen * (STEP[1] - STEP[0])
    length = 0.0
    # the second-order term helps most steps but harms some: then use less of it, or only centre
    tries = ((1.0, sigma), (foreseen**2, sigma), (0.0, max(sigma, 0.5)))
    for share, centre in tries[1 if careful else 0 :]:
        for group in groups:
            group.aim(centre * excess, least, correct=share)
        step = newton(refined=True)
        length = min(1.0, allowed * _reach(groups))
        if length >= min(SHORTER * foreseen, 0.9):
            break
    for group in groups:
        group.advance(length)
    return np.asarray(x + length * step)


def _factor(gram: Array, groups: Sequence[Conditions], H: Array) -> Array:
    """Cholesky factor of FᵀF + A* W⁻¹ · W⁻¹ A; diagonal raised if rounding makes it indefinite.

    H : (n, n) is overwritten, which saves the time for new memory.
    """
    from scipy.linalg.lapack import dpotrf

    for nudge in (0.0, 1e-15, 1e-13, 1e-11):
        np.copyto(H, gram)
        for group in groups:
            group.add_hessian(H)
        H.reshape(-1)[:: len(H) + 1] *= 1.0 + nudge
        # symmetric: the transpose saves a copy, and its lower half is the upper one of H
        factor, failed = dpotrf(H.T, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return np.asarray(factor)
    raise np.linalg.LinAlgError("the Newton matrix is singular")


def _solved(factor: Array, right: Array) -> Array:
    from scipy.linalg.lapack import dpotrs

    return np.asarray(dpotrs(factor, right, lower=1)[0])


def _reach(groups: Sequence[Conditions]) -> float:
    return min((group.reach() for group in groups), default=np.inf)


def _with_duals(found: InteriorSolution, groups: Sequence[Conditions]) -> InteriorSolution:
    """The solution with the duals of the groups' stacks in the order of the conditions."""
    order = {
        k: np.atleast_2d(Z)
        for group, stack in zip(groups, found.duals, strict=True)
        for k, Z in zip(group.members, stack, strict=True)
    }
    return replace(found, duals=tuple(order[k] for k in range(len(order))))
