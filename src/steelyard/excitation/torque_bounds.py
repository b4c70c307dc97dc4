"""Joint torques of a planned motion, bounded at every time and not only at samples.

The motion is cut into intervals of time. On each, positions, speeds and accelerations are
enclosed from their values at its centre and the proven bounds of the motion, and the inverse
dynamics are computed with these enclosures (`enclosed_torque`). Intervals whose bound is above the
largest sampled torque by more than a stated share are halved, again and again. The result holds
under the given model and parameters; it says nothing about what these leave out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError, SignalError, listed
from steelyard.excitation.enclosed_torque import EnclosedMotion, enclosed_torque
from steelyard.excitation.extremes import Extremes
from steelyard.excitation.time_enclosure import Enclosure
from steelyard.excitation.trajectory import Trajectory
from steelyard.model.kernels import parameter_array, torque
from steelyard.model.model import Model

Array = NDArray[np.float64]

TIGHTNESS = 0.005
"""Share of the largest sampled torque that a bound may be above it before intervals are halved."""
MOST_HALVINGS = 7
LEAST_GAIN = 0.02
"""Share of what its bound is too large by that an interval must have gained by the last halving."""
NEGLIGIBLE = 1e-6
"""Share of the largest torque of all joints that no interval is halved for."""
INTERVALS_AT_ONCE = 4096
EVALUATION_ERROR = 1e-12
"""Share of a position, speed or acceleration by which its evaluation may be wrong."""


@dataclass(frozen=True, eq=False)
class TorqueBounds:
    """Bounds on joint torques that hold at every time of a motion, under one model.

    joints : names. bound : (n_joints,) N m or N, of the absolute values. sampled : (n_joints,) the
    largest absolute values at the centres of the intervals; the truth is between the two.
    resolution_s : length of the intervals. finest_s : length of the shortest interval after
    halving. n_intervals : how many were examined.
    """

    joints: tuple[str, ...]
    bound: Array
    sampled: Array
    resolution_s: float
    finest_s: float
    n_intervals: int


def torque_bounds(
    model: Model,
    theta: ArrayLike,
    trajectory: Trajectory,
    *,
    resolution_s: float = 0.005,
    tightness: float = TIGHTNESS,
    limit: ArrayLike | None = None,
) -> TorqueBounds:
    """Bounds on the torques of a motion of a robot with a fixed base.

    theta : (n_columns,) parameters, terms included. resolution_s : length (s) of the intervals to
    start from. tightness : an interval is halved, up to seven times, while its bound is above the
    largest sampled torque of a joint by more than this share. limit : (n_joints,) N m or N; an
    interval whose bound is beyond a limit that the samples keep is halved too.

    Friction that jumps at zero speed is its whole jump where the speed may be zero: a joint at
    rest may be held by any friction up to the Coulomb friction.
    """
    parameters = parameter_array(model, theta)
    if model.robot.floating_base:
        raise ModelError(
            f"robot '{model.robot.name}' has a floating base; torques of a motion are bounded for "
            "a fixed base only"
        )
    if not (np.isfinite(resolution_s) and resolution_s > 0.0):
        raise SignalError(f"resolution_s is {resolution_s}; it must be positive")
    allowed = np.full(model.nv, np.inf) if limit is None else np.asarray(limit, dtype=float)
    if allowed.shape != (model.nv,):
        raise SignalError(f"limit has shape {allowed.shape} for {model.nv} joints")
    columns = joint_columns(trajectory, model.channels)
    extremes = trajectory.extremes()
    if not np.isfinite(extremes.acceleration).all():
        k = int(np.flatnonzero(~np.isfinite(extremes.acceleration))[0])
        raise SignalError(
            f"the acceleration of joint '{extremes.joints[k]}' is not bounded, so its torque is "
            "not either; give a motion whose speed does not jump"
        )
    n = max(1, int(np.ceil(trajectory.duration_s / resolution_s)))
    length = trajectory.duration_s / n
    centre: Array = length * (np.arange(n, dtype=float) + 0.5)
    bound, sampled = np.zeros(model.nv), np.zeros(model.nv)
    before = np.full((n, model.nv), np.inf)
    examined, depth = 0, 0
    while True:
        most, at_centre = _largest(model, parameters, trajectory, extremes, columns, centre, length)
        examined += len(centre)
        sampled = np.maximum(sampled, at_centre.max(axis=0))
        enough = (1.0 + tightness) * sampled + NEGLIGIBLE * sampled.max()
        enough = np.where(sampled <= allowed, np.minimum(enough, allowed), enough)
        # halving does not help where a joint at rest is held by friction of either sign
        helps = before - most >= LEAST_GAIN * (before - enough)
        again = ((most > enough) & helps).any(axis=1) & (depth < MOST_HALVINGS)
        bound = np.maximum(bound, most[~again].max(axis=0, initial=0.0))
        if not again.any():
            break
        depth += 1
        length *= 0.5
        before = np.repeat(most[again], 2, axis=0)
        centre = (centre[again, None] + 0.5 * length * np.array([-1.0, 1.0])).ravel()
    return TorqueBounds(model.channels, bound, sampled, float(resolution_s), length, examined)


def joint_columns(trajectory: Trajectory, joints: Sequence[str]) -> NDArray[np.int64]:
    """Where each of these joints is in a trajectory; both must have the same joints."""
    place = {name: k for k, name in enumerate(trajectory.joints)}
    if set(place) != set(joints):
        raise SignalError(
            f"the motion is of the joints {listed(trajectory.joints)}, but the robot has "
            f"{listed(joints)}; lock the joints that do not move"
        )
    return np.array([place[name] for name in joints], dtype=np.int64)


def enclosed_motion(
    trajectory: Trajectory,
    extremes: Extremes,
    columns: NDArray[np.int64],
    centre: Array,
    length: float,
) -> EnclosedMotion:
    """The motion on n intervals of this length (s) about these centres (n,) s.

    With the jerk J: |a(t) - a(c)| <= J h, and the same integrated for speed and position. Without
    a bound on the jerk (an acceleration that jumps), the acceleration is known by its bound only.
    """
    half = np.full(len(centre), 0.5 * length * (1.0 + EVALUATION_ERROR))
    states = [trajectory.derivative(centre, order)[:, columns].T for order in range(3)]
    parts: tuple[list[Enclosure], ...] = ([], [], [])
    for j, (q, v, a) in enumerate(zip(*states, strict=True)):
        jerk = float(extremes.jerk[columns[j]])
        most = float(extremes.acceleration[columns[j]])
        change = jerk * half if np.isfinite(jerk) else np.abs(a) + most
        rests = (0.5 * (np.abs(a) + change) * half**2, change * half, change)
        slopes = (v, a, np.zeros_like(a))
        for part, value, slope, rest in zip(parts, (q, v, a), slopes, rests, strict=True):
            wrong = EVALUATION_ERROR * (1.0 + np.abs(value) + np.abs(slope) * half)
            part.append(Enclosure(value, slope, rest + wrong, half))
    return EnclosedMotion(*(tuple(part) for part in parts))


def _largest(
    model: Model,
    theta: Array,
    trajectory: Trajectory,
    extremes: Extremes,
    columns: NDArray[np.int64],
    centre: Array,
    length: float,
) -> tuple[Array, Array]:
    """Bounds, and the values at the centres, (n, nv) of the absolute torques."""
    most, at_centre = [], []
    for begin in range(0, len(centre), INTERVALS_AT_ONCE):
        part = centre[begin : begin + INTERVALS_AT_ONCE]
        motion = enclosed_motion(trajectory, extremes, columns, part, length)
        enclosed = enclosed_torque(model, theta, motion)
        most.append(np.column_stack([joint.size for joint in enclosed]))
        q, v, a = (
            np.column_stack([joint.value for joint in joints])
            for joints in (motion.q, motion.v, motion.a)
        )
        at_centre.append(np.abs(torque(model, theta, q, v, a)))
    return np.concatenate(most), np.concatenate(at_centre)
