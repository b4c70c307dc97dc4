"""Columns that depend linearly on others: which they are, and by which factors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.model.model import Model

Array = NDArray[np.float64]

# A column is dependent when, after removing what earlier base columns explain, less than
# this share of it is left. Real dependencies leave 1e-13; the closest real independent
# columns seen on 69 robots leave more than 1e-6.
RANK_TOLERANCE = 1e-9
# Columns, and coefficients between columns of size one, below this are rounding.
ZERO_TOLERANCE = 1e-10
# Columns that are made orthogonal to all earlier ones at a time, by products of matrices.
PANEL = 32


def unit_columns(model: Model, W: Array) -> tuple[Array, Array]:
    """W with columns of norm one, and their norms (n_columns,).

    A column that is zero but for rounding (a right angle leaves 1e-16) becomes an exact zero:
    normalised, it would count as independent. Rounding is judged against the largest column of
    the same unit.
    """
    norms = np.linalg.norm(W, axis=0)
    units = np.array([column.unit for column in model.columns])
    largest = np.array([norms[units == unit].max() for unit in units])
    real = norms > ZERO_TOLERANCE * largest
    scale = np.where(real, norms, 1.0)
    return np.where(real, W, 0.0) / scale, scale


def independent_columns(W: Array, columns: Sequence[int]) -> tuple[int, ...]:
    """First independent columns of W from the left in the given order.

    Gram-Schmidt with one re-orthogonalisation, a panel of columns at a time; W has columns of norm
    one or zero.
    """
    basis = np.empty((W.shape[1], W.shape[0]))
    chosen: list[int] = []
    order = list(columns)
    for begin in range(0, len(order), PANEL):
        panel = order[begin : begin + PANEL]
        rest = W[:, panel].T.copy()
        before = basis[: len(chosen)]
        for _ in range(2):
            rest -= (rest @ before.T) @ before
        first = len(chosen)
        for own, index in zip(rest, panel, strict=True):
            found = basis[first : len(chosen)]
            for _ in range(2):
                own -= found.T @ (found @ own)
            size = np.linalg.norm(own)
            if size > RANK_TOLERANCE:
                basis[len(chosen)] = own / size
                chosen.append(index)
    return tuple(chosen)


def clean_coefficients(
    W: Array, scale: Array, independent: Sequence[int], dependent: NDArray[np.int64]
) -> Array:
    """K_d (n_base, n_dependent) with W_d = W_b K_d, rounding removed.

    W has unit columns, whose norms were ``scale``. Each coefficient is rounded to the shortest
    decimal that agrees with it up to rounding errors: 0.30047500000000013 becomes 0.300475.
    """
    base = list(independent)
    Q, R = np.linalg.qr(W[:, base])
    unit_K = np.linalg.solve(R, Q.T @ W[:, dependent])
    unit_K += np.linalg.solve(R, Q.T @ (W[:, dependent] - W[:, base] @ unit_K))
    unit_K[np.abs(unit_K) < ZERO_TOLERANCE] = 0.0
    K = unit_K * scale[dependent] / scale[base][:, None]
    # rounding errors of the unit coefficients, in the units of K; more would round coefficients of
    # frames at odd angles, and make estimates depend on the link frames
    slack = 1e-12 * scale[dependent] / scale[base][:, None]
    return snap(K, np.maximum(slack, 1e-13 * np.abs(K)))


def snap(values: Array, slack: Array) -> Array:
    """Each value as the decimal with fewest places that lies within ``slack`` of it.

    Decimals so fine that any number has one within its slack are not used.
    """
    out = values.copy()
    todo = values != 0.0
    for places in range(13):
        candidate = np.round(values, places)
        coarse = 1000.0 * slack <= 10.0**-places
        near = todo & coarse & (np.abs(candidate - values) <= slack) & (candidate != 0.0)
        out[near] = candidate[near]
        todo &= ~near
    return out + 0.0
