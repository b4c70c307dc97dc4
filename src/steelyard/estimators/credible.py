"""How far standard parameters may be from the estimate, given the prior: credible ranges.

Near the estimate, the logarithm of data and prior together is about quadratic. With precisions H_d
of the data and H_k of the prior of each body, in the coordinates of
`steelyard.estimators.entropic`, this gives the covariance

    C = d T (H_d + Σ_k H_k / s_k)⁻¹ Tᵀ

of the standard parameters, with the dependence d of residuals and the strain s_k, at least 1: how
much further the data move a body, or all bodies together, from the prior than its weight predicts.
That is an assumption: the prior is as wrong in the directions that the data do not determine as in
those that they do. How wrong it is there is judged from few directions, so that ranges use the
t distribution with that many degrees of freedom. A range is cut to the feasible range, which does
not depend on the assumption.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.constrained import System
from steelyard.estimators.entropic import Metric, PriorProblem
from steelyard.estimators.estimate import Credible
from steelyard.estimators.prior_influence import Influence

Array = NDArray[np.float64]
ROUNDING = 1e-15
"""Share of the largest eigenvalue of the precision below which one is not computed reliably."""


def credible(
    problem: PriorProblem,
    system: System,
    K: Array,
    theta: Array,
    gamma: float,
    terms: float,
    metric: Metric,
    dependent: float,
    found: Influence,
    firsts: tuple[int, ...],
) -> Credible:
    """The standard deviations at the estimate theta (n_columns,).

    dependent : ratio of cluster to classical variances. found : the prior's influence there.
    firsts : first column of each body of the model.
    """
    F = system.factor[:-1, :-1] / system.sigma @ K @ problem.turn
    rows, _ = problem.pulls(gamma, terms)
    H = F.T @ F + rows.T @ rows
    for k, body in enumerate(problem.bodies):
        if problem.trust[k] > 0.0:
            strain = max(1.0, found.pooled, float(found.strain[k]))
            block = np.ix_(body.columns, body.columns)
            H[block] += problem.body_curvature(k, theta, gamma, metric) / strain
    # terms that nothing but a tiny pull determines make H nearly singular
    size = np.sqrt(np.diag(H))
    values, axes = np.linalg.eigh(H / np.outer(size, size))
    half = (problem.turn / size) @ (axes / np.sqrt(np.maximum(values, ROUNDING * values[-1])))
    covariance = dependent * half @ half.T
    sigma = np.full(len(theta), np.nan)
    com_sigma = np.full((len(firsts), 3), np.nan)
    known = {first for first, own in zip(problem.first, problem.trust, strict=True) if own > 0.0}
    for k, first in enumerate(firsts):
        if first not in known:
            continue
        own = slice(first, first + 10)
        sigma[own] = np.sqrt(np.diag(covariance)[own])
        mass = theta[first]
        # the derivative of h / m
        D = np.hstack([-theta[first + 1 : first + 4, None] / mass, np.eye(3)]) / mass
        four = slice(first, first + 4)
        com_sigma[k] = np.sqrt(np.einsum("ip,pq,iq->i", D, covariance[four, four], D))
    return Credible(sigma, com_sigma, found.directions)
