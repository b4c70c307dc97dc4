"""Runs of the built-in seven-joint arm without and with bodies of random shape on its tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from sensor_runs import random_shape

from steelyard.excitation.motions.fourier import multisine
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.payload.intervals import derived_values
from steelyard.robot.inertia import transform
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth
from steelyard.simulation.simulate import Controller, Sensors, simulate

PROCESSING = Processing(torque_filter="none")
LINK = "tool"


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

    @property
    def robot(self) -> Robot:
        """The built-in arm."""
        return arm_model().robot

    @property
    def empty(self) -> Log:
        """Without payload and noise."""
        return simulated(self.duration_s, self.rate_hz, 1, "empty")

    @property
    def bare(self) -> Log:
        """The motion with the payload, but without it, and with the friction of that run."""
        changes = tuple(self.friction.items())
        return simulated(self.duration_s, self.rate_hz, 2, "loaded", friction=changes)

    def drawn(self, mass: float, seed: int) -> tuple[np.ndarray, Log, Log]:
        """A random body phi (10,) in the link's frame, and the logs without and with it."""
        rng = np.random.default_rng([13, round(1000 * mass), seed])
        phi = random_shape(rng, mass)
        bodies, added = unit_torques(self.duration_s, self.rate_hz)
        share = np.linalg.solve(bodies.T, phi)
        torques = torques_of(self.bare) + np.tensordot(share, added, axes=1)
        empty = self._noisy(self.empty, torques_of(self.empty), rng)
        return phi, empty, self._noisy(self.bare, torques, rng)

    def _noisy(self, log: Log, tau: np.ndarray, rng: np.random.Generator) -> Log:
        from scipy.signal import lfilter

        keep = np.exp(-2.0 * np.pi * 10.0 / self.rate_hz)
        size = self.noise * np.sqrt(np.mean(torques_of(self.empty) ** 2, axis=0))
        white = rng.normal(size=(len(tau) + 200, tau.shape[1]))
        smooth = lfilter([np.sqrt(1.0 - keep**2)], [1.0, -keep], white, axis=0)[200:]
        recorded = tau + size * smooth
        signals = dict(log.signals)
        for k, joint in enumerate(self.robot.joint_names):
            signals[joint, "torque"] = recorded[:, k]
        return replace(log, signals=signals)


@cache
def arm_model() -> Model:
    """The built-in arm with the default terms."""
    return Model(builtin_arm())


@cache
def simulated(
    duration_s: float,
    rate_hz: float,
    motion: int,
    name: str,
    body: tuple[float, ...] = (),
    friction: tuple[tuple[str, tuple[float, float, float]], ...] = (),
) -> Log:
    """An exact run of the arm on this motion (a seed), with a body on the tool if one is given."""
    model = arm_model()
    theta = builtin_truth(model)
    changes = dict(friction)
    for k, column in enumerate(model.columns):
        if column.owner in changes and column.symbol in ("fv", "fc", "fo"):
            theta[k] += changes[column.owner][("fv", "fc", "fo").index(column.symbol)]
    for one, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        for link, T_body_link in one.links:
            if link == LINK and body:
                theta[first : first + 10] += transform(np.array(body), T_body_link)
    return simulate(
        model,
        theta,
        multisine(model.robot, period_s=10.0, seed=motion),
        duration_s=duration_s,
        rate_hz=rate_hz,
        controller=Controller("ideal"),
        sensors=Sensors(encoder_step=1e-5),
        name=name,
    )


@cache
def unit_torques(duration_s: float, rate_hz: float) -> tuple[np.ndarray, np.ndarray]:
    """Ten bodies (10, 10) and the torques (10, n_samples, n_joints) that each adds.

    Torques are linear in the body: those of any other are sums of these.
    """
    rng = np.random.default_rng(11)
    bodies = np.array([random_shape(rng, 1.0) for _ in range(10)])
    bare = torques_of(simulated(duration_s, rate_hz, 2, "loaded"))
    runs = [simulated(duration_s, rate_hz, 2, "loaded", tuple(phi.tolist())) for phi in bodies]
    return bodies, np.array([torques_of(run) - bare for run in runs])


def torques_of(log: Log) -> np.ndarray:
    """Torques (n_samples, n_joints) in the order of the arm's joints."""
    return np.column_stack([log.signal(joint, "torque") for joint in arm_model().robot.joint_names])


def true_values(phi: np.ndarray) -> np.ndarray:
    """The values of a body in the order of a payload estimate's."""
    return derived_values(phi)[0]
