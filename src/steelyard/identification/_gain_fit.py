"""Drive gains from compressed runs without and with a known payload.

With recorded torques y_m of motor m, its gain g_m (the torque is g_m y_m), base parameters beta
and the payload's torque p_m (zero in the runs without it),

    y_m = (W_m beta + p_m) / g_m + noise.

The noise is that of y_m alone. The form g_m y_m = W_m beta + p_m of Gautier and Briot (ICRA 2012;
eq 5 of Gautier and Venture 2013) is linear, but has noisy columns, which bias its least-squares
solution towards zero. That solution is only the starting point of Gauss-Newton on (beta, 1/g).
Everything is computed from triangular factors of [W_m p_m y_m]: regressions whose rows are motors,
with the payload's torque as their extra column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError, listed
from steelyard.estimators.cluster import MIN_BLOCKS
from steelyard.estimators.least_squares import Fit, triangular_fit
from steelyard.regression.regression import Regression, RowGroup, check_alike, triangle

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

MAX_ITERATIONS = 100
CONVERGED = 1e-10
"""The iteration ends when the relative step of all 1/g is smaller than this."""
ROUNDING = 1e-12
"""Relative differences of sums of squares below this may be rounding alone."""


@dataclass(frozen=True, eq=False)
class GainFit:
    """1/g of each motor.

    inverse_gain : (n_motors,). determined : whether the data determine it at all.
    covariance : (n_motors, n_motors) of them; kind : "cluster" (CR3 over the time blocks) or
        "classical" where there are too few blocks, with the reason in ``why``.
    relative_error : of each motor's recorded torque, |residual| / |y|.
    """

    inverse_gain: Array
    determined: NDArray[np.bool_]
    covariance: Array
    degrees_of_freedom: int
    kind: str
    why: str
    relative_error: Array
    n_rows: int
    n_blocks: int


def fit_gains(regressions: Iterable[Regression]) -> GainFit:
    """Gains and base parameters together, each motor weighted by its own noise.

    regressions : of [W_m p_m y_m], one per run or merged. Each keeps its own time blocks: merging
        gives all runs the longest blocks, and leaves few of them in a short run.
    """
    given = list(regressions)
    if not given:
        raise EstimationError("there is no regression to estimate drive gains from")
    check_alike(given)
    like = given[0]
    if len(like.extra) != 1:
        raise EstimationError(
            "drive gains need one extra column, the payload's torque; this regression has "
            f"{listed(like.extra)}"
        )
    whole = [
        triangle(np.vstack([regression.group_factors[m] for regression in given]))
        for m in range(len(like.groups))
    ]
    counts = np.sum([regression.counts.sum(axis=0) for regression in given], axis=0)
    weights = 1.0 / _noise(like.groups, counts, whole)
    beta, gamma = _start(like, whole, weights)
    fit, residual = _search(like, whole, weights, beta, gamma)
    n, n_rows = like.base.rank, int(counts.sum())
    freedom = n_rows - fit.rank
    if freedom <= 0:
        raise EstimationError(
            f"{n_rows} torque values are too few for {fit.rank} parameters and noise: record more"
        )
    covariance = residual / freedom * fit.inverse[n:] @ fit.inverse[n:].T
    cluster, why = _cluster(given, weights, beta, gamma, fit)
    kind, n_blocks = "classical", sum(len(regression.keys) for regression in given)
    if cluster is not None:
        covariance, freedom, kind = cluster, n_blocks - 1, "cluster"
    errors = []
    for m, R in enumerate(whole):
        columns = list(like.groups[m].columns)
        left = R[:, -1] - gamma[m] * (R[:, :-2] @ beta[columns] + R[:, -2])
        errors.append(np.linalg.norm(left) / np.linalg.norm(R[:, -1]))
    return GainFit(
        gamma,
        fit.determined[n:],
        covariance,
        freedom,
        kind,
        why,
        np.array(errors),
        n_rows,
        n_blocks,
    )


def _noise(groups: tuple[RowGroup, ...], counts: IntArray, whole: list[Array]) -> Array:
    """sigma (n_motors,) of each motor's recorded torque, from its own least squares."""
    sigma = np.ones(len(whole))
    for m, (group, R) in enumerate(zip(groups, whole, strict=True)):
        n_rows = int(counts[m])
        size = float(np.linalg.norm(R[:, -1]))
        if n_rows == 0 or not size > 1e-150:
            raise EstimationError(
                f"the torque of '{group.name}' is missing or zero in all rows, so that its "
                "gain cannot be estimated; check the log"
            )
        own = triangular_fit(R)
        if n_rows <= own.rank:
            raise EstimationError(
                f"'{group.name}' has {n_rows} torque values for {own.rank} parameters: "
                "record more samples"
            )
        least = 1e-12 * size / np.sqrt(n_rows)
        sigma[m] = max(np.sqrt(own.residual_square / (n_rows - own.rank)), least)
    return sigma


