"""Sensors of the simulated robot: noise, quantisation, recorded channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SimulationError
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]
PerJoint = float | Mapping[str, float]


@dataclass(frozen=True)
class Sensors:
    """Errors that sensors add to the true signals; each one number, or one per joint name.

    torque_noise : standard deviation, N m (N).
    position_noise : standard deviation, rad (m).
    encoder_step : positions are rounded to multiples of it, rad (m); 0 for none.
    torque_noise_bandwidth_hz : None for white noise; otherwise the noise is filtered by a
        first-order low-pass with this cutoff, and keeps its standard deviation.
    velocity : whether velocity is recorded too.
    velocity_noise : standard deviation, rad/s (m/s).
    """

    torque_noise: PerJoint = 0.0
    position_noise: PerJoint = 0.0
    encoder_step: PerJoint = 0.0
    torque_noise_bandwidth_hz: float | None = None
    velocity: bool = False
    velocity_noise: PerJoint = 0.0

    def __post_init__(self) -> None:
        if self.torque_noise_bandwidth_hz is not None:
            positive(self.torque_noise_bandwidth_hz, "torque_noise_bandwidth_hz")


def record(
    robot: Robot,
    time: Array,
    q: Array,
    v: Array,
    tau: Array,
    sensors: Sensors,
    seed: int,
    name: str,
) -> Log:
    """The log that the sensors record of the true signals (n_samples, nv)."""
    joints = robot.joint_names
    # one random stream per sensor: the noise of one does not depend on that of another
    streams = [np.random.default_rng([seed, k]) for k in range(3)]
    noise = [rng.normal(size=q.shape) for rng in streams]
    if sensors.torque_noise_bandwidth_hz is not None:
        noise[0] = low_pass_noise(noise[0], sensors.torque_noise_bandwidth_hz, time[1] - time[0])
    tau = tau + noise[0] * per_joint(sensors.torque_noise, joints, "torque_noise")
    q = q + noise[1] * per_joint(sensors.position_noise, joints, "position_noise")
    v = v + noise[2] * per_joint(sensors.velocity_noise, joints, "velocity_noise")
    step = per_joint(sensors.encoder_step, joints, "encoder_step")
    whole = np.where(step > 0.0, step, 1.0)
    q = np.where(step > 0.0, np.round(q / whole) * whole, q)
    signals: dict[tuple[str, str], Array] = {}
    units: dict[tuple[str, str], str] = {}
    for i, joint in enumerate(joints):
        slides = robot.joint(joint).kind == "prismatic"
        for quantity, values, unit in (
            ("position", q, "m" if slides else "rad"),
            ("velocity", v, "m/s" if slides else "rad/s"),
            ("torque", tau, "N" if slides else "N*m"),
        ):
            if quantity != "velocity" or sensors.velocity:
                signals[joint, quantity] = values[:, i]
                units[joint, quantity] = unit
    return Log(time, signals, name, units=units)


def low_pass_noise(white: Array, bandwidth_hz: float, period_s: float) -> Array:
    """Noise (n_samples, n) through a first-order low-pass, with unit variance from the start."""
    from scipy.signal import lfilter

    keep = np.exp(-2.0 * np.pi * bandwidth_hz * period_s)
    gain = np.sqrt(1.0 - keep**2)
    white = white.copy()
    white[0] /= gain  # gives the first sample the same variance as all others
    return np.asarray(lfilter([gain], [1.0, -keep], white, axis=0))


def per_joint(value: PerJoint, joints: Sequence[str], what: str) -> Array:
    """One number (n_joints,) for each joint, none negative."""
    if isinstance(value, Mapping):
        wrong = sorted(set(value) ^ set(joints))
        if wrong:
            raise SimulationError(
                f"{what} must name each joint once; {', '.join(wrong)} "
                f"differ from the joints {', '.join(joints)}"
            )
        numbers: Any = [value[joint] for joint in joints]
    else:
        numbers = [value] * len(joints)
    array = np.array(numbers, dtype=float)
    for joint, number in zip(joints, array, strict=True):
        if not (np.isfinite(number) and number >= 0.0):
            raise SimulationError(
                f"{what} of joint '{joint}' is {number}; it must be finite and not negative"
            )
    return array


def positive(value: float, what: str) -> None:
    """Refuse what is not a positive finite number."""
    if not (np.isfinite(value) and value > 0.0):
        raise SimulationError(f"{what} is {value}; it must be a positive number")
