"""What is known about a robot, as data; and as cones.

`Constraints` names links and joints; `blocks` turns it into conditions on a model's
parameters. Full physical consistency is the default: every body's pseudo-inertia is positive
semidefinite, and drive inertia and friction are not negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.cones import Block, full_consistency, linear_block, psd_block, sousa_consistency
from steelyard.errors import ModelError
from steelyard.inertia import pseudo_inertia
from steelyard.model import Model
from steelyard.wording import did_you_mean, listed, shown

Array = NDArray[np.float64]
Range = tuple[float | None, float | None]
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class MassSum:
    """The masses of these bodies add up to something within a range (kg)."""

    bodies: tuple[str, ...]
    range: Range


@dataclass(frozen=True)
class Box:
    """The centre of mass lies in a box along the link's axes (m): paper 000, eq 26."""

    lower: Vector
    upper: Vector


@dataclass(frozen=True)
class Ball:
    """The centre of mass lies in an ellipsoid |S⁻¹(c - centre)| <= 1, S = diag(radii) (m)."""

    centre: Vector
    radii: Vector


@dataclass(frozen=True)
class Cylinder:
    """The centre of mass lies in a cylinder: from ``start`` to ``end`` on its axis (m)."""

    start: Vector
    end: Vector
    radius: float


@dataclass(frozen=True)
class Hull:
    """The centre of mass lies in the convex hull of points (m), given by its half spaces."""

    points: tuple[Vector, ...]


Region = Box | Ball | Cylinder | Hull


@dataclass(frozen=True)
class Ellipsoid:
    """All mass lies in an ellipsoid along the link's axes (m): exact as a trace condition."""

    centre: Vector
    radii: Vector


@dataclass(frozen=True)
class SymmetryPlane:
    """A body is symmetric about the plane normal·r = offset, the normal along an axis."""

    axis: Literal["x", "y", "z"]
    offset: float = 0.0


@dataclass(frozen=True)
class Constraints:
    """What is known, by the names of bodies (their links) and joints.

    consistency : "full" (4×4), "sousa" (6×6, paper 000: weaker, by explicit choice) or "none".
    margin : how far inside every body's block must be, and the least value of the terms that
        may not be negative; paper 000 uses 1e-6 for its Table 6.
    mass : ranges (kg). mass_sums : ranges of sums. com : regions of the centre of mass.
    inside : ellipsoids that hold all mass of a body. symmetric : symmetry planes.
    equal : groups of bodies with the same parameters. massless : bodies without any mass.
    fixed : values by column name. bounds : ranges by column name.
    known_part : a part (10,) of a merged body that is known to be right: the rest is physical.
    nonnegative_terms : whether drive inertia and friction must not be negative.
    second_moment : largest trace of a body's pseudo-inertia (kg + kg m²), for all bodies; a
        bound that no real link comes near, which keeps what the data leave open from running
        away and makes certificates finite.
    """

    consistency: Literal["full", "sousa", "none"] = "full"
    margin: float = 0.0
    mass: Mapping[str, Range] = field(default_factory=dict)
    mass_sums: tuple[MassSum, ...] = ()
    com: Mapping[str, Region] = field(default_factory=dict)
    inside: Mapping[str, Ellipsoid] = field(default_factory=dict)
    symmetric: Mapping[str, SymmetryPlane] = field(default_factory=dict)
    equal: tuple[tuple[str, ...], ...] = ()
    massless: tuple[str, ...] = ()
    fixed: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, Range] = field(default_factory=dict)
    known_part: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    nonnegative_terms: bool = True
    second_moment: float | None = 1e4


