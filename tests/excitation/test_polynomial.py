"""Motions made of polynomials: exact derivatives, and bounds that are tight and never too small."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from steelyard.errors import SignalError
from steelyard.excitation.motions import _polynomial_bounds
from steelyard.excitation.motions._polynomial_bounds import largest_values
from steelyard.excitation.motions.polynomial import PolynomialTrajectory, quintic


def random_pieces(rng: np.random.Generator, degree: int, n_pieces: int = 12, n_joints: int = 3):
    breaks = np.concatenate([[0.0], np.cumsum(np.exp(rng.uniform(-4.0, 1.5, size=n_pieces)))])
    shape = (n_pieces, n_joints, degree + 1)
    coefficients = rng.normal(size=shape) / np.diff(breaks)[:, None, None] ** np.arange(degree + 1)
    return PolynomialTrajectory(tuple("abcdefgh"[:n_joints]), breaks, coefficients)


def smooth_pieces(rng: np.random.Generator, n_pieces: int = 9, n_joints: int = 3):
    """Quintics between random states, so that position, speed and acceleration have no jumps."""
    states = rng.normal(size=(n_pieces + 1, 3, n_joints))
    durations = rng.uniform(0.2, 2.0, size=n_pieces)
    parts = [
        quintic(tuple("abcdefgh"[:n_joints]), h, start, end).coefficients[0]
        for h, (start, end) in zip(durations, pairwise(states), strict=True)
    ]
    breaks = np.concatenate([[0.0], np.cumsum(durations)])
    return PolynomialTrajectory(tuple("abcdefgh"[:n_joints]), breaks, np.array(parts))


def by_roots(pieces: PolynomialTrajectory, joint: int, order: int) -> tuple[float, float]:
    """Smallest and largest value of a derivative, from the roots of the next one."""
    found = []
    for begin, length in enumerate(np.diff(pieces.breaks)):
        p = Polynomial(pieces.coefficients[begin, joint]).deriv(order) if order else None
        p = Polynomial(pieces.coefficients[begin, joint]) if p is None else p
        # in unit time, where companion matrices are better scaled
        p = Polynomial(p.coef * length ** np.arange(len(p.coef)))
        roots = p.deriv().roots() if p.degree() > 1 else np.array([])
        inside = roots.real[(np.abs(roots.imag) < 1e-6) & (roots.real > 0.0) & (roots.real < 1.0)]
        found += list(p(np.concatenate([[0.0, 1.0], inside])))
    return min(found), max(found)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 7, 8])
def test_bounds_agree_with_roots(degree):
    """Bounds on random polynomials are not below, and hardly above, the values at the roots."""
    rng = np.random.default_rng(degree)
    for _ in range(4):
        pieces = random_pieces(rng, degree)
        for order in range(4):
            unit = pieces._unit_pieces(order)
            upper, lower = largest_values(unit), -largest_values(-unit)
            size = largest_values(unit, of_size=True)
            for j in range(3):
                low, high = by_roots(pieces, j, order)
                scale = max(abs(low), abs(high))
                assert lower[j] <= low
                assert upper[j] >= high
                assert size[j] >= scale
                assert size[j] == max(-lower[j], upper[j]) or size[j] == pytest.approx(scale, 1e-9)
                assert low - lower[j] <= 1e-9 * scale
                assert upper[j] - high <= 1e-9 * scale


def test_bounds_hold_in_exact_arithmetic():
    """For polynomials whose extrema are known rationals, bounds hold exactly and are tight."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        degree = int(rng.integers(1, 8))
        roots = [Fraction(int(k), 64) for k in rng.integers(-20, 84, size=degree - 1)]
        slope = [Fraction(int(rng.integers(1, 9)) * int(rng.choice([-1, 1])))]
        for root in roots:
            shifted = [Fraction(0), *slope]
            slope = [a - root * b for a, b in zip(shifted, [*slope, Fraction(0)], strict=True)]
        exact = [Fraction(int(rng.integers(-4, 5))), *(c / (k + 1) for k, c in enumerate(slope))]
        powers = np.array([float(c) for c in exact])
        # the polynomial that the computer has, not the one that was meant
        held = [Fraction(float(c)) for c in powers]
        places = [Fraction(0), Fraction(1), *(r for r in roots if 0 <= r <= 1)]
        values = [sum(c * x**k for k, c in enumerate(held)) for x in places]
        bound = float(largest_values(powers[None, None])[0])
        assert Fraction(bound) >= max(values)
        assert bound - float(max(values)) <= 1e-9 * (1.0 + max(abs(float(v)) for v in values))


@pytest.mark.parametrize("wrong", [0.0625, 0.9, 0.5])
def test_bounds_hold_where_maxima_are_estimated_badly(monkeypatch, wrong):
    """A wrong place of the maximum costs divisions, not truth: bounds hold and stay tight."""
    monkeypatch.setattr(
        _polynomial_bounds, "_estimated_maximum", lambda rows: np.full(len(rows), wrong)
    )
    rng = np.random.default_rng(2)
    for _ in range(10):
        pieces = random_pieces(rng, 6, n_pieces=1, n_joints=6)
        upper = largest_values(pieces._unit_pieces(0))
        for j in range(6):
            high = by_roots(pieces, j, 0)[1]
            assert 0.0 <= upper[j] - high <= 1e-9 * (1.0 + abs(high))


