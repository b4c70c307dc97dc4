"""Runs of a simulated arm without and with a known payload, with wrong drive gains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.excitation.motions.fourier import multisine
from steelyard.knowledge.payload import Payload
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.inertia import transform
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth
from steelyard.simulation.simulate import Controller, Sensors, simulate

PROCESSING = Processing(torque_filter="none")
PAYLOAD = Payload.of("tool", 2.0, (0.02, -0.01, 0.06), np.diag([0.004, 0.005, 0.003]))


@dataclass(frozen=True)
class PayloadRuns:
    """A six-joint arm, its two motions, and the noise of its torques.

    noise : standard deviation as a share of the root mean square of each joint's torque; it
    passes a low-pass of 10 Hz, so that neighbouring samples are correlated.
    motions : seeds of the two sums of sines, without and with the payload.
    """

    noise: float = 0.02
    duration_s: float = 20.0
    rate_hz: float = 200.0
    payload: Payload = PAYLOAD
    motions: tuple[int, int] = (1, 2)

    @cached_property
    def robot(self) -> Robot:
        """The built-in arm with one of its seven joints locked."""
        return builtin_arm().lock({"upper_arm_roll": 0.0})

    @cached_property
    def exact(self) -> tuple[Log, Log]:
        """Logs without and with the payload, without noise."""
        model = Model(self.robot)
        theta = builtin_truth(model)
        loaded = theta.copy()
        for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
            for link, T_body_link in body.links:
                if link == self.payload.link:
                    loaded[first : first + 10] += transform(self.payload.inertial, T_body_link)
        logs = [
            simulate(
                model,
                values,
                multisine(self.robot, period_s=10.0, seed=seed),
                duration_s=self.duration_s,
                rate_hz=self.rate_hz,
                controller=Controller("ideal"),
                sensors=Sensors(encoder_step=1e-5),
                name=name,
            )
            for seed, (name, values) in zip(
                self.motions, (("empty", theta), ("loaded", loaded)), strict=True
            )
        ]
        return logs[0], logs[1]

    def drawn(self, seed: int, noise_seed: int | None = None) -> tuple[np.ndarray, Log, Log]:
        """True gains (n_joints,) and both logs, with torques divided by the gains, and noise.

        noise_seed : of the noise, where other runs have the same gains.
        """
        from scipy.signal import lfilter

        rng = np.random.default_rng([7, seed])
        gains = rng.uniform(0.8, 1.25, size=len(self.robot.joint_names))
        if noise_seed is not None:
            rng = np.random.default_rng([8, noise_seed])
        keep = np.exp(-2.0 * np.pi * 10.0 / self.rate_hz)
        logs = []
        for log in self.exact:
            signals = dict(log.signals)
            for gain, joint in zip(gains, self.robot.joint_names, strict=True):
                tau = log.signal(joint, "torque")
                white = rng.normal(size=len(tau) + 200)
                smooth = lfilter([np.sqrt(1.0 - keep**2)], [1.0, -keep], white)[200:]
                sigma = self.noise * np.sqrt(np.mean(tau**2))
                signals[joint, "torque"] = (tau + sigma * smooth) / gain
            logs.append(replace(log, signals=signals))
        return gains, logs[0], logs[1]
