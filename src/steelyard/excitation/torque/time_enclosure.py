"""Arithmetic with functions of time that are known up to a bounded rest, on many intervals at once.

On an interval |t - c| <= h a number or a vector in space is enclosed by

    x(t) = value + slope (t - c) + r(t),    |r(t)| <= rest

with the Euclidean length for vectors: a turn does not make such a rest larger, while bounds on
each component would grow with every joint of an arm. Sums, products and turns of enclosed
functions are enclosed again. What a product loses is of second order in h, so that a long
computation such as the inverse dynamics of an arm stays tight, where plain intervals (without a
slope) lose several per cent. Rounding is counted: every operation adds `ROUNDING` times the size
of its operands to the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDING = 16.0 * 2.0**-52
"""Share of the operands that a result may be wrong by: each operation rounds a few times."""


@dataclass(frozen=True, eq=False)
class Enclosure:
    """A number or a vector as functions of time on n intervals; see the module's equation.

    value, slope : (n,) of a number or (3, n) of a vector, in its unit, and per second.
    rest : (n,). half : (n,) half the length h of each interval (s).
    """

    value: Array
    slope: Array
    rest: Array
    half: Array

    @property
    def size(self) -> Array:
        """Bound (n,) of the absolute value, or the length, on each interval."""
        return np.asarray(length(self.value) + self.radius)

    @property
    def radius(self) -> Array:
        """Largest distance (n,) from the value at the centre."""
        return np.asarray(length(self.slope) * self.half + self.rest)

    def __add__(self, other: Enclosure) -> Enclosure:
        value, slope = self.value + other.value, self.slope + other.slope
        rest = self.rest + other.rest
        rounding = ROUNDING * (length(value) + length(slope) * self.half + rest)
        return Enclosure(value, slope, rest + rounding, self.half)

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.value, -self.slope, self.rest, self.half)

    def __sub__(self, other: Enclosure) -> Enclosure:
        return self + (-other)

    def times(self, number: float) -> Enclosure:
        """This times a known number."""
        rest = abs(number) * (self.rest + ROUNDING * self.size)
        return Enclosure(self.value * number, self.slope * number, rest, self.half)


def length(x: Array) -> Array:
    """Absolute value (n,) of numbers (n,), or length (n,) of vectors (3, n)."""
    if x.ndim == 1:
        return np.abs(x)
    return np.asarray(np.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]))


def constant(values: Array | float, half: Array) -> Enclosure:
    """A known number, or vector (3,), that does not depend on time."""
    value = np.multiply.outer(np.asarray(values, dtype=float), np.ones(len(half)))
    return Enclosure(value, np.zeros_like(value), np.zeros(len(half)), half)


def between(low: Array, high: Array, half: Array) -> Enclosure:
    """Any number from low to high (n,)."""
    value = 0.5 * (low + high)
    rest = (0.5 * (high - low)) * (1.0 + ROUNDING) + ROUNDING * np.abs(value)
    return Enclosure(value, np.zeros_like(value), rest, half)


def product(x: Enclosure, y: Enclosure) -> Enclosure:
    """A number times a number or a vector."""
    slope = x.value * y.slope + x.slope * y.value
    return Enclosure(x.value * y.value, slope, _rest_of_product(x, y), x.half)


def cross(x: Enclosure, y: Enclosure) -> Enclosure:
    """The cross product of two vectors."""
    slope = _cross(x.value, y.slope) + _cross(x.slope, y.value)
    return Enclosure(_cross(x.value, y.value), slope, _rest_of_product(x, y), x.half)


def _rest_of_product(x: Enclosure, y: Enclosure) -> Array:
    """The slopes' product times (t - c)², each rest times the other factor, and rounding."""
    turned, others = length(x.slope) * x.half, length(y.slope) * x.half
    sizes = length(y.value) + others
    size = length(x.value) + turned + x.rest
    rest = turned * others + size * y.rest + x.rest * sizes
    return np.asarray(rest + ROUNDING * size * (sizes + y.rest))


def _cross(x: Array, y: Array) -> Array:
    return np.stack(
        [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    )


def times_matrix(matrix: Array, x: Enclosure) -> Enclosure:
    """Known matrix (3, 3) times a vector."""
    # the row sums of |Aᵀ A| bound the square of the largest singular value
    stretch = np.sqrt(np.abs(matrix.T @ matrix).sum(axis=1).max()) * (1.0 + ROUNDING)
    rest = stretch * (x.rest + ROUNDING * x.size)
    return Enclosure(matrix @ x.value, matrix @ x.slope, rest, x.half)


def along(direction: Array, x: Enclosure) -> Enclosure:
    """The component of a vector, times the length of the known direction (3,)."""
    rest = np.linalg.norm(direction) * (1.0 + ROUNDING) * (x.rest + ROUNDING * x.size)
    return Enclosure(direction @ x.value, direction @ x.slope, rest, x.half)


@dataclass(frozen=True, eq=False)
class Turn:
    """Rotations about a fixed axis by an enclosed angle.

    axis : (3,) unit vector. angle : (n,) rad. sine, cosine : (n,) of its value at the centre.
    """

    axis: Array
    angle: Enclosure
    sine: Array
    cosine: Array

    def of(self, x: Enclosure, *, back: bool = False) -> Enclosure:
        """The vector turned by the angle, or back by it.

        The turn E(angle) is E at the centre, plus its derivative times the change of the angle,
        plus at most half the square of that change; it does not change the length of the rest.
        """
        sign = -1.0 if back else 1.0
        K = cross_matrix(self.axis)
        parallel = np.outer(self.axis, self.axis)
        across = np.eye(3) - parallel

        def turned(y: Array) -> Array:
            return np.asarray(
                parallel @ y + self.cosine * (across @ y) + (sign * self.sine) * (K @ y)
            )

        derivative = -self.sine * (across @ x.value) + (sign * self.cosine) * (K @ x.value)
        slope = turned(x.slope) + derivative * self.angle.slope
        change = self.angle.radius
        own = length(x.slope) * x.half
        missing = self.angle.rest + 0.5 * change * change
        rest = x.rest + missing * (length(x.value) + own) + change * own
        return Enclosure(turned(x.value), slope, rest + ROUNDING * x.size * (1.0 + change), x.half)


def turn_about(axis: Array, angle: Enclosure) -> Turn:
    """Rotations about a unit vector (3,)."""
    return Turn(axis, angle, np.sin(angle.value), np.cos(angle.value))


def cross_matrix(vector: Array) -> Array:
    """The matrix (3, 3) whose product with y is vector × y."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
