"""What a prediction is compared with: simpler models of the same torques, and left-out blocks.

All of it is computed from the compressed factors of the training logs. A result is worth something
if it predicts torques better than

    the file            the inertials of the robot file, without friction,
    the file with terms the same, with friction, drive inertia and offsets fitted to the logs,
    friction alone      friction and offsets fitted to the logs, without any link.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.left_out import (
    Parts,
    channel_factors,
    left_out_squares,
    parts_from,
    pull_rows,
)
from steelyard.errors import EstimationError
from steelyard.estimators.constrained import weighted_system
from steelyard.estimators.drawn_fits import drawn_factors
from steelyard.estimators.estimate import ChannelFit, Estimate
from steelyard.estimators.least_squares import channel_fits, joint_noise
from steelyard.estimators.prior_weight import groups_of, parts_of, search_for
from steelyard.estimators.size_rules import FEWER_PARTS, has_many
from steelyard.model.model import Model
from steelyard.regression.regression import Regression, triangle

Array = NDArray[np.float64]
LEAST_SQUARE = 1e-12
"""Singular values of a fit of terms, relative to the largest, below which they count as zero."""


def fits(regression: Regression, beta: Array) -> tuple[ChannelFit, ...]:
    """Errors of base parameters beta (n_base,) on the training logs, by channel."""
    return channel_fits(regression, beta, np.ones(len(regression.groups)))


def file_beta(model: Model, regression: Regression) -> Array | None:
    """Base parameters (n_base,) of the file's inertials; None where it states no masses."""
    theta = model.prior_theta()
    return np.asarray(regression.base.K @ theta) if theta.any() else None


def file_with_terms(model: Model, regression: Regression) -> Array | None:
    """Base parameters (n_base,) with the file's links, and terms fitted to the logs."""
    beta = file_beta(model, regression)
    return None if beta is None else _with_terms(regression, beta, _terms(model, regression))


def friction_alone(model: Model, regression: Regression) -> Array:
    """Base parameters (n_base,) of friction and offsets that are fitted to the logs."""
    K = _terms(model, regression, with_inertia=False)
    return _with_terms(regression, np.zeros(regression.base.rank), K)


def left_out_file_with_terms(
    model: Model, regression: Regression, estimate: Estimate | None = None
) -> tuple[ChannelFit, ...] | None:
    """Errors by channel of the file's links, with terms fitted to all parts but the one that is
    predicted; on all data together where these cannot be left out. None without masses in the file.

    The parts are those by which the weight of the estimate's prior was chosen, or stretches of
    time.
    """
    held = file_beta(model, regression)
    if held is None:
        return None
    parts, K = _parts(regression), _terms(model, regression)
    whole = fits(regression, _with_terms(regression, held, K))
    if parts is None or regression.pooled is not None:
        return whole
    if estimate is not None and estimate.prior is not None and estimate.prior.score is not None:
        growth = _file_growth(model, regression, held, K)
        return tuple(_raised(one, growth) for one in whole)
    sigma = _sigma(regression)
    channels = [
        np.array([_rows_of(one, group.columns, held, K) for one in factors])
        for group, factors in zip(
            regression.groups, channel_factors(regression, sigma, parts), strict=True
        )
    ]
    rows = np.concatenate(channels, axis=1)
    missed = np.array(_missed([*rows], [[k] for k in range(len(rows))]))
    ends = np.cumsum([one.shape[1] for one in channels])
    squares = [float(np.sum(one**2)) for one in np.split(missed, ends[:-1], axis=1)]
    return tuple(
        replace(fit, rms=max(fit.rms, float(s * np.sqrt(square / max(fit.n_rows, 1)))))
        for fit, s, square in zip(whole, sigma, squares, strict=True)
    )


def _file_growth(model: Model, regression: Regression, held: Array, K: Array) -> float:
    """By how much errors of left-out parts exceed those of the fit, of links as in ``held``
    (n_base,) and fitted terms; parts as for the weight of the prior.
    """
    system = weighted_system(model, regression)
    factors = drawn_factors(regression, system.weights, system.factor)
    counts = regression.counts.sum(axis=1).astype(float)
    n_columns = len(model.columns)
    if has_many(n_columns):
        groups = parts_of(counts, most=FEWER_PARTS)
    else:
        groups = groups_of(factors, counts, search_for(n_columns).n_groups)
    every = range(regression.base.rank)
    rows = [_rows_of(one, every, held, K) for one in factors.small]
    of_all = _rows_of(system.factor, every, held, K)
    used = of_all @ np.append(_solved(of_all), -1.0)
    missed = _missed(rows, groups)
    left = [float(x @ x / counts[group].sum()) for x, group in zip(missed, groups, strict=True)]
    return _growth(np.sqrt(np.mean(left)), np.sqrt(used @ used / counts.sum()))


def _with_terms(regression: Regression, held: Array, K: Array) -> Array:
    """Base parameters ``held`` (n_base,) plus those of the terms that explain the rest best.

    K : (n_base, n_terms) base parameters of each term.
    """
    factors, sigma = regression.group_factors, _sigma(regression)
    rows = [
        _rows_of(factor / s, group.columns, held, K)
        for group, factor, s in zip(regression.groups, factors, sigma, strict=True)
    ]
    return np.asarray(held + K @ _solved(np.vstack(rows)))


