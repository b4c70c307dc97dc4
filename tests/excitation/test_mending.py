"""Designs that come too close between samples are mended; distances are looked at by MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from crowded_arm import CLEARANCE_M, SETTINGS, crowded_task
from solid_robots import oracle_distances

from steelyard.errors import SignalError
from steelyard.excitation._poses import allowed_poses
from steelyard.excitation.design import design_motion
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.fourier_design import search_problem
from steelyard.excitation.search import search as search_module
from steelyard.excitation.search._objective import shortfall
from steelyard.excitation.search.fourier_basis import FourierBasis
from steelyard.excitation.search.mending import mended
from steelyard.excitation.search.search import Stage

pytest.importorskip("coal")
pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    return crowded_task(tmp_path_factory.mktemp("arm"))


def problem_of(task: DesignTask):
    basis = FourierBasis(task.limits, task.settings.period_s, task.settings.harmonics)
    return search_problem(task, basis, allowed_poses(task))


def smallest(task: DesignTask, trajectory, rate_hz: float = 300.0) -> np.ndarray:
    """Smallest distance (n_pairs,) of each pair along a motion, by MuJoCo."""
    time = np.arange(0.0, trajectory.duration_s, 1.0 / rate_hz)
    q = trajectory.derivative(time, 0)
    return oracle_distances(task.collision, task.model.robot, q).min(axis=0)


def test_a_pair_that_never_is_far_does_not_prevent_a_design(crowded, monkeypatch):
    """Another pair comes too close between samples, by more than the first one has."""
    stages = (Stage(4, False, 1e-4, 20, 12), Stage(2, False, 1e-6, 20, 40))
    monkeypatch.setattr(search_module, "STAGES", stages)
    problem = problem_of(crowded)
    before = search_module.search(problem, seed=0, budget_s=600.0, rounds=1, threads=1)
    close = smallest(crowded, problem.basis.trajectory(before.x))
    names = [pair.names for pair in crowded.collision.pairs]
    lift = np.zeros((41, 3))
    lift[:, 1] = np.linspace(-1.4, 1.4, 41)
    most = crowded.collision.distances(lift).max(axis=0)[names.index(("shoulder", "bracket"))]
    assert CLEARANCE_M - close.min() > most - CLEARANCE_M
    motion = design_motion(crowded.model, crowded.limits, SETTINGS, collision=crowded.collision)
    assert motion.clearance.holds
    assert smallest(crowded, motion.trajectory).min() >= CLEARANCE_M
    # nearly as good as the motion that is too close
    assert motion.value < before.value + 0.15
    assert motion.value < motion.start_value - 0.5


def test_a_motion_is_mended_by_little(crowded):
    """What is a few millimetres too close is moved by about as much, and the limits hold."""
    problem = problem_of(crowded)
    rng = np.random.default_rng(3)
    floor = [pair.names for pair in crowded.collision.pairs].index(("ground", "fore"))
    for _ in range(4):
        x = search_module._random(problem, rng)
        kept = smallest(crowded, problem.basis.trajectory(x), 20.0)
        clearance = np.full(len(kept), CLEARANCE_M)
        clearance[floor] = kept[floor] + 0.004
        safety = replace(problem.safety, clearance_m=clearance, distance_step_s=0.025)
        tighter = replace(problem, safety=safety)
        found = mended(tighter, x)
        assert found is not None
        assert not tighter.allows(x)
        assert tighter.allows(found)
        assert problem.basis.slack(found).min() > 0.0
        assert np.linalg.norm(found - x) < 0.1
        again = smallest(crowded, problem.basis.trajectory(found), 40.0)
        assert (again >= clearance - 1e-6).all()


def test_what_cannot_be_mended_is_said(crowded):
    """Ten metres of clearance: no motion, and a search says that none keeps its distances."""
    problem = problem_of(crowded)
    far = replace(problem, safety=replace(problem.safety, clearance_m=10.0))
    x = search_module._random(problem, np.random.default_rng(0))
    assert mended(far, x) is None
    with pytest.raises(SignalError, match=r"keeps torques and distances.*--clearance"):
        search_module.search(far, seed=0, budget_s=600.0, rounds=1, threads=1)


def test_the_shortfall_is_zero_with_room_and_grows_beyond_the_limit():
    room = np.array([1.0, 0.02, 0.0005, 0.0, -1.0])
    value, slope = shortfall(room)
    assert list(value[:2]) == [0.0, 0.0]
    assert (np.diff(value[1:]) > 0.0).all()
    step = 1e-6
    expected = (shortfall(room + step)[0] - shortfall(room - step)[0]) / (2.0 * step)
    np.testing.assert_allclose(slope, expected, atol=1e-8)


def test_allowed_motions_are_those_with_a_price(crowded):
    """Few samples first give the same answer as all of them."""
    problem = problem_of(crowded)
    rng = np.random.default_rng(5)
    answers = []
    for share in np.linspace(0.02, 0.6, 40):
        x = problem.basis.random_start(rng, problem.centres[0], float(share))
        answers.append(problem.allows(x))
        price = problem.prices(search_module.price)(x).value
        assert answers[-1] == np.isfinite(price)
    assert 0 < sum(answers) < len(answers)
