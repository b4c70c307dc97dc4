"""Moves from rest to rest between via points, with trapezoidal acceleration.

Gautier and Venture (2013), section V-B, identify a Stäubli arm from a motion through eleven points
that its controller joins like this: the acceleration ramps up, stays, ramps down, is zero while
the speed is constant, and the same downwards; seven phases. All joints begin and end together, on
a straight line of joint space, as fast as the first limit of velocity, acceleration or jerk that
is reached allows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.polynomial import PolynomialTrajectory
from steelyard.excitation.motions.rest_poses import ALLOWED, inside, pose_within

Array = NDArray[np.float64]

NO_TIME = 1e-13
"""Phases shorter than this share of the whole motion are left out."""
SIGNS = (1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0)
"""Of the jerk in the seven phases."""


def via_point_motion(
    points: ArrayLike, limits: MotionLimits, *, rest_s: float = 0.0
) -> PolynomialTrajectory:
    """The motion from each point to the next, with a rest at every point.

    points : (n_points, n_joints) rad or m, in the order of the joints of `limits`.
    rest_s : how long (s) the robot stands still at each point, the first and last included.
    """
    points = np.atleast_2d(np.asarray(points, dtype=float))
    if not (np.isfinite(rest_s) and rest_s >= 0.0):
        raise SignalError(f"rest_s is {rest_s}; it must not be negative")
    if len(points) < 2 and rest_s == 0.0:
        raise SignalError(f"{len(points)} via points make no motion; two or more are needed")
    poses = [pose_within(q, limits, f"via point {k}") for k, q in enumerate(points, start=1)]
    jerk = jerk_limits(limits)
    lengths, rows = [], []
    for k, q in enumerate(poses):
        if k > 0:
            way = q - poses[k - 1]
            phases = move_phases(way, limits, jerk)
            lengths += list(phases)
            rows += list(_phase_coefficients(poses[k - 1], way, phases))
        lengths.append(rest_s)
        rows.append(np.stack([q, *np.zeros((3, len(q)))], axis=-1))
    kept = np.array(lengths) > NO_TIME * sum(lengths)
    if not kept.any():
        raise SignalError("all via points are equal, and there is no rest between them")
    breaks = np.concatenate([[0.0], np.cumsum(np.array(lengths)[kept])])
    return PolynomialTrajectory(limits.joints, breaks, np.array(rows)[kept])


def random_via_points(limits: MotionLimits, n_points: int = 11, *, seed: int = 0) -> Array:
    """Points (n_points, n_joints) rad or m, uniform within the limits of position."""
    if n_points < 1:
        raise SignalError(f"n_points is {n_points}; it must be at least 1")
    if seed < 0:
        raise SignalError(f"seed is {seed}; it must not be negative")
    shape = (n_points, len(limits.joints))
    return inside(np.random.default_rng(seed).uniform(limits.lower, limits.upper, shape), limits)


def jerk_limits(limits: MotionLimits) -> Array:
    """The jerk limits (n_joints,); where there is none, the acceleration ramps up in 0.1 s."""
    jerk = limits.gentle_jerk
    for j, joint in enumerate(limits.joints):
        if not np.isfinite(jerk[j]):
            raise SignalError(
                f"joint '{joint}' has a limit neither of acceleration nor of jerk; give one of them"
            )
    return jerk


def move_phases(way: Array, limits: MotionLimits, jerk: Array) -> Array:
    """Durations (7,) s of the phases of the fastest move over a way (n_joints,) rad or m."""
    moving = way != 0.0
    if not moving.any():
        return np.zeros(7)
    # of the share of the way: from 0 to 1, for all joints
    speed, rate, jolt = (
        ALLOWED * float((bound[moving] / np.abs(way[moving])).min())
        for bound in (limits.velocity, limits.acceleration, jerk)
    )
    ramp = min(rate / jolt, np.sqrt(speed / jolt))
    hold = max(0.0, speed / (jolt * ramp) - ramp)
    cruise = 1.0 / speed - (2.0 * ramp + hold)
    if cruise < 0.0:
        # the speed limit is not reached
        cruise, ramp = 0.0, rate / jolt
        hold = 0.5 * (np.sqrt(ramp**2 + 4.0 / rate) - 3.0 * ramp) if np.isfinite(rate) else -1.0
        if hold < 0.0:
            # nor is the acceleration limit
            hold, ramp = 0.0, float(np.cbrt(0.5 / jolt))
    return np.array([ramp, hold, ramp, cruise, ramp, hold, ramp])


def _phase_coefficients(start: Array, way: Array, phases: Array) -> Array:
    """Coefficients (7, n_joints, 4) of the phases of one move."""
    ramp, hold, cruise = phases[0], phases[1], phases[3]
    if ramp == 0.0:
        return np.zeros((7, len(way), 4))
    # the jerk with which the phases cover the whole way, of which shares are computed
    jolt = 1.0 / (ramp * (ramp + hold) * (2.0 * ramp + hold + cruise))
    share = speed = rate = 0.0
    rows = []
    for sign, h in zip(SIGNS, phases, strict=True):
        j = sign * jolt
        rows.append([share, speed, 0.5 * rate, j / 6.0])
        share += h * (speed + h * (0.5 * rate + h * j / 6.0))
        speed += h * (rate + 0.5 * h * j)
        rate += h * j
    out = np.array(rows)[:, None, :] * way[None, :, None]
    out[:, :, 0] += start
    return np.asarray(out)
