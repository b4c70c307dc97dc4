"""Fits with a prior: against CVXPY, in any frame and unit, at both ends of gamma."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from experiments import chain_experiment
from prior_problems import body_difference, fit_of, in_cvxpy, objective, random_fit, scattered
from reframed import difference_when_reframed, in_other_units, with_other_frames
from seeds import every

from steelyard.conic.settle import failing
from steelyard.errors import EstimationError
from steelyard.estimators._pull_report import with_pull
from steelyard.estimators.constrained import weighted_system
from steelyard.estimators.entropic import LEAST_PULL, PULL
from steelyard.estimators.feasible import fit_feasible
from steelyard.estimators.intervals import with_intervals
from steelyard.estimators.prior_fit import fit_with_prior
from steelyard.estimators.prior_weight import (
    FILE,
    GRID,
    NO_PULL,
    GammaChoice,
    Rival,
    as_good_as_the_best,
    l_curve,
)
from steelyard.knowledge.constraints import Box, Constraints, Ellipsoid
from steelyard.knowledge.prior import prior_from_robot, prior_from_values
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.terms import joint_terms
from steelyard.regression.compress import compress
from steelyard.robot.inertia import pseudo_inertia, transform
from steelyard.signals.motion import Measurements


def noisy(seed, n_joints=3, noise=0.5, n_samples=800):
    """A noisy experiment and its regression."""
    world = chain_experiment(seed, n_joints=n_joints, n_samples=n_samples)
    draw = noise * np.random.default_rng(seed).normal(size=world.tau.shape)
    return world, compress(world.model, world.motion, world.measured(draw))


def heavier_bodies(model):
    """A prior with a third more mass than the truth, and moved: plainly wrong."""
    theta = model.prior_theta()
    for first in model.first_column_of_body:
        T = np.eye(4)
        T[:3, 3] = 0.3
        theta[first : first + 10] = 3.0 * transform(theta[first : first + 10], T)
    values = dict(zip(model.column_names, theta, strict=True))
    return prior_from_values(model, {k: v for k, v in values.items() if k.startswith("link")})


@every("seed", range(12))
def test_optimum_is_cvxpys(seed):
    """The same objective, to 1e-6, as the formulas of the module in CVXPY's words."""
    pytest.importorskip("cvxpy")
    fit, gamma = random_fit(seed)
    metric = "entropic" if seed % 3 else "pullback"
    ours = objective(fit, fit.problem.solve(fit.F, fit.g, gamma, metric).theta, gamma, metric)
    theirs, _ = in_cvxpy(fit, gamma, metric)
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-9)


CONSTRAINTS = {
    "mass": Constraints(mass={"link_1": (0.5, 1.0), "link_2": (None, 2.0)}),
    "total mass": Constraints(total_mass=(3.0, 3.1)),
    "centre in a box": Constraints(com={"link_2": Box((-0.05,) * 3, (0.05,) * 3)}),
    "centre in a ball": Constraints(com={"link_2": Ellipsoid((0.0,) * 3, (0.04,) * 3)}),
    "all of it in a ball": Constraints(inside={"link_1": Ellipsoid((0.0,) * 3, (0.5,) * 3)}),
    "equal bodies": Constraints(equal=(("link_1", "link_3"),)),
    "known values": Constraints(fixed={"link_2.m": 2.0, "joint_1.fv": 0.3}),
    "a whole body": Constraints(
        fixed={
            f"link_2.{name}": value
            for name, value in zip(
                ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz"),
                (2.0, 0.1, 0.0, 0.0, 0.05, 0.0, 0.06, 0.0, 0.0, 0.07),
                strict=True,
            )
        }
    ),
    "a massless body": Constraints(massless=("link_3",)),
    "a known part": Constraints(
        known_part={"link_2": (0.3, 0.01, 0.0, 0.0, 0.002, 0.0, 0.002, 0.0, 0.0, 0.002)}
    ),
    "a margin": Constraints(margin=1e-4),
}


