"""Runs of the built-in seven-joint arm without and with bodies of random shape on its tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from steelyard.excitation.motions.fourier import multisine
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.payload.intervals import derived_values
from steelyard.robot.inertia import from_com, transform
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth
from steelyard.simulation.simulate import Controller, Sensors, simulate

PROCESSING = Processing(torque_filter="none")
LINK = "tool"


def random_shape(rng: np.random.Generator, mass: float) -> np.ndarray:
    """phi (10,) of a turned cuboid of this mass (kg), its centre some centimetres off the link."""
    half = rng.uniform(0.02, 0.06, size=3) * (mass / 1.0) ** (1 / 3)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    sigma = (Q * (mass * half**2 / 3.0)) @ Q.T
    com = rng.uniform([-0.05, -0.05, 0.02], [0.05, 0.05, 0.10])
    return from_com(mass, com, np.trace(sigma) * np.eye(3) - sigma)


@dataclass(frozen=True)
class WeighingRuns:
    """An arm, its two motions, and the noise of its torques.

    noise : standard deviation as a share of the rms of each joint's torque without payload; it
        passes a low-pass of 10 Hz, so that neighbouring samples are correlated.
    friction : (fv, fc, fo) by joint, by which these are larger with the payload.
    """

    noise: float = 0.02
    duration_s: float = 20.0
    rate_hz: float = 100.0
    friction: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)

    @cached_property
    def robot(self) -> Robot:
        """The built-in arm."""
        return builtin_arm()

    @cached_property
    def model(self) -> Model:
        """With the default terms."""
        return Model(self.robot)

    @cached_property
    def empty(self) -> Log:
        """Without payload and noise."""
        return self._simulated(builtin_truth(self.model), 1, "empty")

    @cached_property
    def _loaded(self) -> tuple[np.ndarray, np.ndarray, Log]:
        """Ten bodies (10, 10), the torques (10, n_samples, n_joints) that each adds, and the log of
        the second motion without any; torques are linear in the body.
        """
        theta = builtin_truth(self.model)
        for k, column in enumerate(self.model.columns):
            if column.owner in self.friction and column.symbol in ("fv", "fc", "fo"):
                theta[k] += self.friction[column.owner][("fv", "fc", "fo").index(column.symbol)]
        bare = self._simulated(theta, 2, "loaded")
        rng = np.random.default_rng(11)
        bodies = np.array([random_shape(rng, 1.0) for _ in range(10)])
        added = []
        for phi in bodies:
            log = self._simulated(self._with(theta, phi), 2, "loaded")
            added.append(self._torques(log) - self._torques(bare))
        return bodies, np.array(added), bare

    def drawn(self, mass: float, seed: int) -> tuple[np.ndarray, Log, Log]:
        """A random body phi (10,) in the link's frame, and the logs without and with it."""
        rng = np.random.default_rng([13, round(1000 * mass), seed])
        phi = random_shape(rng, mass)
        bodies, added, bare = self._loaded
        share = np.linalg.solve(bodies.T, phi)
        torques = self._torques(bare) + np.tensordot(share, added, axes=1)
        return (
            phi,
            self._noisy(self.empty, self._torques(self.empty), rng),
            self._noisy(bare, torques, rng),
        )

    def _noisy(self, log: Log, tau: np.ndarray, rng: np.random.Generator) -> Log:
        from scipy.signal import lfilter

        keep = np.exp(-2.0 * np.pi * 10.0 / self.rate_hz)
        size = self.noise * np.sqrt(np.mean(self._torques(self.empty) ** 2, axis=0))
        white = rng.normal(size=(len(tau) + 200, tau.shape[1]))
        smooth = lfilter([np.sqrt(1.0 - keep**2)], [1.0, -keep], white, axis=0)[200:]
        recorded = tau + size * smooth
        signals = dict(log.signals)
        for k, joint in enumerate(self.robot.joint_names):
            signals[joint, "torque"] = recorded[:, k]
        return replace(log, signals=signals)

    def _torques(self, log: Log) -> np.ndarray:
        return np.column_stack([log.signal(joint, "torque") for joint in self.robot.joint_names])

    def _with(self, theta: np.ndarray, phi: np.ndarray) -> np.ndarray:
        loaded = theta.copy()
        model = self.model
        for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
            for link, T_body_link in body.links:
                if link == LINK:
                    loaded[first : first + 10] += transform(phi, T_body_link)
        return loaded

    def _simulated(self, theta: np.ndarray, seed: int, name: str) -> Log:
        return simulate(
            self.model,
            theta,
            multisine(self.robot, period_s=10.0, seed=seed),
            duration_s=self.duration_s,
            rate_hz=self.rate_hz,
            controller=Controller("ideal"),
            sensors=Sensors(encoder_step=1e-5),
            name=name,
        )


def true_values(phi: np.ndarray) -> np.ndarray:
    """The values of a body in the order of a payload estimate's."""
    return derived_values(phi)[0]
