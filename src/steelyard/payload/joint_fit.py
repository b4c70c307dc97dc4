"""Least squares of a payload from compressed joint torques, with the arm free or known.

    tau = W beta + P pi + D delta + noise

beta : base parameters of the arm, free (runs without the payload determine them) or those of an
earlier result, whose covariance then widens that of pi. pi : ten parameters of the payload.
delta : changes of friction terms while it is carried, those that are asked for. Rows of each joint
are divided by its own noise, and the covariance is that over the time blocks (CR3), as in
:mod:`steelyard.estimators.cluster`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.cluster import covariance_of_runs
from steelyard.estimators.least_squares import RANK_TOLERANCE, Fit, own_noise, triangular_fit
from steelyard.payload.one_body import body_scale
from steelyard.regression.regression import Regression, check_alike, triangle

Array = NDArray[np.float64]

N_PAYLOAD = 10
OPEN = 100.0
"""Directions whose standard deviation exceeds this many typical bodies are not determined."""
LEAST_MASS = 0.02
"""Mass (kg) of the smallest body that typical sizes are taken from."""


@dataclass(frozen=True, eq=False)
class KnownArm:
    """The arm's base parameters from an earlier result.

    beta : (n_base,). covariance : (n_base, n_base) of them.
    """

    beta: Array
    covariance: Array


@dataclass(frozen=True, eq=False)
class JointFit:
    """The payload without the condition that it is physical, and what that one is found from.

    R : (11, 10) and z : (11,) of the payload alone in units of the noise, arm and friction
        eliminated, without the directions that are not determined.
    undetermined : (10, k) those directions, in units of the parameters; k may be 0.
    pi : (10,) least squares. covariance : (10, 10) of it, in the directions that are determined.
    kind : "cluster" (CR3 over the time blocks) or "classical", with the reason in ``why``.
    inflation : median ratio of the variances to those for independent residuals.
    delta : (n_changes,) changes of friction, with their covariance.
    by_joint : (n_joints, 10) the part of pi that comes from each joint's torque. They add up to
        pi, which is linear in the torques: the gain of a joint scales its part.
    by_joint_sigma : (n_joints, 10) standard deviation of these parts.
    rms : (n_joints,) of the residuals, N m or N. relative_error : norm of all residuals over that
        of the payload's torques with them, both in units of the noise. unexplained : norm of all
        residuals over that of all torques.
    """

    R: Array
    z: Array
    undetermined: Array
    pi: Array
    covariance: Array
    degrees_of_freedom: int
    kind: str
    why: str
    inflation: float
    delta: Array
    delta_covariance: Array
    by_joint: Array
    by_joint_sigma: Array
    rms: Array
    relative_error: float
    unexplained: float
    n_rows: int
    n_blocks: int


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where the columns of a group's factor go: [beta c delta], beta only if it is free.

    columns : base parameters of each group. changes : for each group, (column of its factor, place
        in delta) of the changes asked for. basis : (10, n_body) of the payload's directions,
        pi = basis c.
    """

    n_beta: int
    n_delta: int
    columns: tuple[tuple[int, ...], ...]
    changes: tuple[tuple[tuple[int, int], ...], ...]
    arm: KnownArm | None
    basis: Array

    @property
    def body(self) -> slice:
        """Columns of c."""
        return slice(self.n_beta, self.n_beta + self.basis.shape[1])

    @property
    def rest(self) -> slice:
        """Columns of delta."""
        return slice(self.body.stop, self.width)

    @property
    def width(self) -> int:
        return self.n_beta + int(self.basis.shape[1]) + self.n_delta

    def rows(self, factors: Sequence[Array], weights: Array) -> Array:
        """[W P D tau] (n_rows, width + 1) of all groups, weighted; a known arm is subtracted."""
        return np.vstack(
            [self.group_rows(g, factor, weights[g]) for g, factor in enumerate(factors)]
        )

    def group_rows(self, g: int, factor: Array, weight: float) -> Array:
        """The rows of one group."""
        columns = list(self.columns[g])
        n = len(columns)
        block = np.zeros((len(factor), self.width + 1))
        block[:, -1] = factor[:, -1]
        if self.arm is None:
            block[:, columns] = factor[:, :n]
        else:
            block[:, -1] -= factor[:, :n] @ self.arm.beta[columns]
        block[:, self.body] = factor[:, n : n + N_PAYLOAD] @ self.basis
        for column, place in self.changes[g]:
            block[:, self.rest.start + place] = factor[:, n + N_PAYLOAD + column]
        return np.asarray(weight * block)


