"""Contender: Steelyard's search for an exciting sum of sines.

Prints ``{"trace": [[seconds, condition number], ...], "condition": ..., "limit_use": ...}``: the
best value after each stage, and that of the result, computed again by an SVD of the stacked
regressor; the largest share of a limit on a dense grid. Compilation and base parameters are not
counted. Usage: FILE.urdf|dh SEED SECONDS THREADS
"""

from __future__ import annotations

import json
import sys
from math import exp

import excitation_problem
from excitation_problem import dh_wam, independent_condition, limit_use, search_problem

from steelyard import Robot
from steelyard.excitation.search.search import Progress, search


def main(robot: str, seed: str, seconds: str, threads: str) -> None:
    """Search for so many seconds."""
    problem = search_problem(dh_wam() if robot == "dh" else Robot.from_urdf(robot))
    excitation_problem.compile_kernels(problem)
    trace: list[tuple[float, float]] = []

    def note(progress: Progress) -> None:
        trace.append((progress.seconds, exp(progress.value)))

    found = search(
        problem, seed=int(seed), budget_s=float(seconds), threads=int(threads), progress=note
    )
    answer = {
        "trace": trace,
        "seconds": found.seconds,
        "rounds": found.rounds,
        "ending": found.ending,
        "evaluations": found.evaluations,
        "start": exp(found.start_value),
        "condition": independent_condition(problem, found.x),
        "limit_use": limit_use(problem, found.x),
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
