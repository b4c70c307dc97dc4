"""Typical sizes of a robot's parameters, so that a solver sees numbers near one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.model.model import Model
from steelyard.robot.inertia import from_com, to_com

Array = NDArray[np.float64]


def typical_mass_and_length(model: Model) -> tuple[float, float]:
    """A mass (kg) and a length (m) that suit this robot's links.

    The mean of the masses that its file states (1 kg if none), and the root mean square of the
    distances between its joints (0.1 m if all coincide).
    """
    theta = model.prior_theta()
    masses = np.abs(theta[list(model.first_column_of_body)])
    masses = masses[masses > 0]
    mass = float(masses.mean()) if len(masses) else 1.0
    steps = np.linalg.norm(model.mechanism.rest_position, axis=1)
    steps = steps[steps > 1e-9]
    length = float(np.sqrt(np.mean(steps**2))) if len(steps) else 0.1
    return mass, length


def parameter_scale(model: Model) -> Array:
    """Typical size (n_columns,) of each parameter."""
    mass, length = typical_mass_and_length(model)
    body = np.array([mass] + [mass * length] * 3 + [mass * length**2] * 6)
    scale = np.ones(len(model.columns))
    for first in model.first_column_of_body:
        scale[first : first + 10] = body
    gravity = float(np.linalg.norm(model.mechanism.gravity)) or 1.0
    for i, column in enumerate(model.columns):
        if column.term_kind is not None:
            scale[i] = column.term_kind.typical_size(mass, length, mass * gravity)
    return scale


def relative_sizes(model: Model) -> Array:
    """Size (n_columns,) of each term as a share of that of friction; one for bodies.

    `steelyard.model.term_kinds.TermKind` says why offsets are smaller.
    """
    kinds = [column.term_kind for column in model.columns]
    return np.array([1.0 if kind is None else kind.relative_size for kind in kinds])


def placing_weights(model: Model) -> Array:
    """Relative weight (n_columns,) with which each parameter is drawn to its known value.

    Terms that are typically small have larger weights: one over the square of their relative size.
    """
    return np.array([size**-2 for size in relative_sizes(model).tolist()])


def prior_scale(model: Model, prior: Array, trust: Array) -> Array:
    """Typical size (n_columns,) of each parameter; that of terms from the bodies of a prior.

    The sizes of terms use the bodies' mean mass and radius of gyration: they are independent of
    the link frames, and scale with units. trust : (n_bodies,) zero for bodies without a prior.
    """
    scale = parameter_scale(model)
    bodies = [
        prior[k : k + 10] for k, t in zip(model.first_column_of_body, trust, strict=True) if t
    ]
    if not bodies:
        return scale / np.sqrt(placing_weights(model))
    masses, _, inertias = to_com(np.array(bodies))
    mass = float(masses.mean())
    length = float(np.sqrt(0.5 * np.trace(inertias, axis1=1, axis2=2).sum() / masses.sum()))
    force = mass * (float(np.linalg.norm(model.mechanism.gravity)) or 10.0 * length)
    for i, column in enumerate(model.columns):
        kind = column.term_kind
        if kind is not None:
            lever = 1.0 if column.unit == kind.unit(slides=True) else length
            scale[i] = kind.typical_size(mass, lever, force) * kind.relative_size
    return scale


def typical_parameters(model: Model) -> Array:
    """Defaults: every body a ball of typical mass and size at its frame origin, terms 0."""
    mass, length = typical_mass_and_length(model)
    ball = from_com(mass, np.zeros(3), 0.4 * mass * (0.5 * length) ** 2 * np.eye(3))
    theta = np.zeros(len(model.columns))
    for first in model.first_column_of_body:
        theta[first : first + 10] = ball
    return theta


def known_parameters(model: Model) -> Array:
    """The file's inertials, or typical bodies where it states no mass; terms 0."""
    theta, typical = model.prior_theta(), typical_parameters(model)
    for first in model.first_column_of_body:
        if theta[first] <= 0.0:
            theta[first : first + 10] = typical[first : first + 10]
    return theta


HEAVIEST_SEEN = 2.5
"""Largest m + trace(Sigma) / length² of a body, in total masses of its robot, in 71 robot files.

From hands over arms and quadrupeds to humanoids it is 0.15 to 2.46 (the outer link of a double
pendulum, whose mass lies far from its joint). In mean masses it ranges up to 162 (the lift of a
robot with two hands of many light links), so that a bound in those would exclude real robots.
"""
FILE_MAY_BE_OFF = 10.0
"""Factor by which the masses that a file states may be too small, such as placeholders of 1 kg."""
WITHOUT_MASSES = 1e4
"""Bound (kg) for a robot whose file states no mass at all."""


def default_bound(model: Model) -> tuple[float, float]:
    """A mass (kg) and a length (m) that bound every body: m + trace(Sigma) / length² <= mass.

    The mass is 25 times what the file states for all bodies together, or 10 t where it states
    none: ten times the largest body that is known from real robots. The length is typical of the
    distances between joints. Without a bound a mass that affects no torque could grow without
    limit, and there would be no proofs of infeasibility that need one. It is no substitute for
    drawing such masses to known values: fits to data of physical robots stay far below it.
    """
    _, length = typical_mass_and_length(model)
    masses = model.prior_theta()[list(model.first_column_of_body)]
    total = float(np.sum(np.abs(masses)))
    return (HEAVIEST_SEEN * FILE_MAY_BE_OFF * total or WITHOUT_MASSES), length