def fit_payload(
    regressions: Sequence[Regression],
    of_row: Sequence[Sequence[int]],
    changing: Sequence[int],
    arm: KnownArm | None = None,
) -> JointFit:
    """Least squares from the factors of [W P D tau] of every run.

    of_row : for each joint, the friction terms behind the columns of D. changing : the terms whose
        change is estimated, in the order of delta. arm : None where beta is free.
    """
    given = list(regressions)
    if not given:
        raise EstimationError("there is no run to weigh the payload from")
    check_alike(given)
    layout = _layout(given[0], of_row, changing, arm)
    whole = [
        triangle(np.vstack([regression.group_factors[g] for regression in given]))
        for g in range(len(given[0].groups))
    ]
    counts = np.sum([regression.counts.sum(axis=0) for regression in given], axis=0)
    weights = 1.0 / _noise(given[0], whole, counts, layout)
    rows = layout.rows(whole, weights)
    fit, variance = _least_squares(rows, counts)
    factor = _eliminated(rows, layout.body) / np.sqrt(variance)
    R, z, basis, undetermined = _determined(factor)
    if basis.shape[1] < N_PAYLOAD:
        layout = replace(layout, basis=basis)
        fit, variance = _least_squares(layout.rows(whole, weights), counts)
    T = np.eye(layout.width)
    T = np.vstack([T[: layout.n_beta], basis @ T[layout.body], T[layout.rest]])
    body = slice(layout.n_beta, layout.n_beta + N_PAYLOAD)
    rest = slice(body.stop, len(T))
    n_rows = int(counts.sum())
    classical = variance * (T @ fit.inverse) @ (T @ fit.inverse).T
    covariance, kind, degrees, inflation = classical, "classical", n_rows - fit.rank, 1.0
    cluster, why = _cluster(given, layout, weights, fit)
    n_blocks = sum(len(regression.keys) for regression in given)
    if cluster is not None:
        covariance, kind, degrees = T @ cluster @ T.T, "cluster", n_blocks - 1
        before, after = np.diag(classical)[body], np.diag(covariance)[body]
        inflation = max(1.0, float(np.median(after[before > 0.0] / before[before > 0.0])))
    if arm is not None:
        covariance = covariance + T @ _arm_part(whole, layout, weights, fit, arm) @ T.T
    parts, part_sigma = _parts(given, whole, layout, weights, fit)
    x = T @ fit.beta
    left = [_left(layout, g, factor, fit.beta) for g, factor in enumerate(whole)]
    load = float(np.linalg.norm(factor[:, -1]))
    return JointFit(
        R=R,
        z=z,
        undetermined=undetermined,
        pi=x[body],
        covariance=covariance[body, body],
        degrees_of_freedom=degrees,
        kind=kind,
        why=why,
        inflation=inflation,
        delta=x[rest],
        delta_covariance=covariance[rest, rest],
        by_joint=parts @ T[body].T,
        by_joint_sigma=np.sqrt(np.einsum("ij,gjk,ik->gi", T[body], part_sigma, T[body])),
        rms=np.array([np.linalg.norm(e) for e in left]) / np.sqrt(np.maximum(counts, 1)),
        relative_error=float(np.sqrt(fit.residual_square / variance)) / load if load else np.nan,
        unexplained=float(
            np.linalg.norm(np.concatenate(left))
            / np.linalg.norm(np.concatenate([factor[:, -1] for factor in whole]))
        ),
        n_rows=n_rows,
        n_blocks=n_blocks,
    )


def _layout(
    like: Regression,
    of_row: Sequence[Sequence[int]],
    changing: Sequence[int],
    arm: KnownArm | None,
) -> _Layout:
    place = {term: k for k, term in enumerate(changing)}
    return _Layout(
        like.base.rank if arm is None else 0,
        len(changing),
        tuple(group.columns for group in like.groups),
        tuple(
            tuple((column, place[term]) for column, term in enumerate(row) if term in place)
            for row in of_row
        ),
        arm,
        np.eye(N_PAYLOAD),
    )


def _least_squares(rows: Array, counts: NDArray[np.int64]) -> tuple[Fit, float]:
    """The solution, and the variance of the weighted residuals."""
    fit = triangular_fit(triangle(rows))
    n_rows = int(counts.sum())
    freedom = n_rows - fit.rank
    if freedom <= 0:
        raise EstimationError(
            f"{n_rows} torque values are too few for {fit.rank} parameters and noise: record more"
        )
    # noise-free data would give infinite weights
    least = 1e-18 * float(rows[:, -1] @ rows[:, -1]) / n_rows
    return fit, max(fit.residual_square / freedom, least, np.finfo(float).tiny)


def _determined(factor: Array) -> tuple[Array, Array, Array, Array]:
    """R (11, 10) without what is not determined, z (11,); the directions (10, rank) that are
    determined, and those that are not (10, k).

    factor : (11, 11) of [P tau] in units of the noise.
    """
    R, z = factor[:, :-1], factor[:, -1]
    unit = body_scale(1.0)
    mass = float((np.linalg.lstsq(R * unit, z, rcond=RANK_TOLERANCE)[0] * unit)[0])
    scale = body_scale(max(abs(mass), LEAST_MASS))
    U, s, Vt = np.linalg.svd(R * scale)
    known = (s > 1.0 / OPEN) & (s > RANK_TOLERANCE * s[0])
    if not known.any():
        raise EstimationError(
            "the torques do not determine anything of the payload: the joints that carry it do not "
            "move, or move in the same way without it; record a motion of these joints"
        )
    if known.all():
        return R, z, np.eye(N_PAYLOAD), np.zeros((N_PAYLOAD, 0))
    cut = (U[:, :N_PAYLOAD][:, known] * s[known]) @ Vt[known] / scale
    return cut, z, (Vt[known] * scale).T, (Vt[~known] * scale).T


