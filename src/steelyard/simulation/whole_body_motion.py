"""Motions of a floating robot: every joint moves, and the base sways and turns with it.

The base's position p (m, in the world) and its roll, pitch and yaw are sums of sines; its
orientation is R = Rz(yaw) Ry(pitch) Rx(roll). Velocities and accelerations are exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SimulationError
from steelyard.excitation.motions.fourier import FourierTrajectory, at_rest_initially
from steelyard.excitation.trajectory import Trajectory
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Motion
from steelyard.signals.orientation import quaternions_of_rpy, rotations_of
from steelyard.simulation.sensors import positive

Array = NDArray[np.float64]
BASE_AXES = ("x", "y", "z", "roll", "pitch", "yaw")
MOST_TURN_RAD = 1.2
"""Beyond it pitch comes too close to the pole of roll, pitch and yaw."""
OWN_STREAM = 11
"""Keeps the sines of the base apart from those of the joints, which have the same seed."""


def base_sines(
    *,
    period_s: float = 10.0,
    n_harmonics: int = 5,
    sway_m: float = 0.15,
    turn_rad: float = 0.5,
    seed: int = 0,
) -> FourierTrajectory:
    """Random sums of sines for x, y, z (m) and roll, pitch, yaw (rad) of the base.

    sway_m, turn_rad : largest distance of each from zero. The same seed gives the same motion,
    which starts at rest with two harmonics or more.
    """
    for value, what in ((period_s, "period_s"), (sway_m, "sway_m"), (turn_rad, "turn_rad")):
        positive(value, what)
    if turn_rad > MOST_TURN_RAD:
        raise SimulationError(
            f"turn_rad is {turn_rad:g}; at most {MOST_TURN_RAD:g} rad are possible, so that "
            "roll, pitch and yaw stay away from their pole"
        )
    if n_harmonics < 1:
        raise SimulationError(f"n_harmonics is {n_harmonics}; it must be at least 1")
    rng = np.random.default_rng([seed, OWN_STREAM])
    a, b = rng.normal(size=(2, 6, n_harmonics))
    if n_harmonics > 1:
        a, b = at_rest_initially(a, b)
    unit = FourierTrajectory(BASE_AXES, 2.0 * np.pi / period_s, a, b, np.zeros(6))
    found = unit.extremes()
    scale = np.repeat([sway_m, turn_rad], 3) / np.maximum(-found.lower, found.upper)
    return FourierTrajectory(
        BASE_AXES, unit.omega, scale[:, None] * a, scale[:, None] * b, np.zeros(6)
    )


def whole_body_motion(
    robot: Robot,
    joints: Trajectory,
    base: Trajectory,
    time: ArrayLike,
    run: str = "whole body",
) -> Motion:
    """The motion of a floating robot at these times (s).

    joints : moves every joint of the robot. base : moves x, y, z, roll, pitch and yaw of the base,
    as :func:`base_sines` does.
    """
    if not robot.floating_base:
        raise SimulationError(
            f"the base of robot '{robot.name}' is fixed; read it with floating_base=True"
        )
    if sorted(joints.joints) != sorted(robot.joint_names):
        raise SimulationError(
            f"the trajectory moves {', '.join(joints.joints)}, but the joints of robot "
            f"'{robot.name}' are {', '.join(robot.joint_names)}"
        )
    if tuple(base.joints) != BASE_AXES:
        raise SimulationError(
            f"the motion of the base has {', '.join(base.joints)}; it must have "
            f"{', '.join(BASE_AXES)}"
        )
    time = np.atleast_1d(np.asarray(time, dtype=float))
    order = [joints.joints.index(name) for name in robot.joint_names]
    q, v, a = (joints.derivative(time, k)[:, order] for k in range(3))
    own = base_columns(*(base.derivative(time, k) for k in range(3)))
    whole = [np.ascontiguousarray(np.hstack(pair)) for pair in zip(own, (q, v, a), strict=True)]
    return Motion(time, whole[0], whole[1], whole[2], run)


def base_columns(x: Array, dx: Array, ddx: Array) -> tuple[Array, Array, Array]:
    """q (n, 7), v and a (n, 6) of `Motion` from x, y, z, roll, pitch, yaw (n, 6) and derivatives.

    The angular velocity in the base's own axes is
    (dr - dy sin p, dp cos r + dy cos p sin r, dy cos p cos r - dp sin r).
    """
    (sr, sp), (cr, cp) = np.sin(x[:, 3:5].T), np.cos(x[:, 3:5].T)
    dr, dp, dyaw = dx[:, 3:].T
    ddr, ddp, ddyaw = ddx[:, 3:].T
    quaternion = quaternions_of_rpy(x[:, 3:])
    R = rotations_of(quaternion)
    w = np.column_stack([dr - dyaw * sp, dp * cr + dyaw * cp * sr, dyaw * cp * cr - dp * sr])
    alpha = np.column_stack(
        [
            ddr - ddyaw * sp - dyaw * dp * cp,
            ddp * cr - dp * dr * sr + ddyaw * cp * sr + dyaw * (cp * cr * dr - sp * sr * dp),
            ddyaw * cp * cr - dyaw * (sp * cr * dp + cp * sr * dr) - ddp * sr - dp * dr * cr,
        ]
    )
    linear = np.einsum("nij,ni->nj", R, dx[:, :3])
    rate = np.einsum("nij,ni->nj", R, ddx[:, :3]) - np.cross(w, linear)
    return (
        np.hstack([x[:, :3], quaternion]),
        np.hstack([linear, w]),
        np.hstack([rate, alpha]),
    )
