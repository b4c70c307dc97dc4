"""Gradients of the regressor against finite differences, on random robots and motions."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.errors import ModelError
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.terms import Term
from steelyard.model.torque_gradient import gradient_of_slots, regressor_gradient
from steelyard.testing.random_robots import random_robot

STEP = 1e-5


def random_model(rng: np.random.Generator, mimic: float = 0.2) -> Model:
    """A tree with every kind of term, widths on some Coulomb terms, and a coupling."""
    robot = random_robot(rng, int(rng.integers(1, 9)), mimic=mimic)
    model = Model(robot)
    coupled = ()
    names = robot.joint_names
    if len(names) > 1:
        direction = ((names[0], 1.0), (names[-1], float(rng.normal())))
        coupled = (Term("viscous", "pair", direction), Term("drive_inertia", "pair", direction))
    model = Model(robot, (*model.terms, *coupled))
    return model.with_widths({name: 0.7 for name in names[::2]})


def central_difference(function, x: np.ndarray) -> np.ndarray:
    """Gradient of a sum over samples by each column of x, one column at a time."""
    out = np.empty_like(x)
    for k in range(x.shape[1]):
        step = np.zeros_like(x)
        step[:, k] = STEP
        # fourth order: errors of 1e-10 where the second order has 1e-8
        out[:, k] = (
            8.0 * (function(x + step) - function(x - step))
            - (function(x + 2 * step) - function(x - 2 * step))
        ) / (12.0 * STEP)
    return out


@pytest.mark.parametrize("seed", range(100))
def test_gradient_agrees_with_finite_differences(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    q, v, a = random_states(rng, model.robot, 40)
    weights = rng.normal(size=(40, model.nv, len(model.columns)))
    gradients = regressor_gradient(model, q, v, a, weights)
    # friction within its width is a straight line; samples near the corners are left out
    far = np.all(np.abs(np.abs(v) - 0.7) > 1e-3, axis=1) & np.all(np.abs(v) > 1e-3, axis=1)
    for place, found in enumerate(gradients):
        state = [q, v, a]

        def total(x, place=place, state=state):
            moved = [x if i == place else y for i, y in enumerate(state)]
            return np.sum(weights * torque_regressor(model, *moved), axis=(1, 2))

        expected = central_difference(total, state[place])
        error = np.abs(found - expected)[far].max()
        assert error <= 1e-6 * np.abs(expected).max()


def test_slots_left_out_have_no_weight():
    """Entries with a negative slot, as of columns that are not base columns, do not count."""
    rng = np.random.default_rng(3)
    model = random_model(rng, mimic=0.0)
    q, v, a = random_states(rng, model.robot, 33)
    used = rng.random((model.nv, len(model.columns))) < 0.4
    slot = np.where(used, np.cumsum(used).reshape(used.shape) - 1, -1).astype(np.int64)
    dense = rng.normal(size=(33, *used.shape)) * used
    flat = np.ascontiguousarray(dense[:, used].T).reshape(-1)
    one = gradient_of_slots(model, q, v, a, slot, 33, 1, flat)
    other = regressor_gradient(model, q, v, a, dense)
    for x, y in zip(one, other, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12 * np.abs(y).max())


def test_bad_input_is_named():
    rng = np.random.default_rng(0)
    model = Model(random_robot(rng, 2))
    state = random_states(rng, model.robot, 3)
    with pytest.raises(ModelError, match="weights have shape"):
        regressor_gradient(model, *state, np.zeros((3, 2, 1)))
    floating = Model(random_robot(rng, 2, floating_base=True))
    state = random_states(rng, floating.robot, 3)
    shape = (3, floating.nv, len(floating.columns))
    with pytest.raises(ModelError, match="floating base"):
        regressor_gradient(floating, *state, np.zeros(shape))
