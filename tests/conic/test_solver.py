"""The conic solver against CVXPY with two solvers, and its recomputed residuals."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest
from conic_problems import off_by, random_problem
from seeds import every

from steelyard.conic.blocks import Block, entries_of, matrix_of
from steelyard.conic.problem import adjoint, conic_problem, pairing
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError


def in_cvxpy(problem):
    """The problem in CVXPY, on x = theta / scale."""
    x = cvxpy.Variable(len(problem.c))
    theta = cvxpy.multiply(problem.scale, x)
    weight = np.sqrt(problem.pull) * problem.scale
    cost = 0.5 * cvxpy.sum_squares(cvxpy.multiply(weight, x - problem.towards / problem.scale))
    cost += (problem.c * problem.scale) @ x
    if len(problem.g):
        cost += 0.5 * cvxpy.sum_squares((problem.F * problem.scale) @ x - problem.g)
    conditions = []
    for block in problem.blocks:
        value = block.A @ theta[list(block.columns)] + block.b
        if block.kind == "zero":
            conditions.append(value == 0)
        elif block.kind == "nonnegative":
            conditions.append(value >= 0)
        elif block.kind == "second_order":
            conditions.append(cvxpy.SOC(value[0], value[1:]))
        else:
            M = cvxpy.Variable((block.size, block.size), symmetric=True)
            at = 0
            for j in range(block.size):
                for i in range(j + 1):
                    conditions.append(M[i, j] == value[at])
                    at += 1
            conditions.append(M >> 0)
    return cvxpy.Problem(cvxpy.Minimize(cost), conditions), x


@every("seed", range(25))
def test_the_same_optimum_as_cvxpy(seed):
    """Objective and point agree with CVXPY's Clarabel, and with SCS at its accuracy."""
    problem = random_problem(np.random.default_rng(seed))
    ours = solve(problem)
    assert ours.status == "solved"
    oracle, x = in_cvxpy(problem)
    oracle.solve(solver="CLARABEL")
    value = problem.objective(ours.theta)
    assert value == pytest.approx(oracle.value, rel=1e-6, abs=1e-6)
    # Clarabel's gap is at most 1e-8 of the objective; ours is recomputed
    gaps = abs(ours.gap) + ours.imbalance_cost, 1e-8 * (1.0 + abs(value))
    assert max(gaps) <= 1e-6
    assert off_by(problem, ours.theta, problem.scale * x.value, *gaps) <= 1.0
    oracle.solve(solver="SCS", eps_abs=1e-7, eps_rel=1e-7, max_iters=50_000)
    assert value == pytest.approx(oracle.value, rel=1e-3, abs=1e-3)


@every("seed", range(25))
def test_a_solution_recomputes_its_residuals(seed):
    """Margins, stationarity and gap are near zero at the optimum, and not elsewhere."""
    rng = np.random.default_rng(100 + seed)
    problem = random_problem(rng)
    found = solve(problem)
    size = max(1.0, *(float(np.abs(dual).max()) for dual in found.duals))
    assert found.worst_margin > -1e-8
    assert found.stationarity < 1e-6 * size
    assert abs(found.gap) < 1e-6 * size
    for block, dual in zip(problem.blocks, found.duals, strict=True):
        dual_block = Block(block.kind, block.columns, 0 * block.A, dual)
        if block.kind != "zero":
            assert dual_block.margin(found.theta) > -1e-8 * size
    away = type(found)(problem, "solved", found.theta + problem.scale, found.duals, 0, "moved")
    assert away.stationarity > 1e-3 or abs(away.gap) > 1e-3 or away.worst_margin < -1e-3


@every("seed", range(10))
def test_gradient_and_adjoint(seed):
    """The gradient is the objective's slope, and A* is the adjoint of A."""
    rng = np.random.default_rng(200 + seed)
    problem = random_problem(rng)
    theta, step = rng.normal(size=(2, len(problem.c))) * problem.scale
    slope = (problem.objective(theta + 1e-4 * step) - problem.objective(theta - 1e-4 * step)) / 2e-4
    assert slope == pytest.approx(problem.gradient(theta) @ step, rel=1e-6, abs=1e-6)
    for block in problem.blocks:
        dual = rng.normal(size=len(block.b))
        x = rng.normal(size=len(block.columns)) * problem.scale[list(block.columns)]
        paired = pairing(block, dual, block.A @ x)
        assert paired == pytest.approx(adjoint(block, dual) @ x, rel=1e-9, abs=1e-9)
        if block.kind == "psd":
            trace = np.trace(matrix_of(dual) @ matrix_of(block.A @ x))
            assert paired == pytest.approx(trace, rel=1e-9, abs=1e-9)


@every("seed", range(20))
def test_duals_prove_infeasibility(seed):
    """For contradictory conditions sum A* z = 0, and the inner product of z and b is negative."""
    rng = np.random.default_rng(300 + seed)
    problem = random_problem(rng)
    k = int(rng.integers(len(problem.blocks)))
    block = problem.blocks[k]
    # the opposite of the block, shifted: both cannot hold
    unit = np.zeros(len(block.b))
    if block.kind == "psd":
        unit = entries_of(np.eye(block.size))
    elif block.kind == "second_order":
        unit[0] = 1.0
    else:
        unit[:] = 1.0
    kind = "nonnegative" if block.kind == "zero" else block.kind
    push = Block(kind, block.columns, -block.A, -block.b - 0.5 * unit)
    if block.kind == "second_order":
        push = Block("nonnegative", block.columns, -block.A[:1], -block.b[:1] - 0.5)
    broken = conic_problem(
        len(problem.c), [*problem.blocks, push], problem.scale, pull=problem.pull,
        towards=problem.towards,
    )  # fmt: skip
    found = solve(broken)
    assert found.status == "infeasible"
    balance = np.zeros(len(problem.c))
    value = 0.0
    for condition, dual in zip(broken.blocks, found.duals, strict=True):
        balance[list(condition.columns)] += adjoint(condition, dual)
        value += pairing(condition, dual, condition.b)
        if condition.kind != "zero":
            in_cone = Block(condition.kind, condition.columns, 0 * condition.A, dual)
            assert in_cone.margin(balance) > -1e-9 * max(1.0, np.abs(dual).max())
    assert value < 0
    assert np.max(np.abs(balance * problem.scale)) < 1e-6 * abs(value)


def test_unbounded_problems_have_that_status():
    """A linear objective without a lower bound is unbounded."""
    block = Block("nonnegative", (0,), np.eye(1), np.zeros(1))
    assert solve(conic_problem(1, [block], np.ones(1), c=np.array([-1.0]))).status == "unbounded"


def test_a_problem_without_conditions_is_least_squares():
    """Without blocks the answer is least squares, also with poorly scaled columns."""
    rng = np.random.default_rng(0)
    scale = 10.0 ** np.array([-5.0, -2.0, 0.0, 1.0, 3.0])
    F, g = rng.normal(size=(9, 5)) / scale, rng.normal(size=9)
    found = solve(conic_problem(5, [], scale, F=F, g=g))
    expected = np.linalg.lstsq(F * scale, g, rcond=None)[0] * scale
    assert np.allclose(found.theta, expected, rtol=1e-7)
    assert found.worst_margin == np.inf


def test_nan_is_refused():
    """NaN in a problem gives an EstimationError or a failed status, not a crash."""
    block = Block("nonnegative", (0,), np.array([[np.nan]]), np.zeros(1))
    try:
        status = solve(conic_problem(1, [block], np.ones(1), c=np.ones(1))).status
    except EstimationError:
        return
    assert status in ("failed", "stalled")
