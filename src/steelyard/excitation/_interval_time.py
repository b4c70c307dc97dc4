"""The shortest time of a fifth-degree move between two states without acceleration.

Gautier and Khalil (1992), section 5.2. With s the share of the duration u that has passed,
w = 1 / u, and A the distance, the speed of such a move (28) is

    V(s) = va (1 - 18 s² + 32 s³ - 15 s⁴) - vb (12 s² - 28 s³ + 15 s⁴) + 30 w A s² (1 - s)²

its acceleration w V'(s) and its jerk w² V''(s). At every s the speed is linear in w, so that its
limit holds for all durations above some value. The acceleration is not: its largest value can grow
with the duration (from zero, where the speed is constant), and durations that keep the limit can
lie in several intervals. The search starts at the largest w that keeps the speed limits and leaves
out only intervals of w that a Lipschitz bound proves to be outside the limits, so that it finds the
largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rate = Literal["velocity", "acceleration", "jerk"]
RATES: tuple[Rate, ...] = ("velocity", "acceleration", "jerk")

MET = 1e-12
"""A limit that is exceeded by less than this share is met."""
CLOSE = 1e-13
"""Relative width at which a bisection ends."""
SMALLEST_CELL = 1e-7
"""Intervals of durations narrower than this, relative to the duration, may be missed."""
CELLS = 100
"""Parts into which an interval of w is divided at a time."""

# Ascending powers of s of the speed: by va, by vb, and by the distance times w.
BY_START = np.array([1.0, 0.0, -18.0, 32.0, -15.0])
BY_END = np.array([0.0, 0.0, -12.0, 28.0, -15.0])
BY_DISTANCE = np.array([0.0, 0.0, 30.0, -60.0, 30.0])


@dataclass(frozen=True)
class Move:
    """The shortest move. duration_s : s. joint, rate : the limit that it meets exactly."""

    duration_s: float
    joint: int
    rate: Rate


def shortest_move(
    distance: Array,
    start: Array,
    end: Array,
    limits: Array,
    carried: NDArray[np.bool_] | None = None,
    close: float = CLOSE,
) -> Move | None:
    """The shortest move of all joints together; None where start and end are the same, at rest.

    distance, start, end : (n_joints,) rad or m, and speeds per s. limits : (3, n_joints) of speed,
    acceleration and jerk; those of speed, which start and end must keep, and of acceleration are
    finite. carried : (n_joints,) joints that go as far as the mean of both speeds takes them,
    whatever their distance. close : relative precision of the duration, which is never too short.
    """
    fixed = np.outer(start, BY_START) + np.outer(end, BY_END)
    per_w = np.outer(distance, BY_DISTANCE)
    if carried is not None:
        fixed[carried] += np.outer(0.5 * (start + end), BY_DISTANCE)[carried]
        per_w[carried] = 0.0
    moves = _Moves(fixed, per_w, limits, close)
    fastest = moves.fastest()
    if fastest is None:
        return None
    w = moves.largest(fastest)
    excess = moves.excess(np.array([w]))[0]
    rate, joint = np.unravel_index(int(excess.argmax()), excess.shape)
    return Move(float(1.0 / w), int(joint), RATES[int(rate)])


@dataclass(frozen=True, eq=False)
class _Moves:
    """Moves of all durations. fixed, per_w : (n_joints, 5) ascending powers of s of the part of the
    speed that does not depend on w, and of the part that is multiplied by w. limits : (3,
    n_joints).
    close : relative precision of w.
    """

    fixed: Array
    per_w: Array
    limits: Array
    close: float

    @cached_property
    def parts(self) -> tuple[Array, Array]:
        """Largest values (3, n_joints) of V, V' and V'' of both parts."""
        return _peaks(self.fixed), _peaks(self.per_w)

    def excess(self, w: Array) -> Array:
        """Share (n, 3, n_joints) by which the limits are exceeded at each w (n,)."""
        peaks = _peaks(self.fixed + w[:, None, None] * self.per_w)
        return np.asarray(peaks * _powers(w) / self.limits - 1.0)

    def slopes(self, w: Array) -> Array:
        """Bounds (n, 3, n_joints) of the change of the excess by w, below each w (n,)."""
        fixed, per_w = self.parts
        at = w[:, None]
        by_w = [
            np.broadcast_to(per_w[0], (len(w), per_w.shape[1])),
            fixed[1] + 2.0 * at * per_w[1],
            2.0 * at * fixed[2] + 3.0 * at**2 * per_w[2],
        ]
        return np.asarray(np.stack(by_w, axis=1) / self.limits)

    def fastest(self) -> float | None:
        """The largest w that keeps the speed limits, or, where the speed does not depend on w, the
        limits of acceleration; None without motion.
        """
        at_zero, moved = self.parts
        with np.errstate(divide="ignore"):
            # the mean speed of a move is at most the limit; 1.875 is the peak of 30 s² (1 - s)²
            by_speed = 1.875 * self.limits[0] / moved[0]
            by_rate = np.where(moved[0] == 0.0, self.limits[1] / at_zero[1], np.inf)
        w = float(min(by_speed.min(), by_rate.min()))
        if np.isinf(w):
            return None
        inside, outside = 0.0, w
        if self.excess(np.array([w]))[0, 0].max() <= MET:
            return w
        # speeds that keep their limits at one w do so at all smaller ones
        while outside - inside > self.close * outside:
            grid = np.linspace(inside, outside, CELLS + 1)
            last = int(np.sum(self.excess(grid[1:-1])[:, 0].max(axis=1) <= MET))
            inside, outside = float(grid[last]), float(grid[last + 1])
        return inside

    def largest(self, fastest: float) -> float:
        """The largest w up to the fastest that keeps all limits."""
        if self.excess(np.array([fastest])).max() <= MET:
            return fastest
        # parts that are still to be searched, the one with the largest w last
        parts, found = [(0.0, fastest)], 0.0
        while parts:
            low, high = parts.pop()
            narrow = self.close if low == found else max(self.close, SMALLEST_CELL)
            if high <= found or high - low <= narrow * high:
                continue
            grid = np.linspace(low, high, CELLS + 1)
            within, empty = self._cells(grid)
            first = int(np.flatnonzero(within).max(initial=0))
            if within[first]:
                found = max(found, float(grid[first]))
            parts += [
                (float(grid[k]), float(grid[k + 1])) for k in range(first, CELLS) if not empty[k]
            ]
        return found

    def _cells(self, grid: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which points of an ascending grid are within the limits, and which cells between them
        are proven to hold no such w.
        """
        excess = self.excess(grid)
        # what is exceeded at both ends of a cell by enough stays so between them
        change = self.slopes(grid[1:]) * np.diff(grid)[:, None, None]
        exceeded = (excess[:-1] > 0.0) & (excess[1:] > 0.0)
        proven = exceeded & (excess[:-1] + excess[1:] > change)
        within = excess.max(axis=(1, 2)) <= MET
        return np.asarray(within), np.asarray(proven.any(axis=(1, 2)))


def _powers(w: Array) -> Array:
    """Factors (n, 3, 1) of V, V' and V'' in speed, acceleration and jerk."""
    return np.stack([np.ones_like(w), w, w**2], axis=1)[:, :, None]


def _peaks(speed: Array) -> Array:
    """Largest absolute values (..., 3, n_joints) over s of V, V' and V'', of the coefficients of V
    (..., n_joints, 5) in ascending powers of s.
    """
    c0, c2, c3, c4 = (speed[..., k] for k in (0, 2, 3, 4))
    ends = [np.zeros_like(c0), np.ones_like(c0)]
    s = np.stack([*ends, *_roots(4.0 * c4, 3.0 * c3, 2.0 * c2)])
    of_speed = c0 + s**2 * (c2 + s * (c3 + s * c4))
    s = np.stack([*ends, *_roots(6.0 * c4, 3.0 * c3, c2)])
    of_rate = s * (2.0 * c2 + s * (3.0 * c3 + s * 4.0 * c4))
    s = np.stack([*ends, *_roots(np.zeros_like(c4), 4.0 * c4, c3)])
    of_jerk = 2.0 * c2 + s * (6.0 * c3 + s * 12.0 * c4)
    peaks = [np.abs(values).max(axis=0) for values in (of_speed, of_rate, of_jerk)]
    return np.stack(peaks, axis=-2)


def _roots(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Both roots of a s² + b s + c, moved into 0 to 1; any numbers there where there is none."""
    root = np.sqrt(np.maximum(b**2 - 4.0 * a * c, 0.0))
    # the sum of equal signs, so that no digits cancel
    far = -0.5 * (b + np.where(b < 0.0, -root, root))
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = far / a, c / far
    # fmax and fmin take the number where the other is NaN
    return np.fmin(np.fmax(first, 0.0), 1.0), np.fmin(np.fmax(second, 0.0), 1.0)
