"""The matrix of energy differences between points, as a function of unconstrained variables.

Gautier and Khalil (1992), sections 2 and 4: row i of W is h(q, v) at point i + 1 less that at
point i, so that every point is used twice (23a). With x unconstrained,

    q = lower + (upper - lower) sin²(x),      v = largest speed * sin(x)        (section 4.2)

Positions that have no effect on W (23b) are not variables; they are drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError, SignalError, listed
from steelyard.excitation.limits import MotionLimits
from steelyard.model.base_map import base_map
from steelyard.model.energy import energy_gradient, energy_regressor, refuse_floating_base
from steelyard.model.model import Model
from steelyard.model.random_states import random_states

Array = NDArray[np.float64]

NO_EFFECT = 1e-9
"""Derivatives of the energy by a position below this share of the largest are rounding."""


@dataclass(frozen=True, eq=False)
class PointProblem:
    """Limits and columns of a search for points.

    model : bodies and drive inertias only. columns : (n_base,) of the model, those of W.
    effective : (n_joints,) whether the position of a joint has an effect on W.
    idle_q : (n_points, n_joints) positions of the joints that have none, rad or m.
    row_weights : (n_rows,) and column_scale : (n_base,) factors of W.
    """

    model: Model
    columns: NDArray[np.int64]
    limits: MotionLimits
    effective: NDArray[np.bool_]
    idle_q: Array
    row_weights: Array
    column_scale: Array

    @property
    def n_points(self) -> int:
        """Number of points, one more than rows."""
        return len(self.idle_q)

    @property
    def n_variables(self) -> int:
        """Number of unconstrained variables, eq 23."""
        return self.n_points * (len(self.effective) + int(self.effective.sum()))

    def points(self, x: Array) -> tuple[Array, Array]:
        """Positions and velocities (n_points, n_joints) of the variables (n_variables,)."""
        of_q, of_v = self._split(x)
        q = self.idle_q.copy()
        width = 2.0 * self.limits.half_range[self.effective]
        q[:, self.effective] = self.limits.lower[self.effective] + width * np.sin(of_q) ** 2
        return q, self.limits.velocity * np.sin(of_v)

    def variables(self, q: Array, v: Array) -> Array:
        """Variables (n_variables,) of points (n_points, n_joints) within the limits."""
        width = 2.0 * self.limits.half_range
        share = np.clip((q - self.limits.lower) / width, 0.0, 1.0)[:, self.effective]
        speed = np.clip(v / self.limits.velocity, -1.0, 1.0)
        return np.concatenate([np.arcsin(np.sqrt(share)).ravel(), np.arcsin(speed).ravel()])

    def matrix_of(self, q: Array, v: Array) -> Array:
        """W (n_rows, n_base) of points (n_points, n_joints), weighted and scaled."""
        h = energy_regressor(self.model, q, v)[:, self.columns]
        return np.asarray(self.row_weights[:, None] * np.diff(h, axis=0) * self.column_scale)

    def matrix(self, x: Array) -> Array:
        """W (n_rows, n_base) of the variables (n_variables,)."""
        return self.matrix_of(*self.points(x))

    def value_and_gradient(
        self, x: Array, measure: Callable[[Array], tuple[float, Array]]
    ) -> tuple[float, Array]:
        """A measure of W and its derivative by the variables (n_variables,).

        measure : gives the value and its derivative by W (n_rows, n_base).
        """
        q, v = self.points(x)
        value, of_W = measure(self.matrix_of(q, v))
        of_W = self.row_weights[:, None] * of_W * self.column_scale
        weights = np.zeros((self.n_points, len(self.model.columns)))
        weights[1:, self.columns] = of_W
        weights[:-1, self.columns] -= of_W
        dq, dv = energy_gradient(self.model, q, v, weights)
        of_q, of_v = self._split(x)
        width = 2.0 * self.limits.half_range[self.effective]
        dx_q = dq[:, self.effective] * width * np.sin(2.0 * of_q)
        dx_v = dv * self.limits.velocity * np.cos(of_v)
        return value, np.concatenate([dx_q.ravel(), dx_v.ravel()])

    def _split(self, x: Array) -> tuple[Array, Array]:
        """Variables of positions (n_points, n_effective) and of speeds (n_points, n_joints)."""
        cut = self.n_points * int(self.effective.sum())
        return x[:cut].reshape(self.n_points, -1), x[cut:].reshape(self.n_points, -1)


def point_problem(
    model: Model,
    limits: MotionLimits,
    n_rows: int,
    rng: np.random.Generator,
    row_weights: Array | None = None,
    column_scale: Array | None = None,
) -> PointProblem:
    """The search for points of a model within limits.

    Terms other than drive inertia are left out: their work depends on the path between points.
    """
    model = energy_model(model)
    if limits.joints != model.robot.joint_names:
        raise SignalError(
            f"limits are those of {listed(limits.joints)}, but the joints of robot "
            f"'{model.robot.name}' are {listed(model.robot.joint_names)}"
        )
    columns = np.array(base_map(model).independent, dtype=np.int64)
    if not len(columns):
        raise ModelError(f"robot '{model.robot.name}' has no parameters that its energy determines")
    if n_rows < len(columns):
        raise SignalError(
            f"{n_rows} rows are too few for {len(columns)} base parameters; at least "
            f"{len(columns)} are needed"
        )
    return PointProblem(
        model,
        columns,
        limits,
        effective_positions(model, columns),
        rng.uniform(limits.lower, limits.upper, size=(n_rows + 1, len(limits.joints))),
        _factors(row_weights, n_rows, "row_weights"),
        _factors(column_scale, len(columns), "column_scale"),
    )


def energy_model(model: Model) -> Model:
    """Bodies and drive inertias of a model with a fixed base: what its energy depends on."""
    refuse_floating_base(model)
    inertias = tuple(term for term in model.terms if term.term_kind.is_inertia)
    # the same object where nothing is left out, so that its base map is computed once
    return model if inertias == model.terms else Model(model.robot, inertias)


def effective_positions(model: Model, columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which joint positions (n_joints,) the energy depends on, through these columns."""
    rng = np.random.default_rng(0)
    q, v, _ = random_states(rng, model.robot, 20)
    weights = np.zeros((len(q), len(model.columns)))
    weights[:, columns] = rng.normal(size=(len(q), len(columns)))
    dq, dv = energy_gradient(model, q, v, weights)
    largest = max(float(np.abs(dq).max()), float(np.abs(dv).max()))
    return np.asarray(np.abs(dq).max(axis=0) > NO_EFFECT * largest)


def _factors(given: Array | None, n: int, name: str) -> Array:
    if given is None:
        return np.ones(n)
    factors = np.array(given, dtype=float)
    if factors.shape != (n,) or not (np.isfinite(factors) & (factors > 0.0)).all():
        raise SignalError(f"{name} must be {n} positive numbers; its shape is {factors.shape}")
    return factors
