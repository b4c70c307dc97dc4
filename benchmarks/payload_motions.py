"""The experiment of Traversaro et al. 2016 (section IV) in simulation, and the time it takes.

Minimum-jerk motions of three shoulder joints in 10, 5, 2, 1 and 0.5 s, 60 s each at 100 Hz;
Savitzky-Golay filters of order 2 with the paper's windows; a sensor with white noise, bias and
drift. Part of `payload`.
"""

from __future__ import annotations

import time

from contender import say
from goals import Goal

SEEDS = range(100, 110)
REPEATS = 7
GOALS = (
    Goal("solve_ms", "<=", 3.0),
    Goal("total_ms", "<=", 50.0),
    Goal("free_not_physical_10s", ">=", 0.9),
    Goal("physical_always", ">=", 1.0),
    Goal("optimum_reached_always", ">=", 1.0),
    Goal("fast_disagreement_sigma", "<=", 1.0),
)


def motion_figures() -> dict[str, float | None]:
    """For each motion time the share of unconstrained results that are not physical; the largest
    difference on the fastest data; times of one data set.
    """
    import numpy as np
    from point_to_point import MOTION_TIMES_S, recorded

    from steelyard.payload.on_sensor import weigh_on_sensor
    from steelyard.payload.one_body import fit_body
    from steelyard.robot.inertia import is_physical

    figures: dict[str, float | None] = {}
    physical, reached, differences = [], [], []
    seconds: dict[str, list[float]] = {"solve": [], "total": [], "weigh": [], "boundary": []}
    for motion_time in MOTION_TIMES_S:
        say(f"motions of {motion_time:g} s")
        not_physical, inertia_errors = [], []
        for seed in SEEDS:
            run = recorded(motion_time, seed)
            pairs = [(run.motion, run.wrench)]
            R, z = _best_time(lambda pairs=pairs: _compressed(pairs), seconds["total"])
            fits = [_best_time(lambda s=s, R=R, z=z: fit_body(R, z, s), []) for s in _solvers()]
            fit = _best_time(lambda R=R, z=z: fit_body(R, z), seconds["solve"])
            seconds["total"][-1] += seconds["solve"][-1]
            if fit.at_boundary:
                seconds["boundary"].append(seconds["solve"][-1])
            not_physical.append(not is_physical(fit.free))
            physical += [bool(is_physical(one.phi)) for one in fits]
            reached += [one.optimum_reached for one in fits]
            inertia_errors.append(np.abs(fit.phi - run.phi)[4:].max())
            if motion_time == min(MOTION_TIMES_S):
                sigma = np.sqrt(np.diag(np.linalg.inv(R.T @ R)))
                differences += [np.abs((one.phi - fit.free) / sigma).max() for one in fits]
        figures[f"free_not_physical_{motion_time:g}s"] = float(np.mean(not_physical))
        figures[f"inertia_error_{motion_time:g}s"] = float(np.median(inertia_errors))
        # a full weighing, with checks and intervals, of the last of them
        _best_time(lambda pairs=pairs: weigh_on_sensor(pairs), seconds["weigh"])
    return figures | {
        "physical_always": float(np.mean(physical)),
        "optimum_reached_always": float(np.mean(reached)),
        "fast_disagreement_sigma": float(max(differences)),
        "solve_ms": 1000.0 * float(np.median(seconds["solve"])),
        "solve_at_boundary_ms": 1000.0 * float(np.median(seconds["boundary"])),
        "total_ms": 1000.0 * float(np.median(seconds["total"])),
        "weigh_ms": 1000.0 * float(np.median(seconds["weigh"])),
        "weigh_slowest_ms": 1000.0 * float(max(seconds["weigh"])),
    }


def _compressed(pairs):
    """R (11, 10) and z (11,) of the body alone, in units of the noise."""
    import numpy as np

    from steelyard.payload.sensor_factors import compress_wrench
    from steelyard.payload.sensor_fit import group_noise
    from steelyard.regression.regression import triangle

    factors = compress_wrench(pairs)
    rows = factors.rows(1.0 / group_noise(factors, np.eye(3)))
    factor = triangle(rows.reshape(-1, rows.shape[2]))
    return factor[6:, 6:-1], factor[6:, -1]


def _solvers() -> tuple[str, ...]:
    """The solvers that there are."""
    from importlib.util import find_spec

    return ("sdp", "manifold") if find_spec("steelyard.estimators.manifold") else ("sdp",)


def _best_time(task, seconds: list[float]):
    """The result of a task; the shortest of a few processor times is appended."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        result = task()
        best = min(best, time.process_time() - start)
    seconds.append(best)
    return result
