"""Small identification experiments with known true parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.signals.motion import Measurements, Motion
from steelyard.testing.random_robots import random_robot


def multisine_motion(
    rng: np.random.Generator, n_joints: int, n_samples: int, rate_hz: float, run: str = "run"
) -> Motion:
    """A random sum of five harmonics per joint, with exact derivatives."""
    time = np.arange(n_samples) / rate_hz
    w = 2 * np.pi / 5.0
    q, v, a = (np.zeros((n_samples, n_joints)) for _ in range(3))
    for harmonic in range(1, 6):
        f = harmonic * w
        one, two = rng.normal(size=(2, n_joints))
        s, c = np.sin(f * time)[:, None], np.cos(f * time)[:, None]
        q += one / f * s - two / f * c
        v += one * c + two * s
        a += f * (two * c - one * s)
    return Motion(time, q, v, a, run)


@dataclass(frozen=True)
class Experiment:
    """A model, its true parameters, an exact motion and noise-free torques."""

    model: Model
    theta: np.ndarray
    motion: Motion
    tau: np.ndarray

    @property
    def beta(self) -> np.ndarray:
        """True base parameters."""
        return base_map(self.model).K @ self.theta

    def measured(self, noise: np.ndarray) -> Measurements:
        """Torques with this noise added."""
        return Measurements(self.model.channels, self.tau + noise)


def chain_experiment(seed: int, n_joints: int = 3, n_samples: int = 2000) -> Experiment:
    """A random chain of revolute joints with friction, moved by a multi-sine at 100 Hz."""
    rng = np.random.default_rng(seed)
    model = Model(random_robot(rng, n_joints, chain=True, prismatic=0.0, fixed=0.0))
    theta = model.prior_theta()
    terms = [column.kind != "rigid_body" for column in model.columns]
    theta[terms] = rng.uniform(0.2, 1.0, size=sum(terms))
    motion = multisine_motion(rng, n_joints, n_samples, 100.0)
    return Experiment(model, theta, motion, torque(model, theta, motion.q, motion.v, motion.a))
