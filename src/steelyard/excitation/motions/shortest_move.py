"""The shortest polynomials of fifth degree between two states that keep all limits, per joint.

A longer move is not always gentler: a speed at either end makes a long move swing out, and its
largest acceleration may grow with the duration (the claim of Gautier and Khalil 1992 that it
decreases holds for moves from rest to rest only). So durations are searched from the shortest on,
by proven bounds, and not by bisection of one interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import perm

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions._polynomial_bounds import largest_values
from steelyard.excitation.motions.polynomial import quintic_coefficients
from steelyard.excitation.motions.rest_poses import ALLOWED

Array = NDArray[np.float64]

DURATIONS = 200
"""Durations that are tried, at equal ratios, between the shortest and the longest."""
REFINED = 33
ROUNDS = 6
DIP_ROUNDS = 7
"""Dips of the used share between infeasible durations are looked at this closely."""
LEAST_RATIO = 1e-6
SHORTEST_S = 1e-3
"""Order of the duration (s) of a move between two equal states of rest."""
MEASURES = ("position", "velocity", "acceleration", "jerk")


@dataclass(frozen=True)
class LimitUse:
    """How much of which limit a move uses at most. share : 1 where the limit is met exactly."""

    joint: str
    measure: str
    share: float


@dataclass(frozen=True, eq=False)
class ShortestMoves:
    """durations_s : (n_joints,) s, infinite where no duration keeps the limits of a joint.
    uses : per joint, the limit that decides its duration, or the one that is exceeded by least.
    """

    durations_s: Array
    uses: tuple[LimitUse, ...]


def shortest_moves(start: ArrayLike, end: ArrayLike, limits: MotionLimits) -> ShortestMoves:
    """How long each joint needs from one state to another by one polynomial of fifth degree.

    start, end : (3, n_joints) position (rad or m), velocity and acceleration, in the order of the
        joints of `limits`.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    durations = tried_durations(start, end, limits, DURATIONS)
    shares = used_shares(durations, start, end, limits)
    found, uses = np.full(len(limits.joints), np.inf), []
    brackets = np.stack([durations[0], durations[0]])
    for j in range(len(limits.joints)):
        one = slice(j, j + 1)
        bracket = _first_feasible(
            durations[:, j],
            shares[:, j].max(axis=1),
            start[:, one],
            end[:, one],
            limits.of_joints(limits.joints[one]),
        )
        if bracket is not None:
            brackets[:, j] = bracket
            found[j] = bracket[1]
    closest = _closed_in(brackets, start, end, limits)
    last = used_shares(closest[None], start, end, limits)[0]
    for j in range(len(limits.joints)):
        feasible = np.isfinite(found[j])
        found[j] = closest[j] if feasible else np.inf
        best = shares[int(shares[:, j].max(axis=1).argmin()), j]
        uses.append(_largest_use(limits.joints[j], last[j] if feasible else best))
    return ShortestMoves(found, tuple(uses))


def tried_durations(start: Array, end: Array, limits: MotionLimits, n_durations: int) -> Array:
    """Durations (n_durations, n_joints) s from far too short to far too long for each joint."""
    way, change, turn = np.abs(end - start)
    speed, rate = np.maximum(np.abs(start), np.abs(end))[1:]
    longest = np.max(
        [
            way / limits.velocity,
            np.sqrt(way / limits.acceleration),
            np.cbrt(way / limits.jerk),
            speed / limits.acceleration,
            np.sqrt(speed / limits.jerk),
            rate / limits.jerk,
            np.full(len(way), SHORTEST_S),
        ],
        axis=0,
    )
    # no move is shorter than these
    least = np.max(
        [way / limits.velocity, change / limits.acceleration, turn / limits.jerk], axis=0
    )
    shortest = np.clip(least, LEAST_RATIO * longest, 0.05 * longest)
    return np.geomspace(shortest, 20.0 * longest, n_durations)


def used_shares(durations: Array, start: Array, end: Array, limits: MotionLimits) -> Array:
    """Used shares (n_durations, n_joints, 4) of the limits of position, velocity, acceleration and
    jerk by moves of these durations (n_durations, n_joints) s, from proven bounds.

    start, end : (3, n_joints), or (3, n_durations, n_joints).
    """
    coefficients = quintic_coefficients(durations, start, end)
    shape = coefficients.shape[:2]
    unit = coefficients * durations[:, :, None] ** np.arange(6)
    unit[:, :, 0] -= limits.middle
    out = np.empty((*shape, len(MEASURES)))
    allowed = (limits.half_range, limits.velocity, limits.acceleration, limits.jerk)
    for order, limit in enumerate(allowed):
        factors = np.array([perm(k, order) for k in range(order, 6)], dtype=float)
        powers = (unit[:, :, order:] * factors).reshape(1, -1, 6 - order)
        bound = largest_values(powers, of_size=True).reshape(shape)
        out[:, :, order] = bound / durations**order / limit
    return out


def _first_feasible(
    durations: Array, worst: Array, start: Array, end: Array, limits: MotionLimits
) -> tuple[float, float] | None:
    """An infeasible duration (or the shortest of all) of one joint, and the first feasible one.

    durations, worst : (n_durations,) and the largest share that each uses.
    """
    feasible = np.flatnonzero(worst <= ALLOWED)
    last = int(feasible[0]) if len(feasible) else len(durations) - 1
    for k in range(1, last):
        if worst[k] <= min(worst[k - 1], worst[k + 1]):
            low, high = durations[k - 1], durations[k + 1]
            for _ in range(DIP_ROUNDS):
                closer = np.geomspace(low, high, REFINED)
                use = used_shares(closer[:, None], start, end, limits)[:, 0].max(axis=1)
                least = int(use.argmin())
                if use[least] <= ALLOWED:
                    return float(low), float(closer[np.argmax(use <= ALLOWED)])
                low, high = closer[max(0, least - 1)], closer[min(REFINED - 1, least + 1)]
    if not len(feasible):
        return None
    return float(durations[max(0, last - 1)]), float(durations[last])


def _closed_in(brackets: Array, start: Array, end: Array, limits: MotionLimits) -> Array:
    """The shortest feasible durations (n_joints,) between an infeasible and a feasible one."""
    low, high = brackets
    joints = np.arange(len(low))
    for _ in range(ROUNDS):
        closer = np.geomspace(low, high, REFINED)
        feasible = used_shares(closer, start, end, limits).max(axis=2) <= ALLOWED
        feasible[-1] = True
        first = feasible.argmax(axis=0)
        low, high = closer[np.maximum(first - 1, 0), joints], closer[first, joints]
    return np.asarray(high)


def _largest_use(joint: str, shares: Array) -> LimitUse:
    """The limit that a move uses most, of shares (4,)."""
    most = int(shares.argmax())
    return LimitUse(joint, MEASURES[most], float(shares[most]))
