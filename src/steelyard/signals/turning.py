"""Whether a recorded angular velocity is the derivative of the recorded orientation.

Both are in a log with a twist, or with an IMU that knows its orientation. Where they differ, other
readings of the angular velocity are tried: in degrees, in the axes of the world, of opposite sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.signals._timebase import holes_before
from steelyard.signals.frame_motion import FrameMotion

Array = NDArray[np.float64]
Reading = Literal["degrees", "base", "degrees-base", "sign", "inverse"]

STEP_S = 0.04
"""Time (s) to either side over which the orientation is differentiated."""
LARGEST_TURN = 1.0
"""Turn (rad) over twice that time above which the derivative is not good enough."""
FEWEST = 20
"""Samples that are needed for a comparison."""
MOST = 4000
TURNS = 0.1
"""Angular velocity (rad/s, rms) below which nothing is compared."""
SPINS = 0.3
"""Angular acceleration (rad/s², rms) below which nothing is compared."""
MOVES = 0.02
"""Speed (m/s, rms) below which no linear velocity is compared."""
DIFFERS = 0.3
"""Difference, as a share of the derivative (rms), above which the two contradict each other."""
EXPLAINED = 0.5
"""The difference under another reading must be below this share of the stated one."""


@dataclass(frozen=True)
class TurningMismatch:
    """An angular velocity that is not the derivative of the orientation.

    share : the difference, as a share of the derivative (rms). reading : the one that explains it;
    None where none does. words : what, with sizes, but without a reason.
    """

    share: float
    reading: Reading | None
    words: str


def turning_mismatch(motion: FrameMotion) -> TurningMismatch | None:
    """How the angular velocity contradicts the orientation; None where it does not."""
    w, R = motion.angular_velocity, motion.R_world_frame
    if R is None or len(motion) < FEWEST or not w.any():
        return None
    period = float(np.median(np.diff(motion.time)))
    k = max(1, round(STEP_S / period))
    middle = _without_holes(motion.time, k)
    if len(middle) < FEWEST:
        return None
    middle = middle[:: max(1, len(middle) // MOST)]
    derivative = _derivative(motion.time, R, middle, k)
    good = np.linalg.norm(derivative, axis=1) * (2 * k * period) < LARGEST_TURN
    good &= np.isfinite(derivative).all(axis=1)
    size = _rms(derivative[good]) if good.sum() >= FEWEST else 0.0
    # a sampling that is too slow for a derivative says nothing
    if size < TURNS or np.mean(good) < 0.5:
        return None
    at = middle[good]
    derivative, w, R = derivative[good], w[at], R[at]
    in_frame = np.einsum("nji,nj->ni", R, w)
    readings: dict[Reading, Array] = {
        "degrees": np.radians(w),
        "base": in_frame,
        "degrees-base": np.radians(in_frame),
        "sign": -w,
        # of R transposed, the derivative in the axes of its frame is -R omega
        "inverse": -in_frame,
    }
    stated = _rms(w - derivative)
    if stated < DIFFERS * size:
        return None
    reading = _explanation(readings, derivative, stated)
    words = (
        f"the angular velocity of frame '{motion.frame}' (rms {_rms(w):.3g}) is not the derivative "
        f"of its orientation ({size:.3g} rad/s)"
    )
    return TurningMismatch(stated / size, reading, words)


def acceleration_mismatch(motion: FrameMotion) -> TurningMismatch | None:
    """How a recorded angular acceleration contradicts the angular velocity; None where it does not.

    Its readings are "degrees" and "sign". In the axes of the frame, the one is the derivative of
    the other, component by component.
    """
    w, alpha, time = motion.angular_velocity, motion.angular_acceleration, motion.time
    if len(motion) <= 2 * FEWEST:
        return None
    k = max(1, round(STEP_S / float(np.median(np.diff(time)))))
    middle = _without_holes(time, k)
    span = time[middle + k] - time[middle - k]
    slope = (w[middle + k] - w[middle - k]) / span[:, None]
    known = np.isfinite(slope).all(axis=1) & np.isfinite(alpha[middle]).all(axis=1)
    slope, alpha = slope[known], alpha[middle][known]
    size = _rms(slope) if len(slope) >= FEWEST else 0.0
    stated = _rms(alpha - slope) if size >= SPINS else 0.0
    if stated < DIFFERS * size or size < SPINS:
        return None
    readings: dict[Reading, Array] = {"degrees": np.radians(alpha), "sign": -alpha}
    reading = _explanation(readings, slope, stated)
    words = (
        f"the angular acceleration of frame '{motion.frame}' (rms {_rms(alpha):.3g}) is not the "
        f"derivative of its angular velocity ({size:.3g} rad/s²)"
    )
    return TurningMismatch(stated / size, reading, words)


def moving_axes(time: Array, position: Array, R: Array, v: Array) -> dict[str, float] | None:
    """How far a linear velocity is from the derivative of the position, by the axes it is read in.

    time : (n_samples,) s. position, v : (n_samples, 3) m, m/s; R : (n_samples, 3, 3) orientation of
    the frame in the world. The differences are shares of the derivative (rms), of "frame" and
    "world" axes; None where too little moves to tell.
    """
    if len(time) <= 2 * FEWEST:
        return None
    k = max(1, round(STEP_S / float(np.median(np.diff(time)))))
    middle = _without_holes(time, k)
    span = time[middle + k] - time[middle - k]
    slope = (position[middle + k] - position[middle - k]) / span[:, None]
    known = np.isfinite(slope).all(axis=1) & np.isfinite(v[middle]).all(axis=1)
    known &= np.isfinite(R[middle]).all(axis=(1, 2))
    slope, middle = slope[known], middle[known]
    size = _rms(slope) if len(slope) >= FEWEST else 0.0
    if size < MOVES:
        return None
    turned = np.einsum("nij,nj->ni", R[middle], v[middle])
    return {"frame": _rms(turned - slope) / size, "world": _rms(v[middle] - slope) / size}


def _explanation(readings: dict[Reading, Array], truth: Array, stated: float) -> Reading | None:
    """The reading (n, 3) that is near the truth; None where none is much nearer than the stated."""
    left = {name: _rms(values - truth) for name, values in readings.items()}
    best = min(left, key=lambda name: left[name])
    return best if left[best] < min(DIFFERS * _rms(truth), EXPLAINED * stated) else None


def _without_holes(time: Array, k: int) -> NDArray[np.int64]:
    """Rows of which the k before and after were recorded without a hole between them."""
    holes = holes_before(time)
    middle = np.arange(k, len(time) - k)
    return np.asarray(middle[holes[middle + k] == holes[middle - k]])


def _derivative(time: Array, R: Array, middle: NDArray[np.int64], k: int) -> Array:
    """Angular velocity (n, 3) rad/s in the frame's axes, over k samples to either side."""
    from scipy.spatial.transform import Rotation

    turn = np.einsum("nji,njk->nik", R[middle - k], R[middle + k])
    vectors = Rotation.from_matrix(turn).as_rotvec()
    return np.asarray(vectors / (time[middle + k] - time[middle - k])[:, None])


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.sum(values**2, axis=1))))
