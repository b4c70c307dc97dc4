"""A physical body by mass, centre of mass, principal axes and second moments about them.

The parametrisation of Traversaro et al. 2016 (section III-B): m >= 0, c, Q in SO(3), L >= 0 with

    I_c = Q diag(Ly + Lz, Lx + Lz, Lx + Ly) Qᵀ,    Sigma_c = ∫ (r - c)(r - c)ᵀ dm = Q diag(L) Qᵀ.

Every such body is physical, and every physical body is one: a mass density that has its inertial
parameters is that of `EquivalentBox` or of `point_masses`. A body without mass has L = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError
from steelyard.robot.inertia import as_phi, from_com, to_com, violations

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PrincipalBody:
    """A physical body in the axes of its frame.

    mass : kg, >= 0. com : (3,) m. rotation : Q (3, 3), its columns are the principal axes.
    second_moments : L (3,) kg m², >= 0: ∫ x² dm along each principal axis about the centre of mass.
    """

    mass: float
    com: Array
    rotation: Array
    second_moments: Array

    @property
    def phi(self) -> Array:
        """The ten inertial parameters (10,); see :mod:`steelyard.robot.inertia`."""
        Q, L = self.rotation, self.second_moments
        sigma = (Q * L) @ Q.T
        sigma = 0.5 * (sigma + sigma.T)
        return from_com(self.mass, self.com, np.trace(sigma) * np.eye(3) - sigma)

    @property
    def principal_moments(self) -> Array:
        """Moments of inertia (3,) kg m² about the principal axes."""
        L = self.second_moments
        return np.asarray(L.sum() - L)


@dataclass(frozen=True, eq=False)
class EquivalentBox:
    """A cuboid of uniform density with the inertial parameters of a body.

    centre : (3,) m. rotation : (3, 3), its columns are the directions of the edges.
    half_sizes : (3,) m, sqrt(3 L / m). density : kg/m³; None if an edge has no length (a plate, a
    rod or a point mass: the mass is then spread over an area, a line or a point).
    """

    centre: Array
    rotation: Array
    half_sizes: Array
    density: float | None


def principal_body(phi: ArrayLike, name: str = "body") -> PrincipalBody:
    """The principal form of ten inertial parameters (10,); refuses a body that is not physical.

    L ascends. Second moments that rounding makes negative are 0. name : of the link, for messages.
    """
    values = as_phi(phi)
    wrong = violations(values, name)
    if wrong:
        raise ModelError(f"{wrong[0].words}; only a physical body has principal second moments")
    if values[0] == 0.0:
        return PrincipalBody(0.0, np.zeros(3), np.eye(3), np.zeros(3))
    mass, com, inertia = to_com(values)
    sigma = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    L, Q = np.linalg.eigh(sigma)
    if np.linalg.det(Q) < 0.0:
        Q[:, 0] = -Q[:, 0]
    return PrincipalBody(float(mass), com, Q, np.maximum(L, 0.0))


def equivalent_box(body: PrincipalBody) -> EquivalentBox:
    """The cuboid of uniform density that has the body's inertial parameters.

    Traversaro et al. 2016, equations 27 and 28, with the density m / (8 dx dy dz) that they need.
    """
    half = np.zeros(3)
    if body.mass > 0.0:
        half = np.sqrt(3.0 * body.second_moments / body.mass)
    volume = 8.0 * float(np.prod(half))
    density = body.mass / volume if volume > 0.0 else None
    return EquivalentBox(body.com, body.rotation, half, density)


def point_masses(body: PrincipalBody) -> tuple[Array, Array]:
    """Six equal point masses with the body's inertial parameters: masses (6,) kg, places (6, 3) m.

    Two on each principal axis, at distance sqrt(3 L / m) from the centre of mass.
    """
    half = equivalent_box(body).half_sizes
    along = (body.rotation * half).T
    places = body.com + np.concatenate([along, -along])
    return np.full(6, body.mass / 6.0), places
