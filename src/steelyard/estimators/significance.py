"""Test whether a fit with fewer parameters is significantly worse, from the time blocks.

A filtered log has many more rows than independent samples: an F-test that counts rows finds every
removal significant. Here the time blocks give the effective number of samples. With p parameters
removed, V0 their classical and V their cluster-robust (CR3) covariance in the full
fit, and S, S_r the weighted squares of the full and of the reduced fit,

    X = (S_r - S) / sigma²,          delta = tr(V0⁻¹ V) / p,
    F = X / (p delta)    against     F(p', p' (G - 1)),      p' = tr(V0⁻¹V)² / tr((V0⁻¹V)²)

for G blocks: the second-order correction of Rao and Scott (1984) with the F of Thomas and Rao
(1987). n_rows / delta is the effective number of samples. Unlike a Wald test it inverts no
cluster covariance, whose rank is below G, so that more parameters than blocks can be removed. Where
the blocks give no covariance, the plain F-test is used: F = X / p against F(p, n_rows - n_base),
which finds too many removals significant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.cluster import cluster_spread
from steelyard.estimators.least_squares import Fit
from steelyard.estimators.quantiles import f_tail
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Significance:
    """The test of reduced fits against the full fit; see the module.

    classical, cluster : (n_base, n_base) covariances of the full fit; cluster may be None.
    """

    squares: float
    variance: float
    freedom: int
    n_rows: int
    n_blocks: int
    classical: Array
    cluster: Array | None

    def p_value(self, removed: Sequence[int], squares: float) -> tuple[float, float]:
        """p-value and effective number of rows of the fit without ``removed``.

        squares : weighted sum of squared residuals of that fit.
        """
        p = len(removed)
        excess = max(squares - self.squares, 0.0) / self.variance
        if self.cluster is None:
            return f_tail(excess / p, p, self.freedom), float(self.n_rows)
        own = np.ix_(list(removed), list(removed))
        ratio = np.linalg.solve(self.classical[own], self.cluster[own])
        trace = float(np.trace(ratio))
        effects = trace**2 / float(np.trace(ratio @ ratio))
        value = f_tail(excess / trace, effects, effects * (self.n_blocks - 1))
        return float(value), self.n_rows * p / trace


def significance_test(
    regression: Regression, weights: Array, kept: Sequence[int], fit: Fit
) -> Significance:
    """The test of reduced fits against this fit of the ``kept`` columns."""
    n = regression.base.rank
    freedom = regression.n_rows - fit.rank
    if freedom <= 0:
        raise EstimationError(
            f"{regression.n_rows} {regression.equation.kind.values} cannot give {fit.rank} base "
            "parameters and their noise: record more samples"
        )
    variance = max(fit.residual_square / freedom, float(np.finfo(float).tiny))
    inverse, beta = np.zeros((n, fit.rank)), np.zeros(n)
    inverse[list(kept)], beta[list(kept)] = fit.inverse, fit.beta
    cluster, _ = cluster_spread(regression, weights, beta, inverse)
    return Significance(
        fit.residual_square,
        variance,
        freedom,
        regression.n_rows,
        len(regression.keys),
        variance * inverse @ inverse.T,
        cluster,
    )
