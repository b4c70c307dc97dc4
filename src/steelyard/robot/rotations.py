"""Rotations and poses as files state them: angles, quaternions, offsets.

Angles that are the nearest float to a multiple of pi/2 give exact zeros and ones, so
that a right angle in a file stays a right angle: combinations of parameters then
have exact zeros as coefficients, instead of rounding errors such as 6e-17.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

QUARTERS = ((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0))


def sin_cos(angle: float) -> tuple[float, float]:
    """Sine and cosine of ``angle`` (rad), exact at the floats closest to k pi/2."""
    quarter = round(angle / (math.pi / 2))
    if abs(angle - quarter * (math.pi / 2)) <= 1e-15 * max(1.0, abs(angle)):
        return QUARTERS[quarter % 4]
    return math.sin(angle), math.cos(angle)


def rotation_x(angle: float) -> Array:
    """Rotation matrix (3, 3) by ``angle`` (rad) about x."""
    s, c = sin_cos(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: float) -> Array:
    """Rotation matrix (3, 3) by ``angle`` (rad) about y."""
    s, c = sin_cos(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: float) -> Array:
    """Rotation matrix (3, 3) by ``angle`` (rad) about z."""
    s, c = sin_cos(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """URDF's fixed-axis angles (rad): Rz(yaw) Ry(pitch) Rx(roll), (3, 3)."""
    return rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll)


def rpy_of(rotation: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw (rad) of a rotation matrix (3, 3), as :func:`rotation_rpy` takes them.

    At a pitch of ±pi/2, where only the sum or difference of roll and yaw matters, roll is 0.
    """
    flat = math.hypot(rotation[0, 0], rotation[1, 0])
    pitch = math.atan2(-rotation[2, 0], flat)
    if flat < 1e-9:
        return 0.0, pitch, math.atan2(-rotation[0, 1], rotation[1, 1])
    roll = math.atan2(rotation[2, 1], rotation[2, 2])
    return roll, pitch, math.atan2(rotation[1, 0], rotation[0, 0])


def rotation_quaternion(w: float, x: float, y: float, z: float) -> Array:
    """Rotation matrix (3, 3) of the quaternion w, x, y, z, normalised first."""
    norm = math.hypot(w, x, y, z)
    w, x, y, z = w / norm, x / norm, y / norm, z / norm
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def pose(rotation: ArrayLike | None = None, position: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Read-only homogeneous matrix (4, 4) from a rotation (3, 3) and a position (3,) in m."""
    matrix = np.eye(4)
    if rotation is not None:
        matrix[:3, :3] = rotation
    matrix[:3, 3] = position
    return frozen_array(matrix, (4, 4))


def rotation_about(axis: Array, angle: float) -> Array:
    """Rotation matrix (3, 3) by ``angle`` (rad) about the unit vector ``axis``."""
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation: Array = np.eye(3) + np.sin(angle) * skew + (1.0 - np.cos(angle)) * (skew @ skew)
    return rotation


def frozen_array(values: object, shape: tuple[int, ...]) -> Array:
    """A read-only float array of the given shape, copied from ``values``."""
    array = np.array(values, dtype=float).reshape(shape)
    array.setflags(write=False)
    return array
