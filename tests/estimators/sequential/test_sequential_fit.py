"""Sequential fits of robots: bad input, exact conditions, intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from experiments import chain_experiment, multisine_motion

from steelyard.certificates.certificate import prove
from steelyard.conic.settle import failing
from steelyard.errors import EstimationError, SteelyardError
from steelyard.estimators.estimator import EstimationOptions
from steelyard.estimators.feasible import fit_feasible
from steelyard.estimators.intervals import with_intervals
from steelyard.estimators.prior_fit import fit_with_prior
from steelyard.estimators.registry import estimate_by
from steelyard.estimators.sequential.fit import (
    fit_sequential,
    fit_sequential_paper,
    fit_sequential_with_prior,
)
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import prior_from_robot
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.typical_sizes import known_parameters
from steelyard.regression.compress import compress
from steelyard.robot.rotations import frozen_array
from steelyard.signals.motion import Measurements, Motion
from steelyard.testing.random_robots import random_robot

PULLED = 0.1
"""The weak pull, which is part of the objective of the fit but not of the certificate's."""


def recorded(robot, seed: int, *, still: str | None = None, noise: float = 0.05, n: int = 1200):
    """A model and its regression; the joint ``still`` does not move."""
    rng = np.random.default_rng([seed, 5])
    model = Model(robot)
    motion = multisine_motion(rng, model.nv, n, 100.0)
    if still is not None:
        q, v, a = motion.q.copy(), motion.v.copy(), motion.a.copy()
        k = model.channels.index(still)
        q[:, k], v[:, k], a[:, k] = 0.3, 0.0, 0.0
        motion = Motion(motion.time, q, v, a)
    theta = model.prior_theta()
    theta[[column.kind != "rigid_body" for column in model.columns]] = 0.4
    tau = torque(model, theta, motion.q, motion.v, motion.a)
    tau = tau + noise * np.std(tau, axis=0) * rng.normal(size=tau.shape)
    return model, compress(model, motion, Measurements(model.channels, tau))


@pytest.fixture(scope="module")
def chain():
    robot = random_robot(np.random.default_rng(8), 4, chain=True, prismatic=0.0, fixed=0.0)
    return recorded(robot, 8)


def test_every_condition_holds_exactly_and_the_certificate_is_written(chain):
    """After rounding all bodies are physical in rational arithmetic, and the gap is still true."""
    model, regression = chain
    found = fit_sequential(model, regression)
    assert failing(found.fit.blocks, found.fit.theta) == ()
    best = fit_feasible(model, regression)
    above = best.problem.objective(found.fit.theta) - best.solution.value
    assert above <= found.reached.gap + 1e-6
    certificate, findings = prove(model, regression, found.fit)
    assert certificate is not None
    assert certificate.verdict.valid
    assert findings == ()
    assert certificate.gap is not None
    assert certificate.gap <= found.reached.gap + PULLED
    assert "above the simultaneous optimum" in found.findings[-1].words


def test_a_leaf_without_data_is_named():
    """Its own parameters are placed by the pull; what it adds to its parent is still identified."""
    robot = random_robot(np.random.default_rng(4), 3, chain=True, prismatic=0.0, fixed=0.0)
    model, regression = recorded(robot, 4, still="joint_3")
    # a joint that stands still and whose torque is not recorded
    dropped = [group.name == "joint_3" for group in regression.groups]
    factors = tuple(
        np.zeros_like(one) if gone else one
        for one, gone in zip(regression.factors, dropped, strict=True)
    )
    regression = replace(
        regression, factors=factors, counts=np.where(dropped, 0, regression.counts)
    )
    found = fit_sequential(model, regression)
    assert found.unseen == ("link_3",)
    first = found.findings[0]
    assert (first.level, first.code) == ("warning", "links-without-data")
    assert "link_3" in first.words
    assert "sums with the links that carry them" in first.words
    assert found.reached.relative_gap < 2e-3


