"""CVXPY's solution of the same fit: seconds per solve and exactly feasible objective."""

from __future__ import annotations

import json
import sys
from time import perf_counter

import cvxpy
import numpy as np
from sdp_problem import sdp_problem

from steelyard.conic.blocks import matrix_of
from steelyard.conic.settle import settle

problem = sdp_problem(int(sys.argv[1]))
solver = sys.argv[2]
x = cvxpy.Variable(len(problem.c))
theta = cvxpy.multiply(problem.scale, x)
conditions = []
for block in problem.blocks:
    part = theta[list(block.columns)]
    if block.kind == "psd":
        matrices = [matrix_of(column) for column in block.A.T]
        total = sum(part[k] * M for k, M in enumerate(matrices))
        conditions.append(total + matrix_of(block.b) >> 0)
    else:
        conditions.append(block.A @ part + block.b >= 0)
objective = 0.5 * cvxpy.sum_squares(problem.F @ theta - problem.g)
pull = np.sqrt(problem.pull)
objective += 0.5 * cvxpy.sum_squares(cvxpy.multiply(pull, theta - problem.towards))
times = []
for _ in range(int(sys.argv[3]) + 1):
    # a new problem each time, as in a script that runs once: modelling time is included
    start = perf_counter()
    cvxpy.Problem(cvxpy.Minimize(objective), conditions).solve(solver=solver)
    times.append(perf_counter() - start)
settled = settle(problem.scale * x.value, problem.blocks, problem.scale)
print(json.dumps({"seconds": times[1:], "objective": problem.objective(settled.theta)}))
