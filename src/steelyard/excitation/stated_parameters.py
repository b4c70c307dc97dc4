"""Parameters for the torque of a planned motion, as a robot file states them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.model.model import Model
from steelyard.model.typical_sizes import known_parameters
from steelyard.robot.joint_dynamics import JointDynamics

Array = NDArray[np.float64]


def stated_parameters(model: Model, dynamics: Mapping[str, JointDynamics]) -> Array:
    """theta (n_columns,): the file's inertials, damping, friction and armature.

    dynamics : what the file states of each joint, by name. Terms that the model does not have are
    left out.
    """
    theta = known_parameters(model)
    for k, column in enumerate(model.columns):
        stated = dynamics.get(column.owner)
        if stated is None:
            continue
        value = {
            "viscous": stated.damping,
            "coulomb": stated.friction,
            "drive_inertia": stated.armature or 0.0,
        }.get(column.kind)
        if value is not None and value > 0.0:
            theta[k] = value
    return theta
