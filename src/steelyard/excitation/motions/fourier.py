"""Sums of sines: periodic motions whose derivatives are known exactly.

Sousa and Cortesão (2014), eq 78 (after Swevers et al. 1997), for joint k:

    q_k(t) = q0_k + sum_l  a_kl / (w l) sin(w l t) - b_kl / (w l) cos(w l t)

so that a and b are amplitudes of speed. They use w = 0.1 pi rad/s and five harmonics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import RobotError, SignalError
from steelyard.excitation.extremes import Extremes
from steelyard.excitation.limits import followers_of, limits_for_leader, stated_limits
from steelyard.excitation.trajectory import motion_of
from steelyard.robot.parts import Joint
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]

# Limits of revolute (rad) and prismatic (m) joints whose file states none.
UNKNOWN_HALF_RANGE = {"turns": np.pi, "slides": 0.25}
UNKNOWN_VELOCITY = {"turns": 2.0, "slides": 0.5}
UNKNOWN_ACCELERATION = {"turns": 10.0, "slides": 5.0}

SAMPLES_AT_ONCE = 65_536
MOST_HARMONICS = 200


@dataclass(frozen=True, eq=False)
class FourierTrajectory:
    """A periodic motion of every joint; see the module's equation.

    joints : names of the joints, one per row of a and b.
    omega : base frequency w, rad/s.
    a, b : (n_joints, n_harmonics) amplitudes of speed, rad/s or m/s.
    q0 : (n_joints,) centre of the motion, rad or m.
    """

    joints: tuple[str, ...]
    omega: float
    a: Array
    b: Array
    q0: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        n = len(self.joints)
        if not (np.isfinite(self.omega) and self.omega > 0.0):
            raise SignalError(f"base frequency is {self.omega} rad/s; it must be positive")
        for name in ("a", "b", "q0"):
            array = np.array(getattr(self, name), dtype=float)
            if array.ndim != (1 if name == "q0" else 2) or len(array) != n:
                raise SignalError(f"{name} has shape {array.shape} for {n} joints")
            if not np.isfinite(array).all():
                row = int(np.argwhere(~np.isfinite(array))[0, 0])
                raise SignalError(f"{name} of joint '{self.joints[row]}' is not finite")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if self.a.shape[1] > MOST_HARMONICS:
            raise SignalError(
                f"a motion of {self.a.shape[1]} harmonics; at most {MOST_HARMONICS} are possible"
            )
        if self.a.shape != self.b.shape:
            raise SignalError(f"a has shape {self.a.shape} and b {self.b.shape}")

    @property
    def period_s(self) -> float:
        """Time after which the motion repeats (s)."""
        return 2.0 * np.pi / self.omega

    @property
    def n_harmonics(self) -> int:
        """Number of sines per joint."""
        return int(self.a.shape[1])

    @property
    def duration_s(self) -> float:
        """One period (s)."""
        return self.period_s

    def evaluate(self, time: ArrayLike, run: str = "fourier") -> Motion:
        """Position, velocity and acceleration (n_samples, n_joints) at these times (s)."""
        return motion_of(self, time, run)

    def derivative(self, time: ArrayLike, order: int) -> Array:
        """The derivative of this order (n_samples, n_joints) at these times (s)."""
        time = np.atleast_1d(np.asarray(time, dtype=float))
        w = self.omega * np.arange(1, self.n_harmonics + 1)
        # each derivative multiplies by w and turns (sine, cosine) into (cosine, -sine)
        turn = (order - 1) % 4
        factor = w ** float(order - 1) * (-1.0 if turn in (1, 2) else 1.0)
        of_sine, of_cosine = (self.b, self.a) if turn in (0, 2) else (self.a, -self.b)
        out = np.empty((len(time), len(self.joints)))
        for begin in range(0, len(time), SAMPLES_AT_ONCE):
            rows = slice(begin, begin + SAMPLES_AT_ONCE)
            angle = time[rows, None] * w
            out[rows] = np.sin(angle) @ (factor * of_sine).T
            out[rows] += np.cos(angle) @ (factor * of_cosine).T
        return out + self.q0 if order == 0 else out

    def extremes(self) -> Extremes:
        """Bounds that hold at every time, by the theorem of Ehlich and Zeller.

        A trigonometric polynomial of degree L is at most its largest value at M equidistant
        points of a period, divided by cos(pi L / M).
        """
        n_grid = proof_points(self.n_harmonics)
        grid = np.arange(n_grid) * self.period_s / n_grid
        between = np.cos(np.pi * self.n_harmonics / n_grid)
        bounds = []
        for order in range(4):
            values = self.derivative(grid, order)
            low, high = values.min(axis=0), values.max(axis=0)
            middle = 0.5 * (low + high)
            # the last term is for rounding
            half = 0.5 * (high - low) / between + 1e-12 * np.maximum(np.abs(low), np.abs(high))
            bounds.append((middle - half, middle + half))
        rates = (np.maximum(-low, high) for low, high in bounds[1:])
        return Extremes(self.joints, *bounds[0], *rates)


def proof_points(n_harmonics: int) -> int:
    """Points per period from which `FourierTrajectory.extremes` bounds a motion."""
    return max(1000, 50 * n_harmonics)


def multisine(
    robot: Robot,
    *,
    period_s: float = 10.0,
    n_harmonics: int = 5,
    share: float = 0.7,
    seed: int = 0,
) -> FourierTrajectory:
    """A random sum of sines for each joint, the same for the same seed, within its limits.

    Each joint moves about the middle of its range and is scaled until the first of position,
    velocity and acceleration reaches ``share`` of its limit. With two harmonics or more every
    joint starts, and ends each period, at rest and without acceleration, so that the motion
    can follow a pause. Where the robot states no limit, these are used:

        revolute joints   ± pi rad, 2 rad/s, 10 rad/s²
        prismatic joints  ± 0.25 m, 0.5 m/s, 5 m/s²

    A joint also respects the limits of the joints that mimic it. Extremes are taken on a grid and
    multiplied by 1 / cos(pi L / M) (Ehlich and Zeller: L harmonics, M grid points per period),
    which bounds them between grid points too.

    The motion is not optimised, and neither torque limits nor collisions (with the robot itself,
    the floor or anything else) are considered.
    """
    if not (np.isfinite(period_s) and period_s > 0.0):
        raise SignalError(f"period_s is {period_s}; it must be positive")
    if n_harmonics < 1:
        raise SignalError(f"n_harmonics is {n_harmonics}; it must be at least 1")
    if not 0.0 < share <= 1.0:
        raise SignalError(f"share is {share}; it must be above 0 and at most 1")
    if seed < 0:
        raise SignalError(f"seed is {seed}; it must not be negative")
    bounds = np.array([joint_bounds(robot, joint) for joint in robot.free_joints]).reshape(-1, 4)
    rng = np.random.default_rng(seed)
    shape = (len(bounds), n_harmonics)
    a, b = rng.normal(size=shape), rng.normal(size=shape)
    if n_harmonics > 1:
        a, b = at_rest_initially(a, b)
    omega = 2.0 * np.pi / period_s
    unit = FourierTrajectory(robot.joint_names, omega, a, b, np.zeros(len(bounds)))
    found = unit.extremes()
    reached = [np.maximum(-found.lower, found.upper), found.velocity, found.acceleration]
    scale = np.min(share * bounds[:, 1:] / np.stack(reached, axis=1), axis=1)
    return FourierTrajectory(
        robot.joint_names, omega, scale[:, None] * a, scale[:, None] * b, bounds[:, 0]
    )


def at_rest_initially(a: Array, b: Array) -> tuple[Array, Array]:
    """The closest amplitudes with sum_l a_l = 0 (no speed) and sum_l l b_l = 0 (no
    acceleration) at t = 0; (n_joints, n_harmonics) both.
    """
    harmonic = np.arange(1.0, a.shape[1] + 1.0)
    harmonic /= np.linalg.norm(harmonic)
    return a - a.mean(axis=1, keepdims=True), b - np.outer(b @ harmonic, harmonic)


def joint_bounds(robot: Robot, joint: Joint) -> tuple[float, float, float, float]:
    """Middle and half width of the range, largest speed and acceleration of a free joint.

    Limits of joints that mimic it are converted to its own coordinate.
    """
    followers = followers_of(robot, joint)
    stated = [stated_limits(joint), *(limits_for_leader(follower) for follower in followers)]
    kind = "slides" if joint.kind == "prismatic" else "turns"
    lower = max(limits.get("lower", -np.inf) for limits in stated)
    upper = min(limits.get("upper", np.inf) for limits in stated)
    middle, half = _window(lower, upper, UNKNOWN_HALF_RANGE[kind])
    speeds = [limits["velocity"] for limits in stated if "velocity" in limits]
    rates = [limits["acceleration"] for limits in stated if "acceleration" in limits]
    speed = min(speeds, default=UNKNOWN_VELOCITY[kind])
    rate = min(rates, default=UNKNOWN_ACCELERATION[kind])
    names = ", ".join(f"'{follower.name}'" for follower in followers)
    and_followers = f" (with those of {names}, which mimic it)" if followers else ""
    for name, value in (("position range", half), ("velocity", speed), ("acceleration", rate)):
        if not value > 0.0:
            raise RobotError(
                f"joint '{joint.name}' cannot move: its limits{and_followers} leave a {name} of "
                f"{max(0.0, value):g}; correct them, in the robot's file or its overlay, or lock "
                "the joint"
            )
    return middle, half, speed, rate


def _window(lower: float, upper: float, unknown_half: float) -> tuple[float, float]:
    """Middle and half width between two limits that may be infinite."""
    if np.isinf(lower) and np.isinf(upper):
        return 0.0, unknown_half
    if np.isinf(upper):
        return lower + unknown_half, unknown_half
    if np.isinf(lower):
        return upper - unknown_half, unknown_half
    return 0.5 * (lower + upper), 0.5 * (upper - lower)
