"""When is a sequential fit worse than the simultaneous one, and by how much? A table for the docs.

    python benchmarks/sequential_table.py

Random chains and trees with noise of 1, 10 and 30 % of each torque, 280 states of each joint,
ten robots each. The excess is the objective above the simultaneous optimum, in
units of the noise; the error is that of the torque without noise on held-out states, relative.
Medians, and the largest in brackets.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from contender import say

SEEDS = range(7000, 7010)
ROWS = (
    ("chain", 7, 0.01),
    ("chain", 7, 0.1),
    ("chain", 7, 0.3),
    ("tree", 20, 0.01),
    ("tree", 20, 0.1),
    ("tree", 20, 0.3),
    ("chain", 20, 0.01),
    ("chain", 20, 0.1),
    ("chain", 20, 0.3),
)
FITS = ("paper", "sequential", "refined")


def main() -> None:
    """Print the table."""
    heads = ["robot", "noise", "active"]
    heads += [f"excess, {name}" for name in FITS]
    heads += [f"error, {name} (%)" for name in (*FITS, "simultaneous")]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for kind, n_links, noise in ROWS:
        say(f"{kind} of {n_links}, noise {noise}")
        found = [one_robot(seed, n_links, noise, chain=kind == "chain") for seed in SEEDS]
        cells = [f"{kind} of {n_links}", f"{100 * noise:g} %"]
        cells.append(f"{np.median([one['active'] for one in found]):.0f}")
        for key in heads[3:]:
            values = [one[key] for one in found]
            cells.append(f"{np.median(values):.2g} ({max(values):.2g})")
        print("| " + " | ".join(cells) + " |", flush=True)


def one_robot(seed: int, n_links: int, noise: float, *, chain: bool) -> dict[str, float]:
    """Excesses and errors of one robot."""
    from steelyard.estimators.feasible import fit_feasible
    from steelyard.estimators.sequential.fit import fit_sequential, fit_sequential_paper
    from steelyard.model.kernels import torque
    from steelyard.model.model import Model
    from steelyard.model.random_states import random_states
    from steelyard.regression.compress import compress
    from steelyard.signals.motion import Measurements, Motion
    from steelyard.testing.random_robots import random_robot

    rng = np.random.default_rng([seed, n_links])
    model = Model(random_robot(rng, n_links, chain=chain, prismatic=0.0, fixed=0.0))
    theta = model.prior_theta()
    terms = [column.kind != "rigid_body" for column in model.columns]
    theta[terms] = rng.uniform(0.2, 1.0, size=sum(terms))
    n_samples = 20 * len(model.columns) // n_links
    q, v, a = random_states(rng, model.robot, n_samples)
    tau = torque(model, theta, q, v, a)
    noisy = tau + noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    motion = Motion(0.01 * np.arange(n_samples), q, v, a)
    data = compress(model, motion, Measurements(model.channels, noisy))
    best = fit_feasible(model, data)
    found = {
        "paper": fit_sequential_paper(model, data).fit.theta,
        "sequential": fit_sequential(model, data, sweeps=0).fit.theta,
        "refined": fit_sequential(model, data).fit.theta,
        "simultaneous": best.theta,
    }
    other = random_states(rng, model.robot, 100)
    true = torque(model, theta, *other)
    optimum = best.problem.objective(best.theta)
    out: dict[str, float] = {"active": float(len(best.active()))}
    for name, values in found.items():
        out[f"excess, {name}"] = max(best.problem.objective(values) - optimum, 0.0)
        away = torque(model, values, *other) - true
        out[f"error, {name} (%)"] = 100.0 * float(np.linalg.norm(away) / np.linalg.norm(true))
    return out


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    main()
