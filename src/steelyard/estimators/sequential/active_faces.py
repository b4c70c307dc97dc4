"""The faces of the cones in which duals are: where conditions bind.

A dual Z of S >= 0 lies in the face V M Vᵀ, M >= 0, of the eigenvectors V along which it is positive
at the optimum. Away from the optimum that is a guess (Z is larger than S along them), which depends
on units. So a step that assumes a face is looked at: where it makes the dual negative, the
condition does not bind, and the face is smaller.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.interior_conditions import MatrixCondition
from steelyard.estimators.sequential.links import on_condition

Array = NDArray[np.float64]
NEGATIVE = 1e-12
"""A dual's eigenvalue below minus this share of its largest one counts as negative."""


@dataclass(frozen=True, eq=False)
class Face:
    """A face of one condition.

    link, place : the condition's link, and its number there. columns : its variables among all.
    S, Z : (d, d) value and dual. V : (d, k) orthonormal directions of the face.
    """

    link: int
    place: int
    condition: MatrixCondition
    columns: NDArray[np.int64]
    S: Array
    Z: Array
    V: Array

    @cached_property
    def spanned(self) -> Array:
        """Symmetric matrices (k (k + 1) / 2, d, d) that span the face."""
        V, d = self.V, len(self.S)
        pairs = [(i, j) for i in range(V.shape[1]) for j in range(i + 1)]
        out = np.array([np.outer(V[:, i], V[:, j]) for i, j in pairs]).reshape(-1, d, d)
        return np.asarray(0.5 * (out + np.swapaxes(out, 1, 2)))

    @cached_property
    def forces(self) -> Array:
        """A*(E) (k (k + 1) / 2, n_columns) of every spanning matrix E."""
        return np.array([on_condition(self.condition, E) for E in self.spanned])

    @cached_property
    def slacks(self) -> Array:
        """Inner product (k (k + 1) / 2,) of S with every spanning matrix."""
        return np.asarray(np.einsum("eij,ij->e", self.spanned, self.S))

    def moved(self, amounts: Array) -> Array:
        """The dual (d, d) with these amounts of the spanning matrices added."""
        return np.asarray(self.Z + np.tensordot(amounts, self.spanned, 1))

    def where_positive(self, Z: Array) -> Face | None:
        """The part of the face along which Z is positive: itself, if all of it; None if nothing."""
        values, vectors = np.linalg.eigh(self.V.T @ Z @ self.V)
        if values[0] >= -NEGATIVE * max(values[-1], 0.0):
            return self
        keep = values > 0.0
        return replace(self, V=self.V @ vectors[:, keep]) if keep.any() else None


def active_face(
    link: int,
    place: int,
    condition: MatrixCondition,
    columns: NDArray[np.int64],
    S: Array,
    Z: Array,
) -> Face | None:
    """The face along the eigenvectors of Z along which it is larger than S; None without any."""
    values, vectors = np.linalg.eigh(Z)
    along = np.einsum("ik,ij,jk->k", vectors, S, vectors)
    keep = values > np.maximum(along, 0.0)
    return Face(link, place, condition, columns, S, Z, vectors[:, keep]) if keep.any() else None