@pytest.mark.parametrize("metric", ["entropic", "pullback"])
@pytest.mark.parametrize("words", CONSTRAINTS)
def test_every_constraint_is_honoured(words, metric):
    """CVXPY's optimum under it, and exactly inside on the digits that are written."""
    pytest.importorskip("cvxpy")
    world, regression = noisy(5, noise=5.0)
    prior = scattered(world.model, world.model.prior_theta(), np.random.default_rng(1), 0.2)
    constraints = CONSTRAINTS[words]
    one = fit_of(world.model, regression, prior, constraints)
    for gamma in (0.1, 1e3):
        found = fit_with_prior(
            world.model, regression, prior, constraints, gamma=gamma, metric=metric
        )
        assert failing(found.blocks, found.theta) == ()
        placed = one.problem.solve(one.F, one.g, gamma, metric)
        assert np.allclose(placed.theta, found.theta, rtol=1e-6, atol=1e-6)
        theirs, _ = in_cvxpy(one, gamma, metric)
        ours = objective(one, placed.theta, gamma, metric)
        assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize(("metric", "tolerance"), [("entropic", 1e-8), ("pullback", 1e-5)])
def test_link_frames_do_not_matter(metric, tolerance):
    """Ten random re-framings of every link, from the robot file on, leave bodies as they are.

    The pullback metric ends on the boundary, where half of the solver's digits are lost.
    """
    world, _ = noisy(2)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=world.tau.shape)
    prior = scattered(world.model, world.model.prior_theta(), rng, 0.3)
    first = world.model.first_column_of_body
    for k, gamma in enumerate(np.tile([1e-2, 1.0, 1e2, 1e4, 1e6], 2)):
        regression = compress(world.model, world.motion, world.measured(noise))
        base = fit_with_prior(world.model, regression, prior, gamma=gamma, metric=metric)
        robot, T_old_new = with_other_frames(world.model.robot, np.random.default_rng(k))
        model = Model(robot)
        there = _moved(model, prior, lambda name, T=T_old_new: np.linalg.inv(T[name]))
        # the same numbers in the log, of course
        tau = torque(
            model, _moved_terms(model, world), world.motion.q, world.motion.v, world.motion.a
        )
        assert np.allclose(tau, world.tau)
        again = compress(model, world.motion, world.measured(noise))
        other = fit_with_prior(model, again, there, gamma=gamma, metric=metric)
        back = other.theta.copy()
        for body, start in zip(model.mechanism.bodies, first, strict=True):
            own = slice(start, start + 10)
            back[own] = transform(other.theta[own], T_old_new[body.name])
        assert body_difference(prior, first, base.theta, back) <= tolerance
        assert other.pull.divergence == pytest.approx(
            base.pull.divergence, rel=10 * tolerance, abs=1e-9
        )


def _moved(model, prior, pose_of):
    """The prior's bodies in a model with other frames."""
    theta = prior.theta.copy()
    for body, start in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        theta[start : start + 10] = transform(theta[start : start + 10], pose_of(body.name))
    return replace(prior, theta=theta)


def _moved_terms(model, world):
    """The truth in a model with other frames: its file's bodies, and the same terms."""
    theta = world.theta.copy()
    for start in model.first_column_of_body:
        theta[start : start + 10] = model.prior_theta()[start : start + 10]
    return theta


@pytest.mark.parametrize(("metric", "tolerance"), [("entropic", 1e-8), ("pullback", 1e-5)])
def test_units_do_not_matter(metric, tolerance):
    """Grams and millimetres, from the robot file on, give the same bodies."""
    world, regression = noisy(3)
    rng = np.random.default_rng(1)
    noise = rng.normal(size=world.tau.shape)
    regression = compress(world.model, world.motion, world.measured(noise))
    prior = scattered(world.model, world.model.prior_theta(), rng, 0.3)
    first = world.model.first_column_of_body
    mass, length = 1e3, 1e3
    model = Model(in_other_units(world.model.robot, mass, length))
    units = np.full(len(model.columns), mass * length**2)
    for start in first:
        units[start : start + 10] = mass * np.array([1.0] + [length] * 3 + [length**2] * 6)
    there = replace(prior, theta=units * prior.theta)
    tau = mass * length**2 * (world.tau + noise)
    again = compress(model, world.motion, Measurements(model.channels, tau))
    for gamma in (1e-2, 1.0, 1e2, 1e4, 1e6):
        base = fit_with_prior(world.model, regression, prior, gamma=gamma, metric=metric)
        other = fit_with_prior(model, again, there, gamma=gamma, metric=metric)
        assert body_difference(prior, first, base.theta, other.theta / units) <= tolerance
        assert np.allclose(other.theta / units, base.theta, rtol=1e-4, atol=1e-6)


FAR = (20769, 22386, 23681, 24115, 24378, 24835, 30434, 32684, 34983)
"""True parameters that are far from physical, and a small gamma: the bodies of the optimum have
eigenvalues from 1e-9 to 1e5 of the prior's, and rounding ends the approach to it."""


