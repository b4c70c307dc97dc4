"""Exciting motions of the WAM in the envelope of its authors' motions (Sousa and Cortesão 2014).

Fourier series of order 5 and period 20 s, 69 base columns unscaled, all torque rows with weight
one, sign(v) in the Coulomb columns, 1,000 equidistant samples of one period. The published motion
has a condition number of 99.
"""

from __future__ import annotations

import numpy as np
import pytest
from paper_robots import wam

from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.search._objective import Safety
from steelyard.excitation.search.criteria import criterion_named
from steelyard.excitation.search.fourier_basis import FourierBasis
from steelyard.excitation.search.information import Information
from steelyard.excitation.search.search import STAGES, Found, SearchProblem, search
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model

PUBLISHED = 99.0
PERIOD_S, N_HARMONICS, N_SAMPLES = 20.0, 5, 1000
LOWER = np.array([-1.85, -1.0, -2.41, -0.51, -3.99, -1.3, -1.9])
UPPER = np.array([2.3, 1.0, 2.34, 2.8, 0.9, 1.3, 2.1])
VELOCITY, ACCELERATION = 1.45, 2.2


@pytest.fixture(scope="module")
def problem() -> SearchProblem:
    model = Model(wam())
    one = np.ones(7)
    none = np.inf * one
    limits = MotionLimits(
        model.channels, LOWER, UPPER, VELOCITY * one, ACCELERATION * one, none, none
    )
    smooth = model.with_widths(dict.fromkeys(model.channels, 0.05 * VELOCITY))
    information, judge = (
        Information(each, base_map(each), tuple(range(69)), one, np.ones(69))
        for each in (smooth, model)
    )
    return SearchProblem(
        FourierBasis(limits, PERIOD_S, N_HARMONICS),
        information,
        judge,
        criterion_named("condition"),
        Safety(np.zeros(69), none),
        (limits.middle,),
    )


def one_round(problem: SearchProblem, *, seed: int, threads: int) -> Found:
    return search(problem, seed=seed, budget_s=1e6, rounds=1, threads=threads)


def test_one_round_is_better_than_the_published_motion(problem):
    """Condition number by singular values of the stacked regressor, limits at 10 kHz."""
    found = one_round(problem, seed=0, threads=2)
    assert found.whole
    assert found.rounds == 1
    trajectory = problem.basis.trajectory(found.x)
    time = np.arange(N_SAMPLES) * PERIOD_S / N_SAMPLES
    motion = trajectory.evaluate(time)
    model = Model(wam())
    base = base_map(model)
    assert base.rank == 69
    W = torque_regressor(model, motion.q, motion.v, motion.a)[:, :, list(base.independent)]
    number = np.linalg.cond(W.reshape(-1, 69))
    assert number < PUBLISHED
    np.testing.assert_allclose(np.exp(found.value), number, rtol=1e-9)
    assert np.exp(found.start_value) > 2.0 * number
    q, v, a = (trajectory.derivative(np.arange(0.0, PERIOD_S, 1e-4), k) for k in range(3))
    assert (q >= LOWER).all()
    assert (q <= UPPER).all()
    assert np.abs(v).max() <= VELOCITY
    assert np.abs(a).max() <= ACCELERATION


def test_threads_do_not_change_a_motion_and_the_seed_does(problem, monkeypatch):
    """Coefficients are the same to the last bit with one thread and two; first stages only."""
    monkeypatch.setattr("steelyard.excitation.search.search.STAGES", STAGES[:2])
    one, two, other = (
        one_round(problem, seed=seed, threads=threads) for seed, threads in ((3, 1), (3, 2), (4, 2))
    )
    assert np.array_equal(one.x, two.x)
    assert one.value == two.value
    assert np.abs(one.x - other.x).max() > 0.1
