"""The interior-point method against CVXPY, and its residuals."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest
from interior_problems import random_problem, symmetric
from seeds import every

from steelyard.conic.interior_conditions import MatrixCondition
from steelyard.conic.interior_point import minimise
from steelyard.errors import EstimationError


def value_of(x, condition):
    """The condition's matrix at x."""
    return np.tensordot(x[list(condition.columns)], condition.A, 1) + condition.b


def objective(x, F, g, c, conditions):
    """What is minimised; infinite outside the conditions with a floor."""
    total = 0.5 * np.sum((F @ x - g) ** 2) + c @ x
    for one in conditions:
        if one.floor:
            sign, logdet = np.linalg.slogdet(value_of(x, one))
            total -= one.floor * logdet if sign > 0 else -np.inf
    return total


def cvxpy_optimum(F, g, c, conditions):
    """The same problem in CVXPY, solved by Clarabel."""
    x = cvxpy.Variable(F.shape[1])
    cost = 0.5 * cvxpy.sum_squares(F @ x - g) + c @ x
    wanted = []
    for one in conditions:
        S = one.b + sum(x[j] * A for j, A in zip(one.columns, one.A, strict=True))
        if one.floor:
            cost -= one.floor * cvxpy.log_det(S)
        else:
            wanted.append(S >> 0)
    problem = cvxpy.Problem(cvxpy.Minimize(cost), wanted)
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    return problem.value


@pytest.mark.parametrize("floors", [False, True])
@every("seed", range(20))
def test_optimum_is_cvxpys(seed, floors):
    """The objective agrees to 1e-6, with and without log-determinants."""
    F, g, c, conditions, start = random_problem(seed, floors)
    found = minimise(F, g, c, conditions, start)
    ours = objective(found.x, F, g, c, conditions)
    theirs = cvxpy_optimum(F, g, c, conditions)
    assert abs(ours - theirs) <= 1e-6 * (1.0 + abs(theirs))
    for one in conditions:
        assert np.linalg.eigvalsh(value_of(found.x, one))[0] >= -1e-7


@every("seed", range(30))
def test_duals_prove_the_optimum(seed):
    """Duals are positive definite, balance the gradient, and S Z is zero or the floor."""
    F, g, c, conditions, start = random_problem(seed, floors=True)
    found = minimise(F, g, c, conditions, start)
    assert found.converged
    rest = F.T @ (F @ found.x - g) + c
    size = max(1.0, np.max(np.abs(F.T @ g - c)), max(one.floor for one in conditions))
    for one, Z in zip(conditions, found.duals, strict=True):
        np.subtract.at(rest, list(one.columns), np.einsum("pij,ij->p", one.A, Z))
        assert np.linalg.eigvalsh(Z)[0] > 0.0
        products = np.linalg.eigvals(value_of(found.x, one) @ Z).real
        if one.floor:
            assert np.allclose(products, one.floor, rtol=1e-6)
        else:
            assert abs(products.sum()) <= 1e-7 * (1.0 + np.sum((F @ found.x - g) ** 2))
    assert np.max(np.abs(rest)) <= 1e-8 * size


@every("seed", range(30))
def test_the_gap_bounds_the_distance_from_the_optimum(seed):
    """A loose solution is above the optimum by its gap at most, but for its other residuals."""
    F, g, c, conditions, start = random_problem(seed, floors=True)
    loose = minimise(F, g, c, conditions, start, accuracy=1e-2)
    tight = minimise(F, g, c, conditions, start)
    value = 1.0 + 0.5 * np.sum((F @ loose.x - g) ** 2)
    for one in conditions:
        if one.floor:
            S = value_of(loose.x, one)
            value += one.floor * (np.trace(S) - np.linalg.slogdet(S)[1] - len(S))
    above, best = (objective(one.x, F, g, c, conditions) for one in (loose, tight))
    size = max(1.0, np.max(np.abs(F.T @ g - c)), max(one.floor for one in conditions))
    slack = loose.stationarity * size * np.sum(np.abs(loose.x - tight.x))
    slack += sum(
        loose.violation * max(1.0, np.max(np.abs(value_of(loose.x, one)))) * np.sum(np.abs(Z))
        for one, Z in zip(conditions, loose.duals, strict=True)
    )
    assert above - best <= loose.gap * value + slack + 1e-8 * (1.0 + abs(best))


@every("seed", range(10))
def test_the_start_does_not_matter(seed):
    """Starts near and far away give the same optimum."""
    F, g, c, conditions, start = random_problem(seed, floors=True)
    near, far = (minimise(F, g, c, conditions, x).x for x in (start, 100.0 * start[::-1]))
    assert np.allclose(near, far, atol=1e-4)
    one, other = (objective(x, F, g, c, conditions) for x in (near, far))
    assert one == pytest.approx(other, rel=1e-8, abs=1e-8)


