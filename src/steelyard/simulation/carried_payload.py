"""A payload that the simulated robot carries, and the force/torque sensor between the two."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SimulationError, listed, shown
from steelyard.knowledge.payload import Payload
from steelyard.logs.log import Log
from steelyard.model.kernels import parameter_array
from steelyard.model.model import Model
from steelyard.robot.inertia import transform
from steelyard.signals.frame_kinematics import frame_motion_from_joints
from steelyard.signals.motion import Motion
from steelyard.simulation.wrench_sensor import WrenchSensor, add_wrench

Array = NDArray[np.float64]
USUAL_DENSITY = 1000.0
"""kg/m³, of a payload whose size is not stated: that of water, between parcels and metal parts."""
LARGEST_EDGE = 1e3
"""m; a longer payload is a mistake."""
OWN_STREAM = 7
"""Keeps the noise of the wrench apart from that of the joints, which have the same seed."""


def box_inertia(mass: float, edges: ArrayLike | None = None) -> Array:
    """Inertia (3, 3) kg m² of a box about its centre of mass.

    edges : (3,) m along x, y and z; None for a cube of `USUAL_DENSITY`.
    """
    if edges is None:
        edges = np.full(3, np.cbrt(abs(mass) / USUAL_DENSITY))
    sides = np.asarray(edges, dtype=float)
    if sides.shape != (3,) or not ((sides > 0.0) & (sides <= LARGEST_EDGE)).all():
        raise SimulationError(
            f"the payload's size is {shown(str(edges))}; it must be three lengths above 0, at most "
            "1000 m"
        )
    squares = sides**2
    return np.asarray(mass / 12.0 * np.diag(squares.sum() - squares))


def theta_with_payload(model: Model, theta: ArrayLike, payload: Payload) -> Array:
    """Parameters (n_columns,) of the robot with a payload on one of its moving links."""
    loaded = parameter_array(model, theta).copy()
    body, T_body_link = _place(model, payload.link)
    first = model.first_column_of_body[body]
    loaded[first : first + 10] += transform(payload.inertial, T_body_link)
    return loaded


def payload_at(model: Model, payload: Payload, frame: str) -> Array:
    """Its inertial parameters (10,) in the frame of another link, to which it must be fixed."""
    if frame == payload.link:
        return payload.inertial
    (carrier, T_body_link), (body, T_body_frame) = (
        _place(model, payload.link),
        _place(model, frame),
    )
    if carrier != body:
        raise SimulationError(
            f"a sensor at {shown(frame)} does not carry the payload alone, which is on "
            f"{shown(payload.link)}: there is a joint that moves between them"
        )
    return transform(payload.inertial, np.linalg.inv(T_body_frame) @ T_body_link)


def with_wrench(
    log: Log,
    model: Model,
    motion: Motion,
    payload: Payload | None,
    frame: str,
    sensor: WrenchSensor,
    *,
    seed: int = 0,
) -> Log:
    """The log with the wrench on the payload, as a sensor between it and ``frame`` shows it.

    motion : the true motion of the joints at the samples of the log. payload : None for an empty
    gripper, on which the sensor shows its bias and noise.
    """
    moved = frame_motion_from_joints(model, motion, frame)
    own = int(np.random.SeedSequence([seed, OWN_STREAM]).generate_state(1)[0])
    phi = np.zeros(10) if payload is None else payload_at(model, payload, frame)
    return add_wrench(log, moved, phi, sensor, seed=own)


def _place(model: Model, link: str) -> tuple[int, Array]:
    """Number of the moving body that a link belongs to, and its pose (4, 4) in that body."""
    for number, body in enumerate(model.mechanism.bodies):
        for name, T_body_link in body.links:
            if name == link:
                return number, T_body_link
    model.robot.link(link)  # refuses a link that the robot does not have
    moving = [name for body in model.mechanism.bodies for name, _ in body.links]
    raise SimulationError(
        f"link {shown(link)} carries no payload, since it does not move; the moving links are "
        f"{listed(moving)}"
    )
