"""Intervals of constrained estimates: how long they take, and whether they contain the true values.

Time: the built-in arm (7 links), 200 resamples of its time blocks, on all processors and in one
process. Coverage: 100 noisy torque records of a random three-joint chain, noise through a low-pass
filter; pooled over the base parameters that no active condition binds, and over those that one
does. Feasible ranges: whether each contains the true value, over 12 records.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

from contender import say
from goals import Goal

NAME = "intervals"
DESCRIPTION = "constrained estimates: time of 200 resamples at 7 links, coverage, feasible ranges"
N_RUNS, N_RESAMPLES, N_RANGED = 100, 100, 12
GOALS = (
    Goal("seconds_7_links_200_resamples", "<=", 20.0),
    Goal("coverage_interior", ">=", 0.92),
    Goal("coverage_interior", "<=", 0.98),
    Goal("ranges_with_truth", ">=", 1.0),
)


def measure() -> dict[str, float | None]:
    """Seconds and shares."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    import numpy as np
    from experiments import chain_experiment
    from scipy.signal import butter, sosfiltfilt

    from steelyard.estimators.feasible import estimate_feasible
    from steelyard.regression.compress import compress

    say("time")
    seconds, seconds_alone = built_in_arm_seconds()
    world = chain_experiment(0)
    low_pass = butter(2, 5.0, fs=100.0, output="sos")
    rng = np.random.default_rng(0)
    interior: list[bool] = []
    boundary: list[bool] = []
    in_range: list[bool] = []
    say("coverage")
    for run in range(N_RUNS):
        noise = 0.3 * sosfiltfilt(low_pass, rng.normal(size=world.tau.shape), axis=0)
        regression = compress(world.model, world.motion, world.measured(noise))
        estimate = estimate_feasible(
            world.model,
            regression,
            prior=world.model.prior_theta(),
            n_resamples=N_RESAMPLES,
            ranges=run < N_RANGED,
        )
        bound = {p.name for p in estimate.standard_parameters() if p.at_boundary}
        inside = np.abs(estimate.beta - world.beta) <= estimate.spread.half_width(0.95)
        for name, hit in zip(estimate.base.names, inside, strict=True):
            (boundary if name in bound else interior).append(bool(hit))
        if run < N_RANGED:
            for parameter, truth in zip(estimate.standard_parameters(), world.theta, strict=True):
                if parameter.interval_kind != "confidence":
                    slack = 1e-6 * (1.0 + abs(truth))
                    in_range.append(parameter.lower - slack <= truth <= parameter.upper + slack)
    return {
        "seconds_7_links_200_resamples": seconds,
        "seconds_7_links_in_one_process": seconds_alone,
        "coverage_interior": float(np.mean(interior)),
        "coverage_boundary": float(np.mean(boundary)) if boundary else None,
        "ranges_with_truth": float(np.mean(in_range)),
        "n_ranges": float(len(in_range)),
    }


def built_in_arm_seconds() -> tuple[float, float]:
    """Seconds for 200 resamples of the built-in arm's constrained fit: all processors, one."""
    from steelyard.estimators.feasible import estimate_feasible
    from steelyard.estimators.parallel.threads import available_threads
    from steelyard.excitation.motions.fourier import multisine
    from steelyard.identification.identify import identify
    from steelyard.model.model import Model
    from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth
    from steelyard.simulation.simulate import Sensors, simulate

    robot = builtin_arm()
    model = Model(robot)
    log = simulate(
        model,
        builtin_truth(model),
        multisine(robot, seed=1),
        duration_s=20.0,
        sensors=Sensors(torque_noise=0.3),
    )
    found = identify(robot, [log])
    times = []
    for threads in (available_threads(), 1):
        start = perf_counter()
        estimate_feasible(
            found.model,
            found.regression,
            prior=model.prior_theta(),
            n_resamples=200,
            ranges=False,
            threads=threads,
        )
        times.append(perf_counter() - start)
    return times[0], times[1]