@every("seed", (*range(30), *range(9000, 9020), *FAR))
def test_random_problems_take_few_steps(seed):
    """Of the benchmark and others: at most 40, and strictly physical bodies."""
    fit, gamma = random_fit(seed)
    placed = fit.problem.solve(fit.F, fit.g, gamma)
    assert placed.solution.iterations <= 40
    for k, first in enumerate(fit.model.first_column_of_body):
        if fit.prior.trust[k] > 0.0 and seed not in FAR:
            J = pseudo_inertia(placed.theta[first : first + 10])
            assert np.linalg.eigvalsh(J)[0] > 0.0


@every("seed", (3029, 3183, 3206, *range(9000, 9006)))
def test_reframed_robots_have_the_same_bodies(seed):
    """From the robot and its log on, to 1e-8 of the prior; the first have thin priors, or base
    parameters whose coefficients are nearly short decimals.
    """
    gamma = 10.0 ** np.random.default_rng([seed, 9]).uniform(-3.0, 6.0)
    assert difference_when_reframed(seed, gamma, units=seed % 2 == 1) <= 1e-8


def test_small_gamma_is_the_constrained_fit():
    """With hardly any weight, the base parameters are those of the fit without a prior."""
    world, regression = noisy(1, noise=3.0)
    prior = heavier_bodies(world.model)
    plain = fit_feasible(world.model, regression)
    for metric in ("entropic", "pullback"):
        close = fit_with_prior(world.model, regression, prior, gamma=1e-6, metric=metric)
        # in units where every torque value has one
        assert close.squares == pytest.approx(plain.squares, abs=1e-2)


@pytest.mark.parametrize("metric", ["entropic", "pullback"])
def test_large_gamma_is_the_prior(metric):
    """Bodies come as close to it as one likes, and misfit only grows on the way."""
    world, regression = noisy(1, noise=50.0)
    prior = heavier_bodies(world.model)
    first = world.model.first_column_of_body
    fits = [
        fit_with_prior(world.model, regression, prior, gamma=10.0**power, metric=metric)
        for power in range(-2, 9, 2)
    ]
    away = [body_difference(prior, first, prior.theta, one.theta) for one in fits]
    assert away[-1] <= 1e-3
    assert away == sorted(away, reverse=True)
    squares = [one.squares for one in fits]
    divergence = [sum(one.pull.divergence.values()) for one in fits]
    assert all(b >= a * (1 - 1e-9) for a, b in itertools.pairwise(squares))
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(divergence))


def test_pullback_is_the_second_order_part():
    """Near the prior both divergences agree, with an error of third order."""
    fit, _ = random_fit(1)
    rng = np.random.default_rng(0)
    step = fit.problem.turn @ rng.normal(size=fit.problem.turn.shape[1])
    errors = []
    for size in (1e-2, 1e-3):
        theta = fit.prior.theta + size * step
        entropic, pullback = (
            fit.problem.divergence(theta, metric) for metric in ("entropic", "pullback")
        )
        errors.append(np.max(np.abs(entropic - pullback)))
    assert errors[1] <= 2e-3 * errors[0]


def test_curvature_is_half_the_second_derivative():
    """Of gamma D and the weak pulls, by finite differences of the objective without data."""
    fit, _ = random_fit(2)
    problem, gamma = fit.problem, 7.0
    rng = np.random.default_rng(0)
    u = problem.start + 0.05 * rng.normal(size=len(problem.start))
    step = rng.normal(size=len(u))

    def cost(u, metric):
        theta = problem.origin + problem.turn @ u
        anchor, wish = problem.pulls(gamma)
        pulls = anchor @ u - wish
        return gamma * np.nansum(problem.divergence(theta, metric)) + np.sum(pulls**2)

    h = 1e-4
    for metric in ("entropic", "pullback"):
        second = (
            cost(u + h * step, metric) - 2 * cost(u, metric) + cost(u - h * step, metric)
        ) / h**2
        H = problem.curvature(problem.origin + problem.turn @ u, gamma, metric)
        assert 2.0 * step @ H @ step == pytest.approx(second, rel=1e-4)


