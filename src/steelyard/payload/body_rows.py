"""Rows of the Newton-Euler equations of one body, linear in its ten inertial parameters.

The wrench that acts on a body at the origin of a frame fixed to it, in the axes of the frame, is

    f   = m a + alpha × h + omega × (omega × h)
    tau = h × a + I alpha + omega × I omega

with a the proper acceleration of the origin (acceleration minus gravity), h = m c and I about the
origin (Traversaro et al. 2016, equations 1 to 4 and 19).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.signals.frame_motion import FrameMotion

Array = NDArray[np.float64]
FORCE_PARAMETERS = slice(0, 4)
"""Parameters in the rows of force: m and h."""
TORQUE_PARAMETERS = slice(1, 10)
"""Parameters in the rows of torque: h and I."""


def wrench_regressor(motion: FrameMotion) -> Array:
    """Rows (n_samples, 6, 10) of force, then torque, in the order of ``robot.inertia.PARAMETERS``.

    The wrench (n_samples, 6), N and N m, is rows @ phi.
    """
    rows = np.zeros((len(motion), 6, 10))
    rows[:, :3, FORCE_PARAMETERS] = force_rows(motion)
    rows[:, 3:, TORQUE_PARAMETERS] = torque_rows(motion)
    return rows


def force_rows(motion: FrameMotion) -> Array:
    """Rows (n_samples, 3, 4) of the force, for m, mx, my, mz."""
    rows = np.empty((len(motion), 3, 4))
    rows[:, :, 0] = motion.proper_acceleration
    x, y, z = motion.angular_velocity.T
    ax, ay, az = motion.angular_acceleration.T
    # S(alpha) + S(omega)²
    rows[:, 0, 1], rows[:, 0, 2], rows[:, 0, 3] = -y * y - z * z, x * y - az, x * z + ay
    rows[:, 1, 1], rows[:, 1, 2], rows[:, 1, 3] = x * y + az, -x * x - z * z, y * z - ax
    rows[:, 2, 1], rows[:, 2, 2], rows[:, 2, 3] = x * z - ay, y * z + ax, -x * x - y * y
    return rows


def torque_rows(motion: FrameMotion) -> Array:
    """Rows (n_samples, 3, 9) of the torque, for mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""
    rows = np.zeros((len(motion), 3, 9))
    fx, fy, fz = motion.proper_acceleration.T
    # h × a = -S(a) h
    rows[:, 0, 1], rows[:, 0, 2] = fz, -fy
    rows[:, 1, 0], rows[:, 1, 2] = -fz, fx
    rows[:, 2, 0], rows[:, 2, 1] = fy, -fx
    x, y, z = motion.angular_velocity.T
    ax, ay, az = motion.angular_acceleration.T
    # I alpha + omega × I omega
    rows[:, 0, 3], rows[:, 0, 4], rows[:, 0, 5] = ax, ay - x * z, -y * z
    rows[:, 0, 6], rows[:, 0, 7], rows[:, 0, 8] = az + x * y, y * y - z * z, y * z
    rows[:, 1, 3], rows[:, 1, 4], rows[:, 1, 5] = x * z, ax + y * z, ay
    rows[:, 1, 6], rows[:, 1, 7], rows[:, 1, 8] = z * z - x * x, az - x * y, -x * z
    rows[:, 2, 3], rows[:, 2, 4], rows[:, 2, 5] = -x * y, x * x - y * y, x * y
    rows[:, 2, 6], rows[:, 2, 7], rows[:, 2, 8] = ax - y * z, ay + x * z, az
    return rows
