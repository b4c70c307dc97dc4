"""How far Steelyard's objective is from CVXPY's, for random fits with a prior."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "helpers"))

import cvxpy
from prior_problems import in_cvxpy, objective, random_fit

wanted = int(sys.argv[1])
differences: list[float] = []
seed = 0
while len(differences) < wanted:
    fit, gamma = random_fit(seed)
    seed += 1
    ours = objective(fit, fit.problem.solve(fit.F, fit.g, gamma).theta, gamma)
    with contextlib.suppress(cvxpy.SolverError):
        theirs, _ = in_cvxpy(fit, gamma)
        differences.append((ours - theirs) / abs(theirs))
print(json.dumps({"differences": differences, "unsolved": seed - wanted}))
