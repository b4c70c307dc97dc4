"""Bodies of random shape on a force/torque sensor at the tool of the built-in arm.

20 s of a random sum of sines at 500 Hz; encoders with noise, differentiated after a zero-phase
low-pass filter; the wrench is used as recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from steelyard.excitation.motions.fourier import multisine
from steelyard.model.model import Model
from steelyard.payload.intervals import derived_values
from steelyard.robot.inertia import from_com
from steelyard.signals.frame_kinematics import frame_motion_from_joints
from steelyard.signals.frame_motion import FrameMotion, Wrench
from steelyard.signals.motion import Motion
from steelyard.simulation.builtin_arm import builtin_arm
from steelyard.simulation.simulate import reference
from steelyard.simulation.wrench_sensor import WrenchSensor, measure_wrench

FRAME = "tool"
MASSES = (0.1, 0.5, 2.0, 5.0)
FORCE_NOISE, TORQUE_NOISE = 0.2, 0.01
ENCODER_NOISE = 1e-5
CUTOFF_HZ = 15.0
CUT_S = 0.1  # at both ends, where the filter has only one side


@dataclass(frozen=True, eq=False)
class SensorRun:
    """One recording and the truth."""

    motion: FrameMotion
    wrench: Wrench
    phi: np.ndarray
    bias: np.ndarray
    turn: np.ndarray

    @property
    def truth(self) -> np.ndarray:
        """True values (19,) in the order of the estimate's values."""
        return derived_values(self.phi)[0]

    def cramer_rao(self) -> np.ndarray:
        """Smallest standard deviations (19,) of an unbiased estimate with an unknown bias.

        From the information of independent noise in exact rows, with Pinocchio's regressor.
        """
        import pinocchio as pin

        weights = np.repeat([1.0 / FORCE_NOISE, 1.0 / TORQUE_NOISE], 3)
        information = np.zeros((16, 16))
        step = max(1, len(self.motion) // 2000)
        for k in range(0, len(self.motion), step):
            v = pin.Motion(np.zeros(3), self.motion.angular_velocity[k])
            a = pin.Motion(self.motion.proper_acceleration[k], self.motion.angular_acceleration[k])
            rows = np.column_stack([np.eye(6), pin.bodyRegressor(v, a)]) * weights[:, None]
            information += step * rows.T @ rows
        covariance = np.linalg.inv(information)[6:, 6:]
        slopes = derived_values(self.phi)[1]
        return np.sqrt(np.diag(slopes @ covariance @ slopes.T))


def random_shape(rng: np.random.Generator, mass: float) -> np.ndarray:
    """phi (10,) of a box of 1 to 8 kg per litre and random proportions, a little off its centre."""
    volume = mass / rng.uniform(1000.0, 8000.0)
    edges = rng.uniform(0.5, 2.0, 3)
    edges *= (volume / np.prod(edges)) ** (1.0 / 3.0)
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    sigma = mass * (axes * edges**2 / 12.0) @ axes.T
    com = rng.normal(size=3) * 0.03
    return from_com(mass, com, np.trace(sigma) * np.eye(3) - sigma)


@cache
def _true_motion(seed: int, duration_s: float, rate_hz: float) -> Motion:
    robot = builtin_arm()
    time = np.arange(round(duration_s * rate_hz) + 1) / rate_hz
    trajectory = multisine(robot, period_s=10.0, n_harmonics=8, seed=seed)
    return reference(Model(robot), trajectory, time)


def sensor_run(
    seed: int,
    mass: float,
    *,
    duration_s: float = 20.0,
    rate_hz: float = 500.0,
    turn_degrees: float = 0.0,
) -> SensorRun:
    """A body of this mass, with bias up to 5 N and 0.3 N m."""
    rng = np.random.default_rng([17, seed, round(1000 * mass)])
    robot = builtin_arm()
    joints = _true_motion(seed, duration_s, rate_hz)
    truth = frame_motion_from_joints(robot, joints, FRAME)
    phi = random_shape(rng, mass)
    bias = rng.uniform(-1.0, 1.0, 6) * np.repeat([5.0, 0.3], 3)
    axis = rng.normal(size=3)
    turn = np.radians(turn_degrees) * axis / np.linalg.norm(axis)
    sensor = WrenchSensor(FORCE_NOISE, TORQUE_NOISE, bias=bias, rotation=turn)
    wrench = measure_wrench(truth, phi, sensor, seed=int(rng.integers(2**31)))
    keep = slice(round(CUT_S * rate_hz), -round(CUT_S * rate_hz))
    read = joints.q + ENCODER_NOISE * rng.normal(size=joints.q.shape)
    motion = frame_motion_from_joints(robot, differentiated(joints.time, read, keep), FRAME)
    used = Wrench(FRAME, wrench.force[keep], wrench.torque[keep])
    return SensorRun(motion, used, phi, bias, turn)


def differentiated(time: np.ndarray, q: np.ndarray, keep: slice) -> Motion:
    """Positions through a Butterworth low-pass of order 4, zero phase, and central differences."""
    from scipy.signal import butter, sosfiltfilt

    period = time[1] - time[0]
    q = sosfiltfilt(butter(4, CUTOFF_HZ, fs=1.0 / period, output="sos"), q, axis=0)
    v = np.gradient(q, period, axis=0)
    a = np.gradient(v, period, axis=0)
    return Motion(time[keep], q[keep], v[keep], a[keep], "arm")