def test_a_second_order_condition_as_an_arrow():
    """The nearest point of a ball, from [[t, xᵀ], [x, t 1]] psd with t = 2."""
    A = np.zeros((3, 4, 4))
    for j in range(3):
        A[j, 0, j + 1] = A[j, j + 1, 0] = 1.0
    target = np.array([3.0, -4.0, 12.0])
    ball = MatrixCondition((0, 1, 2), A, 2.0 * np.eye(4))
    found = minimise(np.eye(3), target, np.zeros(3), [ball], np.zeros(3))
    assert np.allclose(found.x, 2.0 * target / 13.0, atol=1e-7)


def test_without_conditions_it_is_least_squares():
    """Without conditions one Newton step gives the least-squares solution."""
    rng = np.random.default_rng(0)
    F, g = rng.normal(size=(9, 4)), rng.normal(size=9)
    found = minimise(F, g, np.zeros(4), [], np.zeros(4))
    assert np.allclose(found.x, np.linalg.lstsq(F, g, rcond=None)[0])
    assert found.iterations <= 1
    assert found.duals == ()


def test_a_log_determinant_alone_has_its_analytic_centre():
    """min c·x - floor log x is at floor / c; for a matrix, floor C⁻¹."""
    number = MatrixCondition((0,), np.ones((1, 1, 1)), np.zeros((1, 1)), 5.0)
    found = minimise(np.zeros((0, 1)), np.zeros(0), np.array([2.0]), [number], np.ones(1))
    assert found.x == pytest.approx(2.5, rel=1e-8)
    basis = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]])
    C = np.array([[2.0, 0.5], [0.5, 1.0]])
    matrix = MatrixCondition((0, 1, 2), basis, np.zeros((2, 2)), 3.0)
    c = np.einsum("pij,ij->p", basis, C)
    found = minimise(np.zeros((0, 3)), np.zeros(0), c, [matrix], np.array([1.0, 0.0, 1.0]))
    assert np.allclose(np.tensordot(found.x, basis, 1), 3.0 * np.linalg.inv(C), rtol=1e-7)


@pytest.mark.parametrize("floor", [0.0, 1.0])
def test_conditions_that_contradict_each_other_are_refused(floor):
    """x >= 1 and x <= 0 raise an error."""
    one = MatrixCondition((0,), np.ones((1, 1, 1)), -np.ones((1, 1)), floor)
    other = MatrixCondition((0,), -np.ones((1, 1, 1)), np.zeros((1, 1)))
    with pytest.raises(EstimationError, match="did not converge"):
        minimise(np.ones((1, 1)), np.zeros(1), np.zeros(1), [one, other], np.zeros(1))


def test_a_matrix_that_cannot_be_positive_is_refused():
    """[[x, 1], [1, -x]] has a negative eigenvalue for every x."""
    A = np.array([[[1.0, 0.0], [0.0, -1.0]]])
    never = MatrixCondition((0,), A, np.array([[0.0, 1.0], [1.0, 0.0]]))
    with pytest.raises(EstimationError, match="violation"):
        minimise(np.ones((1, 1)), np.zeros(1), np.zeros(1), [never], np.zeros(1))


def test_a_problem_without_an_optimum_is_refused():
    """min -x with x >= 0 is unbounded."""
    above = MatrixCondition((0,), np.ones((1, 1, 1)), np.zeros((1, 1)))
    with pytest.raises(EstimationError):
        minimise(np.zeros((0, 1)), np.zeros(0), -np.ones(1), [above], np.ones(1))


def test_no_variables_at_all():
    """A problem without variables converges."""
    found = minimise(np.zeros((2, 0)), np.ones(2), np.zeros(0), [], np.zeros(0))
    assert found.x.shape == (0,)
    assert found.converged


def test_conditions_that_share_columns_add_up():
    """The same condition twice equals one with twice the floor."""
    rng = np.random.default_rng(4)
    A = np.array([symmetric(rng, 3) for _ in range(3)])
    one = MatrixCondition((0, 1, 2), A, 3.0 * np.eye(3), 2.0)
    F, g = np.eye(3), np.array([3.0, -2.0, 1.0])
    twice = minimise(F, g, np.zeros(3), [one, one], np.zeros(3)).x
    heavier = MatrixCondition((0, 1, 2), A, 3.0 * np.eye(3), 4.0)
    once = minimise(F, g, np.zeros(3), [heavier], np.zeros(3)).x
    assert np.allclose(twice, once, atol=1e-7)
