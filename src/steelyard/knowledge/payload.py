"""A body of known mass that is fixed to a link, its centre of mass and inertia known or not."""

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
HEAVIEST = 1e9
"""Largest mass (kg) of a payload; a larger one is a mistake, and its squares may overflow."""


@dataclass(frozen=True, eq=False)
class Payload:
    """A body of known mass on a link.

    inertial : (10,) m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz in the frame of ``link``,
        inertia about its origin.
    mass_sigma : standard deviation of the mass, kg; a mass error scales all gains alike.
    com_known, inertia_known : whether the centre of mass, and the inertia about it, are known; if
        not, those of ``inertial`` are placeholders, and are estimated with the drive gains.
    """

    link: str
    inertial: Array
    mass_sigma: float = 0.0
    com_known: bool = True
    inertia_known: bool = True

    def __post_init__(self) -> None:
        phi = as_phi(self.inertial)
        if phi.shape != (10,):
            raise EstimationError(f"a payload has ten inertial parameters, not {phi.shape}")
        _check_mass(float(phi[0]))
        if not np.isfinite(phi).all():
            raise EstimationError("the payload has inertial parameters that are not finite")
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
        com: ArrayLike | None = None,
        inertia_com: ArrayLike | None = None,
        mass_sigma: float = 0.0,
    ) -> Payload:
        """By mass (kg), centre of mass (3,) m and inertia about it (3, 3) kg m², in link axes.

        What is not given is not known. A point mass has an inertia of zeros.
        """
        _check_mass(mass)
        centre = np.zeros(3) if com is None else com
        inertia = np.zeros((3, 3)) if inertia_com is None else inertia_com
        return Payload(
            link,
            from_com(mass, centre, inertia),
            mass_sigma,
            com_known=com is not None,
            inertia_known=inertia_com is not None,
        )

    @property
    def known(self) -> bool:
        """Whether all ten inertial parameters are known."""
        return self.com_known and self.inertia_known

    def torque(self, model: Model, motion: Motion) -> Array:
        """The joint torques (n_samples, nv) that it adds; refused if its inertia is not known."""
        if not self.known:
            raise EstimationError(
                f"the payload on link {shown(self.link)} has no torque: its "
                f"{'centre of mass' if not self.com_known else 'inertia'} is not stated"
            )
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


def _check_mass(mass: float) -> None:
    """Refuse a mass (kg) that no payload has."""
    if not 0.0 < mass <= HEAVIEST:
        raise EstimationError(
            f"the payload's mass is {mass:g} kg; it must be positive, and at most {HEAVIEST:g} kg"
        )
