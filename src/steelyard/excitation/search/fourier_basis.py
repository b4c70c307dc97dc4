"""Sums of sines as points of a convex set: coefficients, and what limits allow of them.

Position, velocity and acceleration of a joint are linear in its coefficients. On a grid of M
points per period, divided by cos(pi L / M) for L harmonics, limits are linear inequalities that
hold at every time (Ehlich and Zeller):

    -1 <= rows[j] @ x[j] <= 1        for each joint j that moves

Coefficients are numbers near one: the first is the centre of the motion, from -1 to 1 over the
range of positions; one is the largest amplitude that a single sine may have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.fourier import FourierTrajectory, proof_points

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

GRID_PER_HARMONIC = 40
"""Points per period at which limits are imposed, for each harmonic: 0.3 % of a limit is lost."""


@dataclass(frozen=True, eq=False)
class FourierBasis:
    """All sums of sines with this period and number of harmonics within limits.

    still : positions (rad or m) of joints that do not move, by name.
    """

    limits: MotionLimits
    period_s: float
    n_harmonics: int
    still: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for joint, position in self.still.items():
            if joint not in self.limits.joints:
                raise SignalError(f"there is no joint '{joint}' to stand still")
            j = self.limits.joints.index(joint)
            lower, upper = self.limits.lower[j], self.limits.upper[j]
            if not lower <= position <= upper:
                raise SignalError(
                    f"joint '{joint}' is to stand still at {position:g}, outside its range of "
                    f"{lower:g} to {upper:g}"
                )
        if not len(self.moving):
            raise SignalError("every joint is to stand still: there is no motion to design")

    @cached_property
    def moving(self) -> IntArray:
        """Indices (n_moving,) of the joints that move."""
        joints = self.limits.joints
        return np.array([k for k, name in enumerate(joints) if name not in self.still], dtype=int)

    @property
    def n_coefficients(self) -> int:
        """Number of coefficients of each joint."""
        return 1 + 2 * self.n_harmonics

    @property
    def omega(self) -> float:
        """Base frequency, rad/s."""
        return 2.0 * np.pi / self.period_s

    @cached_property
    def scale(self) -> Array:
        """Units (n_moving, n_coefficients) of the coefficients."""
        limits, moving = self.limits, self.moving
        w = self.omega * np.arange(1, self.n_harmonics + 1)
        half = limits.half_range[moving][:, None]
        amplitude = np.min(
            [
                half * w,
                np.broadcast_to(limits.velocity[moving][:, None], (len(moving), len(w))),
                limits.acceleration[moving][:, None] / w,
                limits.jerk[moving][:, None] / w**2,
            ],
            axis=0,
        )
        return np.hstack([half, amplitude, amplitude])

    @property
    def largest_speed(self) -> Array:
        """Largest amplitude of speed (n_moving,) that a single sine may have, rad/s or m/s."""
        return np.asarray(self.scale[:, 1:].max(axis=1))

    def shapes(self, time: Array, order: int) -> Array:
        """The derivative of this order (n_samples, n_coefficients) of each shape, unscaled."""
        one = np.ones((len(time), 1)) if order == 0 else np.zeros((len(time), 1))
        w = self.omega * np.arange(1, self.n_harmonics + 1)
        angle = time[:, None] * w
        sine, cosine = np.sin(angle), np.cos(angle)
        by_a, by_b = ((sine, -cosine), (cosine, sine), (-sine, cosine), (-cosine, -sine))[order]
        size = w ** float(order - 1)
        return np.hstack([one, by_a * size, by_b * size])

    @cached_property
    def rows(self) -> Array:
        """What must be within -1 and 1: (n_moving, n_rows, n_coefficients)."""
        n_grid = max(100, GRID_PER_HARMONIC * self.n_harmonics)
        grid = np.arange(n_grid) * self.period_s / n_grid
        between = np.cos(np.pi * self.n_harmonics / n_grid)
        # a motion can be as large as its limits; its proven bounds, on a finer grid, are larger
        between *= np.cos(np.pi * self.n_harmonics / proof_points(self.n_harmonics))
        limits = self.limits
        kinds = [limits.half_range, limits.velocity, limits.acceleration, limits.jerk]
        shapes = [self.shapes(grid, order) for order in range(4)]
        if not np.isfinite(limits.jerk[self.moving]).any():
            kinds, shapes = kinds[:3], shapes[:3]
        rows = []
        for j, scale in zip(self.moving, self.scale, strict=True):
            one = np.vstack([shape / limit[j] for shape, limit in zip(shapes, kinds, strict=True)])
            rows.append(one * scale / between)
        return np.array(rows)

    def slack(self, x: Array) -> Array:
        """1 - abs(rows @ x) (n_moving, n_rows); all positive inside."""
        return np.asarray(1.0 - np.abs(self.rows @ x[..., None])[..., 0])

    def inside(self, x: Array, share: float) -> Array:
        """x, each joint's scaled towards the middle so that it uses this share at most."""
        used = np.max(1.0 - self.slack(x), axis=1)
        return np.asarray(x * np.minimum(1.0, share / np.maximum(used, 1e-300))[:, None])

    def random_start(self, rng: np.random.Generator, centre: Array, share: float) -> Array:
        """Random coefficients about a pose (n_joints,) that use this share of the limits."""
        x = rng.normal(size=(len(self.moving), self.n_coefficients))
        x[:, 0] = 0.0
        x = self.inside(1e3 * x, share)
        middle, half = self.limits.middle[self.moving], self.limits.half_range[self.moving]
        x[:, 0] = np.clip((centre[self.moving] - middle) / half, -0.95, 0.95)
        # the sines that are left beside the centre
        room = 1.0 - np.abs(x[:, 0])
        x[:, 1:] *= np.minimum(1.0, room / share * 0.9)[:, None]
        return self.inside(x, 0.97)

    def states(self, x: Array, shapes: tuple[Array, ...]) -> list[Array]:
        """q, v and a (n_samples, n_joints) of coefficients, shapes of orders 0, 1 and 2."""
        out = []
        coefficients = (x * self.scale).T
        for order, shape in enumerate(shapes):
            full = np.zeros((len(shape), len(self.limits.joints)))
            full[:, self.moving] = shape @ coefficients
            if order == 0:
                full[:, self.moving] += self.limits.middle[self.moving]
                for joint, position in self.still.items():
                    full[:, self.limits.joints.index(joint)] = position
            out.append(full)
        return out

    def gradient(self, gradients: tuple[Array, ...], shapes: tuple[Array, ...]) -> Array:
        """From gradients (n_samples, n_joints) by q, v and a to those by x."""
        total = sum(g[:, self.moving].T @ shape for g, shape in zip(gradients, shapes, strict=True))
        return np.asarray(total * self.scale)

    def trajectory(self, x: Array) -> FourierTrajectory:
        """The motion of coefficients x (n_moving, n_coefficients)."""
        n, length = len(self.limits.joints), self.n_harmonics
        a, b, q0 = np.zeros((n, length)), np.zeros((n, length)), np.array(self.limits.middle)
        own = x * self.scale
        q0[self.moving] += own[:, 0]
        a[self.moving], b[self.moving] = own[:, 1 : 1 + length], own[:, 1 + length :]
        for joint, position in self.still.items():
            q0[self.limits.joints.index(joint)] = position
        return FourierTrajectory(self.limits.joints, self.omega, a, b, q0)
