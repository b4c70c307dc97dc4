"""Do 95 % intervals contain the true value in 95 % of the runs?

1,000 noisy torque records of one exact motion of a random three-joint chain with friction, for
white noise (OLS with equal, WLS with unequal noise per joint) and for noise through a low-pass
filter. Coverage is pooled over the base parameters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contender import say
from goals import Goal

NAME = "coverage"
DESCRIPTION = "1,000 runs: share of true base parameters inside their 95 % intervals"
N_RUNS = 1000
QUICK_RUNS = 100
GOALS = (
    Goal("ols_white", ">=", 0.93),
    Goal("ols_white", "<=", 0.97),
    Goal("wls_white", ">=", 0.93),
    Goal("wls_white", "<=", 0.97),
    Goal("cluster_filtered", ">=", 0.90),
    Goal("cluster_filtered", "<=", 0.98),
    Goal("classical_filtered", "<", 0.90),
    Goal("said_overconfident", ">=", 1.0),
)
QUICK_GOALS = (
    *(Goal(name, ">=", 0.92) for name in ("ols_white", "wls_white")),
    *(Goal(name, "<=", 0.975) for name in ("ols_white", "wls_white")),
    Goal("cluster_filtered", ">=", 0.90),
    Goal("cluster_filtered", "<=", 0.98),
    Goal("classical_filtered", "<", 0.90),
    Goal("said_overconfident", ">=", 1.0),
    Goal("said_overconfident_white", "<=", 0.05),
)
"""Of 100 runs, whose pooled coverage scatters more."""


def quick() -> dict[str, float | None]:
    """A tenth of the runs."""
    return measure(QUICK_RUNS)


def measure(n_runs: int = N_RUNS) -> dict[str, float | None]:
    """Pooled coverage of each interval, and the share of results with the expected warning."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    import numpy as np
    from experiments import chain_experiment
    from scipy.signal import butter, sosfiltfilt

    from steelyard.estimators.least_squares import ols, wls

    world = chain_experiment(0)
    rng = np.random.default_rng(1)
    low_pass = butter(2, 5.0, fs=100.0, output="sos")
    shape = world.tau.shape
    cases: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
        "ols_white": (ols, lambda: 0.5 * rng.normal(size=shape)),
        "wls_white": (wls, lambda: rng.normal(size=shape) * [1.0, 0.3, 0.1]),
        "filtered": (wls, lambda: sosfiltfilt(low_pass, rng.normal(size=shape), axis=0)),
    }
    found = {}
    for name, (estimator, draw) in cases.items():
        say(name)
        found[name] = coverage(world, estimator, draw, n_runs)
    return {
        "ols_white": found["ols_white"][0],
        "wls_white": found["wls_white"][0],
        "classical_filtered": found["filtered"][0],
        "cluster_filtered": found["filtered"][1],
        "said_overconfident": found["filtered"][2],
        "said_overconfident_white": max(found["ols_white"][2], found["wls_white"][2]),
        "n_runs": n_runs,
        "n_blocks": found["filtered"][3],
    }


def coverage(
    world: Any, estimator: Callable[..., Any], draw: Callable[[], Any], n_runs: int
) -> tuple[float, float, float, int]:
    """Classical and cluster coverage, share of runs with the warning, number of blocks."""
    import numpy as np

    from steelyard.regression.compress import compress

    inside = np.zeros((2, n_runs))
    said = 0
    estimate = None
    for k in range(n_runs):
        estimate = estimator(compress(world.model, world.motion, world.measured(draw())))
        for i, spread in enumerate(estimate.spreads):
            inside[i, k] = np.mean(np.abs(estimate.beta - world.beta) <= spread.half_width(0.95))
        said += any(finding.code == "classical-overconfident" for finding in estimate.findings)
    assert estimate is not None
    return float(inside[0].mean()), float(inside[1].mean()), said / n_runs, estimate.n_blocks
