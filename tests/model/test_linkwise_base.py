"""Base parameters found link by link, against all columns at once and against the regressor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import Robot
from steelyard.model.base_map import LINKWISE_FROM, base_map, column_order
from steelyard.model.kernels import torque_regressor
from steelyard.model.linkwise_base import is_linkwise, linkwise_base
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.testing.random_robots import random_robot


def _special(rng: np.random.Generator, robot: Robot) -> Robot:
    """The robot with right angles, parallel and coincident axes, and gravity along an axis."""
    joints = []
    for joint in robot.joints:
        T = np.eye(4)
        if rng.random() < 0.6:
            turn = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], size=3)[:, None]
            T[:3, :3] = turn * np.linalg.det(turn)
        T[:3, 3] = rng.choice([0.0, 0.0, 0.3, -0.5], size=3)
        axis = np.eye(3)[rng.choice([2, 2, 2, 0, 1])]
        joints.append(replace(joint, placement=T, axis=axis))
    return replace(robot, joints=tuple(joints), gravity=np.array([0.0, 0.0, -9.81]))


def _missed(model: Model, independent: tuple[int, ...], K: np.ndarray) -> float:
    """Largest share of a column that W_b K does not reproduce, on fresh states."""
    q, v, a = random_states(np.random.default_rng(99), model.robot, 6)
    W = torque_regressor(model, q, v, a).reshape(-1, len(model.columns))
    size = np.linalg.norm(W, axis=0)
    error = np.linalg.norm(W - W[:, list(independent)] @ K, axis=0)
    return float(np.max(error / np.maximum(size, 1e-6 * size.max())))


@pytest.mark.parametrize("special", [False, True])
def test_as_many_as_from_all_columns_at_once(special):
    """The rank is that of all columns at once, and K reproduces every torque: chains, trees,
    prismatic joints, floating bases, axes in special directions.
    """
    rng = np.random.default_rng(31 + special)
    for k in range(40):
        robot = random_robot(
            rng,
            int(rng.integers(1, 10)),
            chain=bool(k % 2),
            floating_base=k % 7 == 0,
            prismatic=(0.0, 0.3, 0.6)[k % 3],
        )
        model = Model(_special(rng, robot) if special else robot)
        assert is_linkwise(model)
        order = column_order(model, "sousa")
        found, whole = linkwise_base(model, order), base_map(model, order)
        assert len(found.independent) == whole.rank
        assert sorted(found.sequence) == list(range(len(model.columns)))
        assert _missed(model, found.independent, found.K) < 1e-9
        # the same combinations, in other base columns
        change = whole.K[:, list(found.independent)]
        size = np.abs(change) @ np.abs(found.K) + 1.0
        assert np.max(np.abs(change @ found.K - whole.K) / size) < 1e-8


def test_the_base_columns_are_the_first_independent_ones_of_the_sequence():
    """So that the sequence alone gives the base map again."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        model = Model(random_robot(rng, 6))
        found = linkwise_base(model, column_order(model, "sousa"))
        again = base_map(model, found.sequence)
        assert again.independent == found.independent
        np.testing.assert_allclose(found.K, again.K, rtol=1e-8, atol=1e-9)


def test_a_chain_of_120_links():
    """11 base parameters a link (14 columns less three that its carrier takes over), of the first
    link 6; no large entries of K, and zeros where a link is further out.
    """
    model = Model(random_robot(np.random.default_rng(3), 120, chain=True, prismatic=0.0, fixed=0.0))
    assert len(model.columns) == 1680 >= LINKWISE_FROM
    base = base_map(model)
    assert base.rank == 11 * 120 - 5
    assert np.max(np.abs(base.K)) < 1e3
    assert _missed(model, base.independent, base.K) < 1e-9
    owner = np.searchsorted(model.first_column_of_body, np.arange(1680), side="right")
    inward = owner[list(base.independent)][:, None] > owner[None, :]
    assert not np.any(base.K[inward])


@pytest.mark.parametrize("seed", [0, 3])
def test_chains_in_which_rounding_chose_a_column_too_many(seed):
    """All columns at once gave 458 base parameters for these."""
    rng = np.random.default_rng([42, seed])
    model = Model(random_robot(rng, 42, chain=True, prismatic=0.0, fixed=0.0))
    base = base_map(model)
    assert base.rank == 11 * 42 - 5
    assert _missed(model, base.independent, base.K) < 1e-10


def test_joints_that_move_together_are_taken_all_at_once():
    """With mimic joints, links of different branches depend on each other."""
    rng = np.random.default_rng(4)
    for _ in range(5):
        robot = random_robot(rng, 8, mimic=0.3)
        follows = any(joint.mimic is not None for joint in robot.joints)
        assert is_linkwise(Model(robot)) == (not follows)
