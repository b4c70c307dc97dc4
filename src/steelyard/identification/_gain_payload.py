"""The unknown part of a payload of known mass, as drive gains are estimated with it.

pi(u) : its ten parameters by what is not known about it,

    nothing known but the mass     u = (mx, my, mz, Ixx, ..., Izz)      linear
    centre of mass known too       u = (Ixx, ..., Izz)                  linear
    inertia about it known too     u = centre of mass                   quadratic, always physical
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, psd_block
from steelyard.knowledge.payload import Payload
from steelyard.payload.intervals import (
    COM_NAMES,
    INERTIA_COM_NAMES,
    VALUE_NAMES,
    VALUE_UNITS,
    derived_values,
)
from steelyard.payload.payload_estimate import PayloadValue
from steelyard.robot.inertia import from_com, pseudo_inertia, to_com

Array = NDArray[np.float64]

LENGTH = 0.1
"""Typical size (m) of a payload and of its distance from the link's frame."""


@dataclass(frozen=True, eq=False)
class PayloadForm:
    """pi(u) of a payload."""

    payload: Payload

    @property
    def places(self) -> tuple[int, ...]:
        """Parameters that u holds, where it holds some of pi."""
        if self.payload.known or self.quadratic:
            return ()
        return tuple(range(4, 10)) if self.payload.com_known else tuple(range(1, 10))

    @property
    def quadratic(self) -> bool:
        """Whether u is the centre of mass."""
        return self.payload.inertia_known and not self.payload.com_known

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return 3 if self.quadratic else len(self.places)

    @property
    def start(self) -> Array:
        """u (size,) of the payload as it is stated."""
        return np.zeros(3) if self.quadratic else self.payload.inertial[list(self.places)]

    @property
    def inside(self) -> Array:
        """u (size,) of a ball-like body, well inside what is physical."""
        mass, com, _ = to_com(self.payload.inertial)
        ball = from_com(mass, com, 0.4 * float(mass) * (0.5 * LENGTH) ** 2 * np.eye(3))
        return np.asarray(ball[list(self.places)])

    @property
    def scale(self) -> Array:
        """Typical size (size,) of each unknown."""
        if self.quadratic:
            return np.full(3, LENGTH)
        mass = float(self.payload.inertial[0])
        sizes = np.array([1.0, *3 * (LENGTH,), *6 * (LENGTH**2,)]) * mass
        return np.asarray(sizes[list(self.places)])

    def pi(self, u: Array) -> Array:
        """The ten parameters (10,)."""
        pi = self.payload.inertial.copy()
        if self.quadratic:
            mass, _, inertia = to_com(pi)
            return from_com(mass, u, inertia)
        pi[list(self.places)] = u
        return pi

    def slope(self, u: Array) -> Array:
        """d pi / d u (10, size)."""
        out = np.zeros((10, self.size))
        if not self.quadratic:
            out[list(self.places), range(self.size)] = 1.0
            return out
        mass = float(self.payload.inertial[0])
        out[1:4] = mass * np.eye(3)
        x, y, z = 2.0 * mass * u
        # of m (c·c 1 - c cᵀ), in the order of the parameters
        out[4:] = [
            [0.0, y, z],
            [-y / 2, -x / 2, 0.0],
            [x, 0.0, z],
            [-z / 2, 0.0, -x / 2],
            [0.0, -z / 2, -y / 2],
            [x, y, 0.0],
        ]
        return out

    def physical(self, first: int) -> Block | None:
        """The condition that the body is physical, u at the columns from ``first``; None if it is
        for every u.
        """
        if self.quadratic or not self.size:
            return None
        units = np.eye(10)
        known = self.pi(np.zeros(self.size))
        return psd_block(
            None,
            range(first, first + self.size),
            [pseudo_inertia(units[k]) for k in self.places],
            pseudo_inertia(known),
        )

    def values(
        self, u: Array, covariance: Array, determined: NDArray[np.bool_], quantile: float
    ) -> tuple[PayloadValue, ...]:
        """Centre of mass and inertia about it, as far as they were estimated.

        covariance : (size, size) of u. quantile : of t for the level of the intervals.
        """
        if not self.size:
            return ()
        values, by_pi = derived_values(self.pi(u))
        about_com = slice(1, 1 + len(COM_NAMES) + len(INERTIA_COM_NAMES))
        centre, slopes = values[about_com], by_pi[about_com] @ self.slope(u)
        names, units = VALUE_NAMES[about_com], VALUE_UNITS[about_com]
        sigma = np.sqrt(np.einsum("ij,jk,ik->i", slopes, covariance, slopes))
        shown = [
            *(() if self.payload.com_known else range(3)),
            *(() if self.payload.inertia_known else range(3, 9)),
        ]
        out = []
        for k in shown:
            name, unit, value = names[k], units[k], float(centre[k])
            used = np.abs(slopes[k]) > 1e-9 * np.max(np.abs(slopes[k]))
            if not determined[used].all():
                out.append(PayloadValue(name, unit, value, None, None, None, "not determined"))
                continue
            half = quantile * float(sigma[k])
            out.append(
                PayloadValue(
                    name, unit, value, float(sigma[k]), value - half, value + half, "confidence"
                )
            )
        return tuple(out)
