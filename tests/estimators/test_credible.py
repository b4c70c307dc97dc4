"""Credible ranges: the curvature of data and prior, cut to the feasible range; they hold truths."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from experiments import multisine_motion
from given_signals import QUICK
from prior_problems import fit_of
from random_problems import random_problem
from scipy.linalg import expm
from scipy.stats import t
from small_arm import URDF, arm_log
from wrong_files import random_arm

from steelyard.errors import EstimationError
from steelyard.estimators._pull_report import with_pull
from steelyard.estimators.bodies import body_estimates
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.credible import credible
from steelyard.estimators.estimate import Credible, Estimate
from steelyard.estimators.intervals import with_intervals
from steelyard.estimators.prior_fit import fit_with_prior
from steelyard.estimators.prior_influence import influence
from steelyard.export.tables import standard_csv
from steelyard.identification.identify import identify
from steelyard.knowledge.prior import Prior, prior_from_robot
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.regression.regression import Regression
from steelyard.robot.inertia import from_pseudo_inertia, pseudo_inertia, to_com
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Measurements

SPREAD = 0.2
"""Standard deviation of a body's relative error in each of its ten directions."""


def drawn_bodies(model: Model, rng: np.random.Generator, spread: float) -> np.ndarray:
    """Bodies around those of the file: J = L exp(G) Lᵀ with Gaussian G, about as D measures it."""
    theta = model.prior_theta()
    for first in model.first_column_of_body:
        L = np.linalg.cholesky(pseudo_inertia(theta[first : first + 10]))
        G = rng.normal(size=(4, 4))
        # variance spread² in each direction of an orthonormal basis of symmetric matrices
        G = spread * (G + G.T) / 2.0
        theta[first : first + 10] = from_pseudo_inertia(L @ expm(G) @ L.T)
    return theta


@dataclass(frozen=True, eq=False)
class Case:
    """An estimate from exact motion with white noise, and the truth."""

    model: Model
    regression: Regression
    prior: Prior
    fit: ConstrainedFit
    estimate: Estimate
    truth: np.ndarray


def case(seed: int, gamma: float, spread: float = SPREAD, *, ranges: bool = False) -> Case:
    rng = np.random.default_rng([seed, 3])
    n_joints = 2 + seed % 2
    model = Model(random_arm(rng, n_joints))
    truth = drawn_bodies(model, rng, spread)
    terms = np.array([column.kind != "rigid_body" for column in model.columns])
    truth[terms] = rng.uniform(0.1, 0.5, size=int(terms.sum()))
    motion = multisine_motion(rng, n_joints, 800, 100.0)
    tau = torque(model, truth, motion.q, motion.v, motion.a)
    noisy = tau + 0.02 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    regression = compress(model, motion, Measurements(model.channels, noisy))
    prior = prior_from_robot(model)
    fit = fit_with_prior(model, regression, prior, gamma=gamma)
    estimate = with_intervals(regression, fit, n_resamples=0, ranges=ranges)
    assert fit.pull is not None
    return Case(model, regression, prior, fit, with_pull(estimate, fit.pull), truth)


def inside(one: Case, level: float = 0.95) -> list[bool]:
    """Whether each credible range of the bodies and their centres of mass holds the truth."""
    held = []
    bodies = body_estimates(one.model, one.estimate, level)
    for body, first in zip(bodies, one.model.first_column_of_body, strict=True):
        true = one.truth[first : first + 10]
        for parameter, value in [
            *zip(body.parameters, true, strict=True),
            *zip(body.com, to_com(true)[1], strict=True),
        ]:
            assert parameter.credible_lower is not None
            assert parameter.credible_upper is not None
            held.append(parameter.credible_lower <= value <= parameter.credible_upper)
    return held


def test_sigma_is_that_of_the_numerical_second_derivative() -> None:
    """With independent residuals and no strain, the covariance is (second derivative / 2)⁻¹."""
    gamma = 50.0
    one = case(0, gamma)
    fit = fit_of(one.model, one.regression, one.prior)
    problem, theta = fit.problem, one.fit.theta
    system, K, terms = one.fit.system, one.regression.base.K, one.fit.pull.choice.terms
    at = (problem, system, K, theta, gamma, terms, "entropic", 1.0)
    calm = replace(influence(*at), pooled=0.0, strain=np.zeros(len(problem.bodies)))
    given = credible(*at, calm, one.model.first_column_of_body)
    anchor, wish = problem.pulls(gamma, terms)
    back = np.linalg.inv(problem.turn)
    n = len(theta)
    h = 3e-4 * np.maximum(np.abs(theta), 1e-3)

    def value(i: int, j: int, first: float, second: float) -> float:
        x = theta.copy()
        x[i] += first * h[i]
        x[j] += second * h[j]
        pulls = anchor @ (back @ (x - problem.origin)) - wish
        divergence = float(np.nansum(problem.divergence(x)))
        return float(np.sum((fit.F @ x - fit.g) ** 2) + pulls @ pulls + gamma * divergence)

    H = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            around = sum(a * b * value(i, j, a, b) for a in (1, -1) for b in (1, -1))
            H[i, j] = H[j, i] = around / (4.0 * h[i] * h[j])
    sigma = np.sqrt(np.diag(np.linalg.inv(0.5 * H)))
    known = np.isfinite(given.sigma)
    assert np.count_nonzero(known) == 10 * len(one.model.first_column_of_body)
    assert given.sigma[known] == pytest.approx(sigma[known], rel=0.02)
    wider = one.estimate.standard.credible.sigma[known]
    assert np.all(wider >= given.sigma[known])


