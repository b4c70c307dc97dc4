"""The influence of a prior on an estimate: how far bodies are from it, and what error it may add.

With precisions H_d of the data and H_p of the prior, and H their sum, the estimate's error is
H⁻¹ times the noise of the data, plus H⁻¹ H_p times the error of the prior. The prior's error is not
known. Two estimates of it are added to the covariance of the noise:

    H⁻¹ H_p H⁻¹ d s          the error that its weight stands for: d the dependence of residuals, s
                             the strain, at least 1: how much further the data move the body, or all
                             bodies together, from the prior than the weight predicts;
    Σ_k b_k b_kᵀ             with b_k = H⁻¹ H_p (u_k - u0_k), the error of body k (and likewise of
                             each term) in the direction in which the data moved it.

Both are small where the prior is right. They cover the pull to a link that is wrong in the file
while the others are right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.constrained import System
from steelyard.estimators.entropic import Metric, PriorProblem
from steelyard.estimators.quantiles import chi2_quantile

Array = NDArray[np.float64]

ALLOWED = 2.0
"""How far bodies may lie from the prior: squared, over the 95 % limit of what gamma predicts."""
FEWEST_DIRECTIONS = 1.0
"""A body of which the data determine less than this is judged as if they determined as much."""


@dataclass(frozen=True, eq=False)
class Influence:
    """The prior's influence at one estimate.

    covariance : (n_base, n_base) that the prior's error adds to that of the data.
    data_share : (n_base,) share of each base parameter's variance that comes from the data.
    strain : (n_bodies,) divergence of each body of the problem from its prior, as a multiple of
        what gamma predicts; NaN without a prior. limit : (n_bodies,) the largest multiple that
        chance explains (95 %). pooled : the same multiple for all bodies together; of_terms : for
        the terms, whose prior is zero.
    directions : number of directions of the bodies that the data determine, at least 1.
    """

    covariance: Array
    data_share: Array
    strain: Array
    limit: Array
    pooled: float
    of_terms: float
    directions: float


def influence(
    problem: PriorProblem,
    system: System,
    K: Array,
    theta: Array,
    gamma: float,
    terms: float,
    metric: Metric,
    dependent: float,
) -> Influence:
    """The influence at theta (n_columns,); dependent : ratio of cluster to classical variances."""
    F = system.factor[:-1, :-1] / system.sigma @ K @ problem.turn
    of_data = F.T @ F
    of_prior = problem.curvature(theta, gamma, metric, terms)
    H = of_data + of_prior
    to_base = K @ problem.turn
    back = np.linalg.solve(H, to_base.T)
    total = np.einsum("bk,bk->k", to_base.T, back)
    added = back.T @ of_prior @ back
    share = np.clip(1.0 - np.diag(added) / np.where(total > 0, total, 1.0), 0.0, 1.0)
    data_part = np.diag(np.linalg.solve(H, of_data))
    away = np.linalg.lstsq(problem.turn, theta - problem.origin, rcond=None)[0] - problem.start
    strain, limit, directions, distance = _strains(
        problem, theta, gamma, metric, dependent, data_part
    )
    known = problem.trust > 0.0
    n = max(float(directions[known].sum()), 1.0)
    pooled = float(distance[known].sum()) / (dependent * n) if gamma > 0.0 else 0.0
    covariance = dependent * added
    for k, body in enumerate(problem.bodies):
        if problem.trust[k] > 0.0:
            columns = list(body.columns)
            P, own = problem.body_curvature(k, theta, gamma, metric), back[columns]
            covariance = covariance + dependent * max(strain[k] - 1.0, pooled - 1.0, 0.0) * (
                own.T @ P @ own
            )
            bias = own.T @ (P @ away[columns])
            covariance = covariance + np.outer(bias, bias)
    rows, wish = problem.pulls(gamma, terms)
    u = away + problem.start
    pulled_terms = np.where(problem.of_terms, rows @ u - wish, 0.0)
    biases = back.T @ (rows * pulled_terms[:, None]).T
    covariance = covariance + biases @ biases.T
    on_terms = np.any(problem.anchor[problem.of_terms] != 0.0, axis=0)
    n_terms = max(float(data_part[on_terms].sum()), 1.0)
    of_terms = float(pulled_terms @ pulled_terms) / (dependent * n_terms)
    own = back.T @ rows[problem.of_terms].T
    covariance = covariance + dependent * max(of_terms - 1.0, 0.0) * (own @ own.T)
    return Influence(
        covariance,
        share,
        strain,
        limit,
        pooled,
        of_terms,
        n,
    )


def _strains(
    problem: PriorProblem,
    theta: Array,
    gamma: float,
    metric: Metric,
    dependent: float,
    data_part: Array,
) -> tuple[Array, Array, Array, Array]:
    """Strain, its limit, the number of directions that the data determine, and gamma times the
    divergence, of each body.

    With weight gamma, and residuals whose effective number is 1/dependent of their number, the
    expected divergence is dependent / gamma for each such direction; the sum over them is
    distributed like chi-squared.
    """
    n = len(problem.bodies)
    strain, limit = np.full(n, np.nan), np.full(n, np.nan)
    directions = np.array([float(data_part[list(b.columns)].sum()) for b in problem.bodies])
    distance = gamma * problem.trust * np.nan_to_num(problem.divergence(theta, metric))
    for k in range(n):
        if problem.trust[k] > 0.0:
            own = max(float(directions[k]), FEWEST_DIRECTIONS)
            strain[k] = distance[k] / (dependent * own)
            limit[k] = _chance(own)
    return strain, limit, directions, distance


def _chance(directions: float) -> float:
    """The 95 % limit of chi-squared over its degrees of freedom."""
    return chi2_quantile(0.95, directions) / directions
