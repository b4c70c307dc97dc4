"""Contender: SciPy's SLSQP with finite differences on Steelyard's compiled regressor.

The objective is the logarithm of the condition number, from the eigenvalues of the information
matrix: the quickest evaluation there is here, in the form that SLSQP likes best.
Usage: FILE.urdf ARRAYS.npz SECONDS
"""

from __future__ import annotations

import json
import sys

import excitation_problem
import numpy as np
from excitation_slsqp import descend, read_arrays

from steelyard import Robot
from steelyard.excitation.search.criteria import condition_of_information


def main(urdf: str, path: str, seconds: str) -> None:
    """Minimise for so many seconds; compilation is not counted."""
    problem = excitation_problem.search_problem(Robot.from_urdf(urdf))
    excitation_problem.compile_kernels(problem)
    judge = problem.judge

    def condition(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
        return condition_of_information(judge.matrix(judge.table(q, v, a)))

    found = descend(condition, read_arrays(path), float(seconds), logarithm=True)
    answer = {
        "trace": found.trace,
        "starts": found.starts,
        "evaluations": found.evaluations,
        "condition": excitation_problem.independent_condition(problem, found.x),
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