def _terms(model: Model, regression: Regression, *, with_inertia: bool = True) -> Array:
    """Base parameters (n_base, n_terms) of the model's terms, with or without drive inertia."""
    kinds = [column.term_kind for column in model.columns]
    wanted = [one is not None and (with_inertia or not one.is_inertia) for one in kinds]
    return regression.base.K[:, wanted]


def _sigma(regression: Regression) -> Array:
    """Noise (n_groups,) of the channels, none of them zero."""
    sigma = joint_noise(regression)
    return np.maximum(sigma, 1e-9 * max(float(np.max(sigma)), np.finfo(float).tiny))


def _parts(regression: Regression) -> list[NDArray[np.int64]] | None:
    """The parts that are left out in turn; None where there are too few time blocks."""
    try:
        parts = parts_of(regression.counts.sum(axis=1))
    except EstimationError:
        return None
    return parts if len(parts) > 1 else None


def _rows_of(factor: Array, columns: Sequence[int], held: Array, K: Array) -> Array:
    """Rows [A b] of A x = b for terms x, from a factor of [W tau] in these base columns."""
    W, own = factor[:, :-1], list(columns)
    return np.column_stack([W @ K[own], factor[:, -1] - W @ held[own]])


def _solved(rows: Array) -> Array:
    """The least squares of rows [A b], those of smallest norm where A has not full rank."""
    R = triangle(rows)
    A, b = R[:, :-1], R[:, -1]
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0.0] = 1.0
    return np.asarray(np.linalg.lstsq(A / scale, b, rcond=LEAST_SQUARE)[0] / scale)


def _missed(blocks: Sequence[Array], groups: Iterable[Iterable[int]]) -> list[Array]:
    """What the least squares of all other blocks misses of the rows [A b] of each group of them."""
    out = []
    for group in map(list, groups):
        rest = [rows for k, rows in enumerate(blocks) if k not in group]
        values = np.append(_solved(np.vstack(rest)), -1.0)
        out.append(np.vstack([blocks[k] for k in group]) @ values)
    return out


def left_out_fits(
    model: Model, regression: Regression, estimate: Estimate
) -> tuple[ChannelFit, ...] | None:
    """Errors by channel, where each part of the logs is predicted from all others.

    None where there are too few time blocks. A method that chooses its prior's weight on left-out
    blocks has predicted them itself; for others the fit is that of `steelyard.diagnosis.left_out`.
    No channel is better than the estimate on the data that it was fitted to.
    """
    used = fits(regression, estimate.beta)
    growth = _chosen_growth(model, regression, estimate)
    if growth is not None:
        return tuple(_raised(one, growth) for one in used)
    parts, sigma = _parts(regression), _sigma(regression)
    if parts is None:
        return None
    pull = pull_rows(model, regression.base.K)
    if regression.pooled is not None:
        return tuple(_raised(one, _pooled_growth(regression, parts, pull)) for one in used)
    whole = parts_from(regression, sigma, parts)
    squares = left_out_squares(whole, whole, pull).sum(axis=0) * sigma**2
    rms = np.sqrt(squares / np.maximum(whole.counts.sum(axis=0), 1.0))
    return tuple(
        _raised(fit, _growth(error, fit.rms)) for fit, error in zip(used, rms.tolist(), strict=True)
    )


def _chosen_growth(model: Model, regression: Regression, estimate: Estimate) -> float | None:
    """By how much the errors of left-out blocks exceed those of the fit, at the weight of the prior
    that was chosen on them; None where it was not.
    """
    prior = estimate.prior
    if prior is None or prior.score is None:
        return None
    system = weighted_system(model, regression)
    left = system.factor @ np.append(estimate.beta, -1.0)
    used = float(left @ left) / (system.sigma**2 * regression.n_rows)
    return _growth(np.sqrt(prior.score), np.sqrt(used))


def _raised(fit: ChannelFit, factor: float) -> ChannelFit:
    return replace(fit, rms=factor * fit.rms)


def _growth(left: float, used: float) -> float:
    """By how much an error of left-out parts exceeds that of the fit; at least 1."""
    return max(1.0, float(left / used)) if used > 0.0 else 1.0


def _pooled_growth(regression: Regression, members: list[NDArray[np.int64]], pull: Array) -> float:
    """By how much errors of left-out parts exceed those of the fit, where blocks are pooled."""
    assert regression.pooled is not None
    factors = regression.pooled.factors
    n = factors.shape[2]
    channel = np.array([triangle(factors[one].reshape(-1, n)) for one in members])
    parts = Parts((channel,), (tuple(range(n - 1)),), np.ones((len(members), 1)), n - 1)
    rows = np.vstack([channel.reshape(-1, n), pull])
    beta = np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)[0]
    used = np.linalg.norm(channel @ np.append(beta, -1.0))
    return _growth(np.sqrt(left_out_squares(parts, parts, pull).sum()), float(used))
