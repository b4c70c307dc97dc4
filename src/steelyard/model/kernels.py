"""Batched torque regressor, torque, mass matrix and bias torque of a model.

    tau = W(q, v, a) theta = M(q) a + b(q, v)

Everything here takes a batch of samples and runs in compiled loops (`_loops`), for any
tree of revolute and prismatic joints, with a fixed or a floating base.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError
from steelyard.model.mechanism import Mechanism
from steelyard.model.model import Model
from steelyard.model.term_signals import TermSignals

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
QUATERNION_SIZES = (1e-100, 1e100)
"""Quaternions whose largest number is smaller or larger state no rotation."""


def torque_regressor(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """W (n_samples, nv, n_columns) with tau = W theta, terms included.

    q (n_samples, nq) rad or m, v and a (n_samples, nv); see `Motion` for a floating base.
    """
    q, v, a = state_arrays(model, q, v, a)
    n_columns = len(model.columns)
    slot = np.arange(model.nv * n_columns, dtype=np.int64).reshape(model.nv, n_columns)
    out = np.zeros(len(q) * slot.size)
    fill_regressor(model, q, v, a, slot, 1, slot.size, out)
    return out.reshape(len(q), model.nv, n_columns)


def torque(
    model: Model,
    theta: ArrayLike,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    given: TermSignals | None = None,
) -> Array:
    """tau (n_samples, nv) in N m or N of the parameters theta (n_columns,).

    given : the factors of some terms, which replace their laws.
    """
    theta = parameter_array(model, theta)
    q, v, a = state_arrays(model, q, v, a)
    return rigid_torque(model, theta, q, v, a, model.mechanism.gravity) + term_torque(
        model, theta, q, v, a, given
    )


def mass_matrix(model: Model, theta: ArrayLike, q: ArrayLike) -> Array:
    """M (n_samples, nv, nv) in kg m² (kg), drive inertia included.

    Column k is the torque of a unit acceleration of coordinate k at rest, without gravity.
    """
    theta = parameter_array(model, theta)
    nv = model.nv
    q = np.atleast_2d(np.asarray(q, dtype=float))
    rest = np.zeros((len(q), nv))
    q, rest, _ = state_arrays(model, q, rest, rest)
    M = np.empty((len(q), nv, nv))
    inertia = inertia_terms(model, theta)
    for k in range(nv):
        unit = np.zeros((len(q), nv))
        unit[:, k] = 1.0
        M[:, :, k] = rigid_torque(model, theta, q, rest, unit, np.zeros(3))
        M[:, :, k] += term_torque(model, inertia, q, rest, unit)
    return M


def bias_torque(model: Model, theta: ArrayLike, q: ArrayLike, v: ArrayLike) -> Array:
    """b (n_samples, nv): Coriolis, centrifugal, gravity, friction and offset torques."""
    return torque(model, theta, q, v, np.zeros(np.shape(np.atleast_2d(np.asarray(v)))))


def term_torque(
    model: Model, theta: Array, q: Array, v: Array, a: Array, given: TermSignals | None = None
) -> Array:
    """Torque (n_samples, nv) of the terms: drive inertia, friction, offsets, springs."""
    tau = np.zeros((len(v), model.nv))
    terms = model.term_arrays
    if not theta[terms.column].any():
        return tau
    values = term_values(model, q, v, a, given)
    for k, column in enumerate(terms.column):
        value = theta[column]
        if value == 0.0:
            continue
        entries = slice(terms.start[k], terms.start[k + 1])
        rows, weights = terms.row[entries], terms.weight[entries]
        tau[:, rows] += value * values[k, :, None] * weights
    return tau


def term_values(
    model: Model, q: Array, v: Array, a: Array, given: TermSignals | None = None
) -> Array:
    """Factor (n_terms, n_samples) of each term's parameter.

    given : the factors of some terms, which replace their laws.
    """
    terms = model.term_arrays
    return terms.values(v, a, given, q[:, -model.nv :], gear_loads(model, q, v, a))


def gear_loads(model: Model, q: Array, v: Array, a: Array) -> Array | None:
    """Torque (n_samples, nv) of the links that load-dependent friction is stated for, N m or N;
    None for a model without it.
    """
    if not model.term_arrays.reads_load:
        return None
    return rigid_torque(model, model.load_theta, q, v, a, model.mechanism.gravity)


def inertia_terms(model: Model, theta: Array) -> Array:
    """theta with everything but drive inertia set to zero."""
    kinds = [column.term_kind for column in model.columns]
    keep = np.array([kind is not None and kind.is_inertia for kind in kinds])
    return np.where(keep, theta, 0.0)


def rigid_torque(
    model: Model,
    theta: Array,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array,
    mechanism: Mechanism | None = None,
) -> Array:
    """Torque (n_samples, nv) of the rigid bodies alone under this gravity (m/s²).

    mechanism : with other places of the joints than the model's.
    """
    from steelyard.model import _loops

    tau = np.zeros((len(q), model.nv))
    geometry = mechanism_arguments(mechanism or model.mechanism)[:-1]
    _loops.fill_torque(*geometry, gravity, body_parameters(model, theta), q, v, a, tau)
    return tau


def body_parameters(model: Model, theta: Array) -> Array:
    """The inertial part (n_bodies, 10) of theta."""
    first = np.array(model.first_column_of_body)
    return np.ascontiguousarray(theta[first[:, None] + np.arange(10)])


def fill_regressor(
    model: Model,
    q: Array,
    v: Array,
    a: Array,
    slot: IntArray,
    slot_stride: int,
    sample_stride: int,
    out: Array,
    given: TermSignals | None = None,
) -> None:
    """Add chosen entries of the regressor to a flat buffer; see `_loops.fill_regressor`."""
    from steelyard.model import _loops

    terms = model.term_arrays
    _loops.fill_regressor(
        *mechanism_arguments(model.mechanism),
        np.array(model.first_column_of_body, dtype=np.int64),
        terms.column,
        term_values(model, q, v, a, given),
        terms.start,
        terms.row,
        terms.weight,
        q,
        v,
        a,
        slot,
        slot_stride,
        sample_stride,
        out,
    )


def mechanism_arguments(mechanism: Mechanism) -> tuple[Any, ...]:
    """The arrays of a mechanism in the order that the compiled loops take them."""
    return (
        mechanism.parent,
        mechanism.kind,
        mechanism.coordinate,
        mechanism.scale,
        mechanism.rest_rotation,
        mechanism.rest_position,
        mechanism.screw,
        mechanism.centre,
        mechanism.path,
        mechanism.path_length,
        mechanism.gravity,
    )


def state_arrays(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> tuple[Array, Array, Array]:
    """q, v and a as contiguous float arrays (n_samples, width), widths checked."""
    arrays = []
    for name, given, width in (("q", q, model.nq), ("v", v, model.nv), ("a", a, model.nv)):
        array = np.atleast_2d(np.asarray(given, dtype=float))
        if array.ndim != 2 or array.shape[1] != width:
            raise ModelError(
                f"{name} has shape {np.shape(given)}, but robot '{model.robot.name}' needs "
                f"(n_samples, {width}) for {', '.join(model.channels)}"
            )
        # all writeable, so that Numba compiles one version of the loops, not eight
        arrays.append(np.require(array, requirements=["C", "W"]))
    if not len(arrays[0]) == len(arrays[1]) == len(arrays[2]):
        raise ModelError(
            f"q, v and a have {len(arrays[0])}, {len(arrays[1])} and {len(arrays[2])} samples"
        )
    if model.robot.floating_base:
        _refuse_no_direction(model, arrays[0][:, 3:7])
    return arrays[0], arrays[1], arrays[2]


def _refuse_no_direction(model: Model, quaternions: Array) -> None:
    """Refuse quaternions (n_samples, 4) of the base that state no rotation; they need no unit norm.

    Those that are no numbers are left to the caller, which knows whether the sample is used.
    """
    size = np.abs(quaternions).max(axis=1)
    smallest, largest = QUATERNION_SIZES
    wrong = np.flatnonzero(np.isfinite(size) & ((size < smallest) | (size > largest)))
    if len(wrong):
        raise ModelError(
            f"the quaternion of the base of robot '{model.robot.name}' (columns 4 to 7 of q) is "
            f"{quaternions[wrong[0]].tolist()} in sample {wrong[0]}; a unit quaternion x, y, z, w "
            "is needed: 0, 0, 0, 1 for a base that is not turned"
        )


def parameter_array(model: Model, theta: ArrayLike) -> Array:
    """theta as an array of one number per column."""
    if isinstance(theta, Mapping):
        raise ModelError(
            "theta is a mapping; model.theta({'elbow.fv': 0.3, ...}) makes an array of values by "
            "name, the rest from the robot's file"
        )
    try:
        array = np.asarray(theta, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            f"theta is a {type(theta).__name__}, not an array of {len(model.columns)} numbers"
        ) from None
    if array.shape != (len(model.columns),):
        raise ModelError(
            f"theta has shape {array.shape}, but the model has {len(model.columns)} columns"
        )
    return array
