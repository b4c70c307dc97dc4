"""Gradients of weighted sums of regressor entries by positions, velocities and accelerations.

Any scalar function f(W) of the regressor has the gradient of sum(weights * W) with
weights = df/dW. One pass over the samples costs a few evaluations of the regressor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError
from steelyard.model.energy import refuse_floating_base
from steelyard.model.kernels import mechanism_arguments, state_arrays
from steelyard.model.model import Model

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]


def regressor_gradient(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, weights: ArrayLike
) -> tuple[Array, Array, Array]:
    """Gradients (n_samples, nv) by q, v and a of sum(weights * W).

    weights : (n_samples, nv, n_columns). Where a term jumps, its slope is taken as zero. For
    robots with a fixed base.
    """
    q, v, a = state_arrays(model, q, v, a)
    weights = np.require(weights, dtype=float, requirements=["C", "W"])
    n_columns = len(model.columns)
    if weights.shape != (len(q), model.nv, n_columns):
        raise ModelError(
            f"weights have shape {weights.shape}; {(len(q), model.nv, n_columns)} is needed"
        )
    slot = np.arange(model.nv * n_columns, dtype=np.int64).reshape(model.nv, n_columns)
    return gradient_of_slots(model, q, v, a, slot, 1, slot.size, weights.reshape(-1))


def gradient_of_slots(
    model: Model,
    q: Array,
    v: Array,
    a: Array,
    slot: IntArray,
    slot_stride: int,
    sample_stride: int,
    weights: Array,
) -> tuple[Array, Array, Array]:
    """The same for weights in a flat buffer with the layout of `kernels.fill_regressor`."""
    from steelyard.model import _gradient_loops

    refuse_floating_base(model)
    dq, dv, da = np.zeros_like(v), np.zeros_like(v), np.zeros_like(v)
    _gradient_loops.fill_gradient(
        *mechanism_arguments(model.mechanism),
        np.array(model.first_column_of_body, dtype=np.int64),
        q,
        v,
        a,
        slot,
        slot_stride,
        sample_stride,
        weights,
        dq,
        dv,
        da,
    )
    terms = model.term_arrays
    by_speed, by_acceleration, by_position = terms.slopes(v, a, q)
    # the torque of a term acts along the direction that its speed is measured along
    term = np.repeat(np.arange(len(terms.column)), np.diff(terms.start))
    where = slot[terms.row, terms.column[term]]
    samples = np.arange(len(q)) * sample_stride
    entries = weights[np.maximum(where, 0)[:, None] * slot_stride + samples]
    entries *= np.where(where >= 0, terms.weight, 0.0)[:, None]
    along = np.zeros_like(by_speed)
    np.add.at(along, term, entries)
    directions = np.zeros((len(terms.column), model.nv))
    directions[term, terms.row] = terms.weight
    dq += (along * by_position).T @ directions
    dv += (along * by_speed).T @ directions
    da += (along * by_acceleration).T @ directions
    return dq, dv, da
