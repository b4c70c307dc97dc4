"""Steelyard on the fit that FIGAROH solves: the data for it, and the same problem solved here.

``write DATA.npz N_LINKS`` writes regressor, torques and names in FIGAROH's order (joint after
joint). ``solve N_LINKS ANSWER.json`` solves the problem that FIGAROH answered, and prints seconds
(with the move to an exactly feasible point) and both objectives at exactly feasible points.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from sdp_problem import chain, figaroh_names, figaroh_problem, fresh

from steelyard.conic.settle import failing, settle
from steelyard.conic.solver import solve

REPEATS = 15


def write(path: str, n_links: str) -> None:
    """Data for FIGAROH, in a file without objects."""
    it = chain(int(n_links))
    W = it.W.transpose(1, 0, 2).reshape(it.tau.size, -1)
    np.savez(
        path,
        W=W,
        tau=it.tau.T.ravel(),
        weight=np.full(it.tau.size, 1.0 / it.noise),
        prior=it.model.prior_theta(),
        names=np.array(figaroh_names(it)),
        joints=np.array(it.model.robot.joint_names),
    )
    print(json.dumps({"n_rows": len(W)}))


def solve_again(n_links: str, path: str) -> None:
    """The same problem solved here, and both objectives."""
    theirs = json.loads(Path(path).read_text(encoding="utf-8"))
    scale = np.array(theirs["coordinate_scale"])
    problem = figaroh_problem(chain(int(n_links)), scale)
    times = []
    for _ in range(REPEATS + 1):
        again = fresh(problem)
        start = perf_counter()
        solution = solve(again)
        ours = settle(solution.theta, again.blocks, scale)
        times.append(perf_counter() - start)
    outside = failing(problem.blocks, np.array(theirs["theta"]))
    moved = settle(np.array(theirs["theta"]), problem.blocks, scale)
    assert not failing(problem.blocks, ours.theta)
    answer = {
        "seconds": times[1:],
        "objective": problem.objective(ours.theta),
        "figaroh_objective": problem.objective(moved.theta),
        "figaroh_outside": len(outside),
        "figaroh_moved": moved.moved,
        "said": solution.said,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    {"write": write, "solve": solve_again}[sys.argv[1]](*sys.argv[2:])
