"""Definition of an estimator: its name, what it needs and guarantees, and its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from steelyard.errors import EstimationError
from steelyard.estimators.solver_names import Weighting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from steelyard.estimators.constrained import ConstrainedFit
    from steelyard.estimators.estimate import Estimate
    from steelyard.estimators.prior_weight import GammaRule
    from steelyard.knowledge.constraints import Constraints
    from steelyard.knowledge.prior import Prior
    from steelyard.model.model import Model
    from steelyard.regression.regression import Regression

    Array = NDArray[np.float64]

DEFAULT_METHOD = "entropic"
PriorUse = Literal["none", "values", "bodies"]
Columns = Literal["all", "independent"]
COLUMN_CHOICES = ("all", "independent")
"""Which standard parameters may differ from values of a prior: all, or the base columns alone."""
Option = Literal[
    "gamma",
    "n_resamples",
    "ranges",
    "constraints",
    "compare_terms",
    "budget_s",
    "sweeps",
    "columns",
    "weighting",
    "towards",
    "drive_terms",
    "essential",
]
DriveTerms = Literal["stated", "kept", "given", "first fit"]
"""Friction and drive inertia of a prior: "stated" values, and the others of a first fit; the same,
with the stated ones "kept" in the result, too; all as "given", zero where nothing is stated; or all
of the "first fit"."""
Towards = Literal["file", "zero"]
"""Values to which parameters that the data leave open are regularised."""
CHOICES: Mapping[str, tuple[str, ...]] = {
    "weighting": get_args(Weighting),
    "towards": get_args(Towards),
    "drive_terms": get_args(DriveTerms),
}


@dataclass(frozen=True)
class EssentialLimits:
    """When essential parameters are no longer removed.

    multiple : largest allowed ratio between relative standard deviations. ceiling : largest
    relative standard deviation that may remain. significance : a removal is refused where the
    F-test's p-value is below it; 0 never refuses. See `steelyard.estimators.essential`.
    """

    multiple: float = 30.0
    ceiling: float = 0.5
    significance: float = 0.05


def check_columns(columns: str) -> None:
    """Refuse a choice of columns that there is not."""
    if columns not in COLUMN_CHOICES:
        raise EstimationError(
            f"there is no column choice '{columns}'; there are {', '.join(COLUMN_CHOICES)}"
        )


@dataclass(frozen=True)
class EstimationOptions:
    """Options of an estimate.

    method : name of the estimator.
    gamma : weight of the prior, or the rule by which the data choose it.
    n_resamples : resamples for the confidence intervals of constrained estimates, 0 for none.
    ranges : whether to compute feasible ranges.
    budget_s : time (s) after which the iterations of the fit end; None for no limit. Intervals
        take time of their own.
    sweeps : of a sequential fit towards the simultaneous optimum; None for as many as needed.
    columns : which standard parameters differ from the prior; see `steelyard.estimators.cad`.
    weighting : "ols" gives all joints the same weight, "wls" each by its own noise.
    towards : "file" or "zero", values to which the weak pull of feasible and sequential fits draws
        what the data leave open; None for the method's own choice.
    drive_terms : friction and drive inertia of a prior of "cad", see `DriveTerms`.
    essential : when essential parameters are no longer removed.
    """

    method: str = DEFAULT_METHOD
    gamma: float | GammaRule = "leave-blocks-out"
    n_resamples: int = 200
    ranges: bool = True
    budget_s: float | None = None
    sweeps: int | None = None
    columns: Columns = "all"
    weighting: Weighting = "wls"
    towards: Towards | None = None
    drive_terms: DriveTerms = "stated"
    essential: EssentialLimits = EssentialLimits()


@dataclass(frozen=True, eq=False)
class EstimationTask:
    """Input of an estimator.

    prior : None for the estimators that take none. constraints : None for the default ones.
    threads : the result does not depend on it.
    progress : called with the name of the work, the number of solved problems and their total.
    """

    model: Model
    regression: Regression
    options: EstimationOptions = EstimationOptions()
    prior: Prior | None = None
    constraints: Constraints | None = None
    threads: int = 1
    progress: Callable[[str, int, int], None] | None = None

    @property
    def given_prior(self) -> Prior:
        """The prior of an estimator that takes one."""
        assert self.prior is not None
        return self.prior

    def centre(self, default: Towards) -> Array:
        """Values (n_columns,) to which a weak pull draws what the data leave open."""
        from steelyard.model.typical_sizes import known_parameters

        towards = self.options.towards or default
        known = known_parameters(self.model)
        return known if towards == "file" else 0.0 * known

    def progress_of(self, what: str) -> Callable[[int, int], None] | None:
        """The progress function for one part of the work."""
        progress = self.progress
        if progress is None:
            return None
        return lambda done, total: progress(what, done, total)


@dataclass(frozen=True)
class Estimator:
    """One estimator.

    description : what it does, in one line of help, without its name.
    run : the function; returns the estimate and the constrained fit that it is from, if any.
    prior : "none" if it takes none; "values" if it needs values of the parameters, physical or
        not; "bodies" if it needs physical bodies. The default prior is the robot file's.
    options : which of `EstimationOptions` it uses, and whether it uses constraints and can compare
        sets of terms.
    gives_standard : it guarantees standard parameters, not only base parameters.
    physical : it guarantees physical standard parameters.
    """

    name: str
    description: str
    run: Callable[[EstimationTask], tuple[Estimate, ConstrainedFit | None]]
    prior: PriorUse = "none"
    options: frozenset[Option] = frozenset()
    gives_standard: bool = False
    physical: bool = False

    @property
    def takes_prior(self) -> bool:
        """Whether it needs a prior."""
        return self.prior != "none"
