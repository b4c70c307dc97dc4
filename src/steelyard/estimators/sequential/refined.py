"""The sequential fit and its refinement, with what is proven of it after every sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.sequential.inward import LinkwiseFit, fit_inward
from steelyard.estimators.sequential.links import Link
from steelyard.estimators.sequential.lower_bound import LowerBound
from steelyard.estimators.sequential.sweeps import Sweeper, WholeFit, whole_fit
from steelyard.estimators.sequential.window import LAG

Array = NDArray[np.float64]
ENOUGH = 1e-3
"""Sweeps end when the objective is proven to be within this share of the optimum."""
MOST_SWEEPS = 30
"""Sweeps end at the latest after so many, if their number is not given."""


@dataclass(frozen=True)
class Stage:
    """The objective after a pass or sweep, and the best lower bound that is proven by then."""

    value: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """How much smaller the optimal objective can be, at most."""
        return self.value - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the lower bound, which counts as at least one."""
        return self.gap / max(self.lower_bound, 1.0)


@dataclass(frozen=True, eq=False)
class Refined:
    """A fit link by link, and its stages: first the pass inward, then every sweep.

    whole : the problem that the stages are about, without the part of the residuals that does not
    depend on the parameters.
    """

    whole: WholeFit
    fit: LinkwiseFit
    stages: tuple[Stage, ...]

    @property
    def n_sweeps(self) -> int:
        """Number of sweeps after the pass inward."""
        return len(self.stages) - 1

    @property
    def theta(self) -> Array:
        """Standard parameters (n_columns,)."""
        return self.fit.theta(self.whole.links)

    def stage_of(self, theta: Array) -> Stage:
        """Objective of other parameters, such as rounded ones, and the best lower bound."""
        u = [link.coordinates(theta[link.columns]) for link in self.whole.links]
        return Stage(self.whole.value(u), max(stage.lower_bound for stage in self.stages))


def refine(
    R: Array,
    z: Array,
    K: Array,
    links: Sequence[Link],
    *,
    sweeps: int | None = None,
    lag: int = LAG,
    begin: LinkwiseFit | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Refined:
    """The pass inward, then sweeps: as many as given, or until the gap is at most `ENOUGH`.

    R : (n_base, n_base) and z : (n_base,) in units of the noise. begin : a fit to refine in place
    of the pass inward. progress : called with the number of sweeps and the largest number.
    """
    check_sweeps(sweeps)
    fit = fit_inward(R, z, K, links, lag=lag) if begin is None else begin
    whole = whole_fit(R, z, K, links)
    bound = LowerBound(whole)
    stages = [Stage(whole.value(fit.u), bound.of(fit))]
    most = MOST_SWEEPS if sweeps is None else sweeps
    values = [stages[0].value]
    sweeper = None
    for k in range(most):
        if sweeps is None and stages[-1].relative_gap <= ENOUGH:
            break
        if progress is not None:
            progress(k, most)
        sweeper = Sweeper(whole) if sweeper is None else sweeper
        fit = sweeper.sweep(fit, outward=k % 2 == 0)
        value, proven = whole.value(fit.u), stages[-1].lower_bound
        values.append(value)
        # a fit that is far from the optimum needs no proof of it
        if k == most - 1 or (sweeps is None and still_to_gain(values) <= ENOUGH):
            proven = max(proven, bound.of(fit))
        stages.append(Stage(value, proven))
    return Refined(whole, fit, tuple(stages))


def still_to_gain(values: Sequence[float]) -> float:
    """What further sweeps would gain, as a share of the objective, if gains go on shrinking by the
    factor by which the last one did; at least half of the last gain, if that was the first.

    values : (n_sweeps + 1,) the objective before and after each sweep.
    """
    size = max(values[-1], 1.0)
    gained = max(values[-2] - values[-1], 0.0) / size
    if len(values) < 3:
        return 0.5 * gained
    before = max(values[-3] - values[-2], 0.0) / size
    if gained >= before:
        return gained
    return gained**2 / (before - gained)


def check_sweeps(sweeps: int | None) -> None:
    """Refuse a number of sweeps that is none."""
    if sweeps is not None and not 0 <= sweeps <= 10_000:
        raise EstimationError(f"sweeps is {sweeps}; it must be 0 to 10000")
