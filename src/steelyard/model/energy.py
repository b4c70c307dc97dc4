"""The energy of a robot, which is linear in its parameters: H = h(q, v) theta.

Gautier and Khalil (1992), eqs 1 to 6. Between two times the energy changes by the work of the
joint torques less that of friction, so that parameters can be found without accelerations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError
from steelyard.model.kernels import mechanism_arguments, state_arrays
from steelyard.model.model import Model

Array = NDArray[np.float64]


def energy_regressor(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """h (n_samples, n_columns) with H = h theta in J, q (n_samples, nq), v (n_samples, nv).

    Kinetic and potential energy of the bodies, and ½ s² for a drive inertia with speed s. Columns
    of friction and offsets are zero: their work depends on the path. The potential energy is zero
    at the origin of the ground frame.
    """
    from steelyard.model import _energy_loops

    q, v, _ = state_arrays(model, q, v, v)
    out = np.zeros((len(q), len(model.columns)))
    _energy_loops.fill_energy(*mechanism_arguments(model.mechanism), _first(model), q, v, out)
    for column, speed in _drive_speeds(model):
        out[:, column] = 0.5 * (v @ speed) ** 2
    return out


def energy_gradient(
    model: Model, q: ArrayLike, v: ArrayLike, weights: ArrayLike
) -> tuple[Array, Array]:
    """Gradients (n_samples, nv) by q and v of sum(weights * h), weights (n_samples, n_columns).

    For robots with a fixed base.
    """
    from steelyard.model import _energy_loops

    refuse_floating_base(model)
    q, v, _ = state_arrays(model, q, v, v)
    weights = np.require(weights, dtype=float, requirements=["C", "W"])
    if weights.shape != (len(q), len(model.columns)):
        raise ModelError(
            f"weights have shape {weights.shape}; {(len(q), len(model.columns))} is needed"
        )
    dq, dv = np.zeros_like(v), np.zeros_like(v)
    geometry = mechanism_arguments(model.mechanism)
    _energy_loops.fill_energy_gradient(*geometry, _first(model), q, v, weights, dq, dv)
    for column, speed in _drive_speeds(model):
        dv += (weights[:, column] * (v @ speed))[:, None] * speed
    return dq, dv


def refuse_floating_base(model: Model) -> None:
    """An error for robots with a floating base, whose gradients are not available."""
    if model.robot.floating_base:
        raise ModelError(
            f"robot '{model.robot.name}' has a floating base; motions are designed for robots "
            "with a fixed base. steelyard simulate --floating-base makes a random motion of the "
            "whole body, and its log"
        )


def _first(model: Model) -> NDArray[np.int64]:
    return np.array(model.first_column_of_body, dtype=np.int64)


def _drive_speeds(model: Model) -> list[tuple[int, Array]]:
    """Column and direction (nv,) of each term that is an inertia."""
    terms = model.term_arrays
    found = []
    for k, term in enumerate(model.terms):
        if term.term_kind.is_inertia:
            entries = slice(terms.start[k], terms.start[k + 1])
            direction = np.zeros(model.nv)
            np.add.at(direction, terms.row[entries], terms.weight[entries])
            found.append((int(terms.column[k]), direction))
    return found
