"""The compiled interior-point method against the one in NumPy, closed forms and Clarabel."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from interior_problems import random_problem
from seeds import every

from steelyard.conic import _ball_loops, _matrix_loops, _number_loops, interior_compiled
from steelyard.conic.blocks import Block
from steelyard.conic.interior_compiled import BallCondition, prepared
from steelyard.conic.interior_conditions import MatrixCondition
from steelyard.conic.interior_stacked import minimise_stacked
from steelyard.conic.problem import conic_problem
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError


def unit_ball(n, centre, radius):
    """|x - centre| <= radius."""
    A = np.vstack([np.zeros(n), -np.eye(n)])
    return BallCondition(A, np.concatenate([[radius], centre]))


@pytest.mark.parametrize("floors", [False, True])
@every("seed", range(1, 41))
def test_answers_are_those_of_the_stacked_method(seed, floors):
    """x, duals and steps are the same, up to rounding."""
    F, g, c, conditions, start = random_problem(seed, floors)
    one = minimise_stacked(F, g, c, conditions, start)
    other = prepared(conditions, len(start)).minimise(F, g, c, start)
    assert (other.iterations, other.converged) == (one.iterations, one.converged)
    np.testing.assert_allclose(other.x, one.x, rtol=1e-9, atol=1e-9 * np.max(np.abs(one.x)))
    for here, there in zip(other.duals, one.duals, strict=True):
        assert np.max(np.abs(here - there)) <= 1e-6 * (1.0 + np.max(np.abs(there)))


def test_prepared_conditions_serve_many_problems():
    """Other floors and a Gram matrix that is given change nothing but what they say."""
    F, g, c, conditions, start = random_problem(7, True)
    ready = prepared(conditions, len(start))
    floors = 2.0 * ready.floors
    doubled = [MatrixCondition(k.columns, k.A, k.b, 2.0 * k.floor) for k in conditions]
    found = ready.minimise(F, g, c, start, gram=F.T @ F, floors=floors)
    np.testing.assert_array_equal(found.x, prepared(doubled, len(start)).minimise(F, g, c, start).x)


@pytest.mark.parametrize("floors", [False, True])
@every("seed", range(1, 41))
def test_a_start_near_the_optimum_changes_only_the_number_of_steps(seed, floors):
    """The optimum of slightly other data, and even a point that is none, lead to the same one."""
    F, g, c, conditions, start = random_problem(seed, floors)
    rng = np.random.default_rng(seed)
    ready = prepared(conditions, len(start))
    near = ready.minimise(F * (1.0 + 1e-3 * rng.normal(size=F.shape)), g, c, start)
    cold = ready.minimise(F, g, c, start)
    warm = ready.minimise(F, g, c, start, near=near)
    nonsense = replace(near, x=rng.normal(size=len(start)), duals=tuple(-Z for Z in near.duals))
    for other in (warm, ready.minimise(F, g, c, start, near=nonsense)):
        assert other.converged == cold.converged
        size = np.max(np.abs(cold.x))
        np.testing.assert_allclose(other.x, cold.x, rtol=1e-5, atol=1e-5 * size)
        assert value(F, g, c, conditions, other.x) == pytest.approx(
            value(F, g, c, conditions, cold.x), rel=1e-8, abs=1e-8
        )


def test_a_start_near_the_optimum_saves_steps():
    """On most problems, or there would be no reason to keep it."""
    steps = []
    for seed in range(1, 41):
        F, g, c, conditions, start = random_problem(seed, True)
        ready = prepared(conditions, len(start))
        cold = ready.minimise(F, g, c, start)
        steps.append((ready.minimise(F, g + 1e-2, c, start, near=cold).iterations, cold.iterations))
    warm, cold = np.median(np.array(steps), axis=0)
    assert warm <= 0.7 * cold


def value(F, g, c, conditions, x):
    """The objective."""
    total = 0.5 * float(np.sum((F @ x - g) ** 2)) + float(c @ x)
    for one in conditions:
        if one.floor:
            S = np.tensordot(x[list(one.columns)], one.A, 1) + one.b
            total -= one.floor * np.linalg.slogdet(S)[1]
    return total


def test_threads_do_not_change_a_digit():
    """Problems that are solved at once have the same answers as one after the other."""
    problems = [random_problem(seed, True) for seed in range(1, 17)]

    def solved(problem):
        F, g, c, conditions, start = problem
        return prepared(conditions, len(start)).minimise(F, g, c, start).x

    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(solved, problems))
    for problem, x in zip(problems, at_once, strict=True):
        np.testing.assert_array_equal(x, solved(problem))


@every("seed", range(20))
def test_the_lowest_point_of_a_ball(seed):
    """c·x over |x - centre| <= r is smallest at centre - r c / |c|."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    c, centre, radius = rng.normal(size=n), rng.normal(size=n), 10.0 ** rng.uniform(-2, 2)
    ready = prepared([], n, unit_ball(n, centre, radius))
    found = ready.minimise(np.zeros((0, n)), np.zeros(0), c, 3.0 * rng.normal(size=n))
    assert found.converged
    wanted = centre - radius * c / np.linalg.norm(c)
    # on a curved boundary x has the square root of the value's digits
    np.testing.assert_allclose(found.x, wanted, atol=1e-4 * (1.0 + radius))
    assert abs(c @ found.x - c @ wanted) <= 1e-9 * (1.0 + radius)


