"""Poses of rest within the limits of position."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError
from steelyard.excitation.limits import MotionLimits

Array = NDArray[np.float64]

LEFT_FOR_ROUNDING = 1e-9
"""Share of each limit that a move leaves, so that rounding never exceeds it."""
ALLOWED = 1.0 - LEFT_FOR_ROUNDING


def pose_within(pose: ArrayLike, limits: MotionLimits, what: str) -> Array:
    """A pose (n_joints,) rad or m, checked against the limits of its joints, and at least 1e-9 of
    the range away from them.
    """
    q = np.asarray(pose, dtype=float)
    if q.shape != (len(limits.joints),):
        raise SignalError(f"{what} has shape {q.shape} for {len(limits.joints)} joints")
    for j, joint in enumerate(limits.joints):
        if not limits.lower[j] <= q[j] <= limits.upper[j]:
            side, limit = (
                ("below its lower", limits.lower[j])
                if q[j] < limits.lower[j]
                else ("above its upper", limits.upper[j])
            )
            raise SignalError(
                f"{what}: joint '{joint}' at {q[j]:g} is {side} limit {limit:g} by "
                f"{abs(q[j] - limit):g}; choose a pose within the limits"
            )
    return inside(q, limits)


def at_rest(q: Array) -> Array:
    """The state (3, ...) of rest at positions of any shape."""
    return np.stack([q, np.zeros_like(q), np.zeros_like(q)])


def inside(q: Array, limits: MotionLimits) -> Array:
    """Positions moved inside the limits, by more than what moves leave for rounding."""
    half = (1.0 - 2.0 * LEFT_FOR_ROUNDING) * limits.half_range
    return np.asarray(np.clip(q, limits.middle - half, limits.middle + half))
