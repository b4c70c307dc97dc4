"""Bounds on a motion that hold at every time, and their comparison with limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.excitation.limits import MotionLimits

Array = NDArray[np.float64]
Quantity = Literal["lower", "upper", "velocity", "acceleration", "jerk"]
QUANTITIES: tuple[Quantity, ...] = ("lower", "upper", "velocity", "acceleration", "jerk")


@dataclass(frozen=True, eq=False)
class Extremes:
    """Bounds that hold at every time, one per joint, rad or m and s.

    lower, upper : (n_joints,) of the position. velocity, acceleration, jerk : (n_joints,) of the
    absolute values; infinite where nothing is proven (the jerk of a motion whose acceleration
    jumps).
    """

    joints: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array

    def of(self, quantity: Quantity) -> Array:
        """The bounds (n_joints,) of one quantity."""
        return np.asarray(getattr(self, quantity))


@dataclass(frozen=True)
class LimitCheck:
    """One proven bound beside its limit, rad or m and s."""

    joint: str
    quantity: Quantity
    bound: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the bound is within the limit."""
        if self.quantity == "lower":
            return self.bound >= self.limit
        return self.bound <= self.limit


def joined(parts: Sequence[Extremes]) -> Extremes:
    """Bounds on several motions of the same joints together."""
    if not parts or any(part.joints != parts[0].joints for part in parts):
        raise SignalError("bounds can only be joined for motions of the same joints")
    least = np.min([part.lower for part in parts], axis=0)
    most = {
        name: np.max([part.of(name) for part in parts], axis=0)
        for name in QUANTITIES
        if name != "lower"
    }
    return Extremes(parts[0].joints, lower=least, **most)


def check_limits(extremes: Extremes, limits: MotionLimits) -> tuple[LimitCheck, ...]:
    """Every proven bound beside its limit; limits that are infinite are left out."""
    checks = []
    place = {name: k for k, name in enumerate(extremes.joints)}
    for j, joint in enumerate(limits.joints):
        for quantity in QUANTITIES:
            limit = float(limits.of(quantity)[j])
            if np.isfinite(limit):
                bound = float(extremes.of(quantity)[place[joint]])
                checks.append(LimitCheck(joint, quantity, bound, limit))
    return tuple(checks)
