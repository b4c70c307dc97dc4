"""The fit that is drawn to a prior: sizes of its terms, its weight, and what it tells."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from experiments import chain_experiment
from reframed import with_other_frames

from steelyard.errors import EstimationError, SteelyardError
from steelyard.estimators import prior_fit
from steelyard.estimators.constrained import weighted_system
from steelyard.estimators.entropic import usual_term_weight
from steelyard.estimators.prior_fit import _check, fit_with_prior, problem_of, sizes_of
from steelyard.estimators.prior_influence import influence
from steelyard.estimators.prior_weight import GRID, QUICK_SEARCH, GammaChoice, l_curve, usual_gamma
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import Prior, prior_from_robot
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.typical_sizes import prior_scale
from steelyard.regression.compress import compress
from steelyard.regression.regression import Regression
from steelyard.robot.inertia import pseudo_inertia


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


def loosely(model: Model, W: np.ndarray, tau: np.ndarray, prior: Prior, sizes: np.ndarray):
    """Parameters (n_columns,) by least squares, each joint in units of its noise, with bodies
    pulled to the prior by 50 |S - 1|², S = L⁻¹ J L⁻ᵀ with J0 = L Lᵀ, and terms by 1e-6 (x/size)².
    """
    n_samples, n_joints, n = W.shape
    noise, kept = [], []
    for j in range(n_joints):
        fit = np.linalg.lstsq(W[:, j], tau[:, j])
        noise.append(np.linalg.norm(W[:, j] @ fit[0] - tau[:, j]) / np.sqrt(n_samples - fit[2]))
    rows = (W / np.array(noise)[:, None]).reshape(-1, n)
    wanted = (tau / np.array(noise)).reshape(-1)
    fit = np.linalg.lstsq(rows, wanted)
    sigma = np.linalg.norm(rows @ fit[0] - wanted) / np.sqrt(len(rows) - fit[2])
    kept.append((rows / sigma, wanted / sigma))
    for start in model.first_column_of_body:
        own = slice(start, start + 10)
        back = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(prior.theta[own])))
        pull = np.zeros((16, n))
        for i, unit in enumerate(np.eye(10)):
            pull[:, start + i] = (back @ pseudo_inertia(unit) @ back.T).ravel()
        kept.append((np.sqrt(50.0) * pull, np.sqrt(50.0) * np.eye(4).ravel()))
    for i, column in enumerate(model.columns):
        if column.term_kind is not None:
            kept.append((1e-3 * np.eye(n)[i : i + 1] / sizes[i], np.zeros(1)))
    rows, wanted = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    size = np.linalg.norm(rows, axis=0)
    return np.linalg.lstsq(rows / size, wanted)[0] / size


@pytest.mark.parametrize(("scale", "slow"), [(1.0, 1.0), (1e-4, 1.0), (1e4, 1.0), (1.0, 1e-3)])
def test_terms_are_as_large_as_the_data_show(scale, slow):
    """1.48 times the median share that a kind of term explains, in a loose fit, of what the prior's
    bodies leave of its torque, for all joints; at least 3e-4, or all of it for drive inertia;
    bodies keep their size. With torques and masses of any unit, and motions of any speed.
    """
    one = chain_experiment(5, n_joints=3, n_samples=400)
    model = one.model
    motion = replace(one.motion, v=slow * one.motion.v, a=slow**2 * one.motion.a)
    tau = scale * (one.tau + np.random.default_rng(1).normal(size=one.tau.shape))
    regression = compress(model, motion, replace(one.measured(np.zeros(1)), tau=tau))
    W = torque_regressor(model, motion.q, motion.v, motion.a)
    system = weighted_system(model, regression)
    terms = np.array([column.term_kind is not None for column in model.columns])
    for mass in (1e-3, 1.0):
        prior = prior_from_robot(model)
        prior = replace(prior, theta=scale * mass * prior.theta)
        usual = prior_scale(model, prior.theta, prior.trust)
        found = sizes_of(model, system, prior)
        assert np.array_equal(found[~terms], usual[~terms])
        loose = loosely(model, W, tau, prior, usual)
        rest = tau - W @ np.where(terms, 0.0, prior.theta)
        for kind in {column.kind for column in model.columns} - {"rigid_body"}:
            own = [i for i, column in enumerate(model.columns) if column.kind == kind]
            unit = []
            for i in own:
                acts = np.any(W[:, :, i] != 0.0, axis=0)
                assert acts.sum() == 1
                unit.append(np.sqrt(np.sum(rest[:, acts] ** 2) / np.sum(W[:, acts, i] ** 2)))
            share = 1.4826 * np.median(np.abs(loose[own]) / unit)
            least = 1.0 if kind == "drive_inertia" else 3e-4
            assert found[own] == pytest.approx(max(share, least) * np.array(unit), rel=1e-5), kind


def test_sizes_of_terms_do_not_depend_on_link_frames():
    """Re-framed robots, with the same bodies and the same log, have friction of the same size."""
    one = chain_experiment(5, n_joints=3, n_samples=400)
    noise = np.random.default_rng(1).normal(size=one.tau.shape)
    terms = [i for i, column in enumerate(one.model.columns) if column.term_kind is not None]
    sizes = []
    for robot in (one.model.robot, with_other_frames(one.model.robot, np.random.default_rng(0))[0]):
        model = Model(robot)
        regression = compress(model, one.motion, one.measured(noise))
        prior = prior_from_robot(model)
        sizes.append(sizes_of(model, weighted_system(model, regression), prior)[terms])
    assert sizes[1] == pytest.approx(sizes[0], rel=1e-6)


def test_a_term_that_the_data_do_not_show_keeps_its_size():
    """A joint at rest has no friction to compare with: its size is that of the prior's masses."""
    one = chain_experiment(5, n_joints=2, n_samples=300)
    v, a = one.motion.v.copy(), one.motion.a.copy()
    v[:, 1] = a[:, 1] = 0.0
    motion = replace(one.motion, v=v, a=a)
    noise = 0.1 * np.random.default_rng(5).normal(size=one.tau.shape)
    regression = compress(one.model, motion, one.measured(noise))
    prior = prior_from_robot(one.model)
    usual = prior_scale(one.model, prior.theta, prior.trust)
    found = sizes_of(one.model, weighted_system(one.model, regression), prior)
    names = one.model.column_names
    for name in ("joint_2.fv", "joint_2.fc"):
        assert found[names.index(name)] == usual[names.index(name)]
    assert found[names.index("joint_1.fv")] != usual[names.index("joint_1.fv")]


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
    [(3.0, False, [None, 3.0]), (3.0, True, []), ("l-curve", True, [None, *GRID])],
)
def test_a_first_solve_checks_that_there_is_a_solution(gamma, placed, first, monkeypatch):
    """With the usual weight, before the search for gamma; not where another method places the
    parameters for a gamma that is given.
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
    usual = usual_gamma(weighted_system(model, regression).dependence)
    assert asked == [usual if one is None else one for one in first]
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
    terms = 6.0 * min(0.04 * gamma, 1.0) if gamma > 1e-5 else 1e-6
    assert found.pull.choice == GammaChoice(gamma, "given", pytest.approx(terms))
    system = weighted_system(model, regression)
    given = blocks(model, Constraints())
    problem = problem_of(model, sizes_of(model, system, prior, given), given, prior)
    R, z = system.factor[:-1, :-1] / system.sigma, system.factor[:-1, -1] / system.sigma
    theta = problem.solve(R @ regression.base.K, z, gamma, "entropic", terms).theta
    assert found.theta == pytest.approx(theta, rel=1e-6, abs=1e-9)
    assert found.beta == pytest.approx(regression.base.K @ found.theta)
    residual = (z - R @ found.beta) @ (z - R @ found.beta)
    assert found.squares == pytest.approx(residual)


def test_the_l_curve_is_that_of_fits_over_the_grid():
    """Squares of the residuals in units of the noise against the sum of divergences, with the usual
    weight of the terms at each gamma.
    """
    model, regression, prior = world()
    found = fit_with_prior(model, regression, prior, gamma="l-curve").pull
    assert found is not None
    system = weighted_system(model, regression)
    factor = system.factor / system.sigma
    terms = 6.0 * system.dependence
    problem = problem_of(model, found.sizes, blocks(model, Constraints()), prior)
    misfits, divergences = [], []
    for gamma in GRID:
        F, z = factor[:-1, :-1] @ regression.base.K, factor[:-1, -1]
        theta = problem.solve(F, z, gamma, "entropic", terms).theta
        residual = factor @ np.append(regression.base.K @ theta, -1.0)
        misfits.append(residual @ residual)
        divergences.append(np.sum(problem.divergence(theta, "entropic")))
    assert found.choice.terms == terms
    expected = l_curve(misfits, divergences, terms)
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
        problem = problem_of(model, pull.sizes, fit.blocks, some)
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
    assert {of for _, of in seen} == {248}
    counts = [count for count, _ in seen]
    assert counts == sorted(counts)
    assert counts[-1] == 248
    assert usual.pull is not None
    assert len(usual.pull.choice.trials) == 15
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
    assert seen[-1] == (72, 72)
    assert quick.pull is not None
    assert len(quick.pull.choice.trials) == 9
    ((rows, counts),) = asked
    assert len(rows) == len(counts) == 4
    assert counts.sum() == regression.n_rows
    assert np.max(np.abs(counts / counts.mean() - 1.0)) < 0.2
    gram = np.einsum("bri,brj->ij", rows, rows)
    whole = weighted_system(model, regression).factor
    assert gram == pytest.approx(whole.T @ whole, rel=1e-9, abs=1e-9 * np.max(whole) ** 2)
