"""Conic conditions on a body's centre of mass, on where its mass is, and on its symmetry.

The centre of mass h / m is not linear in the parameters, but each condition multiplied by m is.
The conditions are homogeneous: a massless body (ten zeros) meets all of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, equation_block, linear_block
from steelyard.knowledge.regions import AXES, Box, Cylinder, Ellipsoid, Hull, Region, SymmetryPlane
from steelyard.knowledge.statements import CentreInside, MassInside, Symmetric
from steelyard.robot.inertia import pseudo_inertia

Array = NDArray[np.float64]
PRODUCTS = {"x": (5, 7), "y": (5, 8), "z": (7, 8)}
"""Indices, in the ten parameters, of the two products of inertia that involve each axis."""


def com_blocks(name: str, first: int, region: Region, margin: float) -> list[Block]:
    """Conditions that a body's centre of mass is in a region; its columns start at ``first``."""
    columns = range(first, first + 4)
    if isinstance(region, Box):
        out = []
        for k, axis in enumerate(AXES):
            rows = np.zeros((2, 4))
            rows[0, 0], rows[0, 1 + k] = -region.lower[k], 1.0
            rows[1, 0], rows[1, 1 + k] = region.upper[k], -1.0
            if region.lower[k] == region.upper[k]:
                out.append(
                    equation_block(
                        CentreInside(name, f"box along {axis}"), columns, rows[:1], [0.0]
                    )
                )
                continue
            statement = CentreInside(name, f"box along {axis}")
            out.append(linear_block(statement, columns, rows, [-margin, -margin]))
        return out
    if isinstance(region, Hull):
        faces = region.half_spaces
        rows = np.column_stack([-faces[:, 3], -faces[:, :3]])
        return [linear_block(CentreInside(name, "hull"), columns, rows, np.zeros(len(rows)))]
    if isinstance(region, Ellipsoid):
        # m >= |S⁻¹(h - m centre)|
        rows = np.zeros((4, 4))
        rows[0, 0] = 1.0
        rows[1:, 0] = -np.array(region.centre) / region.radii
        rows[1:, 1:] = np.diag(1.0 / np.array(region.radii))
        statement = CentreInside(name, "ellipsoid")
        return [linear_block(statement, columns, rows, np.zeros(4), "second_order")]
    return _cylinder_blocks(name, columns, region)


def _cylinder_blocks(name: str, columns: range, region: Cylinder) -> list[Block]:
    start, end = np.array(region.start), np.array(region.end)
    length = float(np.linalg.norm(end - start))
    along = (end - start) / length
    ends = np.array([[-along @ start, *along], [length + along @ start, *(-along)]])
    # radius m >= |(1 - a aᵀ)(h - m start)|, in two directions across the axis
    across = np.linalg.svd(along[None, :])[2][1:]
    rows = np.zeros((3, 4))
    rows[0, 0] = region.radius
    rows[1:, 0] = -across @ start
    rows[1:, 1:] = across
    return [
        linear_block(CentreInside(name, "cylinder, between its ends"), columns, ends, np.zeros(2)),
        linear_block(
            CentreInside(name, "cylinder, within its radius"),
            columns,
            rows,
            np.zeros(3),
            "second_order",
        ),
    ]


def inside_block(name: str, first: int, region: Ellipsoid | Box) -> Block:
    """Condition that all mass of a body is in an ellipsoid (exact) or in a box (necessary only).

    Ellipsoid: trace(J Q) >= 0. A body with J psd has a density inside if and only if this holds.
    Box: for each pair of faces, the integral over the mass of the product of the distances to
    both, which is linear in J, is not negative. No finite list of linear conditions is sufficient.
    """
    columns = range(first, first + 10)
    if isinstance(region, Ellipsoid):
        quadrics = [region.quadric]
        statement = MassInside(name, "ellipsoid")
    else:
        quadrics = box_quadrics(region)
        statement = MassInside(name, "box")
    units = [pseudo_inertia(unit) for unit in np.eye(10)]
    rows = np.array([[np.sum(Q * unit) for unit in units] for Q in quadrics])
    return linear_block(statement, columns, rows, np.zeros(len(rows)))


def box_quadrics(box: Box) -> list[Array]:
    """Matrices (4, 4) of the product of the distances to two faces, for each of the 15 pairs."""
    faces = []
    for k in range(3):
        normal = np.eye(4)[k]
        faces.append(normal - box.lower[k] * np.eye(4)[3])
        faces.append(box.upper[k] * np.eye(4)[3] - normal)
    return [
        0.5 * (np.outer(one, other) + np.outer(other, one))
        for i, one in enumerate(faces)
        for other in faces[i + 1 :]
    ]


def symmetry_block(name: str, first: int, plane: SymmetryPlane) -> Block:
    """∫ (x - d) dm, ∫ (x - d) y dm and ∫ (x - d) z dm vanish, for a plane x = d."""
    A = np.zeros((3, 10))
    k = AXES.index(plane.axis)
    A[0, 0], A[0, 1 + k] = -plane.offset, 1.0
    others = [other for other in range(3) if other != k]
    for row, (product, other) in enumerate(zip(PRODUCTS[plane.axis], others, strict=True), start=1):
        A[row, product] = 1.0  # the tensor entry is minus the integral of the product
        A[row, 1 + other] = plane.offset
    statement = Symmetric(name, plane.axis, plane.offset)
    return equation_block(statement, range(first, first + 10), A, np.zeros(3))


def mirror_signs(axis: str) -> Array:
    """Signs (10,) that turn a body's parameters into those of its mirror image."""
    signs = np.ones(10)
    signs[[1 + AXES.index(axis), *PRODUCTS[axis]]] = -1.0
    return signs
