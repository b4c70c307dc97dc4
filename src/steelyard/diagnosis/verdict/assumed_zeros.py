"""What a wrong zero of a last joint would cost, which no log of an estimate can show.

A link that no other joint follows, turned about its own axis, explains a wrong zero exactly:

    tau(q + delta e_k; theta) = tau(q; theta with body k turned by delta)

so that a fit finds the turned link and leaves no error. Once the zero is mended, the torque of
the difference is an error. It is computed from the compressed factors of the training logs.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.verdict.verdict import AssumedZero, JointNumbers
from steelyard.model.base_map import BaseMap
from steelyard.model.mechanism import REVOLUTE
from steelyard.model.model import Model
from steelyard.regression.regression import Regression
from steelyard.robot.inertia import transform
from steelyard.robot.rotations import pose, rotation_about

Array = NDArray[np.float64]

DEGREES = 10.0
"""The wrong zero whose cost is told."""


def assumed_zeros(
    model: Model, regression: Regression, beta: Array, joints: Iterable[JointNumbers]
) -> tuple[AssumedZero, ...]:
    """Every last joint that turns, with the errors of its torque as shares of that torque.

    beta : (n_base,) base parameters of the estimate. joints : its errors; joints without a
    measured torque are left out.
    """
    if not regression.equation.of_joints:
        return ()
    errors = {one.name: one.error for one in joints}
    found = []
    for body in last_bodies(model):
        joint = model.mechanism.bodies[body].joint
        if joint not in errors:
            continue
        change = turned(model, regression.base, beta, body, np.radians(DEGREES)) - beta
        wrong = float(np.hypot(errors[joint], _share(regression, joint, change)))
        if np.isfinite(wrong):
            found.append(AssumedZero(joint, DEGREES, errors[joint], wrong))
    return tuple(found)


def last_bodies(model: Model) -> list[int]:
    """Bodies that a turning joint of their own moves, and that carry no other body."""
    mechanism = model.mechanism
    carrying = set(mechanism.parent.tolist())
    sharing = np.bincount(mechanism.coordinate, minlength=mechanism.nv)
    return [
        k
        for k, kind in enumerate(mechanism.kind.tolist())
        if kind == REVOLUTE and k not in carrying and sharing[mechanism.coordinate[k]] == 1
    ]


def turned(model: Model, base: BaseMap, beta: Array, body: int, angle: float) -> Array:
    """Base parameters (n_base,) of the robot with one last body turned about its axis (rad).

    They depend on beta alone: any parameters that have these base parameters will do.
    """
    theta = np.zeros(len(base.columns))
    theta[list(base.independent)] = beta
    mechanism = model.mechanism
    R = rotation_about(mechanism.screw[body, 3:], angle)
    centre = mechanism.centre[body]
    first = model.first_column_of_body[body]
    own = slice(first, first + 10)
    theta[own] = transform(theta[own], pose(R, centre - R @ centre))
    return np.asarray(base.K @ theta)


def _share(regression: Regression, joint: str, beta: Array) -> float:
    """Rms of a joint's torque under beta (n_base,) over that of its measured torque."""
    names = [group.name for group in regression.groups]
    k = names.index(joint)
    factor = regression.group_factors[k]
    size = float(np.linalg.norm(factor[:, -1]))
    torque = factor[:, :-1] @ beta[list(regression.groups[k].columns)]
    return float(np.linalg.norm(torque)) / size if size > 0.0 else float("nan")
