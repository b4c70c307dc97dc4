"""Contender: what one evaluation of the criterion costs, and its gradient, as samples grow.

Prints seconds of one evaluation and of one evaluation with its gradient, and peak memory of the
latter, by number of samples; and both at 1,000 samples in turns, for the ratio.
Usage: REPEATS
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from statistics import median
from time import perf_counter

import excitation_problem
import numpy as np

from steelyard.excitation.search._objective import Objective

SAMPLES = (500, 1000, 2000, 4000)


def main(repeats: int) -> None:
    """Measure at random motions of the WAM."""
    problem = excitation_problem.search_problem(excitation_problem.dh_wam())
    excitation_problem.compile_kernels(problem)
    motions = excitation_problem.random_starts(problem, 0, repeats)
    value: dict[int, list[float]] = {n: [] for n in SAMPLES}
    both: dict[int, list[float]] = {n: [] for n in SAMPLES}
    memory = {}
    objectives = {
        n: Objective(problem.basis, problem.information, problem.criterion.evaluate, n, 0.0)
        for n in SAMPLES
    }
    for n, objective in objectives.items():
        # the shapes of the samples are kept: made here, before anything is measured
        objective(motions[0]).gradient()
        tracemalloc.start()
        with_gradient(objective, motions[0])
        memory[n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    for x in motions:
        for n, objective in objectives.items():
            value[n].append(seconds_of(lambda o, y: o(y).value, objective, x))
            both[n].append(seconds_of(with_gradient, objective, x))
    answer = {
        "samples": SAMPLES,
        "value_s": [median(value[n]) for n in SAMPLES],
        "both_s": [median(both[n]) for n in SAMPLES],
        "ratio": median(b / v for b, v in zip(both[1000], value[1000], strict=True)),
        "peak_bytes": [memory[n] for n in SAMPLES],
    }
    json.dump(answer, sys.stdout)


def with_gradient(objective: Objective, x: np.ndarray) -> None:
    """Value and gradient at a point where nothing is known yet."""
    point = objective(x)
    _ = point.value
    point.gradient()


def seconds_of(
    work: Callable[[Objective, np.ndarray], object], objective: Objective, x: np.ndarray
) -> float:
    """Time of one call."""
    started = perf_counter()
    work(objective, x)
    return perf_counter() - started


if __name__ == "__main__":
    main(int(sys.argv[1]))