class _Writer:
    """Finds columns by name while blocks are collected."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.first = {
            body.name: first
            for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True)
        }
        self.column = {name: i for i, name in enumerate(model.column_names)}
        self.blocks: list[Block] = []

    def body(self, name: str, what: str) -> int:
        """First column of a body."""
        if name not in self.first:
            raise ModelError(
                f"{what} names the body {shown(name)}, which is none of "
                f"{listed(self.first)}{did_you_mean(name, self.first)}"
            )
        return self.first[name]

    def parameter(self, name: str, what: str) -> int:
        """Column of a parameter."""
        if name not in self.column:
            raise ModelError(
                f"{what} names the parameter {shown(name)}, which the model has not"
                f"{did_you_mean(name, self.column)}"
            )
        return self.column[name]

    def range(self, name: str, columns: Sequence[int], weights: Array, limits: Range) -> None:
        """lower <= weights · theta[columns] <= upper, each side a block of its own."""
        lower, upper = limits
        if lower is not None:
            words = f"{name} is at least {lower:g}"
            self.blocks.append(linear_block(words, columns, weights, np.array([-lower])))
        if upper is not None:
            words = f"{name} is at most {upper:g}"
            self.blocks.append(linear_block(words, columns, -weights, np.array([upper])))


def blocks(model: Model, constraints: Constraints) -> tuple[Block, ...]:
    """The constraints as cones on the parameters of ``model``, each with its words."""
    writer = _Writer(model)
    massless = {writer.body(name, "massless") for name in constraints.massless}
    for name, first in writer.first.items():
        columns = list(range(first, first + 10))
        if first in massless:
            words = f"'{name}' is massless"
            writer.blocks.append(linear_block(words, columns, np.eye(10), np.zeros(10), "zero"))
            continue
        words = f"'{name}' is physical"
        if constraints.consistency == "full":
            writer.blocks.append(full_consistency(words, first, constraints.margin))
        elif constraints.consistency == "sousa":
            writer.blocks.append(sousa_consistency(words, first, constraints.margin))
        if constraints.second_moment is not None:
            trace = np.array([np.trace(pseudo_inertia(unit)) for unit in np.eye(10)])
            words = f"'{name}' has a second moment"
            writer.range(words, columns, trace, (None, constraints.second_moment))
    _term_blocks(writer, constraints)
    _mass_blocks(writer, constraints)
    for name, region in constraints.com.items():
        _region_blocks(writer, name, region, constraints.margin)
    for name, ellipsoid in constraints.inside.items():
        _inside_block(writer, name, ellipsoid)
    _equality_blocks(writer, constraints)
    for name, part in constraints.known_part.items():
        first = writer.body(name, "known_part")
        coefficients = [pseudo_inertia(unit) for unit in np.eye(10)]
        constant = -pseudo_inertia(np.array(part, dtype=float))
        words = f"the unknown rest of '{name}' is physical"
        writer.blocks.append(psd_block(words, range(first, first + 10), coefficients, constant))
    return tuple(writer.blocks)


def _term_blocks(writer: _Writer, constraints: Constraints) -> None:
    if constraints.nonnegative_terms:
        for i, column in enumerate(writer.model.columns):
            if column.kind in ("drive_inertia", "viscous", "coulomb"):
                words = f"'{column.name}' is at least {constraints.margin:g}"
                offset = np.array([-constraints.margin])
                writer.blocks.append(linear_block(words, [i], np.ones((1, 1)), offset))
    for name, limits in constraints.bounds.items():
        i = writer.parameter(name, "bounds")
        writer.range(f"'{name}'", [i], np.ones(1), limits)


def _mass_blocks(writer: _Writer, constraints: Constraints) -> None:
    for name, limits in constraints.mass.items():
        first = writer.body(name, "mass")
        writer.range(f"the mass of '{name}'", [first], np.ones(1), limits)
    for total in constraints.mass_sums:
        columns = [writer.body(name, "mass_sums") for name in total.bodies]
        lower, upper = total.range
        if upper is not None:
            upper -= constraints.margin
        words = f"the mass of {listed(total.bodies)} together"
        writer.range(words, columns, np.ones(len(columns)), (lower, upper))


def _region_blocks(writer: _Writer, name: str, region: Region, margin: float) -> None:
    """The centre of mass h / m in a region, times m: linear or conic in the parameters."""
    first = writer.body(name, "com")
    columns = [first, first + 1, first + 2, first + 3]
    words = f"the centre of mass of '{name}' is in its"
    if isinstance(region, Box):
        for k, axis in enumerate("xyz"):
            row = np.zeros((2, 4))
            row[0, 0], row[0, 1 + k] = -region.lower[k], 1.0
            row[1, 0], row[1, 1 + k] = region.upper[k], -1.0
            writer.blocks.append(
                linear_block(f"{words} box along {axis}", columns, row, np.full(2, -margin))
            )
    elif isinstance(region, Hull):
        from scipy.spatial import ConvexHull

        faces = ConvexHull(np.array(region.points)).equations  # n·r + d <= 0 inside
        rows = np.column_stack([-faces[:, 3], -faces[:, :3]])
        writer.blocks.append(linear_block(f"{words} hull", columns, rows, np.zeros(len(rows))))
    elif isinstance(region, Ball):
        # m >= |S⁻¹(h - m centre)|
        rows = np.zeros((4, 4))
        rows[0, 0] = 1.0
        for k in range(3):
            rows[1 + k, 0] = -region.centre[k] / region.radii[k]
            rows[1 + k, 1 + k] = 1.0 / region.radii[k]
        writer.blocks.append(
            linear_block(f"{words} ellipsoid", columns, rows, np.zeros(4), "second_order")
        )
    else:
        start, end = np.array(region.start), np.array(region.end)
        length = float(np.linalg.norm(end - start))
        axis_vector = (end - start) / length
        along = np.concatenate([[-axis_vector @ start], axis_vector])
        ends = np.array([along, [length - along[0], *(-axis_vector)]])
        ends[1, 0] = length + axis_vector @ start
        writer.blocks.append(linear_block(f"{words} cylinder's ends", columns, ends, np.zeros(2)))
        # radius m >= |(1 - a aᵀ)(h - m start)|
        project = np.eye(3) - np.outer(axis_vector, axis_vector)
        rows = np.zeros((4, 4))
        rows[0, 0] = region.radius
        rows[1:, 0] = -project @ start
        rows[1:, 1:] = project
        writer.blocks.append(
            linear_block(f"{words} cylinder", columns, rows, np.zeros(4), "second_order")
        )


def _inside_block(writer: _Writer, name: str, ellipsoid: Ellipsoid) -> None:
    """trace(J Q) >= 0 with Q the ellipsoid's quadric: all mass inside."""
    first = writer.body(name, "inside")
    inverse = np.diag(1.0 / np.array(ellipsoid.radii) ** 2)
    centre = np.array(ellipsoid.centre)
    Q = np.zeros((4, 4))
    Q[:3, :3] = -inverse
    Q[:3, 3] = Q[3, :3] = inverse @ centre
    Q[3, 3] = 1.0 - centre @ inverse @ centre
    weights = np.array([np.sum(Q * pseudo_inertia(unit)) for unit in np.eye(10)])
    writer.blocks.append(
        linear_block(
            f"the mass of '{name}' is inside its ellipsoid",
            range(first, first + 10), weights, np.zeros(1),
        )
    )  # fmt: skip


