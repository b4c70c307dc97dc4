"""A payload that the simulated robot carries."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SimulationError, listed, shown
from steelyard.knowledge.payload import Payload
from steelyard.model.kernels import parameter_array
from steelyard.model.model import Model
from steelyard.robot.inertia import transform

Array = NDArray[np.float64]


def theta_with_payload(model: Model, theta: ArrayLike, payload: Payload) -> Array:
    """Parameters (n_columns,) of the robot with a payload on one of its moving links."""
    loaded = parameter_array(model, theta).copy()
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        for name, T_body_link in body.links:
            if name == payload.link:
                loaded[first : first + 10] += transform(payload.inertial, T_body_link)
                return loaded
    model.robot.link(payload.link)
    moving = [name for body in model.mechanism.bodies for name, _ in body.links]
    raise SimulationError(
        f"the payload is on link {shown(payload.link)}, which does not move; the moving links are "
        f"{listed(moving)}"
    )