def _noise(
    like: Regression, whole: Sequence[Array], counts: NDArray[np.int64], layout: _Layout
) -> Array:
    """sigma (n_groups,) of each joint's torque, from its own least squares."""
    return np.array(
        [
            own_noise(
                like.groups[g].name, triangle(layout.group_rows(g, factor, 1.0)), int(counts[g])
            )
            for g, factor in enumerate(whole)
        ]
    )


def _left(layout: _Layout, g: int, factor: Array, x: Array) -> Array:
    """Residuals of one joint, unweighted, in as many rows as its factor has."""
    rows = layout.group_rows(g, factor, 1.0)
    return np.asarray(rows[:, -1] - rows[:, :-1] @ x)


def _eliminated(rows: Array, body: slice) -> Array:
    """Triangular factor (11, 11) of [P tau] without what the other columns can explain.

    By an orthonormal basis of those columns and not by a QR of all: where some of them depend on
    others, a QR leaves information about P in rows that do not look like it.
    """
    others = np.delete(rows[:, :-1], np.arange(body.start, body.stop), axis=1)
    kept = np.column_stack([rows[:, body], rows[:, -1]])
    size = np.linalg.norm(others, axis=0)
    others = others[:, size > 0.0] / size[size > 0.0]
    if others.shape[1]:
        U, s, _ = np.linalg.svd(others, full_matrices=False)
        basis = U[:, s > RANK_TOLERANCE * s[0]]
        for _ in range(2):  # the second time removes what rounding left
            kept = kept - basis @ (basis.T @ kept)
    return triangle(kept)


def _cluster(
    given: Sequence[Regression], layout: _Layout, weights: Array, fit: Fit
) -> tuple[Array | None, str]:
    """CR3 covariance (width, width), or None and the reason."""

    def rows(regression: Regression, block: int) -> Array:
        return layout.rows([of_group[block] for of_group in regression.factors], weights)

    return covariance_of_runs(given, rows, fit.beta, fit.inverse)


def _arm_part(
    whole: Sequence[Array], layout: _Layout, weights: Array, fit: Fit, arm: KnownArm
) -> Array:
    """What the arm's covariance adds: x moves by -G error of beta, G = inverse inverseᵀ Jᵀ W."""
    onto = np.zeros((layout.width, len(arm.beta)))
    for g, factor in enumerate(whole):
        columns = list(layout.columns[g])
        J = layout.group_rows(g, factor, weights[g])[:, :-1]
        onto[:, columns] += J.T @ (weights[g] * factor[:, : len(columns)])
    G = fit.inverse @ (fit.inverse.T @ onto)
    return np.asarray(G @ arm.covariance @ G.T)


def _parts(
    given: Sequence[Regression], whole: Sequence[Array], layout: _Layout, weights: Array, fit: Fit
) -> tuple[Array, Array]:
    """The part (n_groups, width) of the solution that comes from each joint's right-hand side, and
    its covariance (n_groups, width, width) over the time blocks.
    """
    pseudo = fit.inverse @ fit.inverse.T
    parts, spreads = [], []
    for g, factor in enumerate(whole):
        rows = layout.group_rows(g, factor, weights[g])
        parts.append(pseudo @ (rows[:, :-1].T @ rows[:, -1]))
        total = np.zeros((layout.width, layout.width))
        for regression in given:
            for block in regression.factors[g]:
                rows = layout.group_rows(g, block, weights[g])
                score = rows[:, :-1].T @ (rows[:, -1] - rows[:, :-1] @ fit.beta)
                total += np.outer(score, score)
        spreads.append(pseudo @ total @ pseudo)
    return np.array(parts), np.array(spreads)


def no_change_probability(fit: JointFit, places: Sequence[int]) -> float:
    """p value of the hypothesis that these changes of friction (by place in delta) are zero.

    Wald's statistic over its number of changes, by F with the degrees of freedom of the covariance.
    """
    from scipy.stats import f

    chosen = list(places)
    delta, C = fit.delta[chosen], fit.delta_covariance[np.ix_(chosen, chosen)]
    size = np.sqrt(np.diag(C))
    known = size > 0.0
    if not known.any():
        return 1.0
    scaled = C[np.ix_(known, known)] / np.outer(size[known], size[known])
    statistic = (
        (delta[known] / size[known])
        @ np.linalg.pinv(scaled, hermitian=True)
        @ (delta[known] / size[known])
    )
    count = int(known.sum())
    return float(f.sf(statistic / count, count, fit.degrees_of_freedom))
