"""Drive gains from compressed runs without and with a payload of known mass.

With recorded torques y_m of motor m, its gain g_m (the torque is g_m y_m), base parameters beta
and the payload's columns P_m (zero in the runs without it),

    y_m = (W_m beta + P_m pi) / g_m + noise.

pi are the payload's ten inertial parameters. What is not known of them is estimated with the
gains, under the condition that the body is physical: the known mass fixes the scale of everything.

The noise is that of y_m alone. The form g_m y_m = W_m beta + P_m pi of Gautier and Briot (ICRA
2012; eq 5 of Gautier and Venture 2013) is linear, but has noisy columns, which bias its
least-squares solution towards zero. That solution is only the starting point of Gauss-Newton on
(beta, 1/g, pi). Everything is computed from triangular factors of [W_m P_m y_m]: regressions whose
rows are motors, with the payload's columns as their extra ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError, listed
from steelyard.estimators.cluster import covariance_of_runs
from steelyard.estimators.least_squares import Fit, own_noise, triangular_fit
from steelyard.identification._gain_payload import PayloadForm
from steelyard.identification._physical_steps import physical_step
from steelyard.knowledge.payload import Payload
from steelyard.payload.joint_columns import PAYLOAD_COLUMNS
from steelyard.regression.regression import Regression, RowGroup, check_alike, triangle
from steelyard.robot.inertia import is_physical

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

MAX_ITERATIONS = 100
CONVERGED = 1e-10
"""The iteration ends when the relative step of all 1/g is smaller than this."""
CONVERGED_PHYSICAL = 1e-7
"""The same where a conic solver makes the steps, to its accuracy."""
ROUNDING = 1e-12
"""Relative differences of sums of squares below this may be rounding alone."""
CLEARLY = 10.0
"""Standard deviations, of white noise, from which the sign of a gain is certain."""
N_PAYLOAD = len(PAYLOAD_COLUMNS)


@dataclass(frozen=True, eq=False)
class GainFit:
    """1/g of each motor, and what was estimated with it.

    inverse_gain : (n_motors,). determined : whether the data determine it at all.
    covariance : (n_motors, n_motors) of them; kind : "cluster" (CR3 over the time blocks) or
        "classical" where there are too few blocks, with the reason in ``why``.
    unknown : (size,) what was not known of the payload, see `PayloadForm`; its covariance, and
        whether the data determine each. at_boundary : whether the condition that the payload is
        physical decides it.
    relative_error : of each motor's recorded torque, |residual| / |y|.
    """

    inverse_gain: Array
    determined: NDArray[np.bool_]
    covariance: Array
    degrees_of_freedom: int
    kind: str
    why: str
    unknown: Array
    unknown_covariance: Array
    unknown_determined: NDArray[np.bool_]
    at_boundary: bool
    relative_error: Array
    n_rows: int
    n_blocks: int


@dataclass(frozen=True, eq=False)
class _Point:
    """Values of all unknowns: beta (n_base,), gamma = 1/g (n_motors,), u (size,)."""

    beta: Array
    gamma: Array
    u: Array

    def moved(self, step: Array) -> _Point:
        n, k = len(self.beta), len(self.beta) + len(self.gamma)
        return _Point(self.beta + step[:n], self.gamma + step[n:k], self.u + step[k:])


def fit_gains(regressions: Iterable[Regression], payload: Payload) -> GainFit:
    """Gains, base parameters and what is unknown of the payload, each motor weighted by its noise.

    regressions : of [W_m P_m y_m], one per run or merged. Each keeps its own time blocks: merging
        gives all runs the longest blocks, and leaves few of them in a short run.
    """
    given = list(regressions)
    if not given:
        raise EstimationError("there is no regression to estimate drive gains from")
    check_alike(given)
    like = given[0]
    if like.extra != PAYLOAD_COLUMNS:
        raise EstimationError(
            f"drive gains need the extra columns {listed(PAYLOAD_COLUMNS)}; this regression has "
            f"{listed(like.extra)}"
        )
    form = PayloadForm(payload)
    whole = [
        triangle(np.vstack([regression.group_factors[m] for regression in given]))
        for m in range(len(like.groups))
    ]
    counts = np.sum([regression.counts.sum(axis=0) for regression in given], axis=0)
    weights = 1.0 / _noise(like.groups, counts, whole)
    rows = _Rows(like, weights, form)
    point = _start(rows, whole, int(counts.sum()))
    point, at_boundary = _search(rows, whole, point)
    n, n_motors, n_rows = like.base.rank, len(whole), int(counts.sum())
    linear = rows.linearised(whole, point)
    fit = triangular_fit(triangle(linear))
    residual = float(linear[:, -1] @ linear[:, -1])
    freedom = n_rows - fit.rank
    if freedom <= 0:
        raise EstimationError(
            f"{n_rows} torque values are too few for {fit.rank} parameters and noise: record more"
        )
    covariance = residual / freedom * fit.inverse[n:] @ fit.inverse[n:].T
    cluster, why = _cluster(given, rows, point, fit)
    kind, n_blocks = "classical", sum(len(regression.keys) for regression in given)
    if cluster is not None:
        covariance, freedom, kind = cluster, n_blocks - 1, "cluster"
    pi = form.pi(point.u)
    errors = []
    for m, R in enumerate(whole):
        left = R[:, -1] - point.gamma[m] * rows.torque(m, R, point.beta, pi)
        errors.append(np.linalg.norm(left) / np.linalg.norm(R[:, -1]))
    return GainFit(
        point.gamma,
        fit.determined[n : n + n_motors],
        covariance[:n_motors, :n_motors],
        freedom,
        kind,
        why,
        point.u,
        covariance[n_motors:, n_motors:],
        fit.determined[n + n_motors :],
        at_boundary,
        np.array(errors),
        n_rows,
        n_blocks,
    )


def _noise(groups: tuple[RowGroup, ...], counts: IntArray, whole: list[Array]) -> Array:
    """sigma (n_motors,) of each motor's recorded torque, from its own least squares."""
    return np.array(
        [
            own_noise(group.name, R, int(counts[m]))
            for m, (group, R) in enumerate(zip(groups, whole, strict=True))
        ]
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of the weighted, linearised problem.

    like : a regression with the columns of each motor. weights : (n_motors,).
    """

    like: Regression
    weights: Array
    form: PayloadForm

    def torque(self, m: int, R: Array, beta: Array, pi: Array) -> Array:
        """W_m beta + P_m pi of a factor of [W_m P_m y_m]."""
        columns = list(self.like.groups[m].columns)
        n = len(columns)
        return np.asarray(R[:, :n] @ beta[columns] + R[:, n : n + N_PAYLOAD] @ pi)

    def linearised(self, factors: Sequence[Array], at: _Point) -> Array:
        """Rows [J_beta J_gamma J_u e] of the weighted residuals e = y - gamma (W beta + P pi)."""
        n, n_motors = self.like.base.rank, len(factors)
        pi, slope = self.form.pi(at.u), self.form.slope(at.u)
        rows = []
        for m, R in enumerate(factors):
            columns = list(self.like.groups[m].columns)
            torque = self.torque(m, R, at.beta, pi)
            block = np.zeros((len(R), n + n_motors + self.form.size + 1))
            block[:, columns] = at.gamma[m] * R[:, : len(columns)]
            block[:, n + m] = torque
            payload = R[:, len(columns) : len(columns) + N_PAYLOAD]
            block[:, n + n_motors : -1] = at.gamma[m] * payload @ slope
            block[:, -1] = R[:, -1] - at.gamma[m] * torque
            rows.append(self.weights[m] * block)
        return np.vstack(rows)

    def cost(self, factors: Sequence[Array], at: _Point) -> float:
        """Sum of squares of the weighted residuals."""
        pi = self.form.pi(at.u)
        total = 0.0
        for m, R in enumerate(factors):
            left = R[:, -1] - at.gamma[m] * self.torque(m, R, at.beta, pi)
            total += float(self.weights[m] ** 2 * (left @ left))
        return total


def _start(rows: _Rows, whole: list[Array], n_rows: int) -> _Point:
    """beta, 1/g and u of min |W beta + P pi - g y|, which is linear in them where pi is in u.

    Refuses runs whose gains are all negative.
    """
    like, form = rows.like, rows.form
    n, n_motors = like.base.rank, len(whole)
    pi, slope = form.pi(form.start), form.slope(form.start)
    blocks = []
    for m, R in enumerate(whole):
        # in units of the recorded torque, which may be a current
        columns = list(like.groups[m].columns)
        payload = R[:, len(columns) : len(columns) + N_PAYLOAD]
        block = np.zeros((len(R), n + n_motors + form.size + 1))
        block[:, columns] = R[:, : len(columns)]
        block[:, n + m] = -R[:, -1]
        block[:, n + n_motors : -1] = payload @ slope
        block[:, -1] = -payload @ pi
        blocks.append(rows.weights[m] * block)
    fit = triangular_fit(triangle(np.vstack(blocks)))
    gain = fit.beta[n : n + n_motors]
    _refuse_negative(rows.like.groups, fit, n, n_rows)
    told = fit.determined[n : n + n_motors] & (gain > 0.0)
    typical = float(np.median(gain[told])) if told.any() else 1.0
    u = form.start + fit.beta[n + n_motors :]
    return _Point(fit.beta[:n].copy(), 1.0 / np.where(told, gain, typical), u)


def _refuse_negative(groups: tuple[RowGroup, ...], fit: Fit, n: int, n_rows: int) -> None:
    """Refuse runs in which all gains that are clearly not zero are negative.

    Where logs without and with the payload are exchanged, the payload seems to have the weight of
    its mass upwards, which only negative gains explain.
    """
    freedom = max(n_rows - fit.rank, 1)
    gain = fit.beta[n : n + len(groups)]
    inverse = fit.inverse[n : n + len(groups)]
    sigma = np.sqrt(fit.residual_square / freedom) * np.linalg.norm(inverse, axis=1)
    clear = fit.determined[n : n + len(groups)] & (np.abs(gain) > CLEARLY * sigma)
    if clear.any() and (gain[clear] < 0.0).all():
        names = [f"'{groups[m].name}' ({gain[m]:.2g})" for m in np.flatnonzero(clear)]
        raise EstimationError(
            "the torques change with the payload as if its mass were negative: the gains of "
            f"{listed(names)} come out negative. Are the logs without and with the payload "
            "exchanged, or do torques have the opposite sign?"
        )


def _search(rows: _Rows, whole: list[Array], point: _Point) -> tuple[_Point, bool]:
    """The optimum, and whether the condition that the payload is physical decides it."""
    may_be_unphysical = rows.form.physical(0) is not None
    free = _descend(rows, whole, point, physical=False)
    if free is not None and not (may_be_unphysical and not is_physical(rows.form.pi(free.u))):
        return free, False
    found = None
    if may_be_unphysical:
        # from a physical start, every step is physical: the set is convex, and steps are chords
        begin = point if free is None else free
        inside = _Point(begin.beta, begin.gamma, rows.form.inside)
        found = _descend(rows, whole, inside, physical=True)
    if found is None:
        raise EstimationError(
            f"the drive gains did not converge in {MAX_ITERATIONS} steps: the payload is too light "
            "for this motion, or the runs are not of the same robot"
        )
    return found, True


def _descend(rows: _Rows, whole: list[Array], point: _Point, *, physical: bool) -> _Point | None:
    """Gauss-Newton with step halving; None where it does not converge."""
    n, n_motors = rows.like.base.rank, len(whole)
    gains = slice(n, n + n_motors)
    converged = CONVERGED_PHYSICAL if physical else CONVERGED
    last_size = np.inf
    for _ in range(MAX_ITERATIONS):
        linear = rows.linearised(whole, point)
        cost = float(linear[:, -1] @ linear[:, -1])
        if physical:
            step = physical_step(triangle(linear), point.gamma, point.u, rows.form)
        else:
            step = triangular_fit(triangle(linear)).beta
        size, length = float(np.max(np.abs(step[gains]) / np.abs(point.gamma))), 1.0
        small = size <= converged
        # near the optimum the sum of squares is constant up to rounding before the gains have
        # converged: there, steps are accepted as long as they shrink
        limit = (1.0 + ROUNDING) * cost if size < 0.5 * last_size else cost
        last_size = size
        while not small:
            trial = point.moved(length * step)
            if rows.cost(whole, trial) < limit and (trial.gamma * point.gamma > 0.0).all():
                point = trial
                break
            length *= 0.5
            small = length < 1e-8  # no step improves the fit beyond rounding
        if small:
            return point
    return None


def _cluster(
    given: Sequence[Regression], rows: _Rows, point: _Point, fit: Fit
) -> tuple[Array | None, str]:
    """CR3 covariance of 1/g and u, or None and the reason."""

    def linear(regression: Regression, block: int) -> Array:
        return rows.linearised([of_motor[block] for of_motor in regression.factors], point)

    n, width = given[0].base.rank, len(fit.inverse)
    # the last column of the linearised rows is what the present point leaves
    covariance, why = covariance_of_runs(given, linear, np.zeros(width), fit.inverse)
    return (None if covariance is None else covariance[n:, n:]), why
