"""The closest physical body to a stated inertial that is not physical.

Mass and centre of mass are kept. When the mass is positive, only the inertia about the centre of
mass can be wrong: any positive semidefinite second moment ``Sigma = ½ tr(I) 1 - I`` is possible
with any positive mass and any centre of mass (Traversaro et al. 2016, Definition 2). So the
nearest body is the projection of the inertia tensor onto

    { I : ½ tr(I) 1 - I ⪰ f 1 }

in the Frobenius norm of the tensor. Norm and set are invariant under rotations, so the projection
keeps the principal axes, and only the three principal moments must be found.

The floor ``f`` is a share (:data:`FLOOR`) of the sum of the absolute principal moments that are
stated. It keeps the result strictly inside the set, so that it stays physical when rounded for a
file, and so that programs with tolerances of their own accept it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError
from steelyard.robot.inertia import from_com, violations_about_com

Array = NDArray[np.float64]

FLOOR = 1e-6
"""Smallest principal second moment of a repaired body, as a share of the stated inertia."""


@dataclass(frozen=True, eq=False)
class NearestBody:
    """A physical body and how far it is from what was stated.

    mass : kg. com : (3,) m. inertia_com : (3, 3) kg m² about the centre of mass; axes as given.
    distance : Frobenius norm of the change of inertia, kg m²; 0 where nothing had to change.
    relative : the same as a share of the norm of the stated inertia.
    """

    mass: float
    com: Array
    inertia_com: Array
    distance: float = 0.0
    relative: float = 0.0

    @property
    def changed(self) -> bool:
        """Whether the stated numbers had to change."""
        return self.distance > 0.0

    @property
    def phi(self) -> Array:
        """The body as a 10-vector (10,); see :mod:`steelyard.robot.inertia`."""
        return from_com(self.mass, self.com, self.inertia_com)


def nearest_physical(
    mass: float,
    com: ArrayLike,
    inertia_com: ArrayLike,
    *,
    name: str = "body",
    floor: float = FLOOR,
) -> NearestBody:
    """The nearest physical body that has this mass and this centre of mass.

    mass : kg. com : (3,) m. inertia_com : (3, 3) kg m² about the centre of mass.
    name : of the link, for messages.
    floor : see :data:`FLOOR`; 0 gives the projection onto the physical set itself, whose
        boundary holds flat bodies.

    A physical body, and a massless one (no mass, no inertia), are returned unchanged. A negative
    mass, or an inertia without mass, is refused: the other numbers do not determine the mass.
    """
    c, inertia = np.array(com, dtype=float), np.array(inertia_com, dtype=float)
    if c.shape != (3,) or inertia.shape != (3, 3):
        raise ModelError(
            f"link '{name}': com has shape {c.shape} and inertia_com {inertia.shape}; "
            "they must be (3,) and (3, 3)"
        )
    if not (np.isfinite(mass) and np.isfinite(c).all() and np.isfinite(inertia).all()):
        raise ModelError(f"link '{name}' has numbers that are not finite; correct them")
    if not np.array_equal(inertia, inertia.T):
        raise ModelError(f"link '{name}': its inertia is not symmetric")
    if mass < 0.0:
        raise ModelError(
            f"link '{name}' has a negative mass, {mass:.6g} kg, and the right one cannot be "
            "guessed; state its mass"
        )
    if mass == 0.0 and inertia.any():
        raise ModelError(
            f"link '{name}' has no mass but an inertia of up to {np.abs(inertia).max():.6g} "
            "kg m², and its mass cannot be guessed; state its mass or, if it is a frame without "
            "a body, set its inertia to zero"
        )
    if not violations_about_com(mass, inertia, name):
        return NearestBody(float(mass), c, inertia)
    nearest = nearest_inertia(inertia, floor)
    distance = float(np.linalg.norm(nearest - inertia))
    stated = float(np.linalg.norm(inertia))
    return NearestBody(float(mass), c, nearest, distance, distance / stated)


def nearest_inertia(inertia_com: ArrayLike, floor: float = FLOOR) -> Array:
    """Closest physical inertia (3, 3) to a symmetric tensor (3, 3), kg m²: the projection above."""
    if not 0.0 <= floor < 0.1:
        raise ModelError(f"floor is {floor:g}; it is a share, at least 0 and below 0.1")
    inertia = np.asarray(inertia_com, dtype=float)
    # Scaled, so that squares of tiny entries do not vanish in the eigenvalue solver.
    size = float(np.abs(inertia).max())
    if size == 0.0:
        return inertia.copy()
    moments, axes = np.linalg.eigh(inertia / size)
    second = 0.5 * moments.sum() - moments
    second = nearest_second_moments(second, floor * float(np.abs(moments).sum()))
    nearest = (axes * (second.sum() - second)) @ axes.T * size
    return np.asarray(0.5 * (nearest + nearest.T))


def nearest_second_moments(second: Array, floor: float) -> Array:
    """Principal second moments (3,), all at least ``floor``, closest to the given ones.

    The distance is that of the principal moments of inertia ``tr(s) - s``, so the quadratic
    programme

        min (s - s0)ᵀ (1 1ᵀ + E) (s - s0)   with s >= floor      (E the identity)

    is solved exactly by enumerating active sets. With the set A at the floor, d = sum of
    ``floor - s0`` over A and k free entries, the free ones are ``s0 - d / (k + 1)``. The
    solution keeps the order of the entries, so A holds the smallest: there are four candidates,
    and the closest of those that respect the floor is the solution.
    """
    order = np.argsort(second)
    s0 = second[order]
    best, least = np.full(3, floor), np.inf
    for n_active in range(4):
        candidate = np.full(3, floor)
        lifted = float((floor - s0[:n_active]).sum())
        candidate[n_active:] = s0[n_active:] - lifted / (4 - n_active)
        if (candidate < floor).any():
            continue
        change = candidate - s0
        cost = float(change.sum() ** 2 + (change**2).sum())
        if cost < least:
            best, least = candidate, cost
    out = np.empty(3)
    out[order] = best
    return out
