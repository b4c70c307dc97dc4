"""Positions of one joint that are scaled or late are named, with joint and size."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import pinocchio_torque

from steelyard.diagnosis.hypotheses.search import physics_of
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.simulation.builtin_arm import builtin_arm

ARM = builtin_arm()
RATE_HZ, SECONDS, ENCODER_STEP = 200.0, 15.0, 2e-5


def motion(time: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """Positions, speeds and accelerations (n, n_joints) of sums of sines at these times."""
    rng = np.random.default_rng([seed, 29])
    n = len(ARM.joint_names)
    speed = rng.uniform(1.0, 4.0, size=(3, n))
    phase = rng.uniform(0.0, 2.0 * np.pi, size=(3, n))
    angle = speed * time[:, None, None] + phase
    return tuple(
        0.35 * np.sum(one, axis=1)
        for one in (np.sin(angle), speed * np.cos(angle), -(speed**2) * np.sin(angle))
    )


def recorded(seed: int, joint: int, factor: float = 1.0, late_s: float = 0.0) -> Log:
    """A log with friction; torques are Pinocchio's for the links of the file."""
    time = np.arange(int(SECONDS * RATE_HZ)) / RATE_HZ
    q, v, a = motion(time, seed)
    tau = pinocchio_torque(ARM, q, v, a)
    size = tau.std(axis=0)
    tau = tau + 0.3 * size * (np.tanh(v / 0.02) + 0.5 * v)
    tau = tau + 0.005 * size * np.random.default_rng([seed, 31]).normal(size=tau.shape)
    q[:, joint] = factor * motion(time - late_s, seed)[0][:, joint]
    q = ENCODER_STEP * np.round(q / ENCODER_STEP)
    return Log.from_arrays(time, q, tau, joints=ARM.joint_names, name="run")


def named(log: Log):
    return tuple(one for one in physics_of(Model(ARM), log).findings if one.alarming)


@pytest.mark.parametrize(
    ("seed", "joint", "factor"), [(0, 1, 1.1), (1, 3, 0.9), (2, 5, 1.2), (0, 4, 2.0), (1, 0, 0.5)]
)
def test_a_scaled_position_is_named(seed, joint, factor):
    """A wrong gear ratio: joint and factor, and that the result would be useless."""
    (found,) = named(recorded(seed, joint, factor=factor))
    assert found.code == "position-factor"
    assert found.level == "severe"
    assert found.joints == (ARM.joint_names[joint],)
    assert found.size == pytest.approx(factor, rel=0.03)
    assert f"'{ARM.joint_names[joint]}' are {found.size:.3g} ± " in found.words
    assert "gear ratio" in found.words


@pytest.mark.parametrize(
    ("seed", "joint", "late_s"), [(0, 3, 0.03), (1, 1, 0.04), (2, 2, -0.03), (0, 5, 0.015)]
)
def test_a_late_position_is_named(seed, joint, late_s):
    """A slow encoder, or a clock of its own: joint and delay, of either sign."""
    (found,) = named(recorded(seed, joint, late_s=late_s))
    assert found.code == "position-late"
    assert found.joints == (ARM.joint_names[joint],)
    assert found.size == pytest.approx(late_s, abs=0.004)
    assert ("late" if late_s > 0.0 else "early") in found.words


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_right_positions_are_not_blamed(seed):
    """The same logs without a fault."""
    assert named(recorded(seed, 0)) == ()
