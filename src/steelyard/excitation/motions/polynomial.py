"""Motions made of polynomials, piece by piece, with bounds that hold at every time."""

from __future__ import annotations

from dataclasses import dataclass
from math import perm

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SignalError
from steelyard.excitation.extremes import Extremes
from steelyard.excitation.motions._polynomial_bounds import largest_values
from steelyard.excitation.trajectory import motion_of
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]

JUMP = 1e-12
"""Differences between neighbouring pieces below this are rounding, relative to the largest
coefficients of the joint and to the duration of the piece."""
HIGHEST_DEGREE = 8


@dataclass(frozen=True, eq=False)
class PolynomialTrajectory:
    """Polynomials of time, one per piece and joint; the robot stands still before and after.

    joints : names. breaks : (n_pieces + 1,) s, where pieces begin and end, from 0.
    coefficients : (n_pieces, n_joints, degree + 1), rad or m, of ascending powers of the time (s)
        since the piece began.
    """

    joints: tuple[str, ...]
    breaks: Array
    coefficients: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        for name in ("breaks", "coefficients"):
            array = np.array(getattr(self, name), dtype=float)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        _check_pieces(self.joints, self.breaks, self.coefficients)

    @property
    def n_pieces(self) -> int:
        """Number of polynomials per joint."""
        return len(self.breaks) - 1

    @property
    def degree(self) -> int:
        """Degree of the polynomials."""
        return int(self.coefficients.shape[2]) - 1

    @property
    def duration_s(self) -> float:
        """Time (s) at which the last piece ends."""
        return float(self.breaks[-1])

    def evaluate(self, time: ArrayLike, run: str = "polynomial") -> Motion:
        """Position, velocity and acceleration (n_samples, n_joints) at these times (s)."""
        return motion_of(self, time, run)

    def derivative(self, time: ArrayLike, order: int) -> Array:
        """The derivative of this order (n_samples, n_joints) at these times (s); where pieces
        meet, that of the later one.
        """
        asked = np.atleast_1d(np.asarray(time, dtype=float))
        inside = np.clip(asked, 0.0, self.duration_s)
        piece = np.clip(np.searchsorted(self.breaks, inside, "right") - 1, 0, self.n_pieces - 1)
        values = _values(
            _derivative(self.coefficients, order)[piece], (inside - self.breaks[piece])[:, None]
        )
        if order > 0:
            values[inside != asked] = 0.0
        return values

    def jumps(self, order: int) -> Array:
        """Differences (n_pieces - 1, n_joints) of this derivative where pieces meet; those of the
        size of rounding are zero.
        """
        own = _derivative(self.coefficients, order)
        end = _values(own[:-1], np.diff(self.breaks)[:-1, None])
        difference = own[1:, :, 0] - end
        rounding = self._rounding(order)
        allowed = np.maximum(rounding[:-1], rounding[1:])
        return np.where(np.abs(difference) > allowed, difference, 0.0)

    def end_values(self, order: int) -> Array:
        """A derivative (2, n_joints) at the beginning and the end; 0 where it is of the size of
        rounding.
        """
        values = self.derivative([0.0, self.duration_s], order)
        return np.where(np.abs(values) > self._rounding(order)[[0, -1]], values, 0.0)

    def extremes(self) -> Extremes:
        """Bounds from the beginning to the end, tight to about 1e-10 of the largest value.

        A derivative is infinite where the derivative below it jumps between two pieces. The ends
        are not looked at: a motion that begins or ends with a speed is one for a sequence.
        """
        lower = -largest_values(self._unit_pieces(0, sign=-1.0))
        upper = largest_values(self._unit_pieces(0))
        rates = []
        broken = np.zeros(len(self.joints), dtype=bool)
        for order in (1, 2, 3):
            broken = broken | self.jumps(order - 1).any(axis=0)
            bound = largest_values(self._unit_pieces(order), of_size=True)
            rates.append(np.where(broken, np.inf, bound))
        return Extremes(self.joints, lower, upper, *rates)

    def _unit_pieces(self, order: int, sign: float = 1.0) -> Array:
        """Coefficients of a derivative with every piece on [0, 1]."""
        own = _derivative(self.coefficients, order)
        length = np.diff(self.breaks)[:, None, None]
        return np.asarray(sign * own * length ** np.arange(own.shape[2]))

    def _rounding(self, order: int) -> Array:
        """What rounding may do to a derivative at the ends of each piece (n_pieces, n_joints)."""
        # of the whole motion: where a joint rests at zero, a spline leaves rounding of its moves
        size = np.abs(self._unit_pieces(0)).sum(axis=2).max(axis=0)
        return np.asarray(JUMP * size / np.diff(self.breaks)[:, None] ** order)