def test_ranges_hold_truths_that_are_drawn_as_the_weight_assumes() -> None:
    """With gamma = 2 / spread², 95 % ranges hold the truth in 85 to 100 % of all cases."""
    held = [inside(case(seed, 2.0 / SPREAD**2)) for seed in range(16)]
    shares = [np.mean(one) for one in held]
    assert 0.85 <= np.mean(np.concatenate(held)) <= 0.999
    assert min(shares) > 0.5


def test_a_weight_that_is_ten_times_too_large_is_noticed() -> None:
    """The strain widens the ranges where the data contradict the weight."""
    held = np.concatenate([inside(case(seed, 20.0 / SPREAD**2)) for seed in range(16)])
    assert np.mean(held) >= 0.85


def test_ranges_are_cut_to_the_feasible_range_and_hold_the_estimate() -> None:
    """A weak prior gives wide ranges; none is wider than what is feasible."""
    one = case(1, 0.5, ranges=True)
    standard = one.estimate.standard
    cut = 0
    for k, parameter in enumerate(one.estimate.standard_parameters()):
        if parameter.credible_lower is None:
            assert one.model.columns[k].kind != "rigid_body"
            continue
        assert parameter.credible_lower <= parameter.value <= parameter.credible_upper
        lower, upper = standard.ranges[k]
        if np.isfinite(lower):
            assert parameter.credible_lower >= min(lower, parameter.value)
            assert parameter.credible_upper <= max(upper, parameter.value)
            cut += parameter.credible_lower == lower or parameter.credible_upper == upper
    assert cut > 0
    for body in body_estimates(one.model, one.estimate):
        assert all(c.credible_lower <= c.value <= c.credible_upper for c in body.com)


def test_the_range_of_a_centre_of_mass_follows_from_those_of_mass_and_first_moment() -> None:
    """Against draws from a Gaussian with the standard deviations of a body of its own."""
    one = case(2, 1000.0)
    given = one.estimate.standard.credible
    assert given.com_sigma.shape == (len(one.model.first_column_of_body), 3)
    for k, first in enumerate(one.model.first_column_of_body):
        mass = one.fit.theta[first]
        com = one.fit.theta[first + 1 : first + 4] / mass
        sigma = given.sigma[first : first + 4] / mass
        # between the extremes of full correlation of first moment and mass
        assert np.all(given.com_sigma[k] <= sigma[1:] + np.abs(com) * sigma[0] + 1e-12)
        assert np.all(given.com_sigma[k] >= np.abs(sigma[1:] - np.abs(com) * sigma[0]) - 1e-12)


def test_data_that_determine_little_give_finite_ranges() -> None:
    """Joints that stand still, few samples, massless bodies, priors from good to useless."""
    for seed in range(12):
        one, gamma = random_problem(seed), 10.0 ** np.random.default_rng(seed).uniform(-2.0, 4.0)
        prior = prior_from_robot(one.model)
        try:
            fit = fit_with_prior(one.model, one.regression, prior, one.constraints, gamma=gamma)
        except EstimationError:
            continue  # too few samples
        given = fit.pull.credible
        for k, first in enumerate(one.model.first_column_of_body):
            known = prior.trust[k] > 0.0 and f"link_{k + 1}" not in one.constraints.massless
            assert np.isfinite(given.sigma[first : first + 10]).all() == known
            assert np.isfinite(given.com_sigma[k]).all() == known


def test_limits_use_the_t_distribution_and_the_level() -> None:
    """Few directions to judge the prior by make ranges wider."""
    given = Credible(np.ones(1), np.ones((1, 3)), 4.0)
    lower, upper = given.limits(5.0, 2.0, 0.9, None)
    assert (lower, upper) == pytest.approx((5.0 - 2.0 * t.ppf(0.95, 4), 5.0 + 2.0 * t.ppf(0.95, 4)))
    assert given.limits(5.0, np.nan, 0.9, None) == (None, None)
    assert given.limits(5.0, 2.0, 0.9, np.array([4.0, np.nan])) == pytest.approx((4.0, upper))


def test_only_methods_with_a_prior_have_credible_ranges() -> None:
    """They are in the table of standard parameters, and empty for the method feasible."""
    robot = Robot.from_urdf_text(URDF)
    log = arm_log(robot, 1)
    options = {**QUICK, "ranges": False, "n_resamples": 0, "certify": False}
    entropic = identify(robot, log, gamma=100.0, compare_terms=False, **options)
    feasible = identify(robot, log, method="feasible", **options)
    header, first = standard_csv(entropic.model, entropic.estimate).splitlines()[:2]
    assert header.endswith("credible_lower,credible_upper")
    assert float(first.split(",")[-2]) < float(first.split(",")[1])
    assert standard_csv(feasible.model, feasible.estimate).splitlines()[1].endswith(",,")
