"""Steelyard's default identification, timed. Prints JSON.

Usage: call FOLDER REPEATS    the Python call on the demo in FOLDER, and the share of each stage
       long REPEATS           57,656 samples of the Barrett WAM (`wam`), without a report
       resamples REPEATS      one fit with a prior at 7 links, and 200 fits to resampled blocks
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

warnings.simplefilter("ignore")  # what the logs lack is no matter here


def call(folder: Path, repeats: int) -> dict[str, object]:
    """Seconds of `identify` from file names to estimate, validation and certificate.

    stages : seconds from the first progress of each to that of the next, in the last repeat.
    """
    from steelyard import identify

    seconds, stages = [], {}
    for _ in range(repeats + 1):
        begun: dict[str, float] = {}

        def progress(stage: str, *_: object, seen: dict[str, float] = begun) -> None:
            seen.setdefault(stage, perf_counter())

        start = perf_counter()
        identify(
            folder / "arm.urdf",
            folder / "log.csv",
            validate_on=[folder / "held_out.csv"],
            progress=progress,
        )
        seconds.append(perf_counter() - start)
        times = [*begun.values(), start + seconds[-1]]
        stages = {name: times[k + 1] - times[k] for k, name in enumerate(begun)}
        stages["before the first"] = times[0] - start
    return {"seconds": seconds[1:], "stages": stages}


def long(repeats: int) -> dict[str, object]:
    """Seconds of `identify` on the arrays of the long recording."""
    import wam

    from steelyard import Log, Processing, Robot, identify

    recording = wam.recording()
    with tempfile.TemporaryDirectory() as folder:
        robot = Robot.from_urdf(wam.write_urdf(Path(folder)))
    log = Log.from_arrays(
        recording.time,
        recording.q,
        recording.tau,
        joints=robot.joint_names,
        v=recording.v,
        a=recording.a,
    )
    given = Processing(velocity="measured", acceleration="measured", cutoff_hz=None)
    seconds = []
    for _ in range(repeats + 1):
        start = perf_counter()
        identify(robot, log, processing=given)
        seconds.append(perf_counter() - start)
    return {"seconds": seconds[1:]}


def resamples(repeats: int) -> dict[str, object]:
    """Seconds of one fit with a prior, and of 200 fits to resampled time blocks."""
    from prior_problems import Fit, scattered
    from sdp_problem import chain, factors

    from steelyard.estimators.drawn_fits import DrawnFactors, DrawnFits
    from steelyard.estimators.parallel.threads import available_threads
    from steelyard.estimators.parallel.workers import solve_all
    from steelyard.knowledge.constraint_blocks import blocks
    from steelyard.knowledge.constraints import Constraints
    from steelyard.regression.regression import triangle

    it = chain(7)
    F, g = factors(it)
    prior = scattered(it.model, it.model.prior_theta(), np.random.default_rng(0), 0.3)
    problem = Fit(it.model, F, g, blocks(it.model, Constraints()), prior).problem
    W = it.W[..., list(it.base.independent)]
    rows = np.concatenate([W, it.tau[..., None]], axis=2)
    small = np.array(
        [triangle(part.reshape(-1, rows.shape[2])) for part in np.array_split(rows, 30)]
    )
    whole = triangle(small.reshape(-1, rows.shape[2]))
    fits = DrawnFits(problem, DrawnFactors(small, whole), it.noise, it.base.K, "entropic")
    rng = np.random.default_rng(1)
    counts = rng.multinomial(30, np.full(30, 1.0 / 30.0), size=200)
    tasks = np.column_stack([np.full(200, 100.0), np.full(200, 0.05), counts])
    answer: dict[str, list[float]] = {"one": [], "all": []}
    for _ in range(repeats + 1):
        start = perf_counter()
        problem.solve(F, g, 100.0)
        solved = perf_counter()
        found = solve_all(fits.base_parameters, tasks, available_threads())
        answer["one"].append(solved - start)
        answer["all"].append(perf_counter() - solved)
        assert np.isfinite(found).all()
    return {name: values[1:] for name, values in answer.items()}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "helpers"))
    what, *rest = sys.argv[1:]
    if what == "call":
        found = call(Path(rest[0]), int(rest[1]))
    else:
        found = {"long": long, "resamples": resamples}[what](int(rest[0]))
    json.dump(found, sys.stdout)
