"""Cluster-robust covariance from the time blocks.

Residuals of filtered signals are autocorrelated, so that sigma² (WᵀW)⁻¹ is too small.
The CR3 (leave-one-block-out) form assumes only that blocks are independent of each other: with
A = (WᵀW)⁻¹, H_b = W_bᵀ W_b and u_b = W_bᵀ e_b of block b,

    beta - beta_without_b = (WᵀW - H_b)⁻¹ u_b,      C = (G - 1)/G  Σ_b d_b d_bᵀ

and intervals use t with G - 1 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.estimate import Spread
from steelyard.findings import Finding
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]

MIN_BLOCKS = 8


def cluster_spread(
    regression: Regression, weights: Array, beta: Array, inverse: Array
) -> tuple[Array | None, str]:
    """CR3 covariance (n_base, n_base), or None and the reason.

    inverse : (n_base, rank) with (WᵀW)⁺ = inverse inverseᵀ; in these coordinates WᵀW is 1, and
        without block b it is 1 - Q_b, Q_b = inverseᵀ W_bᵀ W_b inverse.
    """
    if regression.pooled is not None and not regression.pooled.has(weights):
        return None, "the time blocks of a robot with so many parameters have weights of their own"
    return covariance_of_runs(
        [regression], lambda run, block: run.block_rows(block, weights), beta, inverse
    )


def covariance_of_runs(
    runs: Sequence[Regression],
    rows: Callable[[Regression, int], Array],
    beta: Array,
    inverse: Array,
) -> tuple[Array | None, str]:
    """CR3 covariance (n, n) from the time blocks of all runs, or None and the reason.

    rows : from a run and the number of its block to the weighted rows (k, n + 1) of [W tau].
    beta, inverse : as in `left_out_covariance`.
    """
    blocks = [(run, block) for run in runs for block in range(len(run.keys))]
    if len(blocks) < MIN_BLOCKS:
        return None, f"{len(blocks)} time blocks are fewer than {MIN_BLOCKS}; record for longer"
    covariance, failed = left_out_covariance((rows(*one) for one in blocks), beta, inverse)
    if failed is not None:
        run, block = blocks[failed]
        name, number = run.keys[block]
        return None, (
            f"without the time block from {number * run.block_s:g} s of run '{name}' some "
            "parameters cannot be estimated; repeat the motion or record for longer"
        )
    return covariance, ""


def left_out_covariance(
    blocks: Iterable[Array], beta: Array, inverse: Array
) -> tuple[Array | None, int | None]:
    """CR3 covariance (n, n), or None and the number of the block without which some parameters
    cannot be estimated.

    blocks : rows (k, n + 1) of [W tau] of each block. beta : (n,) least squares of all.
    inverse : (n, rank) with (WᵀW)⁺ = inverse inverseᵀ.
    """
    rank = inverse.shape[1]
    total = np.zeros((rank, rank))
    n_blocks = 0
    for number, rows in enumerate(blocks):
        n_blocks += 1
        W = rows[:, :-1] @ inverse
        score = W.T @ (rows[:, -1] - rows[:, :-1] @ beta)
        without = np.eye(rank) - W.T @ W
        try:
            L = np.linalg.cholesky(without)
        except np.linalg.LinAlgError:
            L = np.zeros((rank, rank))
        if rank and np.diag(L).min() < 1e-5:
            return None, number
        step = np.linalg.solve(without, score)
        total += np.outer(step, step)
    return (n_blocks - 1) / n_blocks * (inverse @ total @ inverse.T), None


def overconfidence(classical: Spread, cluster: Spread) -> tuple[Finding, ...]:
    """A warning where the classical error bars are clearly too small."""
    ratio = cluster.sigma / classical.sigma
    ratio = ratio[np.isfinite(ratio)]
    typical = float(np.median(ratio)) if len(ratio) else 1.0
    if typical < 1.5:
        return ()
    return (
        Finding(
            "warning",
            "classical-overconfident",
            f"residuals are autocorrelated: error bars that assume independent residuals are "
            f"typically {typical:.1f} times too small; intervals here use the time blocks",
        ),
    )
