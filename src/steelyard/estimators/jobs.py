"""What helping processes can do, by name."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.estimators.prior_fit import drawn_prior_solver
from steelyard.estimators.ranges import range_solver
from steelyard.estimators.resampling import resample_solver
from steelyard.estimators.workers import Shared, Solver

JOBS: dict[str, Callable[[Shared], Solver]] = {
    "resample": resample_solver,
    "range": range_solver,
    "drawn_prior": drawn_prior_solver,
}
