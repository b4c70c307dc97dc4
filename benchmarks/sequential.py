"""The examples of the sequential method's paper, with its tables and figures.

Two arms (`sequential_arms`), each fitted from the compressed factors by

    paper          as published: each joint's own rows, outer links fixed, regularised towards zero
    paper_same_pull  the same, regularised towards typical bodies, as the others are
    sequential     the sound pass on the global factor
    sequential_zero  the same, regularised towards zero, as the published one is
    refined        the pass and sweeps until the gap is proven to be at most 0.1 %
    simultaneous   all links at once, by the interior-point method; also by Clarabel

Errors are |torque - true torque| / |true torque| over all joints, on the motion of the fit and on a
held-out one. Tables of parameters (as the paper's Tables 1 and 2) and figures of torques (as its
Figures 4 and 6) are written to build/sequential. The paper's times, on its computer: 20 minutes for
nine joints by its sequential method, more than 4 days for all links at once. `coverage` counts how
often intervals of sequential fits contain the truth.
"""

from __future__ import annotations

import sys
from pathlib import Path

from contender import say
from goals import Goal

NAME = "sequential"
DESCRIPTION = "the two arms of the sequential method's paper: parameters, torques, times"
FOLDER = Path(__file__).resolve().parents[1] / "build" / "sequential"
PAPER_SEQUENTIAL_S, PAPER_SIMULTANEOUS_S = 20 * 60.0, 4 * 86400.0
REPEATS = 7
FITS = ("paper", "sequential", "refined", "simultaneous")
GOALS = (
    Goal("nine_sequential_ms", "<=", 20.0),
    Goal("nine_simultaneous_ms", "<=", 10.0),
    Goal("puma_unphysical", "<=", 0.0),
    Goal("nine_unphysical", "<=", 0.0),
    Goal("nine_refined_gap", "<=", 1e-3),
    Goal("coverage", ">=", 0.93),
)


def measure() -> dict[str, float | None]:
    """Errors, gaps and times of both arms; writes tables and figures."""
    from sequential_arms import nine, puma
    from threadpoolctl import threadpool_limits

    FOLDER.mkdir(parents=True, exist_ok=True)
    figures: dict[str, float | None] = {
        "paper_sequential_s": PAPER_SEQUENTIAL_S,
        "paper_simultaneous_s": PAPER_SIMULTANEOUS_S,
    }
    with threadpool_limits(limits=1, user_api="blas"):
        for name, make in (("puma", puma), ("nine", nine)):
            say(f"the arm '{name}'")
            arm = make()
            found, thetas = fitted(arm)
            figures.update({f"{name}_{key}": value for key, value in found.items()})
            write_table(name, arm, thetas)
            write_figure(name, arm, thetas)
        say("intervals")
        figures.update(coverage())
    return figures


def fitted(arm) -> tuple[dict[str, float], dict]:
    """Figures of one arm, and the parameters of each fit."""
    import numpy as np
    from linkwise_fits import simultaneous, timed

    from steelyard.conic.settle import failing
    from steelyard.conic.solver import solve
    from steelyard.estimators.constrained import weighted_system
    from steelyard.estimators.feasible import PULL, fit_feasible
    from steelyard.estimators.sequential.fit import fit_sequential, fit_sequential_paper
    from steelyard.estimators.sequential.inward import fit_inward
    from steelyard.estimators.sequential.links import WeakPull, layout_of, links_of
    from steelyard.estimators.sequential.paper import fit_paper, joint_rows
    from steelyard.estimators.sequential.refined import refine
    from steelyard.model.kernels import torque
    from steelyard.model.typical_sizes import parameter_scale, placing_weights, typical_parameters
    from steelyard.regression.compress import compress

    model = arm.model
    figures: dict[str, float] = {}
    figures["compress_s"], data = timed(
        lambda: compress(model, arm.motion, arm.measurements), REPEATS
    )
    best = fit_feasible(model, data)
    found = {
        "paper": fit_sequential_paper(model, data),
        "paper_same_pull": fit_sequential_paper(model, data, towards=typical_parameters(model)),
        "sequential": fit_sequential(model, data, sweeps=0),
        "sequential_zero": fit_sequential(
            model, data, sweeps=0, towards=np.zeros(len(model.columns))
        ),
        "refined": fit_sequential(model, data),
    }
    thetas = {name: one.fit.theta for name, one in found.items()}
    thetas["simultaneous"] = best.theta
    optimum = best.problem.objective(best.theta)
    for name, theta in thetas.items():
        above = best.problem.objective(theta) - optimum
        figures[f"{name}_gap"] = above / max(optimum, 1.0)
        for where, motion, tau in (
            ("error", arm.motion, arm.clean),
            ("held_out_error", arm.held_out, arm.held_out_tau),
        ):
            away = torque(model, theta, motion.q, motion.v, motion.a) - tau
            figures[f"{name}_{where}"] = float(np.linalg.norm(away) / np.linalg.norm(tau))
    figures["refined_sweeps"] = float(found["refined"].refined.n_sweeps)
    figures["refined_proven_gap"] = found["refined"].reached.relative_gap
    figures["unphysical"] = float(sum(bool(failing(best.blocks, t)) for t in thetas.values()))

    # times from the factors and the model's conditions on
    system, K = weighted_system(model, data), data.base.K
    R, z = system.factor[:-1, :-1] / system.sigma, system.factor[:-1, -1] / system.sigma
    layout, typical = layout_of(model, data.base), typical_parameters(model)
    scale = parameter_scale(model)
    pull = WeakPull(PULL * placing_weights(model) / scale**2, typical, scale)
    weights = system.weights / system.sigma
    rows, columns = joint_rows(model, data), [group.columns for group in data.groups]

    def links():
        return links_of(layout, typical, best.blocks, pull)

    def published():
        factors = {g: weights[g] * one for g, one in enumerate(data.group_factors)}
        return fit_paper(rows, columns, factors, K, links())

    for name, call in (
        ("paper", published),
        ("sequential", lambda: fit_inward(R, z, K, links())),
        ("refined", lambda: refine(R, z, K, links())),
        ("simultaneous", lambda: simultaneous(R, z, K, links())),
        ("clarabel", lambda: solve(best.problem)),
    ):
        seconds, _ = timed(call, REPEATS)
        figures[f"{name}_ms"] = 1e3 * seconds
    return figures, thetas


