"""Readings of torques: signs, gains, scale, exchanged columns. The motion is as recorded.

All are evaluated from the products of one regressor with every torque (`Moments`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import Fit, Moments, Samples, fit_of
from steelyard.diagnosis.suspects.reading import Reading

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

LEAST_GAIN = 1.06
"""A gain of one joint matters beyond this factor."""
LEAST_SCALE = 1.6
"""A scale of all torques matters beyond this factor: files may be poor."""
LEAST_BETTER = 10.0
"""By how much a score has to be better for a small perturbation to be looked at closely."""
TYPICAL_SPREAD = 0.5
"""Typical spread of the logarithms of drives' gains."""
GAINS = np.log([1 / 2.5, 1 / 1.5, 1 / 1.15, 1.0, 1.15, 1.5, 2.5])
SCALES = np.log([1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0])
SCALES = np.concatenate([SCALES, -SCALES[-2::-1]])
"""Logarithms of gains of one joint, and of scales of all torques, that are tried."""


def sign_readings(given: Moments) -> list[Reading]:
    """The torque of one joint, or all torques, with the other sign."""
    names = given.model.channels
    n = len(names)
    out = []
    for k in range(n):
        gain = np.ones(n)
        gain[k] = -1.0
        out.append(_reading("torque-sign", (names[k],), -1.0, "times", given, None, gain))
    out.append(_reading("torque-sign", (), -1.0, "times", given, None, -np.ones(n)))
    return out


def swap_readings(given: Moments) -> list[Reading]:
    """Torques of two joints exchanged."""
    names = given.model.channels
    out = []
    for i, k in combinations(range(len(names)), 2):
        order = np.arange(len(names))
        order[[i, k]] = order[[k, i]]
        # neighbours are exchanged more often than others
        cost = 0.0 if k == i + 1 else 20.0
        out.append(
            _reading("torques-swapped", (names[i], names[k]), 1.0, "", given, order, None, cost)
        )
    return out


def gain_readings(given: Moments, possible: Collection[int]) -> list[Reading]:
    """The torque of one joint with the gain that suits it best, for these joints."""
    names = given.model.channels
    out = []
    for k in possible:

        def at(log_gain: float, k: int = k) -> Fit:
            gain = np.ones(len(names))
            gain[k] = np.exp(-log_gain)
            return fit_of(given, None, gain)

        best = lowest(at, GAINS, float(np.log(LEAST_GAIN)))
        gain = float(np.exp(best))
        if max(gain, 1.0 / gain) < LEAST_GAIN:
            continue
        factors = np.ones(len(names))
        factors[k] = 1.0 / gain
        out.append(_reading("torque-gain", (names[k],), gain, "times", given, None, factors, 15.0))
    return out


def scale_readings(given: Moments) -> list[Reading]:
    """All torques with the scale that suits the file best."""
    n = len(given.model.channels)

    def at(log_scale: float) -> Fit:
        return fit_of(given, None, np.full(n, np.exp(-log_scale)))

    best = lowest(at, SCALES, float(np.log(LEAST_SCALE)))
    scale = float(np.exp(best))
    if max(scale, 1.0 / scale) < LEAST_SCALE:
        return []
    gain = np.full(n, 1.0 / scale)
    return [_reading("torque-scale", (), scale, "times", given, None, gain, 20.0)]


def current_readings(given: Moments) -> list[Reading]:
    """All torques with a scale, and every joint with its own gain beside it.

    Each joint's gain is set in turn, twice; a gain that is far from the others' costs.
    """
    n = len(given.model.channels)
    ratios = _loads_ratios(given)
    if np.abs(ratios).max() < np.log(LEAST_SCALE):
        return []
    logs = np.full(n, np.median(ratios))
    for rounds in (1, 3):
        for k in range(n):

            def at(log_gain: float, k: int = k) -> Fit:
                tried = np.where(np.arange(n) == k, log_gain, logs)
                return fit_of(given, None, np.exp(-tried))

            logs[k] = lowest(at, logs[k] + GAINS, rounds=rounds)
    scale = float(np.exp(np.mean(logs)))
    if max(scale, 1.0 / scale) < LEAST_SCALE:
        return []
    apart = float(np.sum(((logs - logs.mean()) / TYPICAL_SPREAD) ** 2))
    cost = 30.0 + 5.0 * n + apart
    return [_reading("currents", (), scale, "times", given, None, np.exp(-logs), cost)]


def _loads_ratios(given: Moments) -> Array:
    """Logarithms (n_joints,) of the ratios of measured torques to those of the file."""
    own = (given.G @ given.theta) @ given.theta
    rows = np.arange(len(own))
    return np.asarray(0.5 * np.log((given.S[rows, rows] + 1e-24) / (own + 1e-24)))


def lowest(
    at: Callable[[float], Fit], grid: Array, least: float | None = None, rounds: int = 4
) -> float:
    """Where the score is lowest: the best of a grid, then refined between its neighbours.

    least : sizes below this do not matter: where the grid's zero is best and neither of ±least is
    better, zero is returned at once.
    """
    scores = [at(float(one)).score for one in grid]
    k = int(np.argmin(scores))
    best, value = float(grid[k]), scores[k]
    if least is not None and best == 0.0:
        nearby = {one: at(one).score for one in (-2.0 * least, 2.0 * least)}
        if min(nearby.values()) > value - LEAST_BETTER:
            return 0.0
    low, high = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, len(grid) - 1)])
    for _ in range(rounds):
        points = np.linspace(low, high, 5)[1:-1]
        values = [at(float(one)).score for one in points]
        if min(values) < value:
            best, value = float(points[int(np.argmin(values))]), min(values)
        width = (high - low) / 4.0
        low, high = best - width, best + width
    return best


def _reading(
    code: str,
    joints: tuple[str, ...],
    size: float,
    unit: str,
    given: Moments,
    order: IntArray | None,
    gain: Array | None,
    cost: float = 0.0,
) -> Reading:
    def mended(samples: Samples) -> Samples:
        tau = samples.tau if order is None else samples.tau[:, order]
        return replace(samples, tau=tau if gain is None else gain * tau)

    return Reading(code, joints, size, unit, fit_of(given, order, gain), mended, cost)
