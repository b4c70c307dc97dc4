"""A small arm and a clean log of it, in which tests plant faults."""

from __future__ import annotations

import numpy as np

from steelyard.robot.parts import Joint, Limits, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array

RATE_HZ, SECONDS, STEP = 500.0, 8.0, 2e-5
NAMES = ("base", "shoulder", "elbow", "wrist")
TIME = np.arange(int(SECONDS * RATE_HZ)) / RATE_HZ


def arm(limits: Limits | None = None) -> Robot:
    """A chain of four turning joints."""
    axes = np.eye(3)[[2, 1, 1, 0]]
    links = [Link("ground"), *(Link(f"{name} link", solid()) for name in NAMES)]
    joints = [
        Joint(
            name,
            "revolute",
            links[k].name,
            links[k + 1].name,
            axis=frozen_array(axes[k], (3,)),
            limits=Limits(-2.6, 2.6, 3.0, 100.0) if limits is None else limits,
        )
        for k, name in enumerate(NAMES)
    ]
    return Robot("arm", tuple(links), tuple(joints))


def solid() -> np.ndarray:
    """Inertial parameters of some body."""
    return frozen_array((2.0, 0.1, 0.0, 0.1, 0.05, 0.0, 0.05, 0.0, 0.0, 0.05), (10,))


def signals(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions as of an encoder, velocities and noisy torques (n_samples, 4) of a multisine."""
    rng = np.random.default_rng(seed)
    phase, size = rng.uniform(0, 2 * np.pi, (3, 4)), rng.uniform(0.2, 0.4, (3, 4))
    w = 2 * np.pi * np.array([0.2, 0.5, 0.9])[:, None, None]
    angle = w * TIME[:, None] + phase[:, None, :]
    q = np.sum(size[:, None, :] * np.sin(angle), axis=0)
    v = np.sum(size[:, None, :] * w * np.cos(angle), axis=0)
    a = np.sum(-size[:, None, :] * w**2 * np.sin(angle), axis=0)
    tau = np.array([3.0, 8.0, 4.0, 1.0]) * (np.sin(q) + 0.3 * np.sign(v) + 0.1 * a)
    tau += 0.02 * rng.normal(size=tau.shape)
    return np.round(q / STEP) * STEP, v + 2e-3 * rng.normal(size=v.shape), tau


Q, V, TAU = signals()


def changed(table: np.ndarray, joint: str, rows: object, values: object) -> np.ndarray:
    """A copy with other values in some rows of a joint."""
    out = table.copy()
    out[rows, NAMES.index(joint)] = values
    return out
