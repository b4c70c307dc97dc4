"""Formulations of one body: derivatives, agreement, and how far early iterates are off."""

from __future__ import annotations

import numpy as np
import pytest
from manifold_problems import single_body
from seeds import every

from steelyard.estimators.manifold.fit import fit_on_manifold
from steelyard.estimators.manifold.formulations import FORMULATIONS, solve_formulation
from steelyard.robot.inertia import from_com
from steelyard.robot.principal_body import principal_body
from steelyard.testing.random_robots import random_body, random_rotation

NAMES = tuple(FORMULATIONS)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_the_step(name):
    """Central differences of phi and of the equations along every coordinate of a step."""
    rng = np.random.default_rng(3)
    one = FORMULATIONS[name]
    body = principal_body(random_body(rng))
    x = one.start(body)
    phi, D = one.phi(x)
    assert phi == pytest.approx(body.phi)
    values, rows = one.equations(x)
    assert values == pytest.approx(np.zeros(len(values)), abs=1e-12)
    h = 1e-6
    for k in range(D.shape[1]):
        step = np.zeros(D.shape[1])
        step[k] = h
        ahead, back = one.move(x, step), one.move(x, -step)
        assert (one.phi(ahead)[0] - one.phi(back)[0]) / (2 * h) == pytest.approx(D[:, k], abs=1e-6)
        slope = (one.equations(ahead)[0] - one.equations(back)[0]) / (2 * h)
        assert slope == pytest.approx(rows[:, k], abs=1e-6)


def simple_problem(seed):
    """A factor with a physical optimum inside, and a start that is not far."""
    rng = np.random.default_rng(seed)
    truth = from_com(2.0, rng.normal(scale=0.1, size=3), np.diag([0.02, 0.03, 0.04]))
    F = rng.normal(size=(30, 10)) / np.array([1.0] + [0.3] * 3 + [0.05] * 6)
    g = F @ truth + 1e-3 * rng.normal(size=30)
    turned = random_rotation(rng)
    start = from_com(1.5, np.zeros(3), turned @ np.diag([0.02, 0.025, 0.03]) @ turned.T)
    return F, g, principal_body(start)


@every("seed", range(3))
def test_all_formulations_find_an_optimum_inside(seed):
    """The objective of each is that of the fit on the manifold, to 1e-6."""
    F, g, start = simple_problem(seed)
    best = fit_on_manifold(F, g, (0,)).objective
    for name in NAMES:
        found = solve_formulation(name, F, g, start, max_iterations=500)
        assert found.reached, name
        assert found.objective == pytest.approx(best, rel=1e-6), name
        assert found.off_manifold <= 1e-8


def test_a_formulation_that_does_not_reach_the_optimum_says_so():
    """From this start the constraints keep quaternion and matrix from the optimum."""
    F, g, start = simple_problem(3)
    best = fit_on_manifold(F, g, (0,)).objective
    found = {name: solve_formulation(name, F, g, start) for name in NAMES}
    at_optimum = {name: one.objective <= best * (1.0 + 1e-6) for name, one in found.items()}
    assert {name: one.reached for name, one in found.items()} == at_optimum
    assert at_optimum["so3"]


def test_only_constrained_formulations_leave_the_manifold_when_stopped_early():
    """Stopped after one to eight steps, SO(3) and log-Cholesky are on it, the others off it."""
    F, g, start = simple_problem(0)
    off = {
        name: max(
            solve_formulation(name, F, g, start, max_iterations=most).off_manifold
            for most in range(1, 9)
        )
        for name in NAMES
    }
    assert off["so3"] == off["log-cholesky"] == 0.0
    assert off["quaternion"] > 1e-3
    assert off["matrix"] > 1e-3


def test_log_cholesky_does_not_claim_a_flat_optimum():
    """Where the optimum is flat, it ends above it or says that it was not reached."""
    problem = next(
        p
        for p in map(single_body, range(100))
        if p.kind == "boundary"
        and p.F.shape[1] == 10
        and p.on_boundary(fit_on_manifold(p.F, p.g, (0,)).theta)
    )
    start = principal_body(from_com(1.0, np.zeros(3), 0.01 * np.diag([0.8, 1.0, 1.2])))
    found = solve_formulation("log-cholesky", problem.F, problem.g, start)
    best = fit_on_manifold(problem.F, problem.g, (0,)).objective
    assert not found.reached or found.objective <= best * (1.0 + 1e-6)
