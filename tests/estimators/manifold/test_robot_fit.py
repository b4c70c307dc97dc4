"""The method "manifold" on robots: the optimum of "feasible", what it honours and refuses."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from experiments import chain_experiment
from humanoid import humanoid, humanoid_log
from random_problems import random_problem
from seeds import every

from steelyard.certificates.certificate import prove
from steelyard.conic.settle import failing
from steelyard.errors import EstimationError, SteelyardWarning
from steelyard.estimators.estimator import EstimationOptions
from steelyard.estimators.feasible import fit_feasible
from steelyard.estimators.manifold.robot_fit import fit_robot_on_manifold
from steelyard.estimators.registry import estimate_by
from steelyard.identification.identify import identify
from steelyard.knowledge.constraints import Box, Constraints
from steelyard.model.typical_sizes import known_parameters
from steelyard.regression.compress import compress
from steelyard.signals.processing import Processing


def noisy(seed, noise=3.0):
    """A model of three joints and its regression."""
    world = chain_experiment(seed, n_joints=3, n_samples=400)
    draw = noise * np.random.default_rng(seed).normal(size=world.tau.shape)
    return world.model, compress(world.model, world.motion, world.measured(draw))


@every("seed", range(8))
def test_the_optimum_is_that_of_the_method_feasible(seed):
    """Same problem, same objective to 1e-6, and the digits meet every condition exactly."""
    one = random_problem(seed)
    found = fit_robot_on_manifold(one.model, one.regression, one.constraints)
    known = known_parameters(one.model)
    other = fit_feasible(one.model, one.regression, one.constraints, prior=known)
    ours, theirs = (found.fit.problem.objective(fit.theta) for fit in (found.fit, other))
    assert ours <= theirs + 1e-6 * max(theirs, 1.0)
    assert found.same_optimum
    assert found.finding.code == "manifold-optimum"
    assert not failing(found.fit.blocks, found.fit.theta)


def test_margins_known_parts_fixed_terms_and_bounds_are_honoured():
    """What shifts a body, fixes a term or bounds it from below gives the same optimum too."""
    model, regression = noisy(1)
    columns = [column.name for column in model.columns if column.kind == "viscous"]
    known = tuple(0.5 * model.prior_theta()[:10])
    body = model.mechanism.bodies[0].name
    constraints = Constraints(
        margin=1e-6,
        known_part={body: known},
        fixed={columns[0]: 0.3},
        bounds={columns[1]: (0.2, None)},
    )
    found = fit_robot_on_manifold(model, regression, constraints)
    assert found.same_optimum
    assert not failing(found.fit.blocks, found.fit.theta)
    assert found.fit.theta[model.column_names.index(columns[0])] == 0.3


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        (Constraints(total_mass=(1.0, 3.0)), "total mass|mass of"),
        (Constraints(consistency="sousa"), "physical"),
        (Constraints(consistency="none"), "need not be physical"),
        (Constraints(com={"link_1": Box((-1, -1, -1), (1, 1, 1))}), "link_1"),
        (Constraints(fixed={"link_1.m": 2.0}), "link_1"),
        (Constraints(bounds={"viscous": (0.0, 1.0)}), "at most 1"),
    ],
)
def test_conditions_that_it_cannot_honour_are_refused_by_name(constraints, words):
    """The refusal names the condition and the methods that can."""
    model, regression = noisy(1)
    with pytest.raises(EstimationError, match=words) as refusal:
        fit_robot_on_manifold(model, regression, constraints)
    assert "cannot honour" in str(refusal.value)


def test_a_fit_that_its_budget_ends_is_physical_and_says_so():
    """A budget of no time: physical parameters, exactly, with a warning that names the budget."""
    model, regression = noisy(2, noise=30.0)
    options = EstimationOptions("manifold", n_resamples=0, ranges=False, budget_s=1e-9)
    estimate, fit = estimate_by(options, model, regression)
    assert fit is not None
    assert not failing(fit.blocks, fit.theta)
    said = [one for one in estimate.findings if one.code == "manifold-not-optimal"]
    assert [one.level for one in said] == ["warning"]
    assert "budget of 1e-09 s" in said[0].words


def test_a_stopped_fit_and_its_certificate_measure_the_same():
    """Both state the objective value, and the warning's gap is within the proven one."""
    model, regression = noisy(2, noise=30.0)
    found = fit_robot_on_manifold(model, regression, budget_s=1e-9)
    certificate, _ = prove(model, regression, found.fit)
    assert certificate is not None
    assert found.value == pytest.approx(certificate.value, rel=1e-12)
    assert 0.01 * found.value < found.above <= certificate.gap * (1.0 + 1e-9)
    shared = f"objective value of {certificate.value:.6g} is"
    assert shared in found.finding.words
    assert shared in certificate.words


def test_a_stopped_fit_keeps_to_the_default_bound():
    """Data that no body can have, and no time: the bodies are made lighter, not refused."""
    one = random_problem(0)
    found = fit_robot_on_manifold(one.model, one.regression, one.constraints, budget_s=1e-9)
    assert not failing(found.fit.blocks, found.fit.theta)
    assert found.on_manifold.stopped == "budget"
    assert not found.same_optimum


def test_a_budget_is_refused_where_it_has_no_effect():
    """Other methods cannot be stopped, and the refusal names those that can."""
    model, regression = noisy(2)
    options = EstimationOptions("feasible", budget_s=1.0)
    with pytest.raises(EstimationError, match="methods that can: manifold"):
        estimate_by(options, model, regression)
    with pytest.raises(EstimationError, match="positive number of seconds"):
        estimate_by(replace(options, method="manifold", budget_s=-1.0), model, regression)


def test_a_humanoid_is_fitted_within_a_budget():
    """Of the small humanoid, with its floating base: whenever the fit is stopped, every body is
    physical exactly and the objective is at most that of less time; with enough time it is that of
    Clarabel's solution, and a short budget is kept to within its last step.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteelyardWarning)
        found = identify(
            humanoid(),
            humanoid_log(1),
            method="wls",
            processing=Processing(cutoff_hz=12.0, torque_filter="same", dead_band="tenth"),
            friction_width=0.0,
            threads=1,
        )
    model, regression = found.model, found.regression
    assert model.robot.floating_base
    fits = [fit_robot_on_manifold(model, regression, budget_s=b) for b in (1e-9, 60.0, None)]
    for one in fits:
        assert not failing(one.fit.blocks, one.fit.theta)
    stopped, long, free = fits
    assert stopped.on_manifold.stopped == "budget"
    assert stopped.finding.code == "manifold-not-optimal"
    assert stopped.above > 1.0
    assert np.all(np.diff(free.on_manifold.objectives) <= 0.0)
    for one in (long, free):
        assert one.same_optimum
        assert one.value == pytest.approx(stopped.value - stopped.above, rel=1e-6)
    # every iterate on the way is physical, too: stop after any number of steps
    for k in range(1, 12, 3):
        part = fit_robot_on_manifold(model, regression, max_iterations=k)
        assert not failing(part.fit.blocks, part.fit.theta)
        assert part.on_manifold.iterations == k
