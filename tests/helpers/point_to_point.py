"""The experiment of Traversaro et al. 2016, section IV, in simulation.

Three shoulder joints reach random positions on minimum-jerk motions; 60 s at 100 Hz for each of
five motion times. Encoders and the wrench at the upper arm are recorded; velocities and
accelerations come from a Savitzky-Golay filter of order 2 with the paper's windows. The sensor has
white noise, a bias, and a slow drift of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.robot.inertia import from_com
from steelyard.robot.robot import Robot
from steelyard.signals.frame_kinematics import frame_motion_from_joints
from steelyard.signals.frame_motion import FrameMotion, Wrench
from steelyard.signals.motion import Motion
from steelyard.simulation.builtin_arm import builtin_arm
from steelyard.simulation.wrench_sensor import WrenchSensor, measure_wrench

MOTION_TIMES_S = (10.0, 5.0, 2.0, 1.0, 0.5)
WINDOWS = {10.0: 499, 5.0: 41, 2.0: 21, 1.0: 9, 0.5: 7}
RATE_HZ, DURATION_S = 100.0, 60.0
FRAME = "upper_arm"
REACH = 0.6  # rad, on each side of the start
ENCODER_STEP = 2.0 * np.pi / 2**16


@dataclass(frozen=True, eq=False)
class PointToPoint:
    """One recording: what was computed from the encoders, the wrench, and the true body."""

    motion: FrameMotion
    wrench: Wrench
    phi: np.ndarray


def forearm() -> np.ndarray:
    """phi (10,) of a body like the paper's arm: 1.9 kg, 0.3 m long, off its axis."""
    rows = [[9.0, 0.4, -0.6], [0.4, 9.5, 0.5], [-0.6, 0.5, 1.6]]
    return from_com(1.9, (0.01, -0.02, 0.12), 1e-3 * np.array(rows))


def minimum_jerk(targets: np.ndarray, motion_time_s: float, time: np.ndarray):
    """q, v and a (n_samples, n) on minimum-jerk motions from each of the targets to the next."""
    k = np.minimum((time / motion_time_s).astype(int), len(targets) - 2)
    s = (time - k * motion_time_s) / motion_time_s
    start, way = targets[k], targets[k + 1] - targets[k]
    shape = 10 * s**3 - 15 * s**4 + 6 * s**5
    speed = (30 * s**2 - 60 * s**3 + 30 * s**4) / motion_time_s
    push = (60 * s - 180 * s**2 + 120 * s**3) / motion_time_s**2
    return start + way * shape[:, None], way * speed[:, None], way * push[:, None]


def recorded(motion_time_s: float, seed: int = 0, robot: Robot | None = None) -> PointToPoint:
    """One recording of 60 s with points to reach every ``motion_time_s``."""
    from scipy.signal import savgol_filter

    robot = robot or builtin_arm()
    rng = np.random.default_rng([13, seed, round(10 * motion_time_s)])
    time = np.arange(round(DURATION_S * RATE_HZ)) / RATE_HZ
    n_points = int(DURATION_S / motion_time_s) + 2
    targets = np.zeros((n_points, len(robot.joint_names)))
    targets[:, :3] = rng.uniform(-REACH, REACH, (n_points, 3))
    targets[:, 1] += 0.6  # away from the vertical
    q, v, a = minimum_jerk(targets, motion_time_s, time)
    truth = frame_motion_from_joints(robot, Motion(time, q, v, a, "truth"), FRAME)
    bias = rng.uniform(-1.0, 1.0, 6) * np.repeat([5.0, 0.3], 3)
    sensor = WrenchSensor(0.2, 0.01, bias=bias, force_drift=0.05, torque_drift=0.005)
    wrench = measure_wrench(truth, forearm(), sensor, seed=seed)
    read = np.round(q / ENCODER_STEP) * ENCODER_STEP
    q, v, a = (
        savgol_filter(read, WINDOWS[motion_time_s], 2, deriv=k, delta=1.0 / RATE_HZ, axis=0)
        for k in range(3)
    )
    motion = frame_motion_from_joints(robot, Motion(time, q, v, a, f"{motion_time_s:g} s"), FRAME)
    return PointToPoint(motion, wrench, forearm())
