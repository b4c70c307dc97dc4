"""Static postures for what gravity shows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from oracles import pinocchio_torque

from steelyard.errors import ModelError, SignalError
from steelyard.excitation.extremes import check_limits
from steelyard.excitation.limits import motion_limits
from steelyard.excitation.motions.postures import choose_postures, posture_motion, rest_intervals
from steelyard.excitation.motions.via_points import random_via_points
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.testing.random_robots import random_robot


def some_model(seed: int, n_joints: int = 5) -> tuple[Model, object]:
    """A model of bodies alone, and the limits of its joints."""
    robot = random_robot(np.random.default_rng(seed), n_joints, chain=True)
    return Model(robot, terms=()), motion_limits(robot)


def static_columns(model: Model, q: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    W = torque_regressor(model, q, np.zeros_like(q), np.zeros_like(q))
    return W[:, :, [model.column_names.index(name) for name in names]].reshape(-1, len(names))


@pytest.mark.parametrize("seed", range(8))
def test_postures_determine_the_weight_at_every_other_posture(seed):
    """What is fitted to Pinocchio's torques at the postures predicts them anywhere."""
    model, limits = some_model(seed)
    found = choose_postures(model, limits, 12, seed=seed)
    others = random_via_points(limits, 50, seed=seed + 100)
    still = np.zeros_like(others)
    measured, truth = (
        pinocchio_torque(model.robot, q, still[: len(q)], still[: len(q)])
        for q in (found.q, others)
    )
    W = static_columns(model, found.q, found.columns)
    beta, *_ = np.linalg.lstsq(W, measured.ravel(), rcond=None)
    predicted = static_columns(model, others, found.columns) @ beta
    np.testing.assert_allclose(predicted, truth.ravel(), atol=1e-7 * np.abs(truth).max())
    assert found.condition == pytest.approx(np.linalg.cond(W / np.linalg.norm(W, axis=0)))


@pytest.mark.parametrize("seed", range(6))
def test_no_other_choice_is_much_better(seed):
    """Of all choices of three among twelve candidates the one found is nearly the best."""
    model, limits = some_model(seed, 4)
    candidates = random_via_points(limits, 12, seed=seed)
    found = choose_postures(model, limits, 4, candidates=candidates)
    everywhere = static_columns(model, candidates, found.columns)
    scale = np.sqrt((everywhere**2).sum(axis=0) / len(candidates))
    blocks = (everywhere / scale).reshape(len(candidates), model.nv, -1)
    grams = np.einsum("kij,kil->kjl", blocks, blocks)
    choices = np.array(list(combinations_with_replacement(range(len(candidates)), 4)))
    values = np.linalg.slogdet(grams[choices].sum(axis=1))[1]
    own = static_columns(model, found.q, found.columns) / scale
    assert found.log_det == pytest.approx(np.linalg.slogdet(own.T @ own)[1], abs=1e-6)
    assert found.log_det <= values.max() + 1e-6
    assert (values > found.log_det + 1e-6).mean() < 0.002


def test_chosen_postures_beat_random_ones():
    """The determinant is larger than that of random sets of postures, the condition smaller than
    that of most.
    """
    for seed in range(5):
        model, limits = some_model(seed, 6)
        found = choose_postures(model, limits, 8)
        own = static_columns(model, found.q, found.columns)
        conditions, values = [], []
        for k in range(20):
            W = static_columns(model, random_via_points(limits, 8, seed=k + 7), found.columns)
            conditions.append(np.linalg.cond(W / np.linalg.norm(W, axis=0)))
            values.append(np.linalg.slogdet(W.T @ W)[1])
        assert found.condition < np.median(conditions)
        assert np.linalg.slogdet(own.T @ own)[1] > max(values) + 1.0


def test_noisy_joints_count_less():
    """With noise that differs, the choice has more information than one that does not know it."""
    better = 0
    for seed in range(6):
        model, limits = some_model(seed)
        loud = np.exp(np.random.default_rng(seed).uniform(-4.0, 4.0, size=5))
        even, uneven = (choose_postures(model, limits, 6, noise=noise) for noise in (None, loud))
        assert even.columns == uneven.columns
        values = []
        for q in (even.q, uneven.q):
            W = static_columns(model, q, even.columns).reshape(len(q), 5, -1)
            W = (W / loud[:, None]).reshape(-1, len(even.columns))
            values.append(float(np.linalg.slogdet(W.T @ W)[1]))
        assert values[1] > values[0] - 0.05
        better += values[1] > values[0] + 0.05
    assert better >= 3


def test_the_motion_rests_at_each_posture_within_limits():
    """In every rest the robot stands at its posture without moving; moves keep the limits."""
    model, limits = some_model(2)
    found = choose_postures(model, limits, 10)
    motion = posture_motion(found.q, limits, rest_s=0.75, start=limits.middle, end=limits.middle)
    assert all(check.holds for check in check_limits(motion.extremes(), limits))
    rests = rest_intervals(motion)
    np.testing.assert_allclose(np.diff(rests, axis=1), 0.75)
    assert len(rests) == 12
    for (begin, end), q in zip(rests, [limits.middle, *found.q, limits.middle], strict=True):
        inside = motion.evaluate(np.linspace(begin + 1e-9, end - 1e-9, 5))
        np.testing.assert_allclose(inside.q, np.tile(q, (5, 1)), atol=1e-7)
        assert not inside.v.any()


def test_the_order_shortens_the_way():
    """Postures in the order given need less time between them than in random orders."""
    model, limits = some_model(3)
    found = choose_postures(model, limits, 15)
    rng = np.random.default_rng(0)
    own = posture_motion(found.q, limits, rest_s=1e-3).duration_s
    mixed = [
        posture_motion(rng.permutation(found.q), limits, rest_s=1e-3).duration_s for _ in range(20)
    ]
    assert own < min(mixed)


def test_refusals():
    """Too few postures, candidates outside the limits and robots without gravity are refused."""
    model, limits = some_model(4)
    with pytest.raises(SignalError, match="1 postures of 5 joints are fewer rows than the"):
        choose_postures(model, limits, 1)
    with pytest.raises(SignalError, match="candidate 2: joint 'joint_3' at 9 is outside"):
        choose_postures(model, limits, candidates=np.vstack([np.zeros(5), [0, 0, 9, 0, 0]]))
    with pytest.raises(SignalError, match="shape"):
        choose_postures(model, limits, candidates=np.zeros((4, 3)))
    with pytest.raises(SignalError, match="noise must be 5 positive"):
        choose_postures(model, limits, noise=np.zeros(5))
    with pytest.raises(SignalError, match="rest_s"):
        posture_motion(np.zeros((2, 5)), limits, rest_s=0.0)
    with pytest.raises(SignalError, match="condition number"):
        choose_postures(
            model, limits, 9, candidates=np.zeros((4, 5)) + np.arange(4)[:, None] * 1e-5
        )
    weightless = replace(model.robot, gravity=np.zeros(3))
    with pytest.raises(ModelError, match=r"no parameter .* torque at rest"):
        choose_postures(Model(weightless, terms=()), limits)
    floating = random_robot(np.random.default_rng(5), 5, floating_base=True)
    with pytest.raises(ModelError, match="floating base"):
        choose_postures(Model(floating), limits)
