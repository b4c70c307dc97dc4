"""The two forms of a problem for the solver, and when the faster one is not used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conic_problems import off_by, random_problem
from seeds import every
from statements import Said

from steelyard.conic import _forms, solver
from steelyard.conic.blocks import linear_block
from steelyard.conic.problem import conic_problem
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.knowledge.physical_blocks import full_consistency


def bodies(rng, n_bodies, *, noise=1.0):
    """A fit of several bodies to noisy linear data; some end on the boundary.

    The singular values of F (scaled) span two decades.
    """
    n = 10 * n_bodies
    scale = np.tile([2.0, *[0.3] * 3, *[0.05] * 6], n_bodies)
    ball = np.tile([1.0, 0.1, 0.0, -0.1, 0.3, 0.0, 0.3, 0.0, 0.0, 0.3], n_bodies) * scale
    U, _ = np.linalg.qr(rng.normal(size=(n, n)))
    F = (U * 10.0 ** np.linspace(1.0, -1.0, n)) @ U.T / scale
    g = F @ ball + noise * rng.normal(size=n)
    blocks = [full_consistency(Said(f"body {k}"), 10 * k) for k in range(n_bodies)]
    blocks += [linear_block(Said("mass"), [10 * k], [[-1.0]], [20.0]) for k in range(n_bodies)]
    return conic_problem(n, blocks, scale, F=F, g=g, pull=1e-2 / scale**2, towards=ball)


def answers(problem, accuracy=1e-9):
    """The solver's answer to each form."""
    centred = _forms.centred_form(problem)
    plain = _forms.residual_form(problem)
    return [solver._attempt(problem, form, accuracy, 200) for form in (centred, plain)]


@every("seed", range(10))
def test_both_forms_have_the_same_optimum(seed):
    """Both forms give the same objective and the same point."""
    centred, plain = answers(bodies(np.random.default_rng(seed), 4, noise=5.0))
    assert centred.form == "centred"
    assert plain.form == "residual"
    assert centred.value == pytest.approx(plain.value, rel=1e-7)
    gaps = [abs(one.gap) + one.imbalance_cost for one in (centred, plain)]
    assert off_by(plain.problem, centred.theta, plain.theta, *gaps) <= 1.0
    # what the centred form's Gram matrix loses is at most the accuracy that was asked for
    assert centred.imbalance_cost <= 1e-9 * (1.0 + centred.value)
    assert plain.stationarity < 1e-6
    assert abs(centred.gap) < 1e-6 * (1.0 + centred.value)
    assert plain.worst_margin < 1e-7  # some conditions are active


@every("seed", range(10))
def test_cones_of_every_kind_are_read_back_in_their_order(seed):
    """The duals of either form balance the gradient."""
    rng = np.random.default_rng(50 + seed)
    problem = random_problem(rng)
    problem = replace(problem, F=rng.normal(size=(3, len(problem.c))) / problem.scale, g=np.ones(3))
    for found in answers(problem):
        size = max(1.0, *(float(np.abs(dual).max()) for dual in found.duals))
        assert found.stationarity < 1e-6 * size
        assert found.worst_margin > -1e-7


@every("seed", range(10))
def test_what_an_imbalance_costs_is_bounded(seed):
    """A point with duals is at most gap + imbalance_cost above the optimum."""
    rng = np.random.default_rng(100 + seed)
    problem = bodies(rng, 2)
    best = solve(problem, accuracy=1e-11)
    for away in 10.0 ** rng.uniform(-6, -1, size=5):
        ball = problem.towards
        theta = best.theta + away * (ball - best.theta)  # feasible, since the cones are convex
        moved = replace(best, theta=theta)
        assert moved.value - best.value <= moved.gap + moved.imbalance_cost + 1e-8
    assert moved.value > best.value


def stacked(problem, n_times):
    """The same data, repeated."""
    return replace(
        problem, F=np.vstack([problem.F] * n_times), g=np.concatenate([problem.g] * n_times)
    )


def test_the_quick_form_of_a_large_fit_is_centred():
    """With many rows the Gram matrix is formed, if a pull bounds its condition number."""
    problem = bodies(np.random.default_rng(0), 2)
    assert _forms.quick_form(problem) is None
    form = _forms.quick_form(stacked(problem, 10))
    assert form is not None
    assert (form.name, form.refinement) == ("residual", _forms.REFINEMENT)
    tall = stacked(problem, 50)
    assert len(tall.g) >= _forms.MANY_ROWS
    form = _forms.quick_form(tall)
    assert form is not None
    assert form.name == "centred"
    found = solve(tall)
    assert (found.form, found.attempts) == ("centred", 1)
    assert _forms.quick_form(replace(tall, F=1e6 * tall.F)) is None
    assert _forms.quick_form(replace(tall, pull=0.0 * tall.pull)) is None


def test_an_inaccurate_quick_answer_is_solved_again(monkeypatch):
    """Residuals computed from F reject the answer of a perturbed Gram matrix."""
    problem = bodies(np.random.default_rng(1), 3, noise=5.0)
    right = solve(problem)
    form = _forms.centred_form(problem)
    wrong = replace(form, P=form.P + form.P * (1e-4 * np.random.default_rng(2).normal()))
    monkeypatch.setattr(solver, "quick_form", lambda _: wrong)
    found = solve(problem)
    assert found.form == "residual"
    assert found.attempts == 2
    assert found.value == pytest.approx(right.value, rel=1e-8)


class Panic(BaseException):
    """Stands for a Rust panic, which is not an Exception."""


def breaking(monkeypatch, n_times):
    """Make the solver break down this many times."""
    import clarabel

    real, calls = clarabel.DefaultSolver, []

    def solver(*arguments):
        calls.append(arguments)
        if len(calls) <= n_times:
            raise Panic("Eigval error")
        return real(*arguments)

    monkeypatch.setattr(clarabel, "DefaultSolver", solver)
    return calls


@pytest.mark.parametrize("n_times", [1, 2, 3])
def test_a_solver_that_breaks_down_is_called_again(monkeypatch, n_times):
    """After a panic the next attempt gives the answer."""
    problem = bodies(np.random.default_rng(3), 3, noise=5.0)
    right = solve(problem)
    breaking(monkeypatch, n_times)
    found = solve(problem)
    assert found.status == "solved"
    assert found.attempts == n_times + 1
    assert found.value == pytest.approx(right.value, rel=1e-6)


def test_a_solver_that_always_breaks_down_raises_estimation_error(monkeypatch):
    """If every attempt breaks down, the error quotes the solver's message."""
    calls = breaking(monkeypatch, 100)
    with pytest.raises(EstimationError, match=r"broke down .*Eigval error"):
        solve(bodies(np.random.default_rng(4), 2))
    assert len(calls) < 10


def test_keyboard_interrupt_is_not_caught(monkeypatch):
    """A KeyboardInterrupt in the solver is passed on."""
    import clarabel

    def solver(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(clarabel, "DefaultSolver", solver)
    with pytest.raises(KeyboardInterrupt):
        solve(bodies(np.random.default_rng(5), 2))
