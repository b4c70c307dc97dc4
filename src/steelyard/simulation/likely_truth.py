"""Parameters that a real robot might have: bodies that differ from its file, and friction.

A robot file states nominal bodies and usually no friction. A rehearsal needs a robot that differs
from its file as real ones do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SimulationError
from steelyard.model.kernels import body_parameters
from steelyard.model.model import Model
from steelyard.model.typical_sizes import known_parameters
from steelyard.robot.inertia import from_pseudo_inertia, pseudo_inertia

Array = NDArray[np.float64]

MASS_ERROR = (0.05, 0.15)  # change of the mass as a share, up or down
SHIFT_M = 0.015  # largest shift of the centre of mass along each axis
STRETCH = 0.08  # largest stretch and shear of the body

COULOMB = 0.08  # Coulomb friction, as a share of the joint's torque range
VISCOUS = 0.08  # viscous friction at the largest speed, as a share of the torque range
OFFSET = 0.01  # offset, as a share of the torque range
DRIVE = 0.03  # drive inertia at the largest acceleration, as a share of the torque range
SPRING = 0.1  # a spring at one radian or metre, or a counterbalance, likewise
SPREAD = 0.3  # these shares vary by ± 30 % from joint to joint


def deform_bodies(model: Model, theta: Array, rng: np.random.Generator) -> None:
    """Change the bodies of theta (n_columns,) in place, so that they stay physical.

    Each body gets 5 to 15 % heavier or lighter, is stretched and sheared by up to 8 % and shifted
    by up to 15 mm along each axis: a deformation x ↦ F x + d of a physical body is again physical,
    J = s [F d; 0 1] J₀ [F d; 0 1]ᵀ.
    """
    J = pseudo_inertia(body_parameters(model, theta))
    for first, drawn in zip(model.first_column_of_body, J, strict=True):
        mass = 1.0 + rng.choice([-1.0, 1.0]) * rng.uniform(*MASS_ERROR)
        T = np.eye(4)
        T[:3, :3] += rng.uniform(-STRETCH, STRETCH, size=(3, 3))
        T[:3, 3] = rng.uniform(-SHIFT_M, SHIFT_M, size=3)
        theta[first : first + 10] = from_pseudo_inertia(mass * T @ drawn @ T.T)


def likely_truth(
    model: Model,
    *,
    torque_range: ArrayLike,
    velocity: ArrayLike,
    acceleration: ArrayLike,
    seed: int = 0,
) -> Array:
    """Parameters theta (n_columns,) that a robot of this model might have.

    Bodies are those of the file, deformed by `deform_bodies`; where it states no mass, typical
    ones. Friction, drive inertia and offset are shares of the joint's torque range, larger or
    smaller by up to 30 %, the offset of either sign.

    torque_range : (nv,) N m or N, the size of each joint's torque. velocity, acceleration : (nv,)
    largest of each joint, in the order of ``model.channels``.
    """
    sizes = [np.asarray(x, dtype=float) for x in (torque_range, velocity, acceleration)]
    for name, array in zip(("torque_range", "velocity", "acceleration"), sizes, strict=True):
        if array.shape != (model.nv,) or not (np.isfinite(array) & (array > 0.0)).all():
            raise SimulationError(f"{name} must be {model.nv} positive numbers, one per joint")
    rng = np.random.default_rng(seed)
    theta = known_parameters(model)
    deform_bodies(model, theta, rng)
    directions = {term.name: term.direction for term in model.terms}
    place = {name: k for k, name in enumerate(model.channels)}
    for i, column in enumerate(model.columns):
        kind = column.term_kind
        if kind is None:
            continue
        along = [(place[joint], abs(weight)) for joint, weight in directions[column.name]]
        torque, speed, rate = (float(np.mean([size[k] * w for k, w in along])) for size in sizes)
        share = 1.0 + rng.uniform(-SPREAD, SPREAD)
        if kind.response == "inertia":
            theta[i] = share * DRIVE * torque / rate
        elif kind.response == "linear":
            theta[i] = share * VISCOUS * torque / speed
        elif kind.response == "constant":
            theta[i] = share * OFFSET * torque * rng.choice([-1.0, 1.0])
        elif kind.size == "share":
            theta[i] = share * COULOMB
        elif kind.response == "position":
            theta[i] = share * SPRING * torque
        elif kind.units[0] == "N m s/rad":
            theta[i] = share * VISCOUS * torque / speed
        else:
            theta[i] = share * COULOMB * torque
    return theta
