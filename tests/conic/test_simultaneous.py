"""Constrained fits by the interior-point method: Clarabel's optimum, with duals that prove it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from random_problems import random_problem
from seeds import every

from steelyard.conic.blocks import Block
from steelyard.conic.simultaneous import solve_fit
from steelyard.conic.solver import solve
from steelyard.estimators.constrained import fit_problem, weighted_system
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.model.typical_sizes import parameter_scale, typical_parameters


def problem_of(seed):
    """The constrained fit of a random robot."""
    one = random_problem(seed)
    model, regression = one.model, one.regression
    system = weighted_system(model, regression)
    given = blocks(model, one.constraints)
    scale = parameter_scale(model)
    K = regression.base.K
    return fit_problem(
        system.factor, system.sigma, K, given, scale, 1e-2, typical_parameters(model)
    )


@every("seed", range(12))
def test_the_optimum_is_clarabels(seed):
    """Objectives agree, and the residuals that are recomputed from the duals are small."""
    problem = problem_of(seed)
    found, other = solve_fit(problem), solve(problem)
    assert found.status == other.status == "solved"
    size = 1.0 + abs(other.value)
    assert abs(found.value - other.value) <= 1e-6 * size
    if found.form == "interior":
        assert found.worst_margin >= -1e-8 * np.max(problem.scale)
        assert abs(found.gap) <= 1e-6 * size
        assert found.imbalance_cost <= 1e-6 * size


def test_most_robots_are_solved_by_the_interior_point():
    """The rule is not an empty one."""
    forms = [solve_fit(problem_of(seed)).form for seed in range(8)]
    assert forms.count("interior") >= 4


def test_equations_have_duals():
    """With theta_0 fixed, the duals balance the gradient."""
    one = problem_of(0)
    n = len(one.scale)
    equal = Block("zero", (0,), np.ones((1, 1)), -np.array([float(one.towards[0])]))
    problem = replace(one, blocks=(*one.blocks, equal))
    found, other = solve_fit(problem), solve(problem)
    assert len(found.duals) == len(problem.blocks)
    assert abs(found.value - other.value) <= 1e-6 * (1.0 + abs(other.value))
    assert found.stationarity <= 1e-4 * (
        1.0 + np.max(np.abs(problem.gradient(np.zeros(n)) * one.scale))
    )


def test_problems_without_a_unique_optimum_go_to_clarabel():
    """Without a pull the interior-point method is not asked."""
    one = problem_of(1)
    problem = replace(one, pull=np.zeros(len(one.scale)))
    assert solve_fit(problem).form != "interior"


def test_contradictions_are_a_status():
    """theta_0 >= 1 and theta_0 <= -1: infeasible, as Clarabel says."""
    one = problem_of(2)
    rows = np.array([[1.0], [-1.0]])
    never = Block("nonnegative", (0,), rows, np.array([-1.0, -1.0]))
    assert solve_fit(replace(one, blocks=(*one.blocks, never))).status == "infeasible"
