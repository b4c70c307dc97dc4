"""The published sequential method: its program, and what fixing the outer links does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from experiments import chain_experiment

from steelyard.conic.blocks import psd_block
from steelyard.conic.problem import conic_problem
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.estimators.constrained import weighted_system
from steelyard.estimators.feasible import PULL
from steelyard.estimators.sequential.fit import fit_sequential, fit_sequential_paper
from steelyard.estimators.sequential.paper import joint_rows
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale, placing_weights
from steelyard.regression.compress import compress
from steelyard.regression.equation import Equation
from steelyard.signals.motion import Measurements, Motion
from steelyard.testing.random_robots import random_robot


@pytest.fixture(scope="module")
def arm():
    """Three revolute joints without noise."""
    experiment = chain_experiment(11, 3)
    noise = np.zeros_like(experiment.tau)
    return experiment, compress(experiment.model, experiment.motion, experiment.measured(noise))


def joint_errors(experiment, theta: np.ndarray) -> np.ndarray:
    """Relative error of the torque of each joint."""
    motion = experiment.motion
    away = torque(experiment.model, theta, motion.q, motion.v, motion.a) - experiment.tau
    return np.linalg.norm(away, axis=0) / np.linalg.norm(experiment.tau, axis=0)


def noisy(experiment, seed: int):
    """The regression with noise of a tenth of each torque."""
    rng = np.random.default_rng(seed)
    noise = 0.1 * np.std(experiment.tau, axis=0) * rng.normal(size=experiment.tau.shape)
    return compress(experiment.model, experiment.motion, experiment.measured(noise))


def test_what_is_fixed_too_early_poisons_the_inner_joints():
    """What noise makes of the outer links is fixed, and is far from the simultaneous optimum."""
    experiment = chain_experiment(4, 3)
    regression = noisy(experiment, 1)
    published = fit_sequential_paper(experiment.model, regression)
    sound = fit_sequential(experiment.model, regression, sweeps=0)
    assert published.reached.relative_gap > 1.0
    assert published.findings[-1].code == "sequential-not-optimal"
    assert sound.reached.relative_gap < 0.1
    outer, inner = joint_errors(experiment, published.fit.theta)[[2, 0]]
    assert inner > 3.0 * joint_errors(experiment, sound.fit.theta)[0]
    assert outer < 0.1


def test_a_wrong_centre_of_the_regularisation_is_paid_by_the_inner_joints(arm):
    """Three times the truth where joint 3 sees nothing of link 3: the others pay for it."""
    experiment, regression = arm
    towards = experiment.theta.copy()
    last = experiment.model.first_column_of_body[-1]
    towards[last : last + 10] *= 3.0
    right = fit_sequential_paper(experiment.model, regression, towards=experiment.theta)
    wrong = fit_sequential_paper(experiment.model, regression, towards=towards)
    assert joint_errors(experiment, right.fit.theta).max() < 1e-3
    errors = joint_errors(experiment, wrong.fit.theta)
    assert errors[2] < 1e-3
    assert errors[0] > 0.05
    sound = fit_sequential(experiment.model, regression, towards=towards, sweeps=0)
    assert joint_errors(experiment, sound.fit.theta).max() < 1e-3


def test_the_epigraph_form_gives_the_same_last_link(arm):
    """u + lambda |D theta|² under [[1, e], [eᵀ, u]] psd, by Clarabel, equals the quadratic form."""
    experiment, _ = arm
    model = experiment.model
    regression = noisy(experiment, 3)
    system = weighted_system(model, regression)
    found = fit_sequential_paper(model, regression)
    first = model.first_column_of_body[-1]
    columns = list(range(first, len(model.columns)))
    K, group = regression.base.K, regression.groups[-1]
    factor = regression.group_factors[-1] * system.weights[-1] / system.sigma
    F = factor[:-1, :-1] @ K[np.ix_(list(group.columns), columns)]
    z = factor[:-1, -1]
    # e = z - F theta; variables theta and u
    n, size = len(columns), len(z) + 1
    coefficients = [np.zeros((size, size)) for _ in range(n + 1)]
    for k in range(n):
        coefficients[k][:-1, -1] = coefficients[k][-1, :-1] = -F[:, k]
    coefficients[n][-1, -1] = 1.0
    constant = np.eye(size)
    constant[-1, -1] = 0.0
    constant[:-1, -1] = constant[-1, :-1] = z
    epigraph = psd_block(None, range(n + 1), coefficients, constant)
    given = [
        replace(block, columns=tuple(c - first for c in block.columns))
        for block in blocks(model, Constraints())
        if block.columns[0] >= first
    ]
    scale = np.append(parameter_scale(model)[columns], 1.0)
    lam = np.append(PULL * placing_weights(model)[columns] / scale[:-1] ** 2, 0.0)
    c = np.zeros(n + 1)
    c[n] = 0.5
    solution = solve(
        conic_problem(n + 1, (*given, epigraph), scale, c=c, pull=lam, towards=np.zeros(n + 1))
    )
    assert solution.status == "solved"
    ours = found.refined.whole.links[-1].theta(found.refined.fit.u[-1])
    residual = z - F @ ours
    assert solution.theta[n] == pytest.approx(float(residual @ residual), rel=1e-3)
    assert np.allclose(solution.theta[:n] / scale[:n], ours / scale[:n], atol=5e-4)


def test_rows_that_belong_to_no_joint_are_refused(arm):
    """Energy rows and links that share a coordinate are named, with what to use instead."""
    experiment, regression = arm
    energy = replace(regression, equation=Equation("energy"))
    with pytest.raises(EstimationError, match="needs torque rows of each joint"):
        joint_rows(experiment.model, energy)
    rng = np.random.default_rng(0)
    robot = random_robot(rng, 4, chain=True, fixed=0.0, mimic=1.0)
    model = Model(robot)
    n = model.nv
    q, v, a = rng.normal(size=(3, 400, n))
    motion = Motion(np.arange(400) * 0.01, q, v, a)
    tau = torque(model, model.prior_theta(), q, v, a) + 0.1 * rng.normal(size=(400, n))
    mimicking = compress(model, motion, Measurements(model.channels, tau))
    with pytest.raises(EstimationError, match="mimic"):
        fit_sequential_paper(model, mimicking)
    fit_sequential(model, mimicking)
