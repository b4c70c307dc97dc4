"""Random fits with a prior, and how far apart two sets of bodies are."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from random_problems import random_problem

from steelyard.conic.blocks import Block
from steelyard.estimators.constrained import weighted_system
from steelyard.estimators.entropic import PriorProblem, prior_problem
from steelyard.estimators.prior_fit import sizes_of
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import Prior, checked_prior
from steelyard.model.model import Model
from steelyard.model.typical_sizes import prior_scale, typical_parameters
from steelyard.regression.regression import Regression
from steelyard.robot.inertia import from_pseudo_inertia, pseudo_inertia


@dataclass(frozen=True)
class Fit:
    """Residuals g - F theta in units of their noise, a prior, and conditions.

    known_sizes : (n_columns,) of the parameters, in which terms are pulled to zero; those that the
    prior's masses suggest if there are no data from which to take them.
    """

    model: Model
    F: np.ndarray
    g: np.ndarray
    given: tuple[Block, ...]
    prior: Prior
    kind: str = "plain"
    known_sizes: np.ndarray | None = None

    @property
    def sizes(self) -> np.ndarray:
        """The sizes (n_columns,) in use."""
        if self.known_sizes is not None:
            return self.known_sizes
        return prior_scale(self.model, self.prior.theta, self.prior.trust)

    @property
    def problem(self) -> PriorProblem:
        """The fit as `prior_problem` writes it."""
        return prior_problem(
            self.model.first_column_of_body,
            self.sizes,
            typical_parameters(self.model),
            self.given,
            self.prior.theta,
            self.prior.trust,
        )


def scattered(model: Model, theta: np.ndarray, rng: np.random.Generator, spread: float) -> Prior:
    """A prior with bodies drawn around those of theta: J0 = L X Xᵀ Lᵀ, J = L Lᵀ, X near 1."""
    out = np.zeros(len(theta))
    for first in model.first_column_of_body:
        phi = theta[first : first + 10]
        if phi[0] > 0.0:
            L = np.linalg.cholesky(pseudo_inertia(phi))
            X = L @ (np.eye(4) + spread * np.tril(rng.normal(size=(4, 4))))
            out[first : first + 10] = from_pseudo_inertia(X @ X.T)
    return checked_prior(model, out, "a scattered truth", repair="floor-moments")


def fit_of(
    model: Model,
    regression: Regression,
    prior: Prior,
    constraints: Constraints | None = None,
    kind: str = "plain",
) -> Fit:
    """The weighted fit of a regression."""
    system = weighted_system(model, regression)
    factor = system.factor / system.sigma
    F, g = factor[:-1, :-1] @ regression.base.K, factor[:-1, -1]
    given = blocks(model, constraints or Constraints())
    return Fit(model, F, g, given, prior, kind, sizes_of(model, system, prior, given))


def random_fit(seed: int) -> tuple[Fit, float]:
    """One of the random problems with a prior from good to useless, and gamma in 1e-3 .. 1e6."""
    one = random_problem(seed)
    rng = np.random.default_rng([seed, 5])
    prior = scattered(one.model, one.model.prior_theta(), rng, 10.0 ** rng.uniform(-2.0, 0.0))
    gamma = 10.0 ** rng.uniform(-3.0, 6.0)
    return fit_of(one.model, one.regression, prior, one.constraints, one.kind), gamma


def body_difference(prior: Prior, first: tuple[int, ...], one: np.ndarray, other: np.ndarray):
    """Largest |S - S'| / |S| over the bodies with a prior, with S = J0^-½ J J0^-½.

    This measure is independent of the link frame and of the units.
    """
    worst = 0.0
    for k, start in enumerate(first):
        if prior.trust[k] > 0.0:
            own = slice(start, start + 10)
            back = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(prior.theta[own])))
            S, S2 = (back @ pseudo_inertia(x[own]) @ back.T for x in (one, other))
            worst = max(worst, float(np.linalg.norm(S - S2) / np.linalg.norm(S)))
    return worst


def in_cvxpy(fit: Fit, gamma: float, metric: str = "entropic") -> tuple[float, np.ndarray]:
    """Optimal objective and theta by CVXPY and Clarabel, from the formulas of the docs.

    Raises cvxpy.SolverError if its status is not optimal.
    """
    import cvxpy

    problem = fit.problem
    T = np.diag(fit.sizes)
    for k, first in enumerate(fit.model.first_column_of_body):
        if fit.prior.trust[k] > 0.0:  # numbers near one: Clarabel needs them at large gamma
            own = slice(first, first + 10)
            L = np.linalg.cholesky(pseudo_inertia(fit.prior.theta[own]))
            T[own, own] = from_pseudo_inertia(L @ pseudo_inertia(np.eye(10)) @ L.T).T
    x = cvxpy.Variable(len(T))
    theta = T @ x
    cost = cvxpy.sum_squares((fit.F @ T) @ x - fit.g)
    # weak pulls, part of the problem, determine what nothing else determines
    anchor, wish = problem.pulls(gamma)
    pull = anchor @ np.linalg.pinv(problem.turn)
    cost += cvxpy.sum_squares((pull @ T) @ x - pull @ problem.origin - wish)
    conditions = []
    basis = [pseudo_inertia(unit) for unit in np.eye(10)]
    for k, first in enumerate(fit.model.first_column_of_body):
        J = sum(theta[first + j] * basis[j] for j in range(10))
        conditions.append(J >> 0)
        if fit.prior.trust[k] > 0.0 and first in problem.first:
            back = np.linalg.inv(
                np.linalg.cholesky(pseudo_inertia(fit.prior.theta[first : first + 10]))
            )
            S = back @ J @ back.T
            S = 0.5 * (S + S.T)
            if metric == "entropic":
                cost += gamma * (cvxpy.trace(S) - cvxpy.log_det(S) - 4.0)
            else:
                cost += gamma * 0.5 * cvxpy.sum_squares(S - np.eye(4))
    for block in fit.given:
        value = block.A @ theta[list(block.columns)] + block.b
        if block.kind == "zero":
            conditions.append(value == 0)
        elif block.band:
            half = len(block.b) // 2
            conditions.append(block.A[:half] @ theta[list(block.columns)] + block.b[:half] == 1e-9)
        elif block.kind == "nonnegative":
            conditions.append(value >= 0)
        elif block.kind == "second_order":
            conditions.append(cvxpy.SOC(value[0], value[1:]))
        elif block.size != 4 or block.b.any():
            conditions.append(_matrix(cvxpy, value, block.size) >> 0)
    oracle = cvxpy.Problem(cvxpy.Minimize(cost / (1.0 + gamma)), conditions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate answer is judged by its status
        for accuracy in (1e-10, 1e-8):
            tight = dict.fromkeys(("tol_gap_rel", "tol_gap_abs", "tol_feas"), accuracy)
            try:
                oracle.solve(solver=cvxpy.CLARABEL, max_iter=500, **tight)
            except cvxpy.SolverError:
                continue
            if oracle.status == cvxpy.OPTIMAL:
                break
        else:
            raise cvxpy.SolverError("CVXPY's answer is inaccurate by its own account")
    return float((1.0 + gamma) * oracle.value), np.asarray(theta.value)


def _matrix(cvxpy, entries, size: int):
    """The symmetric matrix of a psd block's entries."""
    index = {}
    for j in range(size):
        for i in range(j + 1):
            index[i, j] = index[j, i] = len(set(index.values()))
    return cvxpy.bmat([[entries[index[i, j]] for j in range(size)] for i in range(size)])


def objective(fit: Fit, theta: np.ndarray, gamma: float, metric: str = "entropic") -> float:
    """|z - R K theta|² + gamma D, with the weak pulls."""
    problem = fit.problem
    u = np.linalg.lstsq(problem.turn, theta - problem.origin, rcond=None)[0]
    anchor, wish = problem.pulls(gamma)
    pulls = anchor @ u - wish
    divergence = problem.divergence(theta, metric)
    squares = np.sum((fit.F @ theta - fit.g) ** 2) + np.sum(pulls**2)
    return float(squares + gamma * np.nansum(divergence))
