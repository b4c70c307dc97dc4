"""Random states in general position, for finding the rank of the regressor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.robot.robot import Robot

Array = NDArray[np.float64]


def random_states(
    rng: np.random.Generator, robot: Robot, n_samples: int
) -> tuple[Array, Array, Array]:
    """q (n_samples, nq), v and a (n_samples, nv); see `Motion` for a floating base.

    Positions are uniform over a turn (or ± pi m). Speeds (3) and accelerations (9) are of the
    size that makes gravity, Coriolis and inertia torques comparable.
    """
    n_joints = len(robot.joint_names)
    q = rng.uniform(-np.pi, np.pi, size=(n_samples, n_joints))
    nv = n_joints
    if robot.floating_base:
        quaternion = rng.normal(size=(n_samples, 4))
        quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
        q = np.hstack([rng.normal(size=(n_samples, 3)), quaternion, q])
        nv += 6
    v = rng.normal(scale=3.0, size=(n_samples, nv))
    a = rng.normal(scale=9.0, size=(n_samples, nv))
    return q, v, a
