"""The proven gap of estimates that are drawn to a prior: true, small, and hard to forge."""

from __future__ import annotations

import copy
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import jsonschema
import numpy as np
import pytest
from exact_second import resealed
from prior_problems import scattered
from random_problems import random_problem
from seeds import every

from steelyard.certificates.certificate import prove
from steelyard.certificates.drawn import DrawnBody, body_bound, dual_matrix, inverse, pseudo_inertia
from steelyard.certificates.verify import verify
from steelyard.certificates.writing import drawn_certificate, read_schema
from steelyard.conic.exact_text import number, number_text
from steelyard.conic.settle import failing
from steelyard.errors import EstimationError
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.prior_fit import fit_with_prior, problem_of
from steelyard.model.model import Model
from steelyard.regression.regression import Regression
from steelyard.robot import inertia


def drawn_fit(seed: int) -> tuple[Model, Regression, ConstrainedFit]:
    """A random robot, its data, and the default estimate with a scattered prior."""
    one = random_problem(seed)
    rng = np.random.default_rng([seed, 5])
    prior = scattered(one.model, one.model.prior_theta(), rng, 10.0 ** rng.uniform(-2, 0))
    gamma = 10.0 ** rng.uniform(-2.0, 5.0)
    fit = fit_with_prior(one.model, one.regression, prior, one.constraints, gamma=gamma)
    return one.model, one.regression, fit


def objective(
    model: Model, regression: Regression, fit: ConstrainedFit, theta: np.ndarray
) -> float:
    """Half of what the estimator minimises, by its own formulas with logarithms."""
    pull = fit.pull
    assert pull is not None
    sizes = pull.sizes
    problem = problem_of(model, sizes, fit.blocks, pull.prior)
    factor = regression.system(fit.weights) / fit.sigma
    residual = factor[:-1, -1] - factor[:-1, :-1] @ (regression.base.K @ theta)
    terms = [k for k, column in enumerate(model.columns) if column.term_kind is not None]
    squares = pull.choice.terms * np.sum((theta[terms] / sizes[terms]) ** 2)
    distance = pull.gamma * np.nansum(problem.trust * problem.divergence(theta))
    return float(0.5 * (residual @ residual + squares + distance))


@every("seed", range(8100, 8108))
def test_the_gap_is_small_and_true(seed):
    """Massless links, unphysical truths and all: below 1e-3 of a standard deviation, and nothing
    feasible nearby is better by more than the gap.
    """
    model, regression, fit = drawn_fit(seed)
    document = drawn_certificate(model, regression, fit)
    assert document is not None
    jsonschema.Draft202012Validator(read_schema()).validate(document)
    assert verify(document, model=model.hash).valid
    gap = float(number(document["numbers"]["gap"]))
    assert 0.0 <= gap <= 1e-3
    here = objective(model, regression, fit, fit.theta)
    rng = np.random.default_rng(seed)
    prior = np.where(fit.pull.prior.theta == 0.0, fit.theta, fit.pull.prior.theta)
    n_tried = 0
    for share in 10.0 ** rng.uniform(-6, -1, size=30):
        bodies = [prior, scattered(model, fit.theta, rng, 0.1).theta][int(rng.integers(2))]
        other = (1.0 - share) * fit.theta + share * np.where(bodies == 0.0, fit.theta, bodies)
        if failing(fit.blocks, other):
            continue
        n_tried += 1
        there = objective(model, regression, fit, other)
        assert there >= here - gap - 1e-9 * abs(here)
    assert n_tried > 3


@every("seed", [8200, 8203, 8207])
def test_parameters_beside_the_optimum_have_a_gap_that_is_true(seed):
    """Moved towards the prior, the proven gap is at least what was lost, and it grows with it."""
    model, regression, fit = drawn_fit(seed)
    best = objective(model, regression, fit, fit.theta)
    prior = np.where(fit.pull.prior.theta == 0.0, fit.theta, fit.pull.prior.theta)
    gaps = []
    for share in (1e-9, 1e-8, 1e-7, 1e-6, 1e-5):
        moved = replace(fit, theta=(1.0 - share) * fit.theta + share * prior)
        try:
            document = drawn_certificate(model, regression, moved)
        except EstimationError:  # so far away nothing is proven
            break
        assert document is not None
        gaps.append(float(number(document["numbers"]["gap"])))
        lost = objective(model, regression, fit, moved.theta) - best
        assert gaps[-1] >= lost * (1.0 - 1e-6) - 1e-9 * best
    assert len(gaps) >= 2
    assert all(one < other for one, other in pairwise(gaps[1:]))


