"""Prove how far a fit that is drawn to a prior is from its optimum: u and duals of conditions.

The bound is that of `steelyard.certificates.drawn`, which holds for any u and any duals in their
cones; good ones make it small. u is the residual. Duals are those that account best for the
gradient of the objective at the parameters, in the metric in which the bound counts what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard.certificates.drawn import DrawnBody
from steelyard.certificates.optimality import exact_parameters
from steelyard.conic.blocks import Block, off_diagonal_weights
from steelyard.conic.exact_duals import exact_product, fractions_of, inside_cone
from steelyard.conic.problem import adjoint, conic_problem
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.entropic import LEAST_PULL
from steelyard.model.model import Model
from steelyard.regression.regression import Regression
from steelyard.robot.inertia import pseudo_inertia

Array = NDArray[np.float64]
NEAR = 1e-2
"""Slack, as a share of typical parameters, above which a condition gets no dual."""
_UNITS = np.array([pseudo_inertia(unit) for unit in np.eye(10)])


@dataclass(frozen=True, eq=False)
class DrawnProof:
    """Numbers that prove a gap.

    theta : as exact numbers. u : (n_base,). duals : of every condition. bodies : with priors.
    pulls : (n_columns,) q of each term.
    """

    theta: tuple[Fraction, ...]
    u: Array
    duals: tuple[list[Fraction], ...]
    bodies: tuple[DrawnBody, ...]
    pulls: Array


def prove_drawn(
    model: Model, regression: Regression, fit: ConstrainedFit, R: Array, z: Array
) -> DrawnProof | None:
    """A proof for the default objective; None where a part of it has no bound of this form.

    Bodies without a prior that are not fixed are drawn in another way, and the metric "pullback"
    is another objective.
    """
    pull = fit.pull
    if pull is None or pull.metric != "entropic" or pull.gamma <= 0.0:
        return None
    first, trust = model.first_column_of_body, pull.prior.trust
    fixed = {c for block in fit.blocks if block.kind == "zero" for c in block.columns}
    drawn = [k for k, own in zip(first, trust, strict=True) if own > 0.0]
    others = [k for k in first if k not in drawn]
    if not drawn or any(c not in fixed for k in others for c in range(k, k + 10)):
        return None
    weights = {k: 0.5 * pull.gamma * own for k, own in zip(first, trust, strict=True) if own > 0}
    pulls = np.zeros(len(model.columns))
    terms = [i for i, column in enumerate(model.columns) if column.term_kind is not None]
    pulls[terms] = max(pull.choice.terms, LEAST_PULL) / pull.sizes[terms] ** 2
    K, theta = regression.base.K, fit.theta
    u = z - R @ (K @ theta)
    wanted = pulls * theta - K.T @ (R.T @ u)
    rows: list[tuple[list[int], Array]] = []
    for k in drawn:
        own = slice(k, k + 10)
        J, P = pseudo_inertia(theta[own]), pseudo_inertia(pull.prior.theta[own])
        N = weights[k] * (np.linalg.inv(P) - np.linalg.inv(J))
        wanted[own] += np.einsum("pij,ij->p", _UNITS, N)
        rows.append((list(range(k, k + 10)), _body_metric(J, weights[k])))
    rows += [([i], np.array([[pulls[i] ** -0.5]])) for i in terms]
    implied = {k for k, block in enumerate(fit.blocks) if _is_body(block, drawn)}
    duals = _duals(fit.blocks, implied, theta, fit.problem.scale, wanted, rows)
    exact_duals = [inside_cone(block, dual) for block, dual in zip(fit.blocks, duals, strict=True)]
    _balance_fixed(fit.blocks, exact_duals, others, K, R, u)
    bodies = tuple(
        DrawnBody(
            k,
            Fraction(weights[k]),
            tuple(Fraction(float(x)) for x in pull.prior.theta[k : k + 10]),
        )
        for k in drawn
    )
    return DrawnProof(exact_parameters(fit.blocks, theta), u, tuple(exact_duals), bodies, pulls)


def _is_body(block: Block, drawn: Sequence[int]) -> bool:
    """Whether a condition says only that a drawn body is physical, which its prior implies."""
    at = block.columns[0]
    return (
        block.kind == "psd"
        and block.size == 4
        and at in drawn
        and not block.b.any()
        and block.columns == tuple(range(at, at + 10))
    )


def _body_metric(J: Array, weight: float) -> Array:
    """Rows (16, 10) whose product with e has the square that the bound counts, to second order."""
    L = np.linalg.cholesky(J)
    back = np.linalg.inv(np.einsum("pij,qij->pq", _UNITS, _UNITS))
    # N with tr(N J(phi)) = e·phi lies in the span of the units, which are a basis
    matrices = np.einsum("pq,qij->pij", back, _UNITS)
    turned = np.einsum("ia,pij,jb->pab", L, matrices, L)
    return np.asarray(np.sqrt(2.0 / weight) * turned.reshape(10, 16).T)


def _duals(
    blocks: Sequence[Block],
    implied: set[int],
    theta: Array,
    scale: Array,
    wanted: Array,
    rows: Sequence[tuple[list[int], Array]],
) -> list[Array]:
    """Duals (n_entries,) of every condition, for which sum A_kᵀ z_k is close to ``wanted``.

    A limit of a single parameter takes what is left on it, which needs no solver.
    """
    out = [np.zeros(len(block.b)) for block in blocks]
    counted = {column for columns, _ in rows for column in columns}
    near = [
        k
        for k, block in enumerate(blocks)
        if k not in implied
        and counted.issuperset(block.columns)
        and (
            block.kind == "zero"
            or block.margin(theta)
            < NEAR * np.max(np.abs(block.A * scale[list(block.columns)]), initial=0.0)
        )
    ]
    single = [k for k in near if blocks[k].A.shape == (1, 1)]
    joint = [k for k in near if k not in single]
    left = wanted.copy()
    for k, dual in zip(
        joint, _joint_duals([blocks[k] for k in joint], theta, wanted, rows), strict=True
    ):
        out[k] = dual
        left[list(blocks[k].columns)] -= adjoint(blocks[k], dual)
    for k in single:
        block, column = blocks[k], blocks[k].columns[0]
        dual = left[column] / block.A[0, 0]
        out[k][0] = dual if block.kind == "zero" else max(dual, 0.0)
        left[column] -= block.A[0, 0] * out[k][0]
    return out


def _joint_duals(
    blocks: Sequence[Block],
    theta: Array,
    wanted: Array,
    rows: Sequence[tuple[list[int], Array]],
) -> list[Array]:
    """Duals of conditions on several parameters: least squares in the metric of ``rows``."""
    out = [np.zeros(len(block.b)) for block in blocks]
    if not blocks:
        return out
    starts = np.concatenate([[0], np.cumsum([len(block.b) for block in blocks])]).tolist()
    S = np.zeros((len(theta), starts[-1]))
    slack = np.zeros(starts[-1])
    cones = []
    for at, block in enumerate(blocks):
        where = slice(starts[at], starts[at + 1])
        psd = block.kind == "psd"
        weights = off_diagonal_weights(block.size) if psd else np.ones(len(block.b))
        S[list(block.columns), where] = (weights[:, None] * block.A).T
        if block.kind != "zero":
            n = len(block.b)
            slack[where] = weights * block.entries(theta)
            columns = tuple(range(starts[at], starts[at + 1]))
            cones.append(Block(block.kind, columns, np.eye(n), np.zeros(n)))
    touched = {int(c) for c in np.flatnonzero(np.any(S != 0.0, axis=1))}
    used = [(columns, row) for columns, row in rows if touched & set(columns)]
    F = np.vstack([row @ S[columns] for columns, row in used])
    g = np.concatenate([row @ wanted[columns] for columns, row in used])
    size = np.maximum(np.max(np.abs(F), axis=0), 1e-300)
    try:
        found = solve(conic_problem(starts[-1], cones, 1.0 / size, F=F, g=g, c=slack))
    except EstimationError:
        return out
    if found.status not in ("solved", "stalled"):
        return out
    return [found.theta[starts[at] : starts[at + 1]] for at in range(len(blocks))]


def _balance_fixed(
    blocks: Sequence[Block],
    duals: list[list[Fraction]],
    others: Sequence[int],
    K: Array,
    R: Array,
    u: Array,
) -> None:
    """Give the equations of massless bodies the duals that leave nothing on their columns."""
    if not others:
        return
    back = exact_product(R.T, fractions_of(u))
    for k, block in enumerate(blocks):
        if block.kind != "zero" or block.columns[0] not in others or len(block.b) != 10:
            continue
        for at, column in enumerate(block.columns):
            pulled = exact_product(K[:, [column]].T, back)[0]
            duals[k][at] = -pulled / Fraction(float(block.A[at, at]))
