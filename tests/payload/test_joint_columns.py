"""Columns of a payload on a link, and of friction that changes with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import pinocchio_torque
from seeds import every

from steelyard.errors import EstimationError, RobotError
from steelyard.model.kernels import term_torque
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.term_signals import TermSignals
from steelyard.payload.joint_columns import (
    FrictionColumns,
    PayloadColumns,
    last_link,
    loaded_columns,
)
from steelyard.robot.parts import Link
from steelyard.signals.motion import Motion
from steelyard.simulation.builtin_arm import builtin_arm
from steelyard.testing.random_robots import random_body, random_robot


def motion_of(robot, seed, n_samples=4):
    q, v, a = random_states(np.random.default_rng(seed), robot, n_samples)
    return Motion(np.arange(n_samples) * 0.1, q, v, a)


@every("seed", range(20))
def test_columns_are_the_torque_of_pinocchio(seed):
    """P phi is what a body on any link, fixed links included, adds to Pinocchio's torques."""
    rng = np.random.default_rng([4, seed])
    robot = random_robot(rng, n_joints=int(rng.integers(2, 6)))
    bodies = [name for body in Model(robot).mechanism.bodies for name, _ in body.links]
    link = bodies[int(rng.integers(len(bodies)))]
    phi = random_body(rng)
    motion = motion_of(robot, seed)
    links = tuple(
        Link(one.name, (np.zeros(10) if one.inertial is None else one.inertial) + phi)
        if one.name == link
        else one
        for one in robot.links
    )
    state = motion.q, motion.v, motion.a
    heavier = replace(robot, links=links)
    added = pinocchio_torque(heavier, *state) - pinocchio_torque(robot, *state)
    np.testing.assert_allclose(
        PayloadColumns(Model(robot), link)(motion) @ phi, added, atol=1e-9 * np.abs(added).max()
    )


@every("seed", range(10))
def test_friction_columns_are_the_models_terms(seed):
    """Column k of row j, times its parameter, sums up to the torque of friction and offsets."""
    rng = np.random.default_rng([5, seed])
    robot = random_robot(rng, n_joints=4, mimic=0.0)
    model = Model(robot)
    columns = FrictionColumns(model)
    motion = motion_of(robot, seed)
    theta = rng.normal(size=len(model.columns))
    inertia = [k for k, column in enumerate(model.columns) if column.symbol == "Ia"]
    theta[inertia] = 0.0
    values = theta[model.term_arrays.column]
    D = columns(motion)
    total = np.zeros((len(motion), model.nv))
    for row, terms in enumerate(columns.of_row):
        for k, term in enumerate(terms):
            total[:, row] += D[:, row, k] * values[term]
    expected = term_torque(model, theta, motion.q, motion.v, motion.a)
    np.testing.assert_allclose(total, expected, atol=1e-12)


def test_filtered_friction_is_used():
    """Where friction came filtered with the torque, its column is the filtered one."""
    robot = builtin_arm()
    model = Model(robot)
    motion = motion_of(robot, 1)
    name = "elbow_pitch.fc"
    motion = replace(motion, friction=TermSignals((name,), np.full((len(motion), 1), 0.25)))
    columns = FrictionColumns(model)
    row = model.channels.index("elbow_pitch")
    place = columns.of_row[row].index(model.term_arrays.names.index(name))
    np.testing.assert_array_equal(columns(motion)[:, row, place], 0.25)


def test_columns_are_zero_without_the_payload():
    """Both kinds of extra columns are zero in a run without it, under the same names."""
    model = Model(builtin_arm())
    payload, friction = PayloadColumns(model, "tool"), FrictionColumns(model)
    motion = motion_of(model.robot, 2)
    empty = loaded_columns(payload, friction, loaded=False)
    loaded = loaded_columns(payload, friction, loaded=True)
    assert empty.names == loaded.names
    assert not empty.of(motion).any()
    np.testing.assert_array_equal(loaded.of(motion)[:, :, :10], payload(motion))
    np.testing.assert_array_equal(loaded.of(motion)[:, :, 10:], friction(motion))


def test_the_last_link_is_the_end_of_the_chain():
    """The tool of the built-in arm; a robot with two ends, or a link that rests, is refused."""
    robot = builtin_arm()
    assert last_link(robot) == "tool"
    branched = random_robot(np.random.default_rng(0), n_joints=5, chain=False)
    with pytest.raises(RobotError, match="links at its ends"):
        last_link(branched)
    with pytest.raises(EstimationError, match="'base', which does not move"):
        PayloadColumns(Model(robot), "base")