_MIRRORED = {"x": (5, 7), "y": (5, 8), "z": (7, 8)}


def _equality_blocks(writer: _Writer, constraints: Constraints) -> None:
    for name, value in constraints.fixed.items():
        i = writer.parameter(name, "fixed")
        words = f"'{name}' is {value:g}"
        writer.blocks.append(linear_block(words, [i], np.ones((1, 1)), np.array([-value]), "zero"))
    for group in constraints.equal:
        starts = [writer.body(name, "equal") for name in group]
        for name, first in zip(group[1:], starts[1:], strict=True):
            columns = [*range(starts[0], starts[0] + 10), *range(first, first + 10)]
            A = np.hstack([np.eye(10), -np.eye(10)])
            words = f"'{group[0]}' and '{name}' are equal"
            writer.blocks.append(linear_block(words, columns, A, np.zeros(10), "zero"))
    for name, plane in constraints.symmetric.items():
        first = writer.body(name, "symmetric")
        k = "xyz".index(plane.axis)
        # mirrored about axis·r = offset: the centre of mass lies in the plane, and with the
        # plane through the origin the two products of inertia with that axis vanish
        A = np.zeros((3, 10))
        A[0, 0], A[0, 1 + k] = -plane.offset, 1.0
        for row, product in enumerate(_MIRRORED[plane.axis], start=1):
            other = {5: {"x": 1, "y": 0}, 7: {"x": 2, "z": 0}, 8: {"y": 2, "z": 1}}[product]
            A[row, product] = 1.0
            A[row, 1 + other[plane.axis]] = plane.offset
        words = f"'{name}' is symmetric about {plane.axis} = {plane.offset:g}"
        writer.blocks.append(linear_block(words, range(first, first + 10), A, np.zeros(3), "zero"))