def quintic(
    joints: tuple[str, ...], duration_s: float, start: ArrayLike, end: ArrayLike
) -> PolynomialTrajectory:
    """The polynomials of fifth degree from one state to another.

    start, end : (3, n_joints) position (rad or m), velocity and acceleration.
    """
    if not (np.isfinite(duration_s) and duration_s > 0.0):
        raise SignalError(f"the duration of a move is {duration_s} s; it must be positive")
    coefficients = quintic_coefficients(np.array([duration_s]), start, end)
    return PolynomialTrajectory(joints, np.array([0.0, duration_s]), coefficients)


def quintic_coefficients(durations_s: Array, start: ArrayLike, end: ArrayLike) -> Array:
    """Ascending powers (n_durations, n_joints, 6) of the time (s) of fifth-degree polynomials that
    go from one state to another (3, n_joints) in each of these times (s).

    durations_s : (n_durations,), or (n_durations, n_joints) where each joint has its own.
    A state may also be (3, n_durations, n_joints), one for each duration.
    """
    begin, final = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    h = np.asarray(durations_s, dtype=float)
    h = h[:, None] if h.ndim == 1 else h
    q, v, a = (np.broadcast_to(x, (len(h), x.shape[-1])) for x in begin)
    # what is left of the end state after the first three terms, scaled to unit time
    by_q = final[0] - q - v * h - 0.5 * a * h**2
    by_v = (final[1] - v - a * h) * h
    by_a = (final[2] - a) * h**2
    third = (10.0 * by_q - 4.0 * by_v + 0.5 * by_a) / h**3
    fourth = (-15.0 * by_q + 7.0 * by_v - by_a) / h**4
    fifth = (6.0 * by_q - 3.0 * by_v + 0.5 * by_a) / h**5
    return np.stack([q, v, 0.5 * a, third, fourth, fifth], axis=-1)


def _derivative(coefficients: Array, order: int) -> Array:
    """Coefficients (n_pieces, n_joints, n_powers) of a derivative; at least one power."""
    n_powers = coefficients.shape[-1]
    if order >= n_powers:
        return np.zeros((*coefficients.shape[:-1], 1))
    factors = np.array([perm(k, order) for k in range(order, n_powers)], dtype=float)
    return np.asarray(coefficients[..., order:] * factors)


def _values(coefficients: Array, time: Array) -> Array:
    """Values (n_samples, n_joints) of polynomials (n_samples, n_joints, n_powers) at (n_samples,
    1) s, by Horner's rule.
    """
    out = np.array(coefficients[..., -1])
    for k in range(coefficients.shape[-1] - 2, -1, -1):
        out = out * time + coefficients[..., k]
    return out


def _check_pieces(joints: tuple[str, ...], breaks: Array, coefficients: Array) -> None:
    if breaks.ndim != 1 or len(breaks) < 2:
        raise SignalError(f"breaks has shape {breaks.shape}; two times or more are needed")
    if (
        coefficients.ndim != 3
        or coefficients.shape[:2] != (len(breaks) - 1, len(joints))
        or not 1 <= coefficients.shape[2] <= HIGHEST_DEGREE + 1
    ):
        raise SignalError(
            f"coefficients has shape {coefficients.shape}; for {len(breaks) - 1} pieces and "
            f"{len(joints)} joints it must be ({len(breaks) - 1}, {len(joints)}, degree + 1), of "
            f"degree {HIGHEST_DEGREE} at most"
        )
    if breaks[0] != 0.0 or not (np.diff(breaks) > 0.0).all() or not np.isfinite(breaks[-1]):
        raise SignalError("breaks must begin at 0 s and increase")
    if not np.isfinite(coefficients).all():
        piece, joint, _ = np.argwhere(~np.isfinite(coefficients))[0]
        raise SignalError(
            f"a coefficient of joint '{joints[joint]}' is not finite in the piece from "
            f"{breaks[piece]:g} s"
        )
