"""The influence of a prior on an estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.drawn_fits import DrawnFits
from steelyard.estimators.entropic import Metric
from steelyard.estimators.estimate import Credible
from steelyard.estimators.estimate_record import PriorRecord
from steelyard.estimators.prior_weight import (
    GammaChoice,
)
from steelyard.knowledge.prior import Prior

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pull:
    """The prior that an estimate was drawn to, and its influence.

    divergence : D from the prior, by body with a prior.
    sizes : (n_columns,) of the parameters, in which terms are pulled to zero.
    covariance : (n_base, n_base) that the prior's own uncertainty adds to that of the data.
    data_share : (n_base,) share of each base parameter's variance that comes from the data; NaN
        for those that neither the data nor a body with a prior determine.
    credible : standard deviations given data and prior; None without a prior.
    strained : bodies that the data move further from their prior than its weight explains.
    iterations : steps of the solver. fits : the same problem on any draw of time blocks.
    """

    prior: Prior
    metric: Metric
    choice: GammaChoice
    divergence: dict[str, float]
    sizes: Array
    covariance: Array
    data_share: Array
    iterations: int
    fits: DrawnFits
    strained: tuple[str, ...] = ()
    credible: Credible | None = None

    @property
    def gamma(self) -> float:
        """Weight of the prior."""
        return self.choice.gamma

    @property
    def record(self) -> PriorRecord:
        """The prior as the result file records it."""
        return PriorRecord(
            source=self.prior.source,
            metric=self.metric,
            gamma=self.gamma,
            rule=self.choice.rule,
            trials=self.choice.trials,
            terms=self.choice.terms,
            term_trials=self.choice.term_trials,
            score=self.choice.score,
            rivals=self.choice.rivals,
            strained=self.strained,
            divergence=self.divergence,
            iterations=self.iterations,
        )
