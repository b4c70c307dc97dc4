"""What an estimator is: its name, what it needs and promises, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from steelyard.estimators.constrained import ConstrainedFit
    from steelyard.estimators.estimate import Estimate
    from steelyard.estimators.prior_weight import GammaRule
    from steelyard.knowledge.constraints import Constraints
    from steelyard.knowledge.prior import Prior
    from steelyard.model.model import Model
    from steelyard.regression.regression import Regression

DEFAULT_METHOD = "entropic"
PriorUse = Literal["none", "values", "bodies"]
Option = Literal["gamma", "n_resamples", "ranges", "constraints", "compare_terms"]


@dataclass(frozen=True)
class EstimationOptions:
    """How an estimate is to be made.

    method : name of the estimator.
    gamma : weight of the prior, or the rule by which the data choose it.
    n_resamples, ranges : how intervals of constrained estimates are found.
    """

    method: str = DEFAULT_METHOD
    gamma: float | GammaRule = "leave-blocks-out"
    n_resamples: int = 200
    ranges: bool = True


@dataclass(frozen=True, eq=False)
class EstimationTask:
    """What an estimator is given.

    prior : None for the estimators that take none. constraints : None for physics alone.
    threads : the result does not depend on it.
    progress : called with what is done, and how many of how many problems are solved.
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

    def progress_of(self, what: str) -> Callable[[int, int], None] | None:
        """The progress of one part of the work."""
        progress = self.progress
        if progress is None:
            return None
        return lambda done, total: progress(what, done, total)


@dataclass(frozen=True)
class Estimator:
    """One estimator.

    description : what it does, in one line of help, without its name.
    run : the function that makes the estimate, and the constrained fit behind it, if it has one.
    prior : "none" if it takes none; "values" if it needs values of the parameters, physical or
        not; "bodies" if it needs bodies that are physical. By default those of the robot file.
    options : what it uses of `EstimationOptions`, and whether it uses constraints and can compare
        sets of terms.
    gives_standard : it promises standard parameters, not only base parameters.
    physical : it promises standard parameters that a physical robot can have.
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
        """Whether it is drawn to, or completed by, known values."""
        return self.prior != "none"
