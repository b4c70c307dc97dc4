"""The energy regressor against Pinocchio and against the work of the torques."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import pinocchio_model, pinocchio_q, pinocchio_velocity_index

from steelyard.model.base_map import base_map
from steelyard.model.dependent_columns import independent_columns, unit_columns
from steelyard.model.energy import energy_gradient, energy_regressor
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.testing.random_robots import random_robot


@pytest.mark.parametrize("seed", range(30))
def test_energy_of_pinocchio(seed):
    """Kinetic and potential energy of random trees; the zero of the potential may differ."""
    import pinocchio as pin

    rng = np.random.default_rng(seed)
    robot = random_robot(rng, int(rng.integers(1, 8)))
    model = Model(robot)
    q, v, _ = random_states(rng, robot, 5)
    found = energy_regressor(model, q, v) @ model.prior_theta()
    pin_model = pinocchio_model(robot)
    data = pin_model.createData()
    at = pinocchio_q(robot, pin_model, q)
    order = pinocchio_velocity_index(robot, pin_model)
    expected = []
    for k in range(5):
        speed = np.zeros(pin_model.nv)
        speed[order] = v[k]
        kinetic = pin.computeKineticEnergy(pin_model, data, at[k], speed)
        expected.append(kinetic + pin.computePotentialEnergy(pin_model, data, at[k]))
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_energy_changes_by_the_work_of_the_torques(seed):
    """dH/dt = v·tau without friction, along random motions of robots with mimics and drives."""
    rng = np.random.default_rng(100 + seed)
    model = Model(random_robot(rng, int(rng.integers(1, 7)), mimic=0.3))
    theta = rng.normal(size=len(model.columns))
    for k, column in enumerate(model.columns):
        if column.term_kind is not None and not column.term_kind.is_inertia:
            theta[k] = 0.0
    q, v, a = random_states(rng, model.robot, 8)
    step = 1e-4

    def energy(time):
        return energy_regressor(model, q + time * v + 0.5 * time**2 * a, v + time * a) @ theta

    change = (8 * (energy(step) - energy(-step)) - energy(2 * step) + energy(-2 * step)) / (
        12 * step
    )
    power = np.sum(v * torque(model, theta, q, v, a), axis=1)
    np.testing.assert_allclose(change, power, rtol=1e-6, atol=1e-6 * np.abs(power).max())


@pytest.mark.parametrize("seed", range(40))
def test_gradient_of_the_energy(seed):
    rng = np.random.default_rng(200 + seed)
    model = Model(random_robot(rng, int(rng.integers(1, 8)), mimic=0.2))
    q, v, _ = random_states(rng, model.robot, 35)
    weights = rng.normal(size=(35, len(model.columns)))
    step = 1e-5
    for place, found in enumerate(energy_gradient(model, q, v, weights)):
        expected = np.empty_like(found)
        for k in range(model.nv):
            state = [q, v]
            totals = []
            for factor in (-1.0, 1.0):
                moved = [x.copy() for x in state]
                moved[place][:, k] += factor * step
                totals.append(np.sum(weights * energy_regressor(model, *moved), axis=1))
            expected[:, k] = (totals[1] - totals[0]) / (2 * step)
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(15))
def test_energy_and_torque_have_the_same_base_parameters(seed):
    """Differences of energy determine as many bodies' parameters as the torques do, without
    friction: those of bodies and drives.
    """
    rng = np.random.default_rng(300 + seed)
    robot = random_robot(rng, int(rng.integers(2, 6)))
    terms = tuple(term for term in Model(robot).terms if term.term_kind.is_inertia)
    model = Model(robot, terms)
    n_samples = 6 * len(model.columns)
    q, v, _ = random_states(rng, robot, n_samples)
    rows, _ = unit_columns(model, np.diff(energy_regressor(model, q, v), axis=0))
    found = independent_columns(rows, range(len(model.columns)))
    assert len(found) == base_map(model).rank