def test_forged_gaps_and_weights_are_rejected():
    """A smaller gap, another weight, another prior, parameter or dual: the proof does not hold."""
    model, regression, fit = drawn_fit(8300)
    document = drawn_certificate(model, regression, fit)
    assert document is not None
    rng = np.random.default_rng(0)

    def changed(text: str) -> str:
        return number_text(number(text) * Fraction(1 + 10.0 ** rng.uniform(-3, 0)))

    for _ in range(24):
        damaged = copy.deepcopy(document)
        numbers = damaged["numbers"]
        which = int(rng.integers(6))
        if which == 0:
            numbers["gap"] = number_text(number(numbers["gap"]) * Fraction(99, 100))
        elif which == 1:
            body = numbers["bodies"][int(rng.integers(len(numbers["bodies"])))]
            body["weight"] = changed(body["weight"])
        elif which == 2:
            body = numbers["bodies"][int(rng.integers(len(numbers["bodies"])))]
            body["prior"][0] = changed(body["prior"][0])
        elif which == 3:
            place = int(np.argmax([abs(number(x)) for x in numbers["u"]]))
            numbers["u"][place] = changed(numbers["u"][place])
        elif which == 4:
            place = int(np.argmax([abs(number(x)) for x in numbers["z"]]))
            numbers["z"][place] = changed(numbers["z"][place])
        else:
            first = numbers["bodies"][0]["first"]
            numbers["theta"][first] = changed(numbers["theta"][first])
        assert not verify(resealed(damaged)).valid, which
    nothing = copy.deepcopy(document)
    nothing["numbers"]["bodies"] = []
    assert not verify(resealed(nothing)).valid


def test_matrices_in_rational_numbers():
    """The pseudo-inertia, its dual and inverses are those of floating point; the bound of a body
    is above its divergence, and zero where nothing is left.
    """
    rng = np.random.default_rng(1)
    for _ in range(20):
        phi, e = rng.normal(size=10), rng.normal(size=10)
        J = np.array(pseudo_inertia([Fraction(x) for x in phi]), dtype=float)
        assert np.allclose(J, inertia.pseudo_inertia(phi))
        N = np.array(dual_matrix([Fraction(x) for x in e]), dtype=float)
        assert np.trace(N @ J) == pytest.approx(e @ phi)
        X = rng.normal(size=(4, 4))
        body = inertia.from_pseudo_inertia(X @ X.T + 0.1 * np.eye(4))
        exact = [Fraction(float(x)) for x in body]
        M = pseudo_inertia(exact)
        assert np.allclose(
            np.array(inverse(M), dtype=float) @ inertia.pseudo_inertia(body), np.eye(4), atol=1e-8
        )
        own = DrawnBody(0, Fraction(3), tuple(exact))
        zero = [Fraction(0)] * 10
        assert body_bound(own, exact, zero, lambda times, bits: None) == 0
        other = [x * Fraction(3, 2) for x in exact]
        found = body_bound(own, other, zero, lambda times, bits: None)
        assert float(found) >= 3.0 * (6.0 - 4.0 * np.log(1.5) - 4.0) > 0.0


def test_where_there_is_no_bound_feasibility_is_proven():
    """With the metric "pullback" the objective is another, and only feasibility is claimed."""
    one = random_problem(8400)
    prior = scattered(one.model, one.model.prior_theta(), np.random.default_rng(0), 0.1)
    fit = fit_with_prior(
        one.model, one.regression, prior, one.constraints, gamma=10.0, metric="pullback"
    )
    assert drawn_certificate(one.model, one.regression, fit) is None
    certificate, findings = prove(one.model, one.regression, fit)
    assert certificate is not None
    assert certificate.verdict.kind == "feasible"
    assert findings == ()


def test_parameters_outside_have_no_certificate():
    """The gap is of parameters that meet every condition."""
    model, regression, fit = drawn_fit(8300)
    theta = fit.theta.copy()
    theta[next(k for k, column in enumerate(model.columns) if column.kind == "viscous")] = -1e-6
    with pytest.raises(EstimationError, match="does not hold"):
        drawn_certificate(model, regression, replace(fit, theta=theta))
