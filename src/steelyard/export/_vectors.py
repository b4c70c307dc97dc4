"""Vectors and matrices of space, whose entries are values of straight-line code."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.export._straight_line import Value

Vector = tuple[Value, Value, Value]
Matrix = tuple[Vector, Vector, Vector]
ZERO: Vector = (0.0, 0.0, 0.0)


def matrix(entries: Iterable[Value]) -> Matrix:
    """The matrix of nine entries, row by row."""
    a, b, c, d, e, f, g, h, i = entries
    return (a, b, c), (d, e, f), (g, h, i)


def plus(x: Vector, y: Vector) -> Vector:
    """x + y."""
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


def minus(x: Vector, y: Vector) -> Vector:
    """x - y."""
    return x[0] - y[0], x[1] - y[1], x[2] - y[2]


def scaled(factor: Value, x: Vector) -> Vector:
    """factor · x."""
    return factor * x[0], factor * x[1], factor * x[2]


def dot(x: Vector, y: Vector) -> Value:
    """x · y."""
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


def cross(x: Vector, y: Vector) -> Vector:
    """x × y."""
    return x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]


def times(A: Matrix, x: Vector) -> Vector:
    """A x."""
    return dot(A[0], x), dot(A[1], x), dot(A[2], x)


def times_transposed(A: Matrix, x: Vector) -> Vector:
    """Aᵀ x."""
    return times((column(A, 0), column(A, 1), column(A, 2)), x)


def column(A: Matrix, k: int) -> Vector:
    """Column k of A."""
    return A[0][k], A[1][k], A[2][k]
