"""What a prior adds to the covariance of an estimate, against its parts computed separately."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2
from wrong_files import arm, recorded, with_wrong_links

from steelyard.estimators.constrained import weighted_system
from steelyard.estimators.entropic import PriorProblem
from steelyard.estimators.prior_fit import fit_with_prior, problem_of, sizes_of
from steelyard.estimators.prior_influence import Influence, influence
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import prior_from_robot
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

GAMMA, TERMS = 300.0, 1.0


@cache
def world(way: str):
    """The problem of a fit whose file is wrong in this way, its system and its solution."""
    robot, truth = arm(2)
    file, wrong = with_wrong_links(robot, way)
    model = Model(file)
    run = prepare(
        recorded(robot, truth, 6.0, 300),
        model,
        Processing(cutoff_hz=20.0, torque_filter="none", dead_band="tenth"),
    )
    regression = compress(model, run.motion, run.measurements)
    prior, given = prior_from_robot(model), blocks(model, Constraints())
    system = weighted_system(model, regression)
    problem = problem_of(model, sizes_of(model, system, prior, given), given, prior)
    return model, regression, prior, problem, system, wrong


def at_the_fit(
    way: str, dependent: float = 1.0, gamma: float = GAMMA
) -> tuple[Influence, np.ndarray, PriorProblem]:
    _, regression, _, problem, system, _ = world(way)
    K = regression.base.K
    F = system.factor[:-1, :-1] / system.sigma @ K
    z = system.factor[:-1, -1] / system.sigma
    theta = problem.solve(F, z, gamma, "entropic", TERMS).theta
    found = influence(problem, system, K, theta, gamma, TERMS, "entropic", dependent)
    return found, theta, problem


@pytest.mark.parametrize(
    ("way", "dependent"),
    [("alternating", 1.0), ("alternating", 2.5), ("right", 1.0), ("right", 4.0)],
)
def test_the_covariance_is_that_of_the_weight_and_of_the_pulls(way, dependent):
    """H⁻¹ H_p H⁻¹ with the strain of each body, and one outer product for each pull."""
    found, theta, problem = at_the_fit(way, dependent)
    _, regression, _, _, system, _ = world(way)
    K = regression.base.K
    F = system.factor[:-1, :-1] / system.sigma @ K @ problem.turn
    H = F.T @ F + problem.curvature(theta, GAMMA, "entropic", TERMS)
    back = np.linalg.solve(H, (K @ problem.turn).T)
    u = np.linalg.pinv(problem.turn) @ (theta - problem.origin)
    expected = np.zeros_like(found.covariance)
    rows, wish = problem.pulls(GAMMA, TERMS)
    # every row here is a term's: each body of this robot has a prior
    assert problem.of_terms.all()
    expected += dependent * max(1.0, found.of_terms) * back.T @ rows.T @ rows @ back
    for row, end in zip(rows, wish, strict=True):
        pull = back.T @ (row * (row @ u - end))
        expected += np.outer(pull, pull)
    for k, body in enumerate(problem.bodies):
        P = np.zeros_like(H)
        P[np.ix_(body.columns, body.columns)] = problem.body_curvature(k, theta, GAMMA, "entropic")
        inflation = max(1.0, found.strain[k], found.pooled)
        pull = back.T @ P @ (u - problem.start)
        expected += dependent * inflation * back.T @ P @ back + np.outer(pull, pull)
    assert found.covariance == pytest.approx(expected, rel=1e-8, abs=1e-14)


def test_pulls_are_the_shift_that_a_stronger_weight_would_make():
    """H⁻¹ H_p (u - u0) is how far the estimate moves per unit of relative weight."""
    found, theta, problem = at_the_fit("one link")
    _, regression, _, _, system, _ = world("one link")
    K = regression.base.K
    F = system.factor[:-1, :-1] / system.sigma @ K
    z = system.factor[:-1, -1] / system.sigma
    step = 1e-3
    other = problem.solve(F, z, GAMMA * (1.0 + step), "entropic", TERMS * (1.0 + step)).theta
    moved = K @ (other - theta) / step
    # the covariance holds the pulls of bodies and terms one by one: together they are as large
    size = np.sqrt(np.diag(found.covariance))
    assert np.all(np.abs(moved) < 3.0 * size)
    assert np.max(np.abs(moved) / size) > 0.2


def test_a_wrong_link_is_strained_and_a_right_file_is_not():
    """One link of another density is further from its prior than the weight explains."""
    wrong = world("one link")[-1][0]
    names = [body.name for body in world("one link")[0].mechanism.bodies]
    off, _, _ = at_the_fit("one link")
    right, _, _ = at_the_fit("right")
    assert off.strain[names.index(wrong)] == max(off.strain)
    assert off.strain[names.index(wrong)] > 3.0 * right.strain[names.index(wrong)]
    assert np.all(right.strain < right.limit)


def test_dependent_residuals_widen_what_the_weight_stands_for():
    """With d times as many residuals as independent ones, its part of the variance is d times."""
    one, _, _ = at_the_fit("right", 1.0)
    four, _, _ = at_the_fit("right", 4.0)
    assert np.all(np.diag(four.covariance) >= np.diag(one.covariance) - 1e-15)
    grown = np.diag(four.covariance) / np.diag(one.covariance)
    assert np.median(grown) > 2.0


def test_a_fit_reports_the_link_that_differs():
    """`link-differs-from-prior` is about the wrong link, with the weight that the data choose."""
    model, regression, prior, _, system, wrong = world("one link")
    fit = fit_with_prior(model, regression, prior, gamma=3000.0)
    assert fit.pull is not None
    assert wrong[0] in fit.pull.strained
    assert system.dependence >= 1.0


def test_strains_are_divergences_over_what_the_weight_predicts():
    """gamma D over the number of directions that the data determine, each body and all together;
    their limits are those of chi-squared, and residuals that depend on each other count less.
    """
    cases = (("right", 1.0, 300.0), ("alternating", 1.0, 300.0), ("alternating", 4.0, 0.5))
    for way, dependent, gamma in cases:
        found, theta, problem = at_the_fit(way, dependent, gamma)
        _, regression, _, _, system, _ = world(way)
        F = system.factor[:-1, :-1] / system.sigma @ regression.base.K @ problem.turn
        H = F.T @ F + problem.curvature(theta, gamma, "entropic", TERMS)
        of_data = np.diag(np.linalg.inv(H) @ F.T @ F)
        distance = gamma * problem.divergence(theta, "entropic")
        directions = np.array([of_data[list(body.columns)].sum() for body in problem.bodies])
        fewest = np.maximum(directions, 1.0)
        assert found.strain == pytest.approx(distance / (dependent * fewest), rel=1e-5)
        assert found.limit == pytest.approx(chi2.ppf(0.95, fewest) / fewest)
        n = directions.sum()
        assert n > 1.0
        assert found.directions == pytest.approx(n)
        assert found.pooled == pytest.approx(distance.sum() / (dependent * n))
        rows, wish = problem.pulls(gamma, TERMS)
        u = np.linalg.pinv(problem.turn) @ (theta - problem.origin)
        on_terms = np.any(problem.anchor != 0.0, axis=0)
        n_terms = of_data[on_terms].sum()
        assert n_terms > 1.0
        squares = np.sum((rows @ u - wish) ** 2)
        assert found.of_terms == pytest.approx(squares / (dependent * n_terms))
        # the share of the data in each variance
        to_base = regression.base.K @ problem.turn
        total = np.diag(to_base @ np.linalg.solve(H, to_base.T))
        back = np.linalg.solve(H, to_base.T)
        ours = np.diag(back.T @ (F.T @ F) @ back)
        assert found.data_share == pytest.approx(ours / total, abs=1e-9)


def test_without_a_prior_there_is_no_strain():
    """With gamma zero bodies are drawn to typical ones, which nobody believes: nothing is strained,
    and a body's part is that of these pulls alone.
    """
    model, regression, prior, _, system, _ = world("one link")
    nobody = replace(prior, trust=np.zeros(len(prior.trust)))
    problem = problem_of(model, sizes_of(model, system, nobody), (), nobody)
    K = regression.base.K
    F = system.factor[:-1, :-1] / system.sigma @ K
    z = system.factor[:-1, -1] / system.sigma
    theta = problem.solve(F, z, 0.0, "entropic", TERMS).theta
    found = influence(problem, system, K, theta, 0.0, TERMS, "entropic", 1.0)
    assert np.isnan(found.strain).all()
    assert np.isnan(found.limit).all()
    assert (found.pooled, found.directions) == (0.0, 1.0)
    assert np.all(np.diag(found.covariance) >= 0.0)
