"""Readings of positions: signs, exchanged columns, the order of joints. Each needs a regressor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import Samples, fit_of, moments
from steelyard.diagnosis.suspects.reading import Reading

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]


def motion_readings(samples: Samples) -> list[Reading]:
    """Signs of single positions and axes, exchanged positions, exchanged joints, other orders."""
    names = samples.model.channels
    n = len(names)
    same, ones = np.arange(n), np.ones(n)
    out = []
    for k in range(n):
        sign = np.where(same == k, -1.0, 1.0)
        given = moments(samples.with_motion_of(same, sign))
        for code, gain in (("position-sign", ones), ("axis-sign", sign)):
            fit = fit_of(given, None, gain)
            mended = _mended(same, sign, same, gain)
            out.append(Reading(code, (names[k],), -1.0, "times", fit, mended))
    for i, k in combinations(range(n), 2):
        order = same.copy()
        order[[i, k]] = order[[k, i]]
        given = moments(samples.with_motion_of(order, ones))
        cost = 0.0 if k == i + 1 else 20.0
        for code, of_torque in (("positions-swapped", same), ("joints-swapped", order)):
            fit = fit_of(given, of_torque)
            mended = _mended(order, ones, of_torque, ones)
            out.append(Reading(code, (names[i], names[k]), 1.0, "", fit, mended, cost))
    for code, order, size in (
        ("joints-reversed", same[::-1].copy(), 1.0),
        ("joints-shifted", np.roll(same, -1), 1.0),
        ("joints-shifted", np.roll(same, 1), -1.0),
    ):
        fit = fit_of(moments(samples.with_motion_of(order, ones)), order)
        unit = "joints" if code == "joints-shifted" else ""
        out.append(Reading(code, (), size, unit, fit, _mended(order, ones, order, ones)))
    return out


def _mended(
    order: IntArray, sign: Array, of_torque: IntArray, gain: Array
) -> Callable[[Samples], Samples]:
    def mended(samples: Samples) -> Samples:
        turned = samples.with_motion_of(order, sign)
        return replace(turned, tau=gain * samples.tau[:, of_torque])

    return mended
