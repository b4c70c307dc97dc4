"""Contender: FIGAROH's physically consistent fit, in FIGAROH's own environment.

`figaroh.identification.physical_fit` of FIGAROH 1.0.2: `build_problem` (double QR of the data) and
`solve_direct_effort_fit` (a PICOS model, solved by CVXOPT, and its own checks), which is what
``select_stage: physical_fit`` runs. Prints ``{"build": [...], "seconds": [...], "theta": [...],
"coordinate_scale": [...], "status": ..., "accepted": ...}``. Usage: DATA.npz REPEATS PULL MASS_MIN
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

import numpy as np
from figaroh.identification.physical_fit import (
    PhysicalPolicy,
    build_problem,
    solve_direct_effort_fit,
)


def main(path: str, repeats: int, pull: float, mass_min: float) -> None:
    """Time both parts ``repeats`` times, after one run that imports PICOS."""
    data = np.load(path)
    names, joints = data["names"].tolist(), data["joints"].tolist()
    policy = PhysicalPolicy(mass_min=mass_min, prior_weight=pull)
    build, seconds = [], []
    for _ in range(repeats + 1):
        started = perf_counter()
        problem = build_problem(
            data["W"], data["tau"], names, joints,
            prior=data["prior"], policy=policy, row_weight=data["weight"],
        )  # fmt: skip
        build.append(perf_counter() - started)
        started = perf_counter()
        record = solve_direct_effort_fit(problem, solver="cvxopt")
        seconds.append(perf_counter() - started)
    answer = {
        "build": build[1:],
        "seconds": seconds[1:],
        "theta": None if record.theta is None else record.theta.tolist(),
        "coordinate_scale": problem.coord_scale.tolist(),
        "status": record.solver_status,
        "accepted": record.accepted,
        "why": record.exception,
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
