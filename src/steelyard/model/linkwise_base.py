"""Base parameters of robots with many links, found link by link.

What a joint's motion does not move of a body (at a revolute joint the mass, the first moment along
the axis and an inertia that is round about it) acts as a part of the body that carries it. So a
link's columns depend on each other and on those of its parent, or on no other link's:

    W_d = W_own C_own + W_parent C_parent,      K_d = K_own C_own + K_parent C_parent

With two links at a time, each step has some thirty columns and is exact to rounding, however long
the chain is. All columns at once are not: with random axes, the first columns that are independent
from the left are nearly dependent, by a factor for every link, and from a hundred links in a chain
on, rounding decides which columns are independent.

Among the columns of a link, those that are farthest from depending on the others are base columns
(QR with pivoting), so that the entries of K do not grow along the chain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.model.dependent_columns import (
    RANK_TOLERANCE,
    ZERO_TOLERANCE,
    clean_coefficients,
    independent_columns,
)
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.random_states import random_states

Array = NDArray[np.float64]

STATES, NEAR, FAR_STATES = 30, 8, 6
"""Random states for the rows of a link's nearest joints, how many these are, and states for the
joints further in.
"""


@dataclass(frozen=True, eq=False)
class LinkwiseBase:
    """sequence : all columns, link by link. independent : the base columns. K : (n_base, n)."""

    sequence: tuple[int, ...]
    independent: tuple[int, ...]
    K: Array


def is_linkwise(model: Model) -> bool:
    """Whether links depend on their carriers alone: no joints move together, no terms join them."""
    mechanism = model.mechanism
    rows = mechanism.coordinate.tolist()
    joints = {body.joint for body in mechanism.bodies}
    terms = (column for column in model.columns if column.term_kind is not None)
    return len(set(rows)) == len(rows) and all(column.owner in joints for column in terms)


def linkwise_base(model: Model, order: tuple[int, ...]) -> LinkwiseBase:
    """Base parameters of a model for which `is_linkwise` is true.

    order : all columns, link by link; base columns of a link stay in this order.
    """
    mechanism, n = model.mechanism, len(model.columns)
    first = (*model.first_column_of_body, n)
    owned = [list(order[first[i] : first[i + 1]]) for i in range(len(mechanism.bodies))]
    rows = [path[:k] for path, k in zip(mechanism.path, mechanism.path_length, strict=True)]
    q, v, a = random_states(np.random.default_rng(0), model.robot, STATES)
    W = torque_regressor(model, q, v, a)
    units = np.array([column.unit for column in model.columns])
    sizes = np.empty(n)
    for own, path in zip(owned, rows, strict=True):
        near = W[:, path[-NEAR:, None], own]
        sizes[own] = np.sqrt(np.einsum("srk,srk->k", near, near))
    largest = {unit: float(sizes[units == unit].max()) for unit in set(units.tolist())}
    rounding = ZERO_TOLERANCE * np.array([largest[unit] for unit in units.tolist()])

    independent: list[int] = []
    found: list[tuple[list[int], list[int], Array]] = []
    for i, own in enumerate(owned):
        above = int(mechanism.parent[i])
        others = owned[above] if above >= 0 else []
        V, scale = _local_rows(W, rows[i], others + own, rounding)
        kept = _pivots(V[:, : len(others)], V[:, len(others) :])
        base = [own[k] for k in kept]
        owned[i] = base + [column for column in own if column not in base]
        independent += base
        columns = others + own
        known = independent_columns(V, range(len(others)))
        chosen = [*known, *(len(others) + k for k in kept)]
        dependent = np.array(
            [k for k in range(len(others), len(columns)) if columns[k] not in base], dtype=np.int64
        )
        C = clean_coefficients(V, scale, chosen, dependent)
        found.append(([columns[k] for k in chosen], [columns[k] for k in dependent], C))
    return LinkwiseBase(
        tuple(column for own in owned for column in own),
        tuple(independent),
        _composed(tuple(independent), found, n),
    )


def _local_rows(
    W: Array, path: NDArray[np.int64], columns: list[int], rounding: Array
) -> tuple[Array, Array]:
    """Rows (n_columns, n_columns) of some columns, and the columns' scale.

    Columns and rows are divided by their norms: rows of inner joints, with their long lever arms,
    would hide the others. The triangular factor stands for all of them.
    """
    near, far = path[-NEAR:], path[:-NEAR]
    V = np.concatenate(
        [
            W[:, near[:, None], columns].reshape(-1, len(columns)),
            W[:FAR_STATES, far[:, None], columns].reshape(-1, len(columns)),
        ]
    )
    norms = np.linalg.norm(V, axis=0)
    real = norms > rounding[columns]
    scale = np.where(real, norms, 1.0)
    V = np.where(real, V, 0.0) / scale
    sizes = np.linalg.norm(V, axis=1)
    V = V[sizes > 0.0] / sizes[sizes > 0.0, None]
    norms = np.linalg.norm(V, axis=0)
    again = np.where(norms > 0.0, norms, 1.0)
    factor: Array = np.linalg.qr(V / again, mode="r")  # type: ignore[assignment]
    return factor, scale * again


def _pivots(others: Array, own: Array) -> list[int]:
    """Which of a link's own columns are independent of the others and of each other, in order."""
    from scipy.linalg import qr

    if others.shape[1]:
        U, s, _ = np.linalg.svd(others, full_matrices=False)
        U = U[:, s > RANK_TOLERANCE]
        for _ in range(2):
            own = own - U @ (U.T @ own)
    R, order = qr(own, mode="r", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diag(R)) > RANK_TOLERANCE))
    return sorted(int(k) for k in order[:rank])


def _composed(
    independent: tuple[int, ...], found: list[tuple[list[int], list[int], Array]], n: int
) -> Array:
    """K (n_base, n) from the factors of each link, inner links first."""
    K = np.zeros((len(independent), n))
    K[np.arange(len(independent)), list(independent)] = 1.0
    for chosen, dependent, C in found:
        if dependent and chosen:
            known = K[:, chosen]
            values = known @ C
            # sums that cancel, but for rounding, are zeros
            values[np.abs(values) <= 1e-14 * (np.abs(known) @ np.abs(C))] = 0.0
            K[:, dependent] = values
    return K
