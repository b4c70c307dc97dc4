"""The fit on the manifold: every iterate is physical, and it ends at the semidefinite optimum."""

from __future__ import annotations

import numpy as np
import pytest
from manifold_problems import robot_bodies, settles_physical, single_body, wrench_rows
from seeds import every

from steelyard.errors import EstimationError, ModelError
from steelyard.estimators.manifold import _added_mass, _bodies, _linear, _moves
from steelyard.estimators.manifold import fit as fit_module
from steelyard.estimators.manifold.fit import (
    PART_ROWS,
    compile_manifold_fit,
    factor_until,
    fit_on_manifold,
)
from steelyard.robot.inertia import from_com, violations


def fitted(problem, **options):
    """The fit of a problem."""
    return fit_on_manifold(problem.F, problem.g, problem.first, lower=problem.lower, **options)


def reached(problem, fit) -> bool:
    """Whether the objective is within 1e-6 of that of the conic solver, relative to it."""
    best, _ = problem.by_cones()
    floor = 1e-13 * float(problem.g @ problem.g)
    return problem.objective(fit.theta) - best <= 1e-6 * max(best, floor)


@every("seed", range(60))
def test_single_bodies_end_at_the_semidefinite_optimum(seed):
    """Interior, flat, massless and ball-shaped bodies, with fast and slow data: no worse than the
    conic solver, or reported as not reached.
    """
    problem = single_body(seed)
    fit = fitted(problem)
    assert np.isfinite(fit.theta).all()
    assert reached(problem, fit)
    assert fit.objective == pytest.approx(problem.objective(fit.theta), rel=1e-6, abs=1e-9)


@every("seed", range(12))
def test_robots_end_at_the_semidefinite_optimum(seed):
    """Robots of two to seven links, some massless, under-excited or impossible."""
    problem = robot_bodies(seed)
    fit = fitted(problem)
    assert np.isfinite(fit.theta).all()
    assert reached(problem, fit) or not fit.converged
    assert np.all(fit.theta >= np.where(np.isfinite(problem.lower), problem.lower, -np.inf))


@every("seed", [3, 36, 39])
def test_every_iterate_is_physical_and_none_is_worse(seed):
    """Rounded inward to decimals, all iterates pass the exact check; the objective never grows."""
    problem = single_body(seed)
    iterates: list[np.ndarray] = []
    fit = fitted(problem, on_iterate=iterates.append)
    assert len(iterates) == fit.iterations + 1 == len(fit.objectives)
    assert all(settles_physical(problem, theta) for theta in iterates)
    assert np.all(np.diff(fit.objectives) <= 0.0)
    values = [problem.objective(theta) for theta in iterates]
    assert values == pytest.approx(fit.objectives, rel=1e-6)


@every("most", [1, 2, 5, 10])
def test_a_fit_that_is_stopped_early_is_physical(most):
    """After so many iterations: physical, not above the start, and labelled as stopped."""
    problem = robot_bodies(8)
    fit = fitted(problem, max_iterations=most)
    assert fit.iterations == most
    assert fit.stopped == "iterations"
    assert not fit.converged
    assert settles_physical(problem, fit.theta)
    assert fit.objective <= fit.objectives[0]
    for body, first in zip(fit.bodies, problem.first, strict=True):
        assert body.phi == pytest.approx(fit.theta[first : first + 10], rel=1e-9, abs=1e-12)


def test_a_budget_that_is_over_returns_the_start():
    """No time at all: the physical start, stopped by its budget."""
    problem = robot_bodies(8)
    fit = fitted(problem, budget_s=1e-9)
    assert (fit.stopped, fit.iterations) == ("budget", 0)
    assert settles_physical(problem, fit.theta)


