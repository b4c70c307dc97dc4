"""Directions of travel at points, and positions of joints that are free to choose.

The energy of a robot does not change when all speeds change their sign, so every point may be
passed in either direction. The directions are chosen, by dynamic programming over the sequence, so
that moves between points overshoot little and are short.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation._interval_time import (
    BY_DISTANCE,
    BY_END,
    BY_START,
    Move,
    shortest_move,
)
from steelyard.excitation.limits import MotionLimits

Array = NDArray[np.float64]

GRID = np.linspace(0.0, 1.0, 65)
"""Shares of a duration at which positions are looked at; the choice needs no exact extremes."""
ROOM = 2.0
"""Joints without effect stay this many stopping distances away from their limits."""
ROUGHLY = 1e-3
"""Relative precision of durations that only serve a choice."""
SECONDS_PER_RANGE = 100.0
"""Longer moves (s) that are accepted to avoid an overshoot of half a range."""


def easy_directions(
    q: Array, v: Array, limits: MotionLimits, rates: Array, idle: NDArray[np.bool_]
) -> Array:
    """Speeds (n_nodes, n_joints), each node's as given or all reversed.

    q, v : (n_nodes, n_joints) from rest to rest. rates : (3, n_joints) limits of speed,
    acceleration and jerk. idle : (n_joints,) joints whose positions are chosen afterwards.
    """
    n = len(q)
    signs = (1.0, -1.0)
    cost = np.zeros(2)
    came_from = np.zeros((n, 2), dtype=int)
    for k in range(1, n):
        step = np.array(
            [
                [
                    _cost(q[k - 1], q[k], before * v[k - 1], after * v[k], limits, rates, idle)
                    for after in signs
                ]
                for before in signs
            ]
        )
        total = cost[:, None] + step
        came_from[k] = total.argmin(axis=0)
        cost = total.min(axis=0)
    chosen = np.zeros(n, dtype=int)
    chosen[-1] = int(cost.argmin())
    for k in range(n - 1, 0, -1):
        chosen[k - 1] = came_from[k, chosen[k]]
    return np.asarray(v * np.array(signs)[chosen][:, None])


def easy_positions(
    q: Array, v: Array, limits: MotionLimits, rates: Array, idle: NDArray[np.bool_]
) -> Array:
    """Positions (n_nodes, n_joints), those of idle joints replaced, but for the first and last.

    Idle joints go as far as their speeds carry them while the others move, within the inner part of
    their ranges, so that no move takes longer because of them.
    """
    out = q.copy()
    if not idle.any():
        return out
    stopping = 0.5 * limits.velocity**2 / limits.acceleration
    inner = np.maximum(limits.half_range - ROOM * stopping, 0.0)
    low, high = limits.middle - inner, limits.middle + inner
    for k in range(1, len(q) - 1):
        move = _move(out[k - 1], out[k], v[k - 1], v[k], rates, idle)
        duration = 0.0 if move is None else move.duration_s
        carried = out[k - 1] + 0.5 * (v[k - 1] + v[k]) * duration
        out[k, idle] = np.clip(carried, low, high)[idle]
    return out


def _move(
    qa: Array, qb: Array, va: Array, vb: Array, rates: Array, idle: NDArray[np.bool_]
) -> Move | None:
    return shortest_move(qb - qa, va, vb, rates, carried=idle, close=ROUGHLY)


def _cost(
    qa: Array,
    qb: Array,
    va: Array,
    vb: Array,
    limits: MotionLimits,
    rates: Array,
    idle: NDArray[np.bool_],
) -> float:
    """Time (s) of a move and what its overshoot is worth; idle joints overshoot nothing."""
    move = _move(qa, qb, va, vb, rates, idle)
    if move is None:
        return 0.0
    speed = np.outer(va * move.duration_s, BY_START) + np.outer(vb * move.duration_s, BY_END)
    speed += np.outer(qb - qa, BY_DISTANCE)
    powers = GRID[:, None] ** np.arange(1, 6) / np.arange(1, 6)
    q = qa + powers @ speed.T
    outside = np.maximum(limits.lower - q, q - limits.upper).max(axis=0) / limits.half_range
    overshoot = np.maximum(outside, 0.0)[~idle].max(initial=0.0)
    return move.duration_s + SECONDS_PER_RANGE * float(overshoot)
