"""The inertials of a robot's links as decimal texts that are exactly physical as written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError
from steelyard.export._digits import file_decimal, physical_texts
from steelyard.export.identified_robot import IdentifiedRobot
from steelyard.robot.inertia import to_com, violations, violations_about_com
from steelyard.robot.parts import Link

Array = NDArray[np.float64]
ROUNDING = 16.0 * float(np.finfo(float).eps)
LEAST_MOMENT = 2e-14
"""Principal moment (kg m²) that every simulator takes for a moving body: MuJoCo 4.0 refuses less
than 1e-14."""
RELATIVE_MARGIN = 1e-13
"""Share of the largest entry by which two principal moments must together exceed the third, so
that a check with rounding errors, such as MuJoCo's, agrees that they do."""
TINY = "1e-12"
"""Mass (kg) and principal moments (kg m²) that stand for nothing where a format needs a mass."""


@dataclass(frozen=True, eq=False)
class LinkBody:
    """mass in kg, com (3,) in m, inertia_com (3, 3) in kg m² about the centre of mass, in the axes
    of the link; noise : rounding error of the inertia, kg m².
    """

    mass: float
    com: Array
    inertia_com: Array
    noise: float

    def in_frame(self, T_new_link: Array) -> LinkBody:
        """The same body in another frame, in which the link's has the pose T_new_link (4, 4)."""
        if np.array_equal(T_new_link, np.eye(4)):
            return self
        R = T_new_link[:3, :3]
        com = R @ self.com + T_new_link[:3, 3]
        noise = self.noise + ROUNDING * float(np.abs(self.inertia_com).max())
        return LinkBody(self.mass, com, R @ self.inertia_com @ R.T, noise)


@dataclass(frozen=True)
class InertialTexts:
    """The numbers of an inertial as texts: mass, com (x, y, z) and the inertia about the centre of
    mass in the order xx, xy, xz, yy, yz, zz, in the axes of the link.
    """

    mass: str
    com: tuple[str, ...]
    inertia: tuple[str, ...]

    @property
    def full(self) -> tuple[str, ...]:
        """The inertia in MJCF's order: xx, yy, zz, xy, xz, yz."""
        xx, xy, xz, yy, yz, zz = self.inertia
        return xx, yy, zz, xy, xz, yz


NOTHING = InertialTexts(TINY, ("0", "0", "0"), (TINY, "0", "0", TINY, "0", TINY))


def link_bodies(found: IdentifiedRobot) -> dict[str, LinkBody]:
    """The body of every link that has a mass: identified, or as the robot file states it.

    Raises ModelError for a link of the robot file that is not physical.
    """
    bodies = {}
    for link in found.robot.links:
        body = (
            phi_body(found.inertials[link.name], link.name)
            if link.name in found.inertials
            else stated_body(link)
        )
        if body is not None:
            bodies[link.name] = body
    return bodies


def phi_body(phi: Array, name: str) -> LinkBody | None:
    """The body with the parameters phi (10,) of link ``name``; None for ten zeros."""
    broken = violations(phi, name)
    if broken:
        raise ModelError(broken[0].words)
    if not np.any(phi):
        return None
    mass, com, inertia = to_com(phi)
    noise = ROUNDING * float(mass) * float(com @ com)
    return _symmetric(float(mass), com, inertia, noise)


def stated_body(link: Link) -> LinkBody | None:
    """The body that the robot file states for a link; None for none or ten zeros."""
    if link.inertial is None or not np.any(link.inertial):
        return None
    if link.inertia_com is None:
        return phi_body(link.inertial, link.name)
    broken = violations_about_com(float(link.inertial[0]), link.inertia_com, link.name)
    if broken:
        raise ModelError(
            f"{broken[0].words}; the robot file states it so: correct the file first "
            "(steelyard check --fix)"
        )
    mass, com, _ = to_com(link.inertial)
    return _symmetric(float(mass), com, link.inertia_com, 0.0)


def inertial_texts(
    body: LinkBody, name: str, *, margins: bool = False, stated: Sequence[str] | None = None
) -> InertialTexts:
    """The texts of a body of link ``name``.

    margins : whether to stay away from the limits of what is physical, by ``LEAST_MOMENT`` and
        ``RELATIVE_MARGIN``, for readers that check these with rounding errors.
    stated : the inertia in the file; its texts are kept where the values are right.
    """
    mass = file_decimal(body.mass)
    margin = 0.0
    if margins:
        margin = max(LEAST_MOMENT, RELATIVE_MARGIN * float(np.abs(body.inertia_com).max()))
    written = physical_texts(mass, body.inertia_com, stated, body.noise, name, margin)
    reach = ROUNDING * float(np.abs(body.com).max())
    com = tuple("0" if abs(x) <= reach else file_decimal(float(x)) for x in body.com)
    return InertialTexts(mass, com, written.texts)


def _symmetric(mass: float, com: Array, inertia: Array, noise: float) -> LinkBody:
    symmetric = 0.5 * (inertia + inertia.T)
    return LinkBody(mass, com, symmetric, noise + ROUNDING * float(np.abs(symmetric).max()))