@pytest.mark.parametrize("seed", range(2))
def test_a_floating_base_without_its_wrench_needs_the_wrench(seed):
    """Joint torques alone do not show it, and no motion of joints would help."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 3, chain=True, prismatic=0.0, fixed=0.0, floating_base=True)
    model = Model(robot)
    q, v, a = random_states(rng, robot, 200)
    tau = torque(model, model.prior_theta(), q, v, a)
    tau = tau + 0.05 * np.std(tau, axis=0) * rng.normal(size=tau.shape)
    tau[:, :6] = np.nan
    motion = Motion(0.01 * np.arange(200), q, v, a)
    regression = compress(model, motion, Measurements(model.channels, tau))
    found = fit_sequential(model, regression, sweeps=0)
    base = model.mechanism.bodies[0].name
    assert base in found.unseen
    words = found.findings[0].words
    assert f"measure the wrench that holds '{base}'" in words
    assert ("record a motion of" in words) == (len(found.unseen) > 1)


def test_massless_links_fixed_values_and_a_massless_prior():
    """Bodies without free parameters take no part; the others are fitted as simultaneously."""
    robot = random_robot(np.random.default_rng(6), 4, chain=True, prismatic=0.3, fixed=0.0)
    empty = replace(robot.link("link_3"), inertial=frozen_array(np.zeros(10), (10,)))
    links = tuple(empty if one.name == "link_3" else one for one in robot.links)
    robot = replace(robot, links=links)
    model, regression = recorded(robot, 6)
    stated = Constraints(massless=("link_3",), fixed={"link_4.m": 2.0, "joint_1.fv": 0.4})
    known = known_parameters(model)
    found = fit_sequential(model, regression, stated, towards=known)
    best = fit_feasible(model, regression, stated, prior=known)
    assert found.fit.theta[model.column_names.index("link_4.m")] == 2.0
    first = model.first_column_of_body[2]
    assert not found.fit.theta[first : first + 10].any()
    above = best.problem.objective(found.fit.theta) - best.solution.value
    assert above <= 2e-3 * max(best.solution.value, 1.0)
    # without the statement the file's massless link has no prior, and is drawn to a typical body
    prior = prior_from_robot(model)
    drawn = fit_sequential_with_prior(model, regression, prior, gamma=10.0)
    assert drawn.reached.relative_gap < 2e-3


def test_with_a_prior_it_equals_the_default(chain):
    """The same parameters as the method 'entropic' for a stated weight, and a proven gap."""
    model, regression = chain
    prior = prior_from_robot(model)
    ours = fit_sequential_with_prior(model, regression, prior, gamma=20.0, sweeps=12)
    theirs = fit_with_prior(model, regression, prior, gamma=20.0)
    assert np.allclose(ours.fit.theta, theirs.theta, rtol=1e-4, atol=1e-4)
    assert ours.reached.relative_gap < 1e-6
    assert ours.fit.pull is not None
    assert ours.fit.pull.gamma == 20.0


def test_a_single_joint():
    """One link is one step, and optimal."""
    model, regression = recorded(random_robot(np.random.default_rng(1), 1, fixed=0.0), 1)
    found = fit_sequential(model, regression, sweeps=0)
    assert found.reached.relative_gap < 1e-6
    assert found.refined.n_sweeps == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_motion_that_excites_little(seed):
    """A joint that stands still leaves directions open, and the optimum is reached all the same."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 5, prismatic=0.2, fixed=0.0)
    model, regression = recorded(robot, seed, still=f"joint_{1 + seed}", n=150)
    known = known_parameters(model)
    found = fit_sequential(model, regression, towards=known)
    best = fit_feasible(model, regression, prior=known)
    above = best.problem.objective(found.fit.theta) - best.solution.value
    assert above <= 2e-3 * max(best.solution.value, 1.0)
    assert above <= found.reached.gap + 1e-6 * max(best.solution.value, 1.0)


