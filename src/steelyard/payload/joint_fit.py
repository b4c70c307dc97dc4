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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.cluster import MIN_BLOCKS
from steelyard.estimators.least_squares import RANK_TOLERANCE, Fit, triangular_fit
from steelyard.regression.regression import Regression, check_alike, triangle

Array = NDArray[np.float64]

N_PAYLOAD = 10


@dataclass(frozen=True, eq=False)
class KnownArm:
    """The arm's base parameters from an earlier result.

    beta : (n_base,). covariance : (n_base, n_base) of them.
    """

    beta: Array
    covariance: Array


@dataclass(frozen=True, eq=False)
class JointFit:
    """The unconstrained payload, and what is needed to find the physical one.

    pi : (10,), of smallest norm where the torques do not determine it.
    factor : (11, 11) triangular factor of [P tau] with arm and friction eliminated, in units of
        the noise: |tau - ...|² = |factor[:, -1] - factor[:, :-1] pi|² at the best of the rest.
    covariance : (10, 10) of pi, in the directions that are determined; kind : "cluster" (CR3) or
        "classical" where there are too few blocks, with the reason in ``why``.
    delta : (n_changes,) changes of friction, with their covariance.
    by_joint : (n_joints, 10): the part of pi that comes from each joint's torque. They add up to
        pi, which is linear in the torques: a gain of one joint scales its part.
    rms : (n_joints,) of the residuals, N m or N. load_rms : of the torque that the arm does not
        explain. relative_error : the ratio of both over all joints, in units of the noise.
    """

    pi: Array
    factor: Array
    covariance: Array
    degrees_of_freedom: int
    kind: str
    why: str
    delta: Array
    delta_covariance: Array
    by_joint: Array
    rms: Array
    relative_error: float
    n_rows: int
    n_blocks: int


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where the columns of a group's factor go: [beta pi delta], beta only if it is free.

    changes : for each group, (column of its factor, place in delta) of the changes asked for.
    """

    n_beta: int
    n_delta: int
    columns: tuple[tuple[int, ...], ...]
    changes: tuple[tuple[tuple[int, int], ...], ...]
    arm: KnownArm | None

    @property
    def width(self) -> int:
        return self.n_beta + N_PAYLOAD + self.n_delta

    def rows(self, factors: Sequence[Array], weights: Array) -> Array:
        """[W P D tau] (n_rows, width + 1) of all groups, weighted; a known arm is subtracted."""
        return np.vstack(
            [self.group_rows(g, factor, weights[g]) for g, factor in enumerate(factors)]
        )

    def group_rows(self, g: int, factor: Array, weight: float) -> Array:
        columns = list(self.columns[g])
        n = len(columns)
        block = np.zeros((len(factor), self.width + 1))
        block[:, -1] = factor[:, -1]
        if self.arm is None:
            block[:, columns] = factor[:, :n]
        else:
            block[:, -1] -= factor[:, :n] @ self.arm.beta[columns]
        block[:, self.n_beta : self.n_beta + N_PAYLOAD] = factor[:, n : n + N_PAYLOAD]
        for column, place in self.changes[g]:
            block[:, self.n_beta + N_PAYLOAD + place] = factor[:, n + N_PAYLOAD + column]
        return weight * block


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
    like = given[0]
    place = {term: k for k, term in enumerate(changing)}
    layout = _Layout(
        like.base.rank if arm is None else 0,
        len(changing),
        tuple(group.columns for group in like.groups),
        tuple(
            tuple((column, place[term]) for column, term in enumerate(row) if term in place)
            for row in of_row
        ),
        arm,
    )
    whole = [
        triangle(np.vstack([regression.group_factors[g] for regression in given]))
        for g in range(len(like.groups))
    ]
    counts = np.sum([regression.counts.sum(axis=0) for regression in given], axis=0)
    weights = 1.0 / _noise(like, whole, counts, layout)
    rows = layout.rows(whole, weights)
    fit = triangular_fit(triangle(rows))
    n_rows = int(counts.sum())
    freedom = n_rows - fit.rank
    if freedom <= 0:
        raise EstimationError(
            f"{n_rows} torque values are too few for {fit.rank} parameters and noise: record more"
        )
    variance = fit.residual_square / freedom
    covariance = variance * fit.inverse @ fit.inverse.T
    cluster, why = _cluster(given, layout, weights, fit)
    n_blocks = sum(len(regression.keys) for regression in given)
    kind, degrees = "classical", freedom
    if cluster is not None:
        covariance, kind, degrees = cluster, "cluster", n_blocks - 1
    if arm is not None:
        covariance = covariance + _arm_part(whole, layout, weights, fit, arm)
    body = slice(layout.n_beta, layout.n_beta + N_PAYLOAD)
    rest = slice(body.stop, layout.width)
    rms = np.array(
        [
            np.linalg.norm(_left(layout, g, factor, fit.beta)) / np.sqrt(max(counts[g], 1))
            for g, factor in enumerate(whole)
        ]
    )
    factor = _eliminated(rows, body)
    scale = 1.0 / np.sqrt(variance) if variance > 0.0 else 1.0
    load = float(np.linalg.norm(factor[:, -1]))
    left = float(np.sqrt(fit.residual_square))
    return JointFit(
        pi=fit.beta[body],
        factor=scale * factor,
        covariance=covariance[body, body],
        degrees_of_freedom=degrees,
        kind=kind,
        why=why,
        delta=fit.beta[rest],
        delta_covariance=covariance[rest, rest],
        by_joint=_parts(whole, layout, weights, fit)[:, body],
        rms=rms,
        relative_error=left / load if load > 0.0 else float("nan"),
        n_rows=n_rows,
        n_blocks=n_blocks,
    )


def _noise(
    like: Regression, whole: Sequence[Array], counts: NDArray[np.int64], layout: _Layout
) -> Array:
    """sigma (n_groups,) of each joint's torque, from its own least squares."""
    sigma = np.ones(len(whole))
    for g, factor in enumerate(whole):
        n_rows = int(counts[g])
        size = float(np.linalg.norm(factor[:, -1]))
        if n_rows == 0 or not size > 1e-150:
            raise EstimationError(
                f"the torque of '{like.groups[g].name}' is missing or zero in all rows; check the "
                "log, or leave its column out and lock the joint"
            )
        own = triangular_fit(triangle(layout.group_rows(g, factor, 1.0)))
        if n_rows <= own.rank:
            raise EstimationError(
                f"'{like.groups[g].name}' has {n_rows} torque values for {own.rank} parameters: "
                "record more samples"
            )
        # noise-free data would get infinite weights
        least = 1e-12 * size / np.sqrt(n_rows)
        sigma[g] = max(np.sqrt(own.residual_square / (n_rows - own.rank)), least)
    return sigma


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
    blocks = [(regression, k) for regression in given for k in range(len(regression.keys))]
    n_blocks = len(blocks)
    if n_blocks < MIN_BLOCKS:
        return None, f"{n_blocks} time blocks are fewer than {MIN_BLOCKS}; record for longer"
    steps = []
    for regression, block in blocks:
        rows = layout.rows([of_group[block] for of_group in regression.factors], weights)
        J = rows[:, :-1] @ fit.inverse
        without = np.eye(fit.rank) - J.T @ J
        if np.linalg.eigvalsh(without)[0] < 1e-10:
            run, k = regression.keys[block]
            return None, (
                f"without the time block from {k * regression.block_s:g} s of run '{run}' some "
                "parameters are not determined; repeat the motion or record for longer"
            )
        residual = rows[:, -1] - rows[:, :-1] @ fit.beta
        steps.append(fit.inverse @ np.linalg.solve(without, J.T @ residual))
    d = np.array(steps)
    return (n_blocks - 1) / n_blocks * d.T @ d, ""


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


def _parts(whole: Sequence[Array], layout: _Layout, weights: Array, fit: Fit) -> Array:
    """The part (n_groups, width) of the solution that comes from each joint's right-hand side."""
    parts = []
    for g, factor in enumerate(whole):
        rows = layout.group_rows(g, factor, weights[g])
        parts.append(fit.inverse @ (fit.inverse.T @ (rows[:, :-1].T @ rows[:, -1])))
    return np.array(parts)


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
