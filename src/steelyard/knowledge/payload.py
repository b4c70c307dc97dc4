"""A body of known inertia that is fixed to a link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import EstimationError, listed, shown
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.inertia import as_phi, from_com, transform, violations
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Payload:
    """A body of known inertia on a link.

    inertial : (10,) m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz in the frame of ``link``,
        inertia about its origin.
    mass_sigma : standard deviation of the mass, kg; a mass error scales all gains alike.
    """

    link: str
    inertial: Array
    mass_sigma: float = 0.0

    def __post_init__(self) -> None:
        phi = as_phi(self.inertial)
        if phi.shape != (10,):
            raise EstimationError(f"a payload has ten inertial parameters, not {phi.shape}")
        if not (np.isfinite(phi).all() and phi[0] > 0.0):
            raise EstimationError(f"the payload's mass is {phi[0]:g} kg; it must be positive")
        wrong = violations(phi, "payload")
        if wrong:
            raise EstimationError(f"the payload is not physical: {wrong[0].words}")
        if not (np.isfinite(self.mass_sigma) and self.mass_sigma >= 0.0):
            raise EstimationError(f"mass_sigma is {self.mass_sigma}; it must be a number >= 0, kg")
        object.__setattr__(self, "inertial", phi)

    @staticmethod
    def of(
        link: str,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia_com: ArrayLike | None = None,
        mass_sigma: float = 0.0,
    ) -> Payload:
        """By mass (kg), centre of mass (3,) m and inertia about it (3, 3) kg m², in link axes.

        Without an inertia it is a point mass.
        """
        inertia = np.zeros((3, 3)) if inertia_com is None else inertia_com
        return Payload(link, from_com(mass, com, inertia), mass_sigma)

    def torque(self, model: Model, motion: Motion) -> Array:
        """The joint torques (n_samples, nv) that it adds."""
        theta = np.zeros(len(model.columns))
        for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
            for name, T_body_link in body.links:
                if name == self.link:
                    theta[first : first + 10] = transform(self.inertial, T_body_link)
                    return torque(model, theta, motion.q, motion.v, motion.a)
        model.robot.link(self.link)
        bodies = [name for body in model.mechanism.bodies for name, _ in body.links]
        raise EstimationError(
            f"the payload is on link {shown(self.link)}, which does not move; the moving links are "
            f"{listed(bodies)}"
        )
