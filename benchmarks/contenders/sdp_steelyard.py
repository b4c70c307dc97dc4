"""Steelyard's own solution of the constrained fit: seconds and exactly feasible objective.

``seconds`` is the whole fit, from the factors to parameters that meet every condition exactly;
``solve_seconds`` the solver's part of it, with the checks of its answer.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

from sdp_problem import fresh, sdp_problem

from steelyard.conic.settle import failing, settle
from steelyard.conic.solver import solve

problem = sdp_problem(int(sys.argv[1]))
repeats = int(sys.argv[2])
solve_times, times = [], []
for _ in range(repeats + 1):
    again = fresh(problem)
    start = perf_counter()
    solution = solve(again)
    solved = perf_counter()
    settled = settle(solution.theta, again.blocks, again.scale)
    times.append(perf_counter() - start)
    solve_times.append(solved - start)
assert not failing(problem.blocks, settled.theta)
answer = {
    "seconds": times[1:],  # the first imports and compiles
    "solve_seconds": solve_times[1:],
    "objective": problem.objective(settled.theta),
    "iterations": solution.iterations,
    "said": solution.said,
    "form": solution.form,
}
print(json.dumps(answer))
