"""The points that a controller is sent, and what it makes of them between the points.

Limits that a motion keeps are not yet limits that the robot keeps: a controller gets points, in
decimals, and interpolates. Its motion is a polynomial between each two points, so that limits can
be proven for it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.excitation.extremes import Extremes, LimitCheck, check_limits
from steelyard.excitation.files.interpolation import INTERPOLATIONS, Interpolation
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.polynomial import PolynomialTrajectory, quintic_coefficients
from steelyard.excitation.motions.spline import spline
from steelyard.excitation.trajectory import Trajectory

Array = NDArray[np.float64]
Known = Literal["positions", "states"]

DECIMALS = 12
"""Of rad or m and their derivatives. With six decimals at 1 kHz the rounding alone would make
quintic polynomials jerk by 1e4 rad/s³."""
TIME_DECIMALS = 9


class Points(Protocol):
    """Points that are sent to a controller, as they are written."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""

    @property
    def time(self) -> Array:
        """Increasing times (n_points,) s."""

    @property
    def q(self) -> Array:
        """Positions (n_points, n_joints) rad or m."""

    @property
    def v(self) -> Array:
        """Velocities (n_points, n_joints) rad/s or m/s."""

    @property
    def a(self) -> Array:
        """Accelerations (n_points, n_joints) rad/s² or m/s²."""


@dataclass(frozen=True, eq=False)
class SentPoints:
    """Points of a motion in the decimals that are written.

    joints : names. time : (n_points,) s. q, v, a : (n_points, n_joints) rad or m and s.
    """

    joints: tuple[str, ...]
    time: Array
    q: Array
    v: Array
    a: Array

    def __post_init__(self) -> None:
        shape = (len(self.time), len(self.joints))
        for name in ("q", "v", "a"):
            if getattr(self, name).shape != shape:
                raise SignalError(
                    f"{name} has shape {getattr(self, name).shape} for {shape[0]} points of "
                    f"{shape[1]} joints"
                )
        if shape[0] < 2 or not (np.diff(self.time) > 0.0).all():
            raise SignalError("points to send must be two or more, at increasing times")


@dataclass(frozen=True, eq=False)
class SentProof:
    """Bounds on what a controller makes of points, beside the limits.

    extremes : bounds from the first to the last point; infinite where nothing is proven.
    checks : each bound beside its limit.
    acceleration_steps : (n_joints,) largest step, at the first and the last point, from and to
        standstill; a cubic spline has some, which is not part of the bound on jerk.
    """

    interpolation: Interpolation
    known: Known
    extremes: Extremes
    checks: tuple[LimitCheck, ...]
    acceleration_steps: Array

    @property
    def holds(self) -> bool:
        """Whether every limit is kept, by proof."""
        return all(check.holds for check in self.checks)

    @property
    def unproven(self) -> tuple[str, ...]:
        """Quantities without a bound, such as the acceleration of a linear interpolation."""
        names = ("velocity", "acceleration", "jerk")
        bounds = (self.extremes.velocity, self.extremes.acceleration, self.extremes.jerk)
        return tuple(
            name for name, bound in zip(names, bounds, strict=True) if np.isinf(bound).any()
        )


def sent_points(
    trajectory: Trajectory,
    rate_hz: float,
    *,
    decimals: int = DECIMALS,
    time_decimals: int = TIME_DECIMALS,
) -> SentPoints:
    """The states of a motion at a fixed rate, from its beginning to its end, in decimals.

    If the end falls between two points, the last one comes after it, at standstill.
    """
    if not (np.isfinite(rate_hz) and rate_hz > 0.0):
        raise SignalError(f"rate_hz is {rate_hz}; it must be positive")
    # a whole number of steps must not get one more by rounding
    n_steps = max(1, int(np.ceil(trajectory.duration_s * rate_hz - 1e-6)))
    time = np.round(np.arange(n_steps + 1) / rate_hz, time_decimals)
    if not (np.diff(time) > 0.0).all():
        raise SignalError(
            f"times at {rate_hz:g} Hz are equal when written with {time_decimals} decimals; "
            "lower rate_hz"
        )
    states = (np.round(trajectory.derivative(time, order), decimals) for order in range(3))
    return SentPoints(trajectory.joints, time, *states)


def interpolated(
    points: Points, interpolation: Interpolation, known: Known = "positions"
) -> PolynomialTrajectory:
    """What a controller makes of points.

        linear   straight lines between positions
        cubic    positions: the spline of third degree, at rest at both ends
                 states: third degree between positions and velocities
        quintic  positions: the spline of fifth degree, at rest without acceleration at both ends
                 states: fifth degree between positions, velocities and accelerations

    The ROS 2 `joint_trajectory_controller` does the latter two: cubic where points have
    velocities, quintic where they have accelerations too.
    """
    if interpolation not in INTERPOLATIONS:
        raise SignalError(
            f"there is no interpolation {interpolation!r}; there are {', '.join(INTERPOLATIONS)}"
        )
    breaks = points.time - points.time[0]
    if interpolation == "linear":
        slope = np.diff(points.q, axis=0) / np.diff(breaks)[:, None]
        return PolynomialTrajectory(
            points.joints, breaks, np.stack([points.q[:-1], slope], axis=-1)
        )
    if known == "positions":
        return spline(points.joints, points.time, points.q, 3 if interpolation == "cubic" else 5)
    if interpolation == "quintic":
        begin, end = (
            np.stack([x[rows] for x in (points.q, points.v, points.a)])
            for rows in (slice(None, -1), slice(1, None))
        )
        return PolynomialTrajectory(
            points.joints, breaks, quintic_coefficients(np.diff(breaks), begin, end)
        )
    return PolynomialTrajectory(points.joints, breaks, _cubics(points))


def sent_proof(
    points: Points,
    interpolation: Interpolation,
    limits: MotionLimits,
    known: Known = "positions",
) -> SentProof:
    """Proven bounds on what a controller makes of points, beside the limits.

    For linear interpolation only position and velocity are proven. A cubic between states has
    steps of the acceleration at its points, so that nothing is proven about its jerk.
    """
    motion = interpolated(points, interpolation, known)
    found = motion.extremes()
    moves = (points.q != points.q[0]).any(axis=0)
    # the robot stands still before and after: a speed at either end is a step
    steps = moves if interpolation == "linear" else motion.end_values(1).any(axis=0)
    extremes = Extremes(
        found.joints,
        found.lower,
        found.upper,
        found.velocity,
        np.where(steps, np.inf, found.acceleration),
        np.where(steps, np.inf, found.jerk),
    )
    return SentProof(
        interpolation,
        known,
        extremes,
        check_limits(extremes, limits),
        np.abs(motion.end_values(2)).max(axis=0),
    )


def _cubics(points: Points) -> Array:
    """Third-degree polynomials (n_points - 1, n_joints, 4) between positions and velocities."""
    h = np.diff(points.time)[:, None]
    mean = np.diff(points.q, axis=0) / h
    v, later = points.v[:-1], points.v[1:]
    return np.stack(
        [points.q[:-1], v, (3.0 * mean - 2.0 * v - later) / h, (v + later - 2.0 * mean) / h**2],
        axis=-1,
    )