def test_bodies_without_a_prior_stay_inside_and_finite():
    """A table that gives one body of three leaves the others to data and weak pulls."""
    world, regression = noisy(4)
    names = [name for name in world.model.column_names if name.startswith("link_1.")]
    truth = dict(zip(world.model.column_names, world.theta, strict=True))
    prior = prior_from_values(world.model, {name: truth[name] for name in names})
    assert list(prior.trust) == [1.0, 0.0, 0.0]
    found = fit_with_prior(world.model, regression, prior, gamma=10.0)
    assert set(found.pull.divergence) == {"link_1"}
    assert failing(found.blocks, found.theta) == ()
    assert np.isfinite(found.theta).all()


def test_contradicting_constraints_are_named():
    """The refusal says which, as for a fit without a prior."""
    world, regression = noisy(4)
    prior = prior_from_robot(world.model)
    never = Constraints(mass={"link_1": (5.0, None)}, total_mass=(None, 4.0))
    with pytest.raises(EstimationError, match="link_1"):
        fit_with_prior(world.model, regression, prior, never, gamma=1.0)
    twice = Constraints(fixed={"link_1.m": 1.0, "link_2.m": 2.0}, equal=(("link_1", "link_2"),))
    with pytest.raises(EstimationError, match="link_1"):
        fit_with_prior(world.model, regression, prior, twice, gamma=1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gamma": -1.0}, "gamma is -1"),
        ({"gamma": float("nan")}, "gamma is nan"),
        ({"gamma": float("inf")}, "gamma is inf"),
        ({"gamma": "best"}, "leave-blocks-out or l-curve"),
        ({"metric": "euclid"}, "no metric 'euclid'"),
        ({"constraints": Constraints(consistency="sousa")}, "needs .full."),
    ],
)
def test_bad_requests_are_refused(change, words):
    """One line, with what would have been right."""
    world, regression = noisy(4)
    with pytest.raises(EstimationError, match=words) as refusal:
        fit_with_prior(
            world.model, regression, prior_from_robot(world.model), **{"gamma": 1.0, **change}
        )
    assert "\n" not in str(refusal.value)


def test_a_prior_of_another_model_is_refused():
    """Its number of values gives it away."""
    world, regression = noisy(4)
    other = Model(world.model.robot, joint_terms(world.model.robot.joint_names, ("viscous",)))
    with pytest.raises(EstimationError, match="columns"):
        fit_with_prior(world.model, regression, prior_from_robot(other), gamma=1.0)


def test_the_l_curve_tells_a_good_prior_from_a_bad_one():
    """The truth gets a large gamma, a plainly wrong prior a much smaller one; all is recorded."""
    world, regression = noisy(6, n_samples=2000)
    good, bad = (
        fit_with_prior(world.model, regression, prior, gamma="l-curve").pull.choice
        for prior in (prior_from_robot(world.model), heavier_bodies(world.model))
    )
    assert good.gamma >= 30.0 * bad.gamma
    for choice in (good, bad):
        assert choice.rule == "l-curve"
        assert tuple(trial.gamma for trial in choice.trials) == GRID
        assert choice.gamma in GRID
        assert choice.terms == pytest.approx(6.0 * weighted_dependence(world, regression))


def weighted_dependence(world, regression) -> float:
    """How many residuals count as one."""
    return weighted_system(world.model, regression).dependence


def test_left_out_parts_tell_a_good_prior_from_a_bad_one():
    """The links of the truth predict left-out parts as well as the choice, those of a plainly
    wrong prior many times worse, so that its weight is small where the data are few and noisy.
    """
    world, regression = noisy(6, noise=10.0, n_samples=2000)
    good, bad = (
        fit_with_prior(world.model, regression, prior).pull.choice
        for prior in (prior_from_robot(world.model), heavier_bodies(world.model))
    )
    assert good.gamma >= bad.gamma
    for choice in (good, bad):
        assert choice.rule == "leave-blocks-out"
        assert tuple(trial.gamma for trial in choice.trials) == (NO_PULL, *GRID, FILE)
        assert all(trial.score > 0.0 for trial in choice.trials)
    ratios = [{one.name: one.ratio for one in choice.rivals} for choice in (good, bad)]
    assert good.gamma == FILE or ratios[0]["file"] == pytest.approx(1.0, abs=0.05)
    assert ratios[1]["file"] > 2.0


