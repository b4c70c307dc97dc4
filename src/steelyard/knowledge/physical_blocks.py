"""Physical consistency of a body as a condition on its ten parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, Statement, psd_block
from steelyard.robot.inertia import pseudo_inertia

Array = NDArray[np.float64]


def full_consistency(statement: Statement | None, first: int, margin: float = 0.0) -> Block:
    """The 4×4 pseudo-inertia of the body whose ten columns start at ``first`` is psd.

    A mass density with these parameters then exists: positive mass, positive definite inertia and
    the triangle inequality (Traversaro et al. 2016, Definition 2).
    """
    coefficients = [pseudo_inertia(unit) for unit in np.eye(10)]
    return psd_block(statement, range(first, first + 10), coefficients, -margin * np.eye(4))


def sousa_consistency(statement: Statement | None, first: int, margin: float = 0.0) -> Block:
    """The 6×6 matrix [[L, S(l)ᵀ], [S(l), m 1]] is psd (Sousa and Cortesão 2014, eqs 16-21).

    Weaker than `full_consistency`: the triangle inequality is not implied.
    """
    coefficients = [sousa_matrix(unit) for unit in np.eye(10)]
    return psd_block(statement, range(first, first + 10), coefficients, -margin * np.eye(6))


def sousa_matrix(phi: Array) -> Array:
    """[[L, S(l)ᵀ], [S(l), m 1]] (6, 6) of a body's ten parameters."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = phi
    L = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    S = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.block([[L, S.T], [S, m * np.eye(3)]])
