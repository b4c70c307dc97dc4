"""The lowest rate of points at which what a controller makes of them keeps the limits."""

from __future__ import annotations

import math

import numpy as np

from steelyard.excitation.extremes import LimitCheck
from steelyard.excitation.files.interpolation import Interpolation
from steelyard.excitation.files.sent_points import Known, SentProof, sent_points, sent_proof
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.trajectory import Trajectory

HIGHEST_HZ = 1000.0
"""Rates above it are not tried."""
PRECISION = 0.02
"""Share of the lowest rate that it may be wrong by."""


def broken_limits(proof: SentProof) -> tuple[LimitCheck, ...]:
    """Limits that what a controller makes of points may exceed; what has no bound is left out."""
    return tuple(check for check in proof.checks if not check.holds and np.isfinite(check.bound))


def lowest_rate_hz(
    trajectory: Trajectory,
    limits: MotionLimits,
    above_hz: float,
    interpolation: Interpolation,
    known: Known = "positions",
) -> float | None:
    """A rate (Hz) at which sent points keep the limits, to 2 % the lowest above one that does not;
    None where no rate up to 1 kHz does.
    """

    def keeps(rate_hz: float) -> bool:
        points = sent_points(trajectory, rate_hz)
        return not broken_limits(sent_proof(points, interpolation, limits, known))

    low, high = above_hz, above_hz
    while not keeps(high):
        if high >= HIGHEST_HZ:
            return None
        low, high = high, min(2.0 * high, HIGHEST_HZ)
    while high - low > PRECISION * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if keeps(middle) else (middle, high)
    shown = _rounded_up(high)
    return shown if keeps(shown) else high


def _rounded_up(rate_hz: float) -> float:
    """A rate with two digits, not below this one."""
    unit = 10.0 ** (math.floor(math.log10(rate_hz)) - 1)
    return round(math.ceil(rate_hz / unit - 1e-9) * unit, 9)
