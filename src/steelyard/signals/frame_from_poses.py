"""Motion of a frame from its recorded poses: derivatives of positions and of rotations.

A unit quaternion n(t) is filtered and differentiated in its four components, without jumps of its
sign. The filtered p(t) = r(t) n(t) has another norm, which does not matter: with p* the conjugate,

    ω |p|² = 2 Im(p* p'),    α |p|² = 2 Im(p* p'') - 2 ω (p · p')

hold for any r(t), exactly. A rotation at constant speed passes the filter unchanged: the filter
only shortens p.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError
from steelyard.robot.parts import STANDARD_GRAVITY
from steelyard.signals.frame_motion import FrameMotion
from steelyard.signals.orientation import conjugate, product, rotations_of, unit_quaternions
from steelyard.signals.processing import Processing
from steelyard.signals.smoothing import Smoothing

Array = NDArray[np.float64]


def frame_motion_from_poses(
    time: ArrayLike,
    quaternions: ArrayLike,
    positions: ArrayLike | None = None,
    *,
    frame: str = "frame",
    gravity: ArrayLike = STANDARD_GRAVITY,
    cutoff_hz: float | None = None,
    processing: Processing | None = None,
    run: str = "run",
) -> FrameMotion:
    """Motion of a frame from its poses in the world, at even times.

    time : (n_samples,) s. quaternions : (n_samples, 4) x, y, z, w, of unit norm; see
        :func:`steelyard.signals.orientation.unit_quaternions` for other orders and forms.
    positions : (n_samples, 3) m of the origin. Without them the origin is taken to move without
        acceleration.
    gravity : (3,) m/s² in the world.
    cutoff_hz : of the low-pass filter on positions and quaternions; None does not filter. The order
        of the filter and the derivative are those of ``processing``.

    Samples at both ends, where a derivative does not fit, are NaN.
    """
    stamps = np.asarray(time, dtype=float)
    smoothing = Smoothing.at(stamps, cutoff_hz, processing, run)
    q = unit_quaternions(quaternions, what=f"run '{run}': the quaternion of frame '{frame}'")
    if len(q) != len(stamps):
        raise SignalError(f"run '{run}': {len(q)} quaternions for {len(stamps)} time stamps")
    R, w, alpha = turning(q, smoothing)
    a = np.zeros((len(stamps), 3))
    if positions is not None:
        p = np.asarray(positions, dtype=float)
        if p.shape != a.shape:
            raise SignalError(f"positions have shape {p.shape}; {a.shape} is needed")
        a = smoothing.derivatives(p, 2)[2]
    proper = np.einsum("nij,ni->nj", R, a - np.asarray(gravity, dtype=float))
    return FrameMotion(frame, stamps, proper, w, alpha, R, run)


def turning(quaternions: Array, smoothing: Smoothing) -> tuple[Array, Array, Array]:
    """Orientation (n_samples, 3, 3), angular velocity and acceleration (n_samples, 3).

    quaternions : (n_samples, 4) x, y, z, w, without jumps of sign. The velocity (rad/s) and the
    acceleration (rad/s²) are in the axes of the frame.
    """
    p, first, second = smoothing.derivatives(quaternions, 2)
    size = np.einsum("ni,ni->n", p, p)[:, None]
    inverse = conjugate(p)
    w = 2.0 * product(inverse, first)[:, :3] / size
    growth = np.einsum("ni,ni->n", p, first)[:, None]
    alpha = (2.0 * product(inverse, second)[:, :3] - 2.0 * w * growth) / size
    return rotations_of(p), w, alpha
