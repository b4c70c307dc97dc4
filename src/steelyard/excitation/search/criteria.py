"""How well a motion excites a robot: criteria on the information matrix, each with its slope.

The information matrix is M = Wᵀ W of the weighted, column-scaled base regressor; its inverse is
the covariance of the base parameters at unit noise. Every criterion here is a smooth function of
M and is minimised. A new criterion is one more entry of `CRITERIA`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError, did_you_mean, listed, shown

Array = NDArray[np.float64]
Evaluate = Callable[[Array], tuple[float, Array]]
DEFAULT_CRITERION = "d-optimal"


@dataclass(frozen=True)
class Criterion:
    """One criterion.

    description : what it means, in one line of help. depends_on_scaling : whether the scaling of
    columns changes which motion is best.
    stages : its value and its slope dvalue/dM (n, n) as a function of M, from smooth to sharp;
        the last one is what is optimised in the end.
    exact : its value without smoothing, by which motions are compared.
    """

    name: str
    description: str
    stages: tuple[Evaluate, ...]
    exact: Callable[[Array], float]
    depends_on_scaling: bool = True

    @property
    def evaluate(self) -> Evaluate:
        """The last stage."""
        return self.stages[-1]


def d_optimal(M: Array) -> tuple[float, Array]:
    """- log det M / n: the mean log variance."""
    n = len(M)
    diagonal = np.diag(M)
    if not (diagonal > 0.0).all():
        return np.inf, np.zeros_like(M)
    # with ones on the diagonal: rounding must not depend on the units of the columns
    unit = 1.0 / np.sqrt(diagonal)
    try:
        L = np.linalg.cholesky(M * (unit[:, None] * unit))
    except np.linalg.LinAlgError:
        return np.inf, np.zeros_like(M)
    inverse = np.linalg.inv(L) * unit
    log_det = 2.0 * float(np.sum(np.log(np.diag(L)) - np.log(unit)))
    return -log_det / n, -(inverse.T @ inverse) / n


def a_optimal(M: Array) -> tuple[float, Array]:
    """log (trace M⁻¹ / n): the log of the mean variance."""
    values, vectors = np.linalg.eigh(M)
    if not values[0] > 0.0:
        return np.inf, np.zeros_like(M)
    total = float(np.sum(1.0 / values))
    slope = -(vectors / values**2) @ vectors.T / total
    return float(np.log(total / len(M))), slope


def e_optimal(power: float) -> Evaluate:
    """log of the largest variance 1 / λ_min, smoothed: log (sum λ^-p) / p."""

    def evaluate(M: Array) -> tuple[float, Array]:
        values, vectors = np.linalg.eigh(M)
        if not values[0] > 0.0:
            return np.inf, np.zeros_like(M)
        value, share = _log_power_sum(-np.log(values), power)
        return value, -(vectors * (share / values)) @ vectors.T

    return evaluate


def condition(power: float) -> Evaluate:
    """log of the condition number of W, ½ log (λ_max / λ_min), smoothed by p-norms of λ and 1/λ.

    With p = 2 it is half the log of the Frobenius condition number of M (Gautier and Khalil 1992,
    eq 21). The smoothed value is never below the true one.
    """

    def evaluate(M: Array) -> tuple[float, Array]:
        values, vectors = np.linalg.eigh(M)
        if not values[0] > 0.0:
            return np.inf, np.zeros_like(M)
        logs = np.log(values)
        high, share_high = _log_power_sum(logs, power)
        low, share_low = _log_power_sum(-logs, power)
        slope = 0.5 * (share_high - share_low) / values
        return 0.5 * (high + low), (vectors * slope) @ vectors.T

    return evaluate


def _log_power_sum(x: Array, power: float) -> tuple[float, Array]:
    """log (sum exp(p x)) / p and its gradient (n,)."""
    top = float(x.max())
    weights = np.exp(power * (x - top))
    total = float(weights.sum())
    return top + float(np.log(total)) / power, weights / total


def condition_of_information(M: Array) -> float:
    """Condition number of W from M = Wᵀ W; infinite where W has not full rank."""
    values = np.linalg.eigvalsh(M)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else np.inf


def _log_smallest(M: Array) -> float:
    """log of the smallest eigenvalue; minus infinity where it is not positive."""
    smallest = float(np.linalg.eigvalsh(M)[0])
    return float(np.log(smallest)) if smallest > 0.0 else -np.inf


CRITERIA = (
    Criterion(
        "d-optimal",
        "smallest volume of the confidence ellipsoid: the mean log variance of the parameters",
        (d_optimal,),
        lambda M: d_optimal(M)[0],
        depends_on_scaling=False,
    ),
    Criterion(
        "a-optimal",
        "smallest mean variance of the parameters",
        (a_optimal,),
        lambda M: a_optimal(M)[0],
    ),
    Criterion(
        "e-optimal",
        "smallest variance of the worst determined combination",
        (e_optimal(10.0), e_optimal(40.0)),
        lambda M: -_log_smallest(M),
    ),
    Criterion(
        "condition",
        "smallest condition number of the regressor (singular values)",
        (condition(8.0), condition(32.0)),
        lambda M: float(np.log(condition_of_information(M))),
    ),
    Criterion(
        "frobenius",
        "smallest Frobenius condition number of WᵀW (Gautier and Khalil 1992, eq 21)",
        (condition(2.0),),
        lambda M: condition(2.0)(M)[0],
    ),
)
"""Every criterion, in the order of help."""

CRITERION_NAMES = tuple(criterion.name for criterion in CRITERIA)


def criterion_named(name: str) -> Criterion:
    """The criterion of this name."""
    for criterion in CRITERIA:
        if criterion.name == name:
            return criterion
    raise SignalError(
        f"there is no criterion {shown(name)}{did_you_mean(name, CRITERION_NAMES)}; the criteria "
        f"are {listed(CRITERION_NAMES)}"
    )