def _start(like: Regression, whole: list[Array], weights: Array) -> tuple[Array, Array]:
    """beta and 1/g of min |W beta + p - g y|, which is linear."""
    n, n_motors = like.base.rank, len(whole)
    rows = []
    for m, R in enumerate(whole):
        # in units of the recorded torque, which may be a current
        block = np.zeros((len(R), n + n_motors + 1))
        block[:, list(like.groups[m].columns)] = R[:, :-2]
        block[:, n + m] = -R[:, -1]
        block[:, -1] = -R[:, -2]
        rows.append(weights[m] * block)
    fit = triangular_fit(triangle(np.vstack(rows)))
    gain = fit.beta[n:]
    told = fit.determined[n:] & (gain > 0.0)
    typical = float(np.median(gain[told])) if told.any() else 1.0
    return fit.beta[:n].copy(), 1.0 / np.where(told, gain, typical)


def _linearised(
    like: Regression, factors: Sequence[Array], weights: Array, beta: Array, gamma: Array
) -> Array:
    """Rows [J_beta J_gamma e] of the weighted residuals e = y - gamma (W beta + p).

    like : a regression with the columns of each motor. factors : of [W_m p_m y_m], per motor.
    """
    n = like.base.rank
    rows = []
    for m, R in enumerate(factors):
        columns = list(like.groups[m].columns)
        model = R[:, :-2] @ beta[columns] + R[:, -2]
        block = np.zeros((len(R), n + len(factors) + 1))
        block[:, columns] = gamma[m] * R[:, :-2]
        block[:, n + m] = model
        block[:, -1] = R[:, -1] - gamma[m] * model
        rows.append(weights[m] * block)
    return np.vstack(rows)


def _search(
    like: Regression, whole: list[Array], weights: Array, beta: Array, gamma: Array
) -> tuple[Fit, float]:
    """Gauss-Newton with step halving; changes beta and gamma in place.

    Returns the last linear fit and the sum of squares of the weighted residuals.
    """
    n = like.base.rank
    last_size = np.inf
    for _ in range(MAX_ITERATIONS):
        rows = _linearised(like, whole, weights, beta, gamma)
        cost = float(rows[:, -1] @ rows[:, -1])
        fit = triangular_fit(triangle(rows))
        step, length = fit.beta, 1.0
        size = float(np.max(np.abs(step[n:]) / np.abs(gamma)))
        small = size <= CONVERGED
        # near the optimum the sum of squares is constant up to rounding before the gains have
        # converged: there, steps are accepted as long as they shrink
        limit = (1.0 + ROUNDING) * cost if size < 0.5 * last_size else cost
        last_size = size
        while not small:
            trial_beta, trial_gamma = beta + length * step[:n], gamma + length * step[n:]
            trial = _linearised(like, whole, weights, trial_beta, trial_gamma)[:, -1]
            if float(trial @ trial) < limit and (trial_gamma * gamma > 0.0).all():
                beta[:], gamma[:] = trial_beta, trial_gamma
                break
            length *= 0.5
            small = length < 1e-8  # no step improves the fit beyond rounding
        if small:
            return fit, cost
    raise EstimationError(
        f"the drive gains did not converge in {MAX_ITERATIONS} steps: the payload is too light "
        "for this motion, or the runs are not of the same robot"
    )


def _cluster(
    given: Sequence[Regression], weights: Array, beta: Array, gamma: Array, fit: Fit
) -> tuple[Array | None, str]:
    """CR3 covariance (n_motors, n_motors) of 1/g, or None and the reason."""
    blocks = [(regression, k) for regression in given for k in range(len(regression.keys))]
    n, n_blocks = given[0].base.rank, len(blocks)
    if n_blocks < MIN_BLOCKS:
        return None, f"{n_blocks} time blocks are fewer than {MIN_BLOCKS}; record for longer"
    steps = []
    for regression, block in blocks:
        factors = [of_motor[block] for of_motor in regression.factors]
        rows = _linearised(regression, factors, weights, beta, gamma)
        J = rows[:, :-1] @ fit.inverse
        left = np.eye(fit.rank) - J.T @ J
        if np.linalg.eigvalsh(left)[0] < 1e-10:
            run, k = regression.keys[block]
            return None, (
                f"without time block {k} of run '{run}' some parameters are not determined; "
                "repeat the motion or record for longer"
            )
        steps.append(fit.inverse[n:] @ np.linalg.solve(left, J.T @ rows[:, -1]))
    d = np.array(steps)
    return (n_blocks - 1) / n_blocks * d.T @ d, ""