def test_a_prior_that_the_data_contradict_is_named():
    """Where left-out parts are predicted best without it; a given small weight is no such verdict,
    and where the prior wins, the finding says by how much.
    """
    world, regression = noisy(6, noise=0.5, n_samples=2000)
    fit = fit_with_prior(world.model, regression, heavier_bodies(world.model), gamma=100.0)
    estimate = with_intervals(regression, fit, n_resamples=0, ranges=False)
    rivals = (Rival("no pull", 9.0, 1.5), Rival("file", 4.0, 1.0))
    cases = (
        (GammaChoice(NO_PULL, "leave-blocks-out", 1.0, score=1.0, rivals=rivals[1:]), True),
        (GammaChoice(NO_PULL, "given", 1.0), False),
        (GammaChoice(10.0, "leave-blocks-out", 1.0, score=4.0, rivals=rivals), False),
    )
    for choice, contradicted in cases:
        found = with_pull(replace(estimate, findings=()), replace(fit.pull, choice=choice))
        words = {finding.code: finding.words for finding in found.findings}
        assert ("prior-contradicted" in words) == contradicted
        assert ("1.5 times as large without a prior" in words["prior-weight"]) == (
            len(choice.rivals) == 2
        )
        assert found.prior.rivals == choice.rivals


def test_choice_does_not_depend_on_who_solves():
    """One process or two, and again: the same scores to the last bit."""
    world, regression = noisy(6, n_samples=2000)
    prior = scattered(world.model, world.model.prior_theta(), np.random.default_rng(0), 0.2)
    one = fit_with_prior(world.model, regression, prior)
    two = fit_with_prior(world.model, regression, prior, threads=2)
    assert one.pull.choice == two.pull.choice
    assert np.array_equal(one.theta, two.theta)


def test_two_time_blocks_are_too_few_to_choose():
    """A short record: say so, and what to do."""
    world, _ = noisy(6)
    regression = compress(world.model, world.motion, world.measured(0.0), block_s=4.0)
    assert len(regression.keys) == 2
    with pytest.raises(EstimationError, match="give gamma"):
        fit_with_prior(world.model, regression, prior_from_robot(world.model))
    assert (
        fit_with_prior(
            world.model, regression, prior_from_robot(world.model), gamma=100.0
        ).pull.choice.rule
        == "given"
    )


def test_rows_as_good_as_the_best():
    """Within one standard error of the difference, or two per cent; failures never."""
    scores = np.array(
        [[1.0, 1.1, 0.9, 1.0], [1.01, 1.11, 0.91, 1.01], [2.0, 2.1, 1.9, 2.0], [np.nan] * 4]
    )
    good, _ = as_good_as_the_best(scores, 0.02)
    assert good.tolist() == [True, True, False, False]
    with pytest.raises(EstimationError, match="all fits to parts of the time blocks failed"):
        as_good_as_the_best(np.full((3, 4), np.nan), 0.02)


def test_the_corner_of_an_l():
    """Misfit that starts to rise where divergence stops to fall, at the sixth gamma."""
    n = len(GRID)
    misfits = [1.0 if k <= 5 else 10.0 ** (k - 5) for k in range(n)]
    divergences = [10.0 ** (5 - k) if k <= 5 else 1.0 for k in range(n)]
    assert l_curve(misfits, divergences, 1.0).gamma == GRID[5]


def test_weak_pulls_are_weak():
    """What the data determine does not feel them."""
    world, regression = noisy(2, noise=0.01, n_samples=2000)
    found = fit_with_prior(world.model, regression, prior_from_robot(world.model), gamma=1.0)
    assert max(PULL, LEAST_PULL) <= 0.01
    terms = [column.kind != "rigid_body" for column in world.model.columns]
    assert np.allclose(found.theta[terms], world.theta[terms], atol=0.02)


def test_intervals_of_a_fit_with_a_prior():
    """They hold most of the truth, and say how much of them comes from the data."""
    world, regression = noisy(7, n_samples=2000)
    prior = scattered(world.model, world.model.prior_theta(), np.random.default_rng(3), 0.1)
    fit = fit_with_prior(world.model, regression, prior, gamma=100.0)
    estimate = with_intervals(regression, fit, n_resamples=40, ranges=False)
    inside = np.abs(estimate.beta - world.beta) <= estimate.spread.half_width(0.95)
    assert np.mean(inside) >= 0.7
    share = fit.pull.data_share[~np.isnan(fit.pull.data_share)]  # friction has no prior
    assert len(share) > 5
    assert (share >= 0.0).all()
    assert (share <= 1.0).all()
    assert np.linalg.eigvalsh(fit.pull.covariance)[0] >= -1e-9
    weak = fit_with_prior(world.model, regression, prior, gamma=1e-3)
    assert np.nanmean(weak.pull.data_share) > np.mean(share)
