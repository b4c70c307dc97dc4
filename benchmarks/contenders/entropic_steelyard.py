"""Steelyard's fit with a prior: seconds from the factors to parameters that meet every condition.

Arguments: links, repeats, values of gamma. Timed are the change to the prior's coordinates, the
solver and the move to an exactly feasible point; conditions and weighted factors are given.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "helpers"))

from prior_problems import Fit, scattered
from sdp_problem import chain, factors

from steelyard.conic.settle import failing, settle
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.model.typical_sizes import parameter_scale

n_links, repeats = int(sys.argv[1]), int(sys.argv[2])
it = chain(n_links)
F, g = factors(it)
prior = scattered(it.model, it.model.prior_theta(), np.random.default_rng(0), 0.3)
fit = Fit(it.model, F, g, blocks(it.model, Constraints()), prior)
scale = parameter_scale(it.model)
answer: dict[str, list[float]] = {"seconds": [], "solve_seconds": [], "iterations": []}
for gamma in map(float, sys.argv[3:]):
    for k in range(repeats + 1):
        start = perf_counter()
        problem = fit.problem
        begun = perf_counter()
        placed = problem.solve(F, g, gamma)
        solved = perf_counter()
        settled = settle(placed.theta, fit.given, scale)
        done = perf_counter()
        if k:  # the first imports
            answer["seconds"].append(done - start)
            answer["solve_seconds"].append(solved - begun)
    answer["iterations"].append(placed.solution.iterations)
    assert not failing(fit.given, settled.theta)
print(json.dumps(answer))
