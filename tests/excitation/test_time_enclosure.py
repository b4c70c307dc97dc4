"""Enclosures of functions of time: what they enclose, sampled densely and in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from steelyard.excitation.torque.time_enclosure import (
    Enclosure,
    along,
    between,
    constant,
    cross,
    cross_matrix,
    length,
    product,
    times_matrix,
    turn_about,
)
from steelyard.robot.rotations import rotation_about

HALF = np.array([0.3, 0.05, 1e-3, 0.0])
SHARES = np.linspace(-1.0, 1.0, 21)


class Known:
    """Random functions value + slope s + rest d sin(w s + p), |d| = 1, with their enclosure."""

    def __init__(self, rng: np.random.Generator, shape: tuple[int, ...] = (3,)) -> None:
        full = (*shape, len(HALF))
        self.value, self.slope = rng.normal(size=full), rng.normal(size=full)
        self.rest = 0.1 * rng.random(len(HALF)) * (rng.random(len(HALF)) < 0.8)
        self.direction = rng.normal(size=full)
        self.direction = self.direction / length(self.direction)
        self.w, self.p = 50.0 * rng.random(len(HALF)), 6.0 * rng.random(len(HALF))
        self.enclosed = Enclosure(self.value, self.slope, self.rest, HALF)

    def at(self, share: float) -> np.ndarray:
        s = share * HALF
        swing = self.rest * np.sin(self.w * s + self.p)
        return self.value + self.slope * s + self.direction * swing


def worst(enclosed: Enclosure, truth) -> float:
    """The largest share of its rest that is used over the interval, but for the rounding here."""
    used = [
        (length(truth(share) - enclosed.value - enclosed.slope * share * HALF) - 1e-14)
        / (enclosed.rest + 1e-300)
        for share in SHARES
    ]
    return float(np.max(used))


def turned(axis: np.ndarray, angle: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Vectors (3, n) turned by angles (n,), one by one."""
    return np.column_stack([rotation_about(axis, a) @ y for a, y in zip(angle, x.T)])


def shares_used(rng: np.random.Generator) -> list[float]:
    """For each operation on random functions, how much of the rest its result uses."""
    x, y, s = Known(rng), Known(rng), Known(rng, ())
    matrix, d = rng.normal(size=(3, 3)), rng.normal(size=3)
    axis = d / np.linalg.norm(d)
    turn = turn_about(axis, s.enclosed)
    results = [
        (x.enclosed + y.enclosed, lambda t: x.at(t) + y.at(t)),
        (x.enclosed - y.enclosed, lambda t: x.at(t) - y.at(t)),
        (product(s.enclosed, y.enclosed), lambda t: s.at(t) * y.at(t)),
        (x.enclosed.times(-1.7), lambda t: x.at(t) * -1.7),
        (times_matrix(matrix, x.enclosed), lambda t: matrix @ x.at(t)),
        (along(d, x.enclosed), lambda t: d @ x.at(t)),
        (cross(x.enclosed, y.enclosed), lambda t: np.cross(x.at(t), y.at(t), axis=0)),
        (turn.of(x.enclosed), lambda t: turned(axis, s.at(t), x.at(t))),
        (turn.of(x.enclosed, back=True), lambda t: turned(axis, -s.at(t), x.at(t))),
    ]
    return [worst(enclosed, truth) for enclosed, truth in results]


def test_every_operation_encloses_its_result():
    """Sums, products, matrices, cross products and turns of random functions are inside their
    enclosures, which are not wide: somewhere a third of the rest is used at least.
    """
    rng = np.random.default_rng(1)
    used = np.array([shares_used(rng) for _ in range(40)])
    assert used.max() <= 1.0
    assert (used.max(axis=0) > 0.33).all()


def test_size_and_radius_are_those_of_the_interval():
    """An enclosed function is nowhere larger than its size, nor farther from its centre value than
    its radius; both are reached by a straight line.
    """
    rng = np.random.default_rng(2)
    for _ in range(20):
        x = Known(rng)
        for share in SHARES:
            assert (length(x.at(share)) <= x.enclosed.size * (1 + 1e-15)).all()
            assert (length(x.at(share) - x.value) <= x.enclosed.radius + 1e-15).all()
    line = Enclosure(np.array([2.0]), np.array([-4.0]), np.array([0.0]), np.array([0.5]))
    assert line.size == 4.0
    assert line.radius == 2.0


def test_many_turns_do_not_widen():
    """A hundred turns about random axes by known angles leave the rest of a vector as it is."""
    rng = np.random.default_rng(4)
    x = Known(rng).enclosed
    start = x.rest
    still = Enclosure(x.value, np.zeros_like(x.slope), x.rest, HALF)
    for _ in range(100):
        d = rng.normal(size=3)
        still = turn_about(d / np.linalg.norm(d), constant(rng.normal(), HALF)).of(still)
    np.testing.assert_allclose(still.rest, start, rtol=0, atol=1e-11)
    assert (still.rest >= start).all()


def test_rounding_is_counted():
    """A long product and sum of numbers without any rest contains the exact rational result."""
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(50):
        numbers = rng.normal(size=12)
        total, exact = constant(numbers[0], HALF[:1]), Fraction(float(numbers[0]))
        for number in numbers[1:]:
            factor = constant(number, HALF[:1])
            total = product(total, factor) + factor.times(0.3)
            exact = exact * Fraction(float(number)) + Fraction(float(number)) * Fraction(0.3)
        error = abs(exact - Fraction(float(total.value[0])))
        assert error <= Fraction(float(total.rest[0]))
        missed += error > 0
        assert total.rest[0] < 1e-12
    assert missed > 25


def test_ranges_and_constants():
    """A range contains both of its ends, and the matrix of a cross product is one."""
    low, high = np.array([-1.0, 0.1, 3.0, 0.0]), np.array([1.0, 0.3, 3.0, 0.0])
    enclosed = between(low, high, HALF)
    assert (enclosed.value - enclosed.rest <= low).all()
    assert (enclosed.value + enclosed.rest >= high).all()
    x, y = np.array([1.0, 2.0, -3.0]), np.array([0.5, 0.1, 0.7])
    np.testing.assert_allclose(cross_matrix(x) @ y, np.cross(x, y), rtol=1e-15)
