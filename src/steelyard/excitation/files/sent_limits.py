"""Motions that keep the limits also as what a controller makes of the points that it is sent.

Splines swing out where the jerk jumps, so that a motion that uses its limits fully exceeds them
when sent. It is then built again for limits that are lower by what was exceeded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from steelyard.errors import SignalError
from steelyard.excitation.extremes import LimitCheck
from steelyard.excitation.files.interpolation import Interpolation
from steelyard.excitation.files.sent_points import (
    Known,
    SentPoints,
    SentProof,
    sent_points,
    sent_proof,
)
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.trajectory import Trajectory

Built = TypeVar("Built", bound=Trajectory)

ROUNDS = 8
LEAST = 1e-5
"""Share of a limit by which it is lowered at least: a slower motion meets its points at other
places, where it may swing out a little more."""


@dataclass(frozen=True, eq=False)
class SentMotion(Generic[Built]):
    """A motion, the points that are sent, the proof for them, and the limits it was built for."""

    motion: Built
    points: SentPoints
    proof: SentProof
    built_for: MotionLimits


def within_limits_when_sent(
    build: Callable[[MotionLimits], Built],
    limits: MotionLimits,
    rate_hz: float,
    interpolation: Interpolation,
    known: Known = "positions",
) -> SentMotion[Built]:
    """The motion that `build` makes of limits, which are lowered until sent points keep `limits`.

    build : makes a motion that keeps the limits that it is given, such as
        ``lambda lowered: via_point_motion(points, lowered)``.

    For linear interpolation only position and velocity are held, since nothing else is proven; the
    same holds for the jerk of cubics between states.
    """
    built_for = limits
    for number in range(1, ROUNDS + 1):
        motion = build(built_for)
        points = sent_points(motion, rate_hz)
        proof = sent_proof(points, interpolation, limits, known)
        exceeded = [check for check in proof.checks if not check.holds and np.isfinite(check.bound)]
        if not exceeded:
            return SentMotion(motion, points, proof, built_for)
        built_for = _lowered(built_for, exceeded, number, rate_hz)
    raise _not_kept(max(exceeded, key=_excess), rate_hz)


def _lowered(
    limits: MotionLimits, exceeded: list[LimitCheck], number: int, rate_hz: float
) -> MotionLimits:
    """Limits lowered by what was exceeded, in later rounds by a multiple of it."""
    lower, upper = np.array(limits.lower), np.array(limits.upper)
    rates = {name: np.array(limits.of(name)) for name in ("velocity", "acceleration", "jerk")}
    for check in exceeded:
        joint = limits.joints.index(check.joint)
        step = number * (_excess(check) + LEAST * limits.half_range[joint])
        if check.quantity == "lower":
            lower[joint] += step
        elif check.quantity == "upper":
            upper[joint] -= step
        else:
            rates[check.quantity][joint] -= number * (_excess(check) + LEAST * check.limit)
            if not rates[check.quantity][joint] > 0.0:
                raise _not_kept(check, rate_hz)
        if not lower[joint] < upper[joint]:
            raise _not_kept(check, rate_hz)
    return replace(
        limits,
        lower=lower,
        upper=upper,
        velocity=rates["velocity"],
        acceleration=rates["acceleration"],
        jerk=rates["jerk"],
    )


def _excess(check: LimitCheck) -> float:
    return abs(check.bound - check.limit)


def _not_kept(check: LimitCheck, rate_hz: float) -> SignalError:
    quantity = "position" if check.quantity in ("lower", "upper") else check.quantity
    return SignalError(
        f"joint '{check.joint}': the {quantity} between points that are sent at {rate_hz:g} Hz "
        f"reaches {check.bound:.6g}, the limit is {check.limit:.6g}, and a gentler motion does not "
        "help; send more points a second, or use another interpolation"
    )
