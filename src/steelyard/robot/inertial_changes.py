"""How one rigid body differs from another: mass, centre of mass, inertia, principal axes.

A principal axis is a line, so an axis turns by 0 to 90 degrees. Where two principal moments are
nearly equal, as for a rod (its two largest) or a disc (its two smallest), the axes between them
are arbitrary, and a small change of the inertia turns them far: no angle is given there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.robot._difference_words import degrees, joined, moved_mm, percent, told_apart
from steelyard.robot.inertia import ROUNDING, inertia_origin, to_com
from steelyard.robot.parts import Link
from steelyard.robot.rotations import frozen_array

Array = NDArray[np.float64]

DIGITS = 6
"""Digits to which numbers of two files are compared by default: many files write no more."""
DISTINCT = 0.05
"""A principal axis exists where its moment differs from the next by this share of the largest."""
SMALLEST_ANGLE_DEG = 0.01
"""A sentence leaves out an axis that turned by less."""


@dataclass(frozen=True, eq=False)
class Inertial:
    """A rigid body in the frame of its link.

    mass : kg. com : (3,) m; None for a body without mass. inertia_com : (3, 3) kg m² about the
    centre of mass (the origin, without mass), axes of the link.
    moments : (3,) principal moments, ascending. axes : (3, 3), a unit vector in each column.
    rounding : kg m², size of rounding errors in ``inertia_com``.
    """

    mass: float
    com: Array | None
    inertia_com: Array
    moments: Array
    axes: Array
    rounding: float

    @property
    def is_zero(self) -> bool:
        """Whether the body has neither mass nor inertia."""
        return self.mass == 0.0 and not self.inertia_com.any()

    def axis(self, which: int) -> Array | None:
        """Principal axis (3,) of moment ``which`` (0 smallest, 2 largest), where it has one."""
        others = np.delete(self.moments, which)
        gap = np.abs(others - self.moments[which]).min()
        if not gap > max(DISTINCT * np.abs(self.moments).max(), self.rounding):
            return None
        return np.asarray(self.axes[:, which])


def inertial_of(phi: Array, inertia_com: Array | None = None) -> Inertial:
    """The body of parameters phi (10,), order of :data:`steelyard.robot.inertia.PARAMETERS`.

    inertia_com : (3, 3) as a file states it, without the rounding of phi.
    """
    mass, com, inertia = to_com(phi)
    rounding = 0.0
    if inertia_com is None:
        rounding = ROUNDING * float(np.abs(inertia_origin(phi)).sum())
    else:
        inertia = np.asarray(inertia_com)
    moments, axes = np.full(3, np.nan), np.full((3, 3), np.nan)
    if np.isfinite(inertia).all():
        moments, axes = np.linalg.eigh(inertia)
    return Inertial(
        float(mass),
        None if mass == 0.0 else frozen_array(com, (3,)),
        frozen_array(inertia, (3, 3)),
        frozen_array(moments, (3,)),
        frozen_array(axes, (3, 3)),
        rounding,
    )


def inertial_of_link(link: Link) -> Inertial | None:
    """The body of a link; None where its file states no inertial, or only zeros."""
    if link.inertial is None:
        return None
    found = inertial_of(link.inertial, link.inertia_com)
    return None if found.is_zero else found


@dataclass(frozen=True, eq=False)
class InertialChange:
    """A body before and after.

    before, after : None where there is no inertial (or only zeros).
    mass_differs, com_differs, inertia_differs : in more than the digits that were compared.
    com_moved : (3,) m, axes of the link; None unless both have a centre of mass.
    inertia_relative : |after - before| / max(|before|, |after|) of the inertia about the centre
        of mass, Frobenius norm; None unless both have an inertial.
    heaviest_axis_deg, lightest_axis_deg : angle by which the axis of the largest and of the
        smallest principal moment turned, 0 to 90; None where one of the two has no such axis.
    """

    name: str
    before: Inertial | None
    after: Inertial | None
    mass_differs: bool = False
    com_differs: bool = False
    inertia_differs: bool = False
    com_moved: Array | None = None
    inertia_relative: float | None = None
    heaviest_axis_deg: float | None = None
    lightest_axis_deg: float | None = None

    @property
    def appears(self) -> bool:
        """Whether there is an inertial only after."""
        return self.before is None and self.after is not None

    @property
    def vanishes(self) -> bool:
        """Whether there is an inertial only before."""
        return self.before is not None and self.after is None

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        return (
            self.appears
            or self.vanishes
            or self.mass_differs
            or self.com_differs
            or self.inertia_differs
        )

    @property
    def com_distance(self) -> float | None:
        """Distance (m) by which the centre of mass moved."""
        return None if self.com_moved is None else float(np.linalg.norm(self.com_moved))

    @property
    def words(self) -> str:
        """What changed, in words, without the name."""
        if self.before is None or self.after is None:
            if self.after is not None:
                return f"inertial appears, mass {self.after.mass:.6g} kg"
            if self.before is not None:
                return f"inertial vanishes, mass was {self.before.mass:.6g} kg"
            return "no inertial"
        parts = []
        if self.mass_differs:
            first, second = told_apart(self.before.mass, self.after.mass)
            parts.append(f"mass {first} -> {second} kg")
        if self.com_differs and self.com_moved is not None:
            parts.append(f"centre of mass moved {moved_mm(self.com_moved)}")
        if self.inertia_differs and self.inertia_relative is not None:
            parts.append(f"inertia changed by {percent(self.inertia_relative)}")
            parts += self._axis_words()
        return joined(parts) or "unchanged"

    def _axis_words(self) -> list[str]:
        """The heaviest axis or, where the body has none, the lightest, if it turned."""
        for which, angle in (
            ("heaviest", self.heaviest_axis_deg),
            ("lightest", self.lightest_axis_deg),
        ):
            if angle is not None:
                turned = angle >= SMALLEST_ANGLE_DEG
                return [f"{which} axis turned {degrees(angle)} deg"] if turned else []
        return []


def inertial_change(
    name: str, before: Inertial | None, after: Inertial | None, digits: int = DIGITS
) -> InertialChange:
    """Compare two bodies that are expressed in the same frame.

    digits : numbers that agree to this many digits, relative to the size of the body, are equal.
    """
    if before is None or after is None:
        return InertialChange(name, before, after)
    share = 10.0**-digits
    moved = None
    com_differs = (before.com is None) != (after.com is None)
    if before.com is not None and after.com is not None:
        moved = frozen_array(after.com - before.com, (3,))
        size = max(_reach(before), _reach(after))
        com_differs = not np.linalg.norm(moved) <= share * size
    change = np.linalg.norm(after.inertia_com - before.inertia_com)
    norm = max(np.linalg.norm(before.inertia_com), np.linalg.norm(after.inertia_com))
    rounding = max(before.rounding, after.rounding)
    largest = max(abs(before.mass), abs(after.mass))
    return InertialChange(
        name,
        before,
        after,
        mass_differs=not abs(after.mass - before.mass) <= share * largest,
        com_differs=com_differs,
        inertia_differs=not change <= share * norm + rounding,
        com_moved=moved,
        inertia_relative=float(change / norm) if norm > 0.0 else 0.0,
        heaviest_axis_deg=_turned(before.axis(2), after.axis(2)),
        lightest_axis_deg=_turned(before.axis(0), after.axis(0)),
    )


def angle_between(first: Array, second: Array) -> float:
    """Angle (rad, 0 to pi) between two vectors (3,), exact for small angles too."""
    across = np.linalg.norm(np.cross(first, second))
    return float(math.atan2(across, float(first @ second)))


def _turned(before: Array | None, after: Array | None) -> float | None:
    """Angle (deg, 0 to 90) between two lines."""
    if before is None or after is None:
        return None
    angle = angle_between(before, after)
    return math.degrees(min(angle, math.pi - angle))


def _reach(body: Inertial) -> float:
    """Size (m) of a body: how far its mass is from the origin of its frame."""
    com = 0.0 if body.com is None else float(np.linalg.norm(body.com))
    gyration = math.sqrt(abs(float(np.trace(body.inertia_com)) / body.mass)) if body.mass else 0.0
    return com + gyration
