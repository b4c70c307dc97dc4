"""The criterion of a sum of sines with its gradient, and the price of torques near their limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.collision.collision_distances import CollisionModel
from steelyard.excitation.search.criteria import Evaluate
from steelyard.excitation.search.fourier_basis import FourierBasis
from steelyard.excitation.search.information import Information

Array = NDArray[np.float64]
Barrier = Callable[[Array], tuple[Array, Array]]

TORQUE_ROOM = 0.5
"""Torques cost something from where 1 - (torque / limit)² is below this."""
DISTANCE_ROOM_M = 0.05
"""Distances cost something from this much above the clearance."""
DISTANCE_STEP_S = 0.1
"""Time between the samples at which distances are computed at first: between them an arm that
accelerates by 5 m/s² comes closer by 6 mm, which the proof finds."""
SHORT = 0.001
"""Room below which a motion that is being mended is short of it: 0.05 mm of distance."""
REFERENCE_SAMPLES = 1000
"""Criteria are those of this many samples per period, however many are computed."""


@dataclass(frozen=True, eq=False)
class Safety:
    """Limits that are not linear in the motion.

    beta : (n_base,) base parameters that torques are computed with. torque : (nv,) limits of
    absolute torque, N m or N; infinite where there is none.
    collision : solids that must keep a distance; None without. clearance_m : that distance (m), one
    for all pairs or one for each, (n_pairs,). distance_step_s : between samples of distances.
    """

    beta: Array
    torque: Array
    collision: CollisionModel | None = None
    clearance_m: float | Array = 0.0
    distance_step_s: float = DISTANCE_STEP_S

    def tighter(self, torque: float, clearance_m: float | Array) -> Safety:
        """With torque limits times a factor and this much more clearance (m), of each pair.

        Pairs differ: some, such as the first and the third link of a wrist, never are farther
        apart than a little more than the clearance, and would not allow what another one needs.
        """
        return replace(
            self, torque=torque * self.torque, clearance_m=self.clearance_m + clearance_m
        )


def price(room: Array) -> tuple[Array, Array]:
    """A barrier that is zero from 1 on and infinite at 0, twice continuous; and its slope."""
    inside = (room > 0.0) & (room < 1.0)
    u = np.where(inside, room, 1.0)
    value = np.where(room <= 0.0, np.inf, -np.log(u) - (1.0 - u) - 0.5 * (1.0 - u) ** 2)
    return value, np.where(inside, -1.0 / u + 2.0 - u, 0.0)


def shortfall(room: Array) -> tuple[Array, Array]:
    """Squares of what is missing to a little room, finite outside the limits too; and its slope."""
    short = np.maximum(SHORT - room, 0.0)
    return short**2, -2.0 * short


def no_criterion(M: Array) -> tuple[float, Array]:
    """A criterion that is zero for every motion, where only prices count."""
    return 0.0, np.zeros_like(M)


@dataclass(frozen=True, eq=False)
class Objective:
    """The function that is minimised.

    evaluate : a criterion's value and slope by the information matrix. n_samples : per period.
    weight : of the barriers. safety : None where only the linear limits count. barrier : price of
    room, and its slope.
    """

    basis: FourierBasis
    information: Information
    evaluate: Evaluate
    n_samples: int
    weight: float
    safety: Safety | None = None
    barrier: Barrier = price

    @cached_property
    def shapes(self) -> tuple[Array, ...]:
        """Shapes of q, v and a at the samples."""
        time = np.arange(self.n_samples) * self.basis.period_s / self.n_samples
        return tuple(self.basis.shapes(time, order) for order in range(3))

    @cached_property
    def distance_shapes(self) -> Array:
        """Shapes of q at the samples at which distances are computed."""
        step_s = DISTANCE_STEP_S if self.safety is None else self.safety.distance_step_s
        n = int(np.ceil(self.basis.period_s / step_s))
        return self.basis.shapes(np.arange(n) * self.basis.period_s / n, 0)

    def __call__(self, x: Array) -> MotionPoint:
        """The function at coefficients x."""
        return MotionPoint(self, x)


@dataclass(frozen=True, eq=False)
class MotionPoint:
    """The objective at one motion; what the gradient needs is kept."""

    objective: Objective
    x: Array

    @cached_property
    def states(self) -> list[Array]:
        """q, v and a (n_samples, n_joints)."""
        return self.objective.basis.states(self.x, self.objective.shapes)

    @cached_property
    def _table(self) -> Array:
        return self.objective.information.table(*self.states)

    @cached_property
    def _criterion(self) -> tuple[float, Array]:
        part = REFERENCE_SAMPLES / self.objective.n_samples
        value, slope = self.objective.evaluate(self.objective.information.matrix(self._table, part))
        return value, slope * part

    @cached_property
    def _torque_price(self) -> tuple[float, Array | None]:
        """Price of torques, and its slope (nv, n_samples) by them."""
        safety = self.objective.safety
        if safety is None or not np.isfinite(safety.torque).any():
            return 0.0, None
        tau = self.objective.information.torque(self._table, safety.beta)
        limit = safety.torque[:, None]
        value, slope = self.objective.barrier((1.0 - (tau / limit) ** 2) / TORQUE_ROOM)
        return float(value.sum()), slope * (-2.0 / TORQUE_ROOM) * tau / limit**2

    @cached_property
    def _distance_price(self) -> tuple[float, Array | None]:
        """Price of small distances, and its slope (n_distance_samples, n_joints) by q."""
        safety = self.objective.safety
        if safety is None or safety.collision is None:
            return 0.0, None
        shapes = self.objective.distance_shapes
        (q,) = self.objective.basis.states(self.x, (shapes,))
        found, gradients = safety.collision.distance_gradients(
            q, within_m=safety.clearance_m + DISTANCE_ROOM_M
        )
        value, slope = self.objective.barrier((found - safety.clearance_m) / DISTANCE_ROOM_M)
        times = self.objective.n_samples / len(shapes)
        by_q = np.einsum("sp,spj->sj", slope / DISTANCE_ROOM_M, gradients)
        return float(value.sum()) * times, by_q * times

    @property
    def _weight(self) -> float:
        return self.objective.weight * 200.0 / self.objective.n_samples

    @cached_property
    def value(self) -> float:
        """Criterion and barriers; infinite outside."""
        torque = self._torque_price[0]
        if not np.isfinite(torque):
            return np.inf
        criterion = self._criterion[0]
        if not np.isfinite(criterion):
            return np.inf
        return criterion + self._weight * (torque + self._distance_price[0])

    def gradient(self) -> Array:
        """By the coefficients (n_moving, n_coefficients)."""
        information = self.objective.information
        by_table = information.slope(self._table, self._criterion[1])
        by_torque = self._torque_price[1]
        if by_torque is not None and self.objective.safety is not None:
            by_table += information.torque_slope(
                self._weight * by_torque, self.objective.safety.beta
            )
        q, v, a = self.states
        dq, dv, da = information.gradient(q, v, a, by_table)
        basis = self.objective.basis
        total = basis.gradient((dq, dv, da), self.objective.shapes)
        by_q = self._distance_price[1]
        if by_q is not None:
            total += self._weight * basis.gradient((by_q,), (self.objective.distance_shapes,))
        return total