def test_a_peak_between_all_easy_places_is_bounded():
    """A narrow peak that values at ends, middle and thirds do not show is bounded."""
    for peak in (0.07, 0.21, 0.43, 0.81):
        # (u - peak)² times a quartic that is flat elsewhere: largest at the peak, 1
        p = Polynomial([1.0]) - 40.0 * Polynomial([-peak, 1.0]) ** 2
        p = p - 3.0 * Polynomial([-peak, 1.0]) ** 4
        bound = largest_values(p.coef[None, None])[0]
        assert 1.0 <= bound <= 1.0 + 1e-9


def test_extremes_against_dense_samples():
    """No sample at 5,000 times per piece is outside the bounds, which are reached within 1e-6."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        pieces = smooth_pieces(rng)
        found = pieces.extremes()
        # up to the end of each piece from the left too, where the jerk jumps
        share = np.append(np.linspace(0.0, 1.0, 5000, endpoint=False), 1.0 - 1e-12)
        time = (pieces.breaks[:-1, None] + np.diff(pieces.breaks)[:, None] * share).ravel()
        q = pieces.derivative(time, 0)
        assert (q >= found.lower).all()
        assert (q <= found.upper).all()
        assert (found.upper - q.max(axis=0) < 1e-6 * np.ptp(q, axis=0)).all()
        assert (q.min(axis=0) - found.lower < 1e-6 * np.ptp(q, axis=0)).all()
        for order, bound in ((1, found.velocity), (2, found.acceleration), (3, found.jerk)):
            size = np.abs(pieces.derivative(time, order)).max(axis=0)
            assert (size <= bound).all()
            assert (bound - size < 1e-6 * bound).all()


def test_derivatives_agree_with_numpy():
    """Each derivative inside each piece is that of NumPy's polynomial."""
    pieces = random_pieces(np.random.default_rng(4), 5)
    for k, (begin, end) in enumerate(pairwise(pieces.breaks)):
        time = np.linspace(begin, end, 7)[:-1]
        for order in range(7):
            for j in range(3):
                p = Polynomial(pieces.coefficients[k, j])
                exact = p.deriv(order)(time - begin) if order else p(time - begin)
                ours = pieces.derivative(time, order)[:, j]
                np.testing.assert_allclose(ours, exact, rtol=1e-9, atol=1e-9 * (end - begin) ** -5)


def test_outside_the_robot_stands_still():
    """Before the first and after the last piece the position stays, and nothing else is left."""
    pieces = random_pieces(np.random.default_rng(5), 5)
    time = [-1.0, pieces.duration_s + 1.0]
    motion = pieces.evaluate(time)
    np.testing.assert_array_equal(motion.q, pieces.derivative([0.0, pieces.duration_s], 0))
    assert not motion.v.any()
    assert not motion.a.any()
    assert pieces.derivative([0.0], 1).all()


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_a_jump_makes_higher_derivatives_infinite(broken):
    """Where a derivative jumps, nothing is proven about those above it, for that joint only."""
    pieces = smooth_pieces(np.random.default_rng(6))
    coefficients = np.array(pieces.coefficients)
    coefficients[-1, 1, broken] += 1e-8
    found = PolynomialTrajectory(pieces.joints, pieces.breaks, coefficients).extremes()
    names = ("velocity", "acceleration", "jerk")
    for order, name in enumerate(names, start=1):
        infinite = np.isinf(found.of(name))
        assert infinite.tolist() == [False, order > broken, False]


def test_quintic_meets_its_states():
    """Position, speed and acceleration at both ends are those that were asked for."""
    rng = np.random.default_rng(7)
    for _ in range(50):
        start, end = rng.normal(size=(2, 3, 4))
        move = quintic(tuple("abcd"), rng.uniform(0.1, 5.0), start, end)
        for order in range(3):
            ends = move.derivative([0.0, move.duration_s], order)
            np.testing.assert_allclose(ends, [start[order], end[order]], atol=1e-9)


@pytest.mark.parametrize(
    ("breaks", "coefficients", "what"),
    [
        ([0.0], np.zeros((0, 2, 3)), "two times"),
        ([0.0, 1.0], np.zeros((1, 1, 3)), "1 pieces and 2 joints"),
        ([0.0, 1.0], np.zeros((1, 2, 12)), "degree 8 at most"),
        ([0.0, 0.0], np.zeros((1, 2, 3)), "increase"),
        ([1.0, 2.0], np.zeros((1, 2, 3)), "begin at 0 s"),
        ([0.0, 1.0, 2.0], np.full((2, 2, 3), np.nan), "joint 'x' is not finite .* 0 s"),
    ],
)
def test_nonsense_is_refused(breaks, coefficients, what):
    """Shapes, times and numbers that make no motion are refused."""
    with pytest.raises(SignalError, match=what):
        PolynomialTrajectory(("x", "y"), breaks, coefficients)
