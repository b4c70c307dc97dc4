"""The fit that is drawn to a prior: sizes of its terms, its weight, and what it tells."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from experiments import chain_experiment

from steelyard.errors import EstimationError, SteelyardError
from steelyard.estimators import prior_fit
from steelyard.estimators.constrained import weighted_system
from steelyard.estimators.entropic import usual_term_weight
from steelyard.estimators.prior_fit import _check, fit_with_prior, problem_of, sizes_of
from steelyard.estimators.prior_influence import influence
from steelyard.estimators.prior_weight import GRID, QUICK_SEARCH, GammaChoice, l_curve
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import Prior, prior_from_robot
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.typical_sizes import prior_scale, relative_sizes
from steelyard.regression.compress import compress
from steelyard.regression.regression import Regression


@cache
def world() -> tuple[Model, Regression, Prior]:
    """Two joints whose file is off by a tenth."""
    one = chain_experiment(5, n_joints=2, n_samples=1200)
    noise = 0.5 * np.random.default_rng(5).normal(size=one.tau.shape)
    regression = compress(one.model, one.motion, one.measured(noise))
    prior = prior_from_robot(one.model)
    return one.model, regression, replace(prior, theta=1.1 * prior.theta)


def nobody() -> Prior:
    """A prior that states nothing of any body."""
    prior = world()[2]
    return replace(prior, trust=np.zeros(len(prior.trust)))


@pytest.mark.parametrize(("scale", "slow"), [(1.0, 1.0), (1e-4, 1.0), (1e4, 1.0), (1.0, 1e-3)])
def test_a_term_is_at_least_as_large_as_what_the_torques_show(scale, slow):
    """3e-4 of the root mean square torque that it acts on, over that of its column; bodies, and
    terms that are larger by the file's masses, keep their size. With torques of any unit, and
    motions of any speed.
    """
    one = chain_experiment(5, n_joints=3, n_samples=400)
    model = one.model
    motion = replace(one.motion, v=slow * one.motion.v, a=slow**2 * one.motion.a)
    tau = scale * (one.tau + np.random.default_rng(1).normal(size=one.tau.shape))
    regression = compress(model, motion, replace(one.measured(np.zeros(1)), tau=tau))
    W = torque_regressor(model, motion.q, motion.v, motion.a)
    terms = np.array([column.term_kind is not None for column in model.columns])
    relative = relative_sizes(model)
    assert len(set(relative[terms])) > 1
    for mass in (1e-9, 1.0):
        prior = prior_from_robot(model)
        prior = replace(prior, theta=mass * prior.theta)
        usual = prior_scale(model, prior.theta, prior.trust)
        found = sizes_of(model, regression, prior)
        assert np.array_equal(found[~terms], usual[~terms])
        for i in np.flatnonzero(terms):
            acts = np.any(W[:, :, i] != 0.0, axis=0)
            assert acts.sum() == 1
            share = np.sqrt(np.sum(tau[:, acts] ** 2) / np.sum(W[:, acts, i] ** 2))
            least = 3e-4 * relative[i] * share
            assert found[i] == pytest.approx(max(usual[i], least), rel=1e-9)
        if mass < 1.0 and scale >= 1.0:
            assert np.all(found[terms] > usual[terms])


def test_a_term_that_the_data_do_not_show_keeps_its_size():
    """A joint at rest has no friction to compare with."""
    one = chain_experiment(5, n_joints=2, n_samples=300)
    v, a = one.motion.v.copy(), one.motion.a.copy()
    v[:, 1] = a[:, 1] = 0.0
    motion = replace(one.motion, v=v, a=a)
    regression = compress(one.model, motion, one.measured(np.zeros(1)))
    prior = prior_from_robot(one.model)
    prior = replace(prior, theta=1e-9 * prior.theta)
    usual, found = (
        prior_scale(one.model, prior.theta, prior.trust),
        sizes_of(one.model, regression, prior),
    )
    names = one.model.column_names
    for name in ("joint_2.fv", "joint_2.fc"):
        assert found[names.index(name)] == usual[names.index(name)]
    assert found[names.index("joint_1.fv")] > usual[names.index("joint_1.fv")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 9.9e-7}, r"gamma is 9.9e-07; it must be between 1e-06 and 1e\+08\. For"),
        ({"gamma": 1.01e8}, r"gamma is 1.01e\+08; it must be between 1e-06 and 1e\+08\. For"),
    ],
)
def test_weights_outside_the_allowed_ones_are_refused(options, message):
    """Just below the smallest and just above the largest."""
    model, regression, prior = world()
    with pytest.raises(EstimationError, match=message):
        fit_with_prior(model, regression, prior, **options)


def test_unknown_words_are_refused_before_anything_is_computed():
    """By the check itself, in the words that list what there is."""
    model, _, prior = world()
    full, good = Constraints(), ("leave-blocks-out", "entropic")
    _check(model, prior, full, *good)
    _check(model, prior, full, "l-curve", "pullback")
    for arguments, words in (
        ((replace(prior, theta=prior.theta[1:]), full, *good), "27 values, but the model 28"),
        ((prior, Constraints(consistency="none"), *good), "consistency is 'none', but"),
        ((prior, full, "best", "entropic"), "gamma is 'best'; it must be a number or leave-"),
        ((prior, full, 1.0, "riemann"), "no metric 'riemann'; there are entropic, pullback"),
        ((prior, full, float("nan"), "entropic"), "gamma is nan; it must be between"),
    ):
        with pytest.raises(EstimationError, match=words):
            _check(model, *arguments)


@pytest.mark.parametrize(
    ("gamma", "placed", "first"),
    [(3.0, False, [100.0, 3.0]), (3.0, True, []), ("l-curve", True, [100.0, *GRID])],
)
def test_a_first_solve_checks_that_there_is_a_solution(gamma, placed, first, monkeypatch):
    """Before the search for gamma; not where another method places the parameters for a gamma that
    is given.
    """
    model, regression, prior = world()
    asked = []
    solve = prior_fit._solve

    def watched(problem, system, regression, weight, *rest):
        asked.append(weight)
        return solve(problem, system, regression, weight, *rest)

    monkeypatch.setattr(prior_fit, "_solve", watched)
    place = (lambda *_: (prior.theta, 7)) if placed else None
    found = fit_with_prior(model, regression, prior, gamma=gamma, place=place)
    assert asked == first
    assert found.pull is not None
    assert found.solver == ("linkwise" if placed else "interior-point")
    assert (found.pull.iterations == 7) == placed
    if placed:
        assert found.theta == pytest.approx(prior.theta)


def test_contradictions_are_named_before_the_search():
    """Without a solution no weight is tried; of other errors the cause is told as it was."""
    model, regression, prior = world()
    name = model.mechanism.bodies[0].name
    never = Constraints(mass={name: (5.0, None)}, bounds={f"{name}.m": (None, 4.0)})
    seen: list[tuple[int, int]] = []
    with pytest.raises(SteelyardError, match=name):
        fit_with_prior(model, regression, prior, never, progress=lambda *pair: seen.append(pair))
    assert seen == []

    def fails(*_):
        raise EstimationError("no step")

    with pytest.raises(EstimationError, match="no step"):
        fit_with_prior(model, regression, prior, gamma=1.0, place=fails)


@pytest.mark.parametrize("gamma", [1e-6, 50.0, 1e8])
def test_a_given_weight_is_used(gamma):
    """Up to and including the smallest and largest one, with the usual weight of the terms."""
    model, regression, prior = world()
    found = fit_with_prior(model, regression, prior, gamma=gamma)
    assert found.pull is not None
    assert found.pull.choice == GammaChoice(gamma, "given", usual_term_weight(gamma))
    system = weighted_system(model, regression)
    given = blocks(model, Constraints())
    problem = problem_of(model, sizes_of(model, regression, prior), given, prior)
    R, z = system.factor[:-1, :-1] / system.sigma, system.factor[:-1, -1] / system.sigma
    theta = problem.solve(R @ regression.base.K, z, gamma, "entropic").theta
    assert found.theta == pytest.approx(theta, rel=1e-6, abs=1e-9)
    assert found.beta == pytest.approx(regression.base.K @ found.theta)
    residual = (z - R @ found.beta) @ (z - R @ found.beta)
    assert found.squares == pytest.approx(residual)


def test_the_l_curve_is_that_of_fits_over_the_grid():
    """Squares of the residuals in units of the noise against the sum of divergences."""
    model, regression, prior = world()
    found = fit_with_prior(model, regression, prior, gamma="l-curve").pull
    assert found is not None
    misfits, divergences = [], []
    for gamma in GRID:
        fit = fit_with_prior(model, regression, prior, gamma=gamma)
        residual = fit.system.factor @ np.append(fit.beta, -1.0)
        misfits.append(residual @ residual / fit.sigma**2)
        divergences.append(sum(fit.pull.divergence.values()))
    expected = l_curve(misfits, divergences)
    assert (found.choice.gamma, found.choice.rule) == (expected.gamma, "l-curve")
    scores = [trial.score for trial in expected.trials]
    assert [trial.score for trial in found.choice.trials] == pytest.approx(scores, abs=1e-3)


def test_what_is_told_about_the_prior_is_that_of_the_fit():
    """Divergence of each body, covariance and share of the data at the estimate; the share is
    unknown for what neither the prior nor the data determine; bodies beyond twice the limit are
    named.
    """
    model, regression, prior = world()
    trust = prior.trust.copy()
    trust[0] = 0.0
    some = replace(prior, trust=trust)
    for gamma in (1.0, 1e6):
        fit = fit_with_prior(model, regression, some, gamma=gamma)
        pull = fit.pull
        assert pull is not None
        problem = problem_of(model, sizes_of(model, regression, some), fit.blocks, some)
        divergence = problem.divergence(fit.theta, "entropic")
        names = [body.name for body in model.mechanism.bodies]
        assert list(pull.divergence) == names[1:]
        assert pull.divergence[names[1]] == pytest.approx(divergence[1])
        found = influence(
            problem,
            fit.system,
            regression.base.K,
            fit.theta,
            gamma,
            pull.choice.terms,
            "entropic",
            fit.system.dependence,
        )
        assert pull.covariance == pytest.approx(found.covariance)
        own = [
            name
            for name, s, most in zip(names, found.strain, found.limit, strict=True)
            if s > 2.0 * most
        ]
        assert list(pull.strained) == own
        assert pull.data_share == pytest.approx(found.data_share)
    assert own == names[1:]
    without = fit_with_prior(model, regression, nobody()).pull
    assert without is not None
    assert (without.choice.gamma, without.choice.rule) == (0.0, "no prior")
    assert without.choice.terms == usual_term_weight(0.0)
    assert without.divergence == {}
    assert without.credible is None
    assert pull.credible is not None


def test_the_share_of_the_data_is_unknown_where_nothing_determines_a_parameter():
    """A base parameter of bodies without a prior that the data do not show has none."""
    one = chain_experiment(5, n_joints=2, n_samples=600)
    v, a = one.motion.v.copy(), one.motion.a.copy()
    v[:, 1] = a[:, 1] = 0.0
    q = one.motion.q.copy()
    q[:, 1] = 0.3
    motion = replace(one.motion, q=q, v=v, a=a)
    noise = 0.1 * np.random.default_rng(5).normal(size=one.tau.shape)
    regression = compress(one.model, motion, one.measured(noise))
    prior = prior_from_robot(one.model)
    for trust, unknown in (
        (np.ones(2), "terms"),
        (np.array([1.0, 0.0]), "second"),
        (np.zeros(2), "all"),
    ):
        fit = fit_with_prior(one.model, regression, replace(prior, trust=trust), gamma=10.0)
        share = fit.pull.data_share
        K, first = regression.base.K, one.model.first_column_of_body
        depends = np.zeros(len(K), dtype=bool)
        for start, own in zip(first, trust, strict=True):
            if own > 0.0:
                depends |= np.any(K[:, start : start + 10] != 0.0, axis=1)
        expected = ~(depends | fit.free.determined)
        assert np.array_equal(np.isnan(share), expected), unknown
        assert expected.any()
        assert not expected.all()


def test_the_search_shows_its_progress_and_large_robots_join_blocks(monkeypatch):
    """Counts go up to the number of fits that was announced; with many parameters the quick search
    is made on four parts, with the same choice of weights for any number of threads.
    """
    model, regression, prior = world()
    seen: list[tuple[int, int]] = []
    usual = fit_with_prior(model, regression, prior, progress=lambda *pair: seen.append(pair))
    assert {of for _, of in seen} == {232}
    counts = [count for count, _ in seen]
    assert counts == sorted(counts)
    assert counts[-1] == 232
    assert usual.pull is not None
    assert len(usual.pull.choice.trials) == 13
    monkeypatch.setattr(prior_fit, "has_many", lambda n: True)
    monkeypatch.setattr(prior_fit, "search_for", lambda n: QUICK_SEARCH)
    asked = []
    kept = prior_fit.leave_blocks_out

    def watched(rows, counts, *rest):
        asked.append((rows, counts))
        return kept(rows, counts, *rest)

    monkeypatch.setattr(prior_fit, "leave_blocks_out", watched)
    seen.clear()
    quick = fit_with_prior(model, regression, prior, progress=lambda *pair: seen.append(pair))
    assert seen[-1] == (64, 64)
    assert quick.pull is not None
    assert len(quick.pull.choice.trials) == 7
    ((rows, counts),) = asked
    assert len(rows) == len(counts) == 4
    assert counts.sum() == regression.n_rows
    assert np.max(np.abs(counts / counts.mean() - 1.0)) < 0.2
    gram = np.einsum("bri,brj->ij", rows, rows)
    whole = weighted_system(model, regression).factor
    assert gram == pytest.approx(whole.T @ whole, rel=1e-9, abs=1e-9 * np.max(whole) ** 2)
