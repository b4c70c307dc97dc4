"""Motion of a frame from measured velocities and accelerations, or from an IMU."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError
from steelyard.robot.parts import STANDARD_GRAVITY
from steelyard.signals.frame_motion import FrameMotion
from steelyard.signals.orientation import rotations_of, unit_quaternions
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import TWIST_AXES, TwistAxes
from steelyard.signals.smoothing import Smoothing

Array = NDArray[np.float64]


def frame_motion_from_twist(
    time: ArrayLike,
    quaternions: ArrayLike,
    angular_velocity: ArrayLike,
    linear_velocity: ArrayLike | None = None,
    *,
    linear_acceleration: ArrayLike | None = None,
    angular_acceleration: ArrayLike | None = None,
    axes: TwistAxes = "frame",
    angular_axes: TwistAxes | None = None,
    frame: str = "frame",
    gravity: ArrayLike = STANDARD_GRAVITY,
    cutoff_hz: float | None = None,
    processing: Processing | None = None,
    run: str = "run",
) -> FrameMotion:
    """Motion of a frame from the velocity of its origin and its angular velocity, at even times.

    time : (n_samples,) s. quaternions : (n_samples, 4) x, y, z, w, of unit norm, which say where
        gravity points. Velocities and accelerations : (n_samples, 3) m/s, rad/s, m/s², rad/s².
        Accelerations are derivatives of the velocities where they are not given; a linear one is
        that of the origin in the world (gravity not included), in the stated axes.
    axes : of velocities and accelerations: those of the frame itself, or those of the base.
        angular_axes : of the angular ones, if they are others.
    gravity : (3,) m/s² in the world. cutoff_hz, processing : as for poses.
    """
    if axes not in TWIST_AXES:
        raise SignalError(f"axes of the twist: {axes!r}; it must be 'frame' or 'base'")
    if linear_velocity is None and linear_acceleration is None:
        raise SignalError(
            f"run '{run}': the linear velocity or acceleration of frame '{frame}' is needed"
        )
    stamps = np.asarray(time, dtype=float)
    smoothing = Smoothing.at(stamps, cutoff_hz, processing, run)
    R = _orientations(quaternions, smoothing, len(stamps))
    w, turned = _with_derivative(angular_velocity, angular_acceleration, smoothing, len(stamps))
    if (angular_axes or axes) == "base":
        w, turned = (np.einsum("nij,ni->nj", R, x) for x in (w, turned))
    if linear_acceleration is not None:
        a = smoothing.derivatives(_array(linear_acceleration, len(stamps), 3, "accelerations"), 0)[
            0
        ]
    else:
        v, a = _with_derivative(linear_velocity, None, smoothing, len(stamps))
        if axes == "frame":
            a = a + np.cross(w, v)  # the axes of the components turn
    if axes == "base":
        a = np.einsum("nij,ni->nj", R, a)
    proper = a - np.asarray(gravity, dtype=float) @ R
    return FrameMotion(frame, stamps, proper, w, turned, R, run)


def frame_motion_from_imu(
    time: ArrayLike,
    angular_velocity: ArrayLike,
    proper_acceleration: ArrayLike,
    quaternions: ArrayLike | None = None,
    *,
    angular_acceleration: ArrayLike | None = None,
    frame: str = "imu",
    cutoff_hz: float | None = None,
    processing: Processing | None = None,
    run: str = "run",
) -> FrameMotion:
    """Motion of an IMU's frame from its gyroscope and accelerometer, at even times.

    angular_velocity : (n_samples, 3) rad/s. proper_acceleration : (n_samples, 3) m/s², what the
    accelerometer shows: upward at rest. Both in the axes of the IMU. quaternions : (n_samples, 4)
    x, y, z, w, orientation, if it is known. Gravity need not be known: it is measured.
    """
    stamps = np.asarray(time, dtype=float)
    smoothing = Smoothing.at(stamps, cutoff_hz, processing, run)
    w, alpha = _with_derivative(angular_velocity, angular_acceleration, smoothing, len(stamps))
    measured = _array(proper_acceleration, len(stamps), 3, "proper accelerations")
    a = smoothing.derivatives(measured, 0)[0]
    R = None if quaternions is None else _orientations(quaternions, smoothing, len(stamps))
    return FrameMotion(frame, stamps, a, w, alpha, R, run)


def _orientations(quaternions: ArrayLike, smoothing: Smoothing, n: int) -> Array:
    """Smoothed orientations (n_samples, 3, 3)."""
    q = unit_quaternions(_array(quaternions, n, 4, "quaternions"))
    return rotations_of(smoothing.derivatives(q, 0)[0])


def _with_derivative(
    values: ArrayLike | None, derivative: ArrayLike | None, smoothing: Smoothing, n: int
) -> tuple[Array, Array]:
    """Smoothed values (n_samples, 3) and their derivative: the given one, or computed."""
    assert values is not None
    x, slope = smoothing.derivatives(_array(values, n, 3, "velocities"), 1)
    if derivative is not None:
        slope = smoothing.derivatives(_array(derivative, n, 3, "accelerations"), 0)[0]
    return x, slope


def _array(values: ArrayLike, n: int, width: int, what: str) -> Array:
    array = np.asarray(values, dtype=float)
    if array.shape != (n, width):
        raise SignalError(f"{what} have shape {array.shape}; {(n, width)} is needed")
    return array
