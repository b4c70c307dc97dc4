"""A simulated force/torque sensor that carries a body."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SimulationError
from steelyard.logs.log import Log
from steelyard.payload.body_rows import wrench_regressor
from steelyard.robot.inertia import as_phi
from steelyard.robot.rotations import rotation_about
from steelyard.signals.frame_motion import FrameMotion, Wrench
from steelyard.simulation.sensors import low_pass_noise, positive

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WrenchSensor:
    """What a force/torque sensor does to the true wrench.

    force_noise, torque_noise : standard deviation, N and N m.
    noise_bandwidth_hz : None for white noise; otherwise its cutoff, first order.
    bias : (6,) N and N m, in the sensor's axes.
    rotation : (3,) rad, rotation vector r of the sensor's axes in the frame,
        R_frame_sensor = exp(r).
    force_limit, torque_limit : N and N m, end of the range of each axis.
    force_drift, torque_drift : N and N m in a second: standard deviation of a random walk of the
        bias after one second.
    """

    force_noise: float = 0.2
    torque_noise: float = 0.01
    noise_bandwidth_hz: float | None = None
    bias: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    rotation: ArrayLike = (0.0, 0.0, 0.0)
    force_limit: float = np.inf
    torque_limit: float = np.inf
    force_drift: float = 0.0
    torque_drift: float = 0.0

    def __post_init__(self) -> None:
        for name, size in (("bias", 6), ("rotation", 3)):
            values = np.asarray(getattr(self, name), dtype=float)
            if values.shape != (size,) or not np.isfinite(values).all():
                raise SimulationError(f"{name} of a force/torque sensor is {size} finite numbers")
            object.__setattr__(self, name, values)
        for name in ("force_noise", "torque_noise", "force_drift", "torque_drift"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0.0):
                raise SimulationError(f"{name} is {value}; it must be finite and not negative")
        for name in ("force_limit", "torque_limit"):
            if not getattr(self, name) > 0.0:
                raise SimulationError(f"{name} is {getattr(self, name)}; it must be positive")
        if self.noise_bandwidth_hz is not None:
            positive(self.noise_bandwidth_hz, "noise_bandwidth_hz")

    @property
    def R_frame_sensor(self) -> Array:
        """Orientation (3, 3) of the sensor's axes in the frame."""
        turn = np.asarray(self.rotation, dtype=float)
        angle = float(np.linalg.norm(turn))
        return np.eye(3) if angle == 0.0 else rotation_about(turn / angle, angle)


def measure_wrench(
    motion: FrameMotion, phi: ArrayLike, sensor: WrenchSensor | None = None, *, seed: int = 0
) -> Wrench:
    """The wrench that a sensor shows of a body phi (10,) on a frame with this true motion.

    It acts on the body, at the origin of the frame, in the axes of the sensor. The same seed gives
    the same noise.
    """
    sensor = sensor or WrenchSensor()
    n = len(motion)
    exact = (wrench_regressor(motion) @ as_phi(phi)).reshape(n, 2, 3) @ sensor.R_frame_sensor
    noise, walk = (np.random.default_rng([seed, k]).normal(size=(n, 6)) for k in range(2))
    steps = np.diff(motion.time, prepend=motion.time[:1])
    if sensor.noise_bandwidth_hz is not None:
        if n < 2 or np.ptp(steps[1:]) > 1e-6 * steps[1:].mean():
            raise SimulationError("noise of a given bandwidth needs a constant sample rate")
        noise = low_pass_noise(noise, sensor.noise_bandwidth_hz, float(steps[1]))
    drift = np.cumsum(walk * np.sqrt(steps)[:, None], axis=0)
    values = exact.reshape(n, 6) + np.asarray(sensor.bias, dtype=float)
    values += noise * _six(sensor.force_noise, sensor.torque_noise)
    values += drift * _six(sensor.force_drift, sensor.torque_drift)
    limit = _six(sensor.force_limit, sensor.torque_limit)
    values = np.clip(values, -limit, limit)
    return Wrench(motion.frame, values[:, :3], values[:, 3:])


def add_wrench(
    log: Log,
    motion: FrameMotion,
    phi: ArrayLike,
    sensor: WrenchSensor | None = None,
    *,
    seed: int = 0,
) -> Log:
    """The log with columns of a force/torque sensor that carries a body phi (10,).

    motion : true motion of the sensor's frame, at the samples of the log.
    """
    if not np.array_equal(motion.time, log.time):
        raise SimulationError(
            f"the motion of frame '{motion.frame}' must be at the samples of log '{log.name}'"
        )
    wrench = measure_wrench(motion, phi, sensor, seed=seed)
    columns = {
        (motion.frame, "force"): wrench.force,
        (motion.frame, "torque"): wrench.torque,
    }
    return replace(log, frame_signals={**log.frame_signals, **columns})


def _six(force: float, torque: float) -> Array:
    return np.repeat([force, torque], 3)
