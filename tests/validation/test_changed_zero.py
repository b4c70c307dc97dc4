"""A zero that differs between logs is found with its joint and angle; torques are Pinocchio's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import pinocchio_torque

from steelyard.logs.log import Log
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.inertia import transform
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.testing.random_robots import random_robot
from steelyard.validation.changed_zero import changed_zero
from steelyard.validation.held_out import validate_logs

RATE_HZ, SECONDS, NOISE = 200.0, 8.0, 0.01


def recorded(model: Model, rng: np.random.Generator, joint: int = 0, degrees: float = 0.0) -> Log:
    """A log of sums of sines whose positions of one joint are off by an angle."""
    time = np.arange(int(SECONDS * RATE_HZ)) / RATE_HZ
    n = len(model.channels)
    speed = rng.uniform(1.0, 5.0, size=(3, n))
    phase = rng.uniform(0.0, 2.0 * np.pi, size=(3, n))
    angle = speed * time[:, None, None] + phase
    q, v, a = (
        0.4 * np.sum(one, axis=1)
        for one in (np.sin(angle), speed * np.cos(angle), -(speed**2) * np.sin(angle))
    )
    tau = pinocchio_torque(model.robot, q, v, a)
    tau += NOISE * tau.std(axis=0) * rng.normal(size=tau.shape)
    q[:, joint] += np.radians(degrees)
    return Log.from_arrays(time, q, tau, joints=model.channels, name="other")


def arms(count: int):
    """Random chains of turning joints."""
    for seed in range(count):
        rng = np.random.default_rng([seed, 71])
        robot = random_robot(rng, int(rng.integers(2, 6)), chain=True, prismatic=0.0)
        yield rng, Model(robot)


def judged(model: Model, log: Log):
    base = base_map(model)
    run = prepare(log, model, Processing(cutoff_hz=20.0))
    return changed_zero(model, base, base.K @ model.prior_theta(), run)


def test_zero_of_the_last_joint_is_found():
    """Joint and angle over 20 random arms; none where the zeros agree."""
    for number, (rng, model) in enumerate(arms(20)):
        degrees = (-20.0, 8.0, 15.0)[number % 3]
        assert judged(model, recorded(model, rng)) is None
        joint = len(model.channels) - 1
        found = judged(model, recorded(model, rng, joint, degrees))
        assert found is not None
        assert found.joints == (model.channels[joint],)
        assert found.size == pytest.approx(-degrees, abs=0.5)
        assert model.channels[joint] in found.words
        assert "other" in found.words


def test_zero_of_the_last_joint_is_absorbed_by_the_last_link():
    """Turning the last link explains its joint's zero exactly: no training log can tell it."""
    for rng, model in arms(10):
        theta = model.prior_theta()
        q, v, a = (rng.uniform(-2.0, 2.0, size=(30, len(model.channels))) for _ in range(3))
        offset = rng.uniform(-1.0, 1.0)
        axis = np.asarray(model.robot.joint(model.channels[-1]).axis)
        cross = np.cross(np.eye(3), axis)
        turn = np.eye(4)
        turn[:3, :3] += -np.sin(offset) * cross + (1.0 - np.cos(offset)) * cross @ cross
        turned = theta.copy()
        last = model.first_column_of_body[-1]
        turned[last : last + 10] = transform(theta[last : last + 10], turn)
        shifted = q.copy()
        shifted[:, -1] += offset
        assert np.allclose(
            torque(model, turned, shifted, v, a), torque(model, theta, q, v, a), atol=1e-9
        )


def test_validation_says_it():
    """The finding is among those of a checked log; robots that are not compared have none."""
    rng, model = next(iter(arms(1)))
    base = base_map(model)
    log = recorded(model, rng, len(model.channels) - 1, 12.0)
    found = validate_logs(
        model,
        base,
        base.K @ model.prior_theta(),
        log,
        Processing(cutoff_hz=20.0),
        check=lambda _: (),
    )
    assert [one.code for one in found.checked] == ["position-offset"]
    sliding = random_robot(rng, 2, chain=True, prismatic=1.0)
    assert judged(Model(sliding), replace(recorded(Model(sliding), rng), name="slides")) is None
