"""Steelyard's own solution of the constrained fit: seconds and exactly feasible objective."""

from __future__ import annotations

import json
import sys
from statistics import median
from time import perf_counter

from sdp_problem import sdp_problem

from steelyard.conic import solve
from steelyard.feasible_point import failing, settle

problem = sdp_problem(int(sys.argv[1]))
solve(problem)
times, exact_times = [], []
for _ in range(3 if len(problem.c) > 500 else 9):
    start = perf_counter()
    solution = solve(problem)
    times.append(perf_counter() - start)
    start = perf_counter()
    settled = settle(solution.theta, problem.blocks, problem.scale)
    exact_times.append(perf_counter() - start)
assert not failing(problem.blocks, settled.theta)
answer = {
    "seconds": median(times),
    "exact_seconds": median(exact_times),
    "objective": problem.objective(settled.theta),
    "iterations": solution.iterations,
    "said": solution.said,
}
print(json.dumps(answer))
