"""Regions of a link that hold its centre of mass or its mass, and planes of symmetry.

All are in the frame of the body, in metres; wrong values raise ModelError.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError, listed, shown

Array = NDArray[np.float64]
Vector = tuple[float, float, float]
Axis = Literal["x", "y", "z"]
AXES = ("x", "y", "z")
FLAT_HULL = 1e-9


@dataclass(frozen=True)
class Box:
    """lower <= r <= upper along the link's axes (Sousa and Cortesão 2014, eq 26)."""

    lower: Vector
    upper: Vector

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, vector(getattr(self, name), f"a box's {name} corner"))
        for axis, low, high in zip(AXES, self.lower, self.upper, strict=True):
            if low > high:
                raise ModelError(
                    f"a box has its lower corner {low:g} above its upper corner {high:g} along "
                    f"{axis}; exchange them"
                )


@dataclass(frozen=True)
class Ellipsoid:
    """|S⁻¹(r - centre)| <= 1 with S = diag(radii), along the link's axes."""

    centre: Vector
    radii: Vector

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", vector(self.centre, "an ellipsoid's centre"))
        object.__setattr__(self, "radii", vector(self.radii, "an ellipsoid's radii"))
        if min(self.radii) <= 0.0:
            raise ModelError(
                f"an ellipsoid has the radii {listed(f'{x:g}' for x in self.radii)} m; "
                "all must be positive"
            )

    @property
    def quadric(self) -> Array:
        """Q (4, 4) with [rᵀ 1] Q [r; 1] = 1 - |S⁻¹(r - centre)|², not negative inside."""
        inverse = np.diag(1.0 / np.array(self.radii) ** 2)
        centre = np.array(self.centre)
        Q = np.zeros((4, 4))
        Q[:3, :3] = -inverse
        Q[:3, 3] = Q[3, :3] = inverse @ centre
        Q[3, 3] = 1.0 - centre @ inverse @ centre
        return Q


@dataclass(frozen=True)
class Cylinder:
    """Points within ``radius`` of the axis from ``start`` to ``end``, between flat ends."""

    start: Vector
    end: Vector
    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", vector(self.start, "a cylinder's start"))
        object.__setattr__(self, "end", vector(self.end, "a cylinder's end"))
        radius = number(self.radius, "a cylinder's radius")
        object.__setattr__(self, "radius", radius)
        if radius <= 0.0:
            raise ModelError(f"a cylinder has the radius {radius:g} m; it must be positive")
        if self.start == self.end:
            raise ModelError("a cylinder starts where it ends, so that it has no axis")


@dataclass(frozen=True)
class Hull:
    """The convex hull of at least four points that are not in one plane."""

    points: tuple[Vector, ...]

    def __post_init__(self) -> None:
        points = tuple(vector(point, "a point of a hull") for point in self.points)
        object.__setattr__(self, "points", points)
        if len(points) < 4:
            raise ModelError(f"a hull needs at least 4 points, not {len(points)}")
        spread = np.linalg.svd(np.array(points) - np.mean(points, axis=0), compute_uv=False)
        if spread[2] <= FLAT_HULL * max(spread[0], FLAT_HULL):
            shape = "a plane" if spread[1] > FLAT_HULL * max(spread[0], FLAT_HULL) else "a line"
            raise ModelError(
                f"the {len(points)} points of a hull lie in {shape}, so that it has no volume; "
                "add points, or use a box"
            )

    @property
    def half_spaces(self) -> Array:
        """Rows (n_faces, 4) of [n d] with n·r + d <= 0 inside, each face once."""
        from scipy.spatial import ConvexHull, QhullError

        try:
            faces = ConvexHull(np.array(self.points)).equations
        except QhullError:
            raise ModelError(
                f"the {len(self.points)} points of a hull are too close to one plane; "
                "add points, or use a box"
            ) from None
        # Qhull splits a flat face into triangles, which repeat its half space
        _, first = np.unique(np.round(faces, 10), axis=0, return_index=True)
        return np.asarray(faces[np.sort(first)], dtype=float)


Region = Box | Ellipsoid | Cylinder | Hull


@dataclass(frozen=True)
class SymmetryPlane:
    """A body is its own mirror image about the plane ``axis`` = ``offset``."""

    axis: Axis
    offset: float = 0.0

    def __post_init__(self) -> None:
        check_axis(self.axis, "a symmetry plane")
        object.__setattr__(self, "offset", number(self.offset, "a symmetry plane's offset"))


def check_axis(axis: object, what: str) -> None:
    """Raise ModelError unless the axis is x, y or z."""
    if axis not in AXES:
        raise ModelError(f"{what} has the axis {shown(str(axis))}; it must be one of x, y, z")


def number(value: object, what: str) -> float:
    """A finite float; raises ModelError that names ``what`` otherwise."""
    try:
        out = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} is {shown(str(value))}, which is not a number") from None
    if not isfinite(out):
        raise ModelError(f"{what} is {out}; it must be finite")
    return out


def vector(values: object, what: str) -> Vector:
    """Three finite floats; raises ModelError that names ``what`` otherwise."""
    try:
        entries = list(values)  # type: ignore[call-overload]
    except TypeError:
        raise ModelError(f"{what} is {shown(str(values))}; it must be 3 numbers, m") from None
    if len(entries) != 3:
        raise ModelError(f"{what} has {len(entries)} entries; it must be 3 numbers, m")
    x, y, z = (number(entry, what) for entry in entries)
    return x, y, z
