"""Conditions on the parameters as affine maps into cones.

A block says that ``A theta[columns] + b`` lies in a cone. For a positive semidefinite (psd) block
the entries are the upper triangle of a symmetric matrix, column by column: (0,0), (0,1), (1,1),
(0,2), ... All coefficients are exact floats, so that a block can be checked in rational
arithmetic (`steelyard.conic.exact`) as well as handed to a solver (`steelyard.conic.problem`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import isqrt
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
ConeKind = Literal["zero", "nonnegative", "second_order", "psd"]
BAND = 1e-9
"""Half the width (kg, kg m, kg m²) of the bands that replace equations of several parameters."""


class Statement(Protocol):
    """The meaning of a condition, as data; its text is made when it is shown.

    owners, parameters : names of what it concerns; the solver does not use them.
    """

    @property
    def words(self) -> str:
        """The condition in words."""

    @property
    def owners(self) -> tuple[str, ...]:
        """Names of the links or joints that it concerns as a whole."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the single parameters that it concerns."""


@dataclass(frozen=True, eq=False)
class Block:
    """``A theta[columns] + b`` in a cone.

    kind : "zero", "nonnegative", "second_order" (first entry at least the norm of the rest)
        or "psd".
    columns : indices of the parameters that take part.
    A : (n_entries, n_columns), b : (n_entries,).
    statement : the meaning of the condition; None for auxiliary conditions.
    band : whether these are pairs of inequalities, 2 `BAND` apart, that replace equations which
        decimals cannot satisfy exactly; they have no room for slack.
    """

    kind: ConeKind
    columns: tuple[int, ...]
    A: Array
    b: Array
    statement: Statement | None = None
    band: bool = False

    @property
    def words(self) -> str:
        """The condition in words, as messages and certificates show it."""
        return "a condition" if self.statement is None else self.statement.words

    @cached_property
    def size(self) -> int:
        """Number of rows of the matrix of a psd block; number of entries otherwise."""
        return matrix_size(len(self.b)) if self.kind == "psd" else len(self.b)

    def entries(self, theta: Array) -> Array:
        """The affine map's value (n_entries,)."""
        return np.asarray(self.A @ theta[list(self.columns)] + self.b)

    def margin(self, theta: Array) -> float:
        """How far inside the cone: smallest eigenvalue, smallest entry, or distance to the
        boundary; negative outside. For a zero block, minus the largest entry.
        """
        entries = self.entries(theta)
        if self.kind == "psd":
            return float(np.linalg.eigvalsh(matrix_of(entries))[0])
        if self.kind == "second_order":
            return float(entries[0] - np.linalg.norm(entries[1:]))
        if self.kind == "zero":
            return -float(np.max(np.abs(entries), initial=0.0))
        return float(np.min(entries, initial=np.inf))


def matrix_size(n_entries: int) -> int:
    """n with n (n + 1) / 2 entries in its triangle."""
    return (isqrt(8 * n_entries + 1) - 1) // 2


def triangle_index(n: int) -> list[tuple[int, int]]:
    """Indices (i, j) of the upper triangle, column by column."""
    return [(i, j) for j in range(n) for i in range(j + 1)]


@cache
def off_diagonal_weights(n: int) -> Array:
    """How often each entry of the upper triangle occurs in the matrix: 1, or 2 off the diagonal."""
    weights = np.array([1.0 if i == j else 2.0 for i, j in triangle_index(n)])
    weights.flags.writeable = False
    return weights


def matrix_of(entries: Array) -> Array:
    """The symmetric matrix with these upper-triangle entries."""
    n = matrix_size(len(entries))
    M = np.zeros((n, n))
    for value, (i, j) in zip(entries, triangle_index(n), strict=True):
        M[i, j] = M[j, i] = value
    return M


def entries_of(M: Array) -> Array:
    """The upper triangle of a symmetric matrix, column by column."""
    return np.array([M[i, j] for i, j in triangle_index(len(M))])


def inward(block: Block) -> Array:
    """The unit element (n_entries,) of the cone: a direction that leads inside from every point."""
    if block.kind == "psd":
        return np.array([1.0 if i == j else 0.0 for i, j in triangle_index(block.size)])
    if block.kind == "second_order":
        return np.concatenate([[1.0], np.zeros(len(block.b) - 1)])
    return np.ones(len(block.b))


def psd_block(
    statement: Statement | None,
    columns: Sequence[int],
    coefficients: Sequence[Array],
    constant: Array,
) -> Block:
    """``constant + sum_k theta[columns[k]] coefficients[k]`` is positive semidefinite."""
    A = np.array([entries_of(np.asarray(M, dtype=float)) for M in coefficients]).T
    return Block("psd", tuple(columns), A, entries_of(np.asarray(constant, dtype=float)), statement)


def linear_block(
    statement: Statement | None,
    columns: Sequence[int],
    A: ArrayLike,
    b: ArrayLike,
    kind: ConeKind = "nonnegative",
) -> Block:
    """``A theta[columns] + b >= 0``, entry by entry (or in the cone ``kind``)."""
    A = np.atleast_2d(np.asarray(A, dtype=float))
    return Block(kind, tuple(columns), A, np.atleast_1d(np.asarray(b, dtype=float)), statement)


def equation_block(
    statement: Statement | None, columns: Sequence[int], A: ArrayLike, b: ArrayLike
) -> Block:
    """``A theta[columns] + b = 0``, to within `BAND` if decimals cannot satisfy it exactly.

    They can if each equation fixes one parameter, or makes two equal or opposite.
    """
    block = linear_block(statement, columns, A, b, "zero")
    used = [row[row != 0.0] for row in block.A]
    if all(
        len(row) == 1 or (len(row) == 2 and abs(row[0]) == abs(row[1]) and constant == 0.0)
        for row, constant in zip(used, block.b, strict=True)
    ):
        return block
    rows = np.vstack([block.A, -block.A])
    ends = np.concatenate([block.b, -block.b]) + BAND
    return Block("nonnegative", block.columns, rows, ends, statement, band=True)