def test_the_order_of_links_in_the_file_does_not_matter():
    """A tree whose file lists children before parents has the same torques."""
    robot = random_robot(np.random.default_rng(12), 5, prismatic=0.2, fixed=0.0)
    turned = replace(robot, links=robot.links[::-1], joints=robot.joints[::-1])
    rng = np.random.default_rng(2)
    model, other = Model(robot), Model(turned)
    place = [model.channels.index(name) for name in other.channels]
    motion = multisine_motion(rng, 5, 800, 100.0)
    moved = Motion(motion.time, motion.q[:, place], motion.v[:, place], motion.a[:, place])
    tau = torque(model, model.prior_theta(), motion.q, motion.v, motion.a)
    tau = tau + 0.1 * np.std(tau, axis=0) * rng.normal(size=tau.shape)
    one = compress(model, motion, Measurements(model.channels, tau))
    two = compress(other, moved, Measurements(other.channels, tau[:, place]))
    first, second = fit_sequential(model, one, sweeps=20), fit_sequential(other, two, sweeps=20)
    order = [model.column_names.index(name) for name in other.column_names]
    assert first.reached.value == pytest.approx(second.reached.value, rel=1e-5)
    assert np.allclose(first.fit.theta[order], second.fit.theta, rtol=1e-2, atol=1e-2)


def test_a_floating_base_is_the_first_link():
    """Its wrench rows take part as the torques of joints do, in both versions."""
    rng = np.random.default_rng(3)
    robot = random_robot(rng, 4, prismatic=0.1, fixed=0.0, floating_base=True)
    model = Model(robot)
    q, v, a = random_states(rng, robot, 300)
    tau = torque(model, model.prior_theta(), q, v, a)
    tau = tau + 0.1 * np.std(tau, axis=0) * rng.normal(size=tau.shape)
    motion = Motion(0.01 * np.arange(300), q, v, a)
    regression = compress(model, motion, Measurements(model.channels, tau))
    best = fit_feasible(model, regression)
    found = fit_sequential(model, regression)
    above = best.problem.objective(found.fit.theta) - best.solution.value
    assert above <= 2e-3 * max(best.solution.value, 1.0)
    published = fit_sequential_paper(model, regression)
    assert failing(published.fit.blocks, published.fit.theta) == ()


def test_conditions_that_join_links_are_refused(chain):
    """A total mass is named with its links and the methods that can use it."""
    model, regression = chain
    with pytest.raises(EstimationError, match=r"joins the links .*'feasible' or 'entropic'"):
        fit_sequential(model, regression, Constraints(total_mass=(1.0, 50.0)))


def test_conditions_that_contradict_each_other_are_named(chain):
    """As by the simultaneous methods."""
    model, regression = chain
    impossible = Constraints(mass={"link_2": (5.0, None)}, bounds={"link_2.m": (None, 4.0)})
    with pytest.raises(SteelyardError, match="link_2"):
        fit_sequential(model, regression, impossible)


def test_options_that_do_not_apply_are_refused(chain):
    """Sweeps for a method that makes none, and a number that is none."""
    model, regression = chain
    with pytest.raises(EstimationError, match="methods that do: sequential"):
        estimate_by(EstimationOptions("wls", sweeps=3), model, regression)
    with pytest.raises(EstimationError, match="it must be 0 to 10000"):
        estimate_by(EstimationOptions("sequential", sweeps=-1), model, regression)
    with pytest.raises(EstimationError, match="one finite number for each"):
        fit_sequential(model, regression, towards=np.zeros(3))


def test_intervals_are_labelled_and_reach_the_inner_links():
    """Resampling repeats the pass, so that what is uncertain outside is uncertain inside."""
    experiment = chain_experiment(5, 2, 1000)
    rng = np.random.default_rng(0)
    covered, total = 0, 0
    for _ in range(3):
        noise = 0.1 * np.std(experiment.tau, axis=0) * rng.normal(size=experiment.tau.shape)
        regression = compress(experiment.model, experiment.motion, experiment.measured(noise))
        fit = fit_sequential(experiment.model, regression).fit
        estimate = with_intervals(regression, fit, n_resamples=30, ranges=False)
        assert [spread.kind for spread in estimate.spreads] == ["classical", "resampling"]
        for value, parameter in zip(experiment.beta, estimate.parameters(), strict=True):
            covered += parameter.lower <= value <= parameter.upper
            total += 1
    assert covered / total > 0.85