@every("parts", (1, 3))
def test_a_budget_that_ends_in_the_factorisation_returns_the_start_of_the_rows_so_far(parts):
    """By a clock of one second a look: some parts of a tall F, and the objective of all rows."""
    rng = np.random.default_rng(parts)
    n_rows = 5 * PART_ROWS
    rows = wrench_rows(*rng.normal(size=(3, n_rows // 6 + 1, 3)))[:n_rows]
    right = rows @ from_com(1.0, [0.1, 0.0, 0.2], 0.01 * np.eye(3)) + rng.normal(size=n_rows)
    clock = iter(range(100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_module, "perf_counter", lambda: float(next(clock)))
        stopped = fit_on_manifold(rows, right, (0,), budget_s=parts + 0.5 - 1e-9)
    assert (stopped.stopped, stopped.iterations, stopped.converged) == ("budget", 0, False)
    some = slice(0, (parts + 1) * PART_ROWS)
    start = fit_on_manifold(rows[some], right[some], (0,), max_iterations=0)
    assert stopped.theta == pytest.approx(start.theta, rel=1e-9, abs=1e-12)
    assert stopped.objective == pytest.approx(np.sum((right - rows @ stopped.theta) ** 2))
    assert not violations(stopped.theta, "body")


def test_factor_in_parts_is_the_factor_of_all_rows():
    """With time enough, the parts give the factor of one QR; with fewer rows than columns too."""
    rng = np.random.default_rng(2)
    for n_rows in (3, PART_ROWS + 7, 3 * PART_ROWS):
        F, g = rng.normal(size=(n_rows, 10)), rng.normal(size=n_rows)
        at_once, in_parts = factor_until(F, g, np.inf), factor_until(F, g, 1e300)
        assert at_once[1]
        assert in_parts[1]
        A = np.column_stack([F, g])
        for R, _ in (at_once, in_parts):
            assert R.shape == (11, 11)
            assert np.allclose(R.T @ R, A.T @ A, rtol=0, atol=1e-9 * n_rows)


def test_no_mass_is_found_again_from_a_massless_start():
    """A massless start is no dead end: mass is added where the dual matrix is negative."""
    problem = next(p for p in map(single_body, range(50)) if p.kind == "interior")
    fit = fitted(problem, start=np.zeros(problem.F.shape[1]))
    assert reached(problem, fit)
    assert fit.bodies[0].mass > 0.0


def test_data_without_mass_give_no_mass():
    """Where any body would fit worse than none, the optimum is ten zeros."""
    fit = fit_on_manifold(np.eye(10), -from_com(1.0, np.zeros(3), np.eye(3)), (0,))
    assert fit.converged
    assert not fit.theta.any()
    assert fit.bodies[0].mass == 0.0


def test_columns_without_data_stay_finite():
    """Without any data, the fit ends at once with finite parameters."""
    fit = fit_on_manifold(np.zeros((3, 12)), np.zeros(3), (1,), lower=np.zeros(12))
    assert fit.converged
    assert np.isfinite(fit.theta).all()


def test_wrong_input_is_named():
    """Shapes, overlapping bodies, numbers that are not finite, a start that is not physical."""
    F, g = np.eye(10), np.ones(10)
    with pytest.raises(EstimationError, match="ten columns of its own"):
        fit_on_manifold(np.eye(15), np.ones(15), (0, 5))
    with pytest.raises(EstimationError, match="they must be"):
        fit_on_manifold(F, g[:5], (0,))
    with pytest.raises(EstimationError, match="not finite"):
        fit_on_manifold(F * np.nan, g, (0,))
    with pytest.raises(EstimationError, match="lower needs one number"):
        fit_on_manifold(F, g, (0,), lower=np.zeros(3))
    with pytest.raises(ModelError, match="body 1 of the start"):
        fit_on_manifold(F, g, (0,), start=-np.ones(10))
    with pytest.raises(EstimationError, match="start needs one finite number"):
        fit_on_manifold(F, g, (0,), start=np.zeros(3))
    with pytest.raises(EstimationError, match="F must be an array of real numbers"):
        fit_on_manifold(F + 0j, g, (0,))
    with pytest.raises(EstimationError, match="g must be an array of real numbers"):
        fit_on_manifold(F, ["a"] * 10, (0,))
    for columns in (0, None, ("a",), (0.5,), (10**30,)):
        with pytest.raises(EstimationError, match="it must be whole numbers"):
            fit_on_manifold(F, g, columns)
    for seconds in ("x", "1", float("nan"), -1.0, [1.0]):
        with pytest.raises(EstimationError, match="budget_s is"):
            fit_on_manifold(F, g, (0,), budget_s=seconds)
    for most in (None, -1, 2.5):
        with pytest.raises(EstimationError, match="max_iterations is"):
            fit_on_manifold(F, g, (0,), max_iterations=most)


def hard() -> tuple[np.ndarray, np.ndarray]:
    """Thirty rows of noise, whose least-squares body is not physical."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((30, 10)), rng.standard_normal(30)


@every("of_F", [1.0, 1e-150, 1e150])
@every("of_g", [1.0, 1e-150, 1e-100, 1e150])
def test_units_do_not_change_the_optimum(of_F, of_g):
    """From 1e-150 to 1e150, the objective is the same share of |g|²; else it is refused."""
    F, g = hard()
    if not 1e-151 < of_g / of_F < 1e151:
        with pytest.raises(EstimationError, match="use other units"):
            fit_on_manifold(of_F * F, of_g * g, (0,))
        return
    fit = fit_on_manifold(of_F * F, of_g * g, (0,))
    assert fit.converged
    plain = fit_on_manifold(F, g, (0,))
    assert fit.objective / of_g**2 == pytest.approx(plain.objective, rel=1e-9)
    residual = g - (F @ (fit.theta * (of_F / of_g)))
    assert residual @ residual == pytest.approx(plain.objective, rel=1e-9)
    assert fit.bodies[0].mass == pytest.approx(fit.theta[0], rel=1e-12)


@every("size", [1e160, 1e-160, 1e300, 1e-300])
def test_sizes_whose_squares_are_no_numbers_are_refused(size):
    """Of F and of g."""
    F, g = hard()
    for factors in ((size, 1.0), (1.0, size)):
        with pytest.raises(EstimationError, match=r"the largest entry of [Fg] is"):
            fit_on_manifold(factors[0] * F, factors[1] * g, (0,))


def test_a_far_start_is_left_or_refused():
    """From 1e30 and 1e-30 times a body the optimum is found; 1e200 and 1e-200 are refused."""
    F, g = hard()
    ball = from_com(1.0, np.zeros(3), np.eye(3))
    best = fit_on_manifold(F, g, (0,)).objective
    for size in (1e30, 1e-30):
        fit = fit_on_manifold(F, g, (0,), start=size * ball)
        assert fit.objective == pytest.approx(best, rel=1e-6)
    with pytest.raises(EstimationError, match="start of column 4 is more than"):
        fit_on_manifold(F, g, (0,), start=1e200 * ball)
    with pytest.raises(EstimationError, match="body 1 of the start has a mass of 1e-200 kg"):
        fit_on_manifold(F, g, (0,), start=1e-200 * ball)


@every("bound", [1e300, 1e308])
def test_a_far_lower_bound_is_refused(bound):
    """Its objective is no number; a bound as far below is no bound."""
    F, g = hard()
    F = np.column_stack([F, np.ones(30)])
    lower = np.append(np.full(10, -np.inf), bound)
    with pytest.raises(EstimationError, match="lower of column 10 is more than"):
        fit_on_manifold(F, g, (0,), lower=lower)
    free = fit_on_manifold(F, g, (0,))
    below = fit_on_manifold(F, g, (0,), lower=np.append(lower[:10], -bound))
    assert below.objective == pytest.approx(free.objective, rel=1e-9)


def test_nothing_is_left_to_compile():
    """After `compile_manifold_fit`, fits with and without bounds compile no further loop."""
    compile_manifold_fit()
    before = compiled_loops()
    for problem in (robot_bodies(8), single_body(3), single_body(36)):
        fitted(problem)
    assert sum(before.values()) > 10
    assert compiled_loops() == before


def compiled_loops() -> dict[str, int]:
    """How many versions of each loop are compiled."""
    return {
        f"{module.__name__}.{name}": len(loop.signatures)
        for module in (_added_mass, _bodies, _linear, _moves)
        for name, loop in vars(module).items()
        if hasattr(loop, "signatures")
    }