@every("seed", range(25))
def test_balls_and_matrices_together_are_clarabels(seed):
    """The lowest value of c·x within random conditions and a ball is the one Clarabel finds."""
    rng = np.random.default_rng([seed, 8])
    _, _, c, conditions, _ = random_problem(seed, False)
    n = len(c)
    inside = np.linalg.lstsq(np.eye(n), rng.normal(size=n), rcond=None)[0]
    conditions = [MatrixCondition(k.columns, k.A, k.b + 3.0 * np.eye(len(k.b))) for k in conditions]
    rows = np.vstack([0.1 * rng.normal(size=n), rng.normal(size=(n + 2, n))])
    ball = BallCondition(rows, np.concatenate([[20.0], -rows[1:] @ inside]))
    ready = prepared(conditions, n, ball)
    ours = ready.minimise(np.zeros((0, n)), np.zeros(0), c, np.zeros(n))
    blocks = [Block("second_order", tuple(range(n)), ball.A, ball.b)]
    for k in conditions:
        upper = [(i, j) for j in range(len(k.b)) for i in range(j + 1)]
        A = np.array([[Ak[i, j] for Ak in k.A] for i, j in upper])
        b = np.array([k.b[i, j] for i, j in upper])
        kind = "psd" if len(k.b) > 1 else "nonnegative"
        blocks.append(Block(kind, k.columns, A, b))
    theirs = solve(conic_problem(n, blocks, np.ones(n), c=c), accuracy=1e-10)
    assert theirs.status == "solved"
    assert abs(c @ ours.x - theirs.value) <= 1e-7 * (1.0 + abs(theirs.value))


def test_a_ball_apart_from_its_conditions_is_an_error():
    """x >= 3 and |x| <= 1 contradict each other."""
    above = MatrixCondition((0,), np.ones((1, 1, 1)), np.array([[-3.0]]))
    ready = prepared([above], 1, unit_ball(1, np.zeros(1), 1.0))
    with pytest.raises(EstimationError, match="did not converge"):
        ready.minimise(np.zeros((0, 1)), np.zeros(0), np.ones(1), np.zeros(1))


def test_numbers_that_are_not_finite_are_an_error():
    """NaN among the conditions is named, not returned."""
    broken = MatrixCondition((0,), np.ones((1, 2, 2)), np.full((2, 2), np.nan))
    with pytest.raises(EstimationError, match="not finite"):
        prepared([broken], 1).minimise(np.eye(1), np.ones(1), np.zeros(1), np.zeros(1))


def test_the_loops_name_the_version_of_those_that_they_call():
    """Numba's cache on disk looks at one file only: the others' digest makes it look again."""
    folder = Path(interior_compiled.__file__).parent
    called = ("_ball_loops", "_matrix_loops", "_number_loops", "_small_matrices", "interior_rules")
    whole = b"".join((folder / f"{one}.py").read_bytes() for one in called)
    digest = hashlib.sha256(whole).hexdigest()[:12]
    text = (folder / "_interior_loops.py").read_text(encoding="utf-8")
    assert f'CALLED = "{digest}"' in text, f'write CALLED = "{digest}" into _interior_loops.py'


@pytest.mark.parametrize("room", [_ball_loops, _matrix_loops, _number_loops])
def test_every_loop_is_compiled_once(room):
    """Not for each integer that it is called with: compiling takes far longer than a fit."""
    ready = prepared([], 1, unit_ball(1, np.zeros(1), 1.0))
    ready.minimise(np.eye(1), np.ones(1), np.zeros(1), np.zeros(1))
    loops = [loop for loop in vars(room).values() if hasattr(loop, "signatures")]
    assert len(loops) > 5
    assert max(len(loop.signatures) for loop in loops) <= 1
