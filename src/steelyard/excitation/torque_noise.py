"""Noise of the measured torque that a prediction of precision assumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError, SignalError, did_you_mean, listed, shown
from steelyard.excitation.limits import MotionLimits
from steelyard.model.energy import refuse_floating_base
from steelyard.model.kernels import torque
from steelyard.model.model import Model

Array = NDArray[np.float64]

NOISE_SHARE = 0.01
"""Where nothing is known: noise (rms) as a share of the joint's torque range."""
LEAST_SHARE = 0.05
"""A joint has at least this share of the largest range: small joints have friction, which robot
files do not state, and sensors that are not better by orders of magnitude."""
N_STATES = 1000


@dataclass(frozen=True, eq=False)
class TorqueNoise:
    """Noise of each torque channel, with a normal distribution.

    joints : names. rms : (n_joints,) N m or N. source : where it is from, for a sentence.
    bandwidth_hz : None for noise that is independent from sample to sample of the log (white);
        else the cutoff of the first-order low-pass that made it.
    """

    joints: tuple[str, ...]
    rms: Array
    source: str
    bandwidth_hz: float | None = None

    def __post_init__(self) -> None:
        rms = np.array(self.rms, dtype=float)
        if rms.shape != (len(self.joints),):
            raise SignalError(f"torque noise has shape {rms.shape} for {len(self.joints)} joints")
        for joint, value in zip(self.joints, rms, strict=True):
            if not (np.isfinite(value) and value > 0.0):
                raise SignalError(
                    f"torque noise of joint '{joint}' is {value:g}; it must be positive"
                )
        if self.bandwidth_hz is not None and not self.bandwidth_hz > 0.0:
            raise SignalError(
                f"bandwidth of the torque noise is {self.bandwidth_hz} Hz; it must be positive"
            )
        rms.setflags(write=False)
        object.__setattr__(self, "rms", rms)

    def per_sample(self, rate_hz: float) -> Array:
        """Noise (n_joints,) of samples at this rate that counts as if they were independent.

        Samples of filtered noise have the correlation r = exp(-2 pi bandwidth / rate) with the
        next one. In a sum over many samples such noise has (1 + r) / (1 - r) times the variance of
        independent samples, if what it is summed with changes slowly compared to it.
        """
        if self.bandwidth_hz is None:
            return self.rms
        r = np.exp(-2.0 * np.pi * self.bandwidth_hz / rate_hz)
        return np.asarray(self.rms * np.sqrt((1.0 + r) / (1.0 - r)))


def given_noise(
    model: Model, value: float | Mapping[str, float], source: str = "given"
) -> TorqueNoise:
    """The same noise (rms, N m or N) for all joints, or one for each."""
    joints = model.channels
    if isinstance(value, Mapping):
        for joint in value:
            if joint not in joints:
                raise ModelError(
                    f"torque noise names {shown(joint)}{did_you_mean(joint, joints)}; the joints "
                    f"are {listed(joints)}"
                )
        missing = [joint for joint in joints if joint not in value]
        if missing:
            raise ModelError(f"torque noise is missing for {listed(missing)}")
        rms = np.array([value[joint] for joint in joints], dtype=float)
    else:
        rms = np.full(len(joints), float(value))
    return TorqueNoise(joints, rms, source)


def assumed_noise(model: Model, theta: ArrayLike, limits: MotionLimits) -> TorqueNoise:
    """1 % of each joint's torque range, where nothing is known about its sensor.

    The range is the largest absolute torque that the parameters theta (n_columns,) need in a
    thousand random states within the limits, the same for every motion, so that the precision of
    motions can be compared. It is cut at the torque limit, and at least 5 % of the largest range of
    all joints.
    """
    refuse_floating_base(model)
    place = {name: k for k, name in enumerate(limits.joints)}
    missing = [name for name in model.channels if name not in place]
    if missing:
        raise SignalError(f"there are no limits for {listed(missing)}")
    order = [place[name] for name in model.channels]
    rng = np.random.default_rng(0)
    shape = (N_STATES, model.nv)
    q = rng.uniform(limits.lower[order], limits.upper[order], size=shape)
    v = rng.uniform(-1.0, 1.0, size=shape) * limits.velocity[order]
    a = rng.uniform(-1.0, 1.0, size=shape) * limits.acceleration[order]
    largest = np.abs(torque(model, theta, q, v, a)).max(axis=0)
    largest = np.minimum(largest, limits.torque[order])
    if not largest.max() > 0.0:
        raise SignalError(
            f"the parameters of robot '{model.robot.name}' need no torque in any state, so that "
            "its noise cannot be assumed; give it, with --torque-noise"
        )
    rms = NOISE_SHARE * np.maximum(largest, LEAST_SHARE * largest.max())
    return TorqueNoise(
        model.channels, rms, f"assumed to be {NOISE_SHARE:.0%} of each joint's torque range"
    )