def coverage(n_runs: int = 40, n_resamples: int = 60) -> dict[str, float]:
    """Share of true base parameters inside their 95 % intervals, over runs of chains with noise.

    Chains of four links with conditions that bind; the intervals are from resampled time blocks,
    each fitted sequentially. ``inner`` is of the first two links, ``outer`` of the last two.
    """
    import numpy as np

    from steelyard.estimators.intervals import with_intervals
    from steelyard.estimators.sequential.fit import fit_sequential
    from steelyard.regression.compress import compress

    _helpers()
    from experiments import chain_experiment

    inside: dict[str, list[bool]] = {"inner": [], "outer": []}
    for run in range(n_runs):
        rng = np.random.default_rng([run, 99])
        experiment = chain_experiment(900 + run, 4, 1500)
        noise = 0.2 * np.std(experiment.tau, axis=0) * rng.normal(size=experiment.tau.shape)
        data = compress(experiment.model, experiment.motion, experiment.measured(noise))
        fit = fit_sequential(experiment.model, data).fit
        found = with_intervals(data, fit, n_resamples=n_resamples, ranges=False)
        last = experiment.model.first_column_of_body[2]
        for k, one in enumerate(found.parameters()):
            where = "inner" if data.base.independent[k] < last else "outer"
            inside[where].append(bool(one.lower <= experiment.beta[k] <= one.upper))
    out = {f"coverage_{name}": sum(values) / len(values) for name, values in inside.items()}
    every = [one for values in inside.values() for one in values]
    return {**out, "coverage": sum(every) / len(every)}


def _helpers() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))


def write_table(name: str, arm, thetas) -> None:
    """True and identified parameters side by side, as CSV and as a Markdown table."""
    heads = ["parameter", "unit", "true", *thetas]
    rows = [
        [column.name, column.unit, f"{arm.truth[k]:.4g}", *(f"{t[k]:.4g}" for t in thetas.values())]
        for k, column in enumerate(arm.model.columns)
    ]
    (FOLDER / f"{name}.csv").write_text("\n".join(",".join(row) for row in [heads, *rows]) + "\n")
    lines = [heads, ["---"] * len(heads), *rows]
    (FOLDER / f"{name}.md").write_text(
        "\n".join("| " + " | ".join(row) + " |" for row in lines) + "\n"
    )


def write_figure(name: str, arm, thetas) -> None:
    """Measured torque, and the torque of the refined and the published parameters, per joint."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from steelyard.model.kernels import torque

    motion = arm.motion
    n = len(arm.model.channels)
    across = 1 if n <= 3 else 3
    down = -(-n // across)
    plt.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
    figure, panels = plt.subplots(
        down, across, figsize=(8.0, 1.7 * down), sharex=True, layout="constrained", squeeze=False
    )
    curves = {
        which: torque(arm.model, thetas[which], motion.q, motion.v, motion.a)
        for which in ("refined", "paper")
    }
    for k, axes in enumerate(panels.flat):
        axes.plot(motion.time, arm.tau[:, k], color="#c5cad3", lw=0.7, label="input torque")
        axes.plot(motion.time, curves["refined"][:, k], color="#1f5a96", lw=1.1, label="sequential")
        axes.plot(
            motion.time,
            curves["paper"][:, k],
            color="#d1661a",
            lw=0.9,
            ls="--",
            label="as published",
        )
        axes.set_title(f"joint {k + 1}", loc="left", fontsize=8)
        if k % across == 0:
            axes.set_ylabel("torque (N m)")
    for axes in panels[-1]:
        axes.set_xlabel("time (s)")
    handles = panels.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(FOLDER / f"{name}.png", dpi=130)
    plt.close(figure)
