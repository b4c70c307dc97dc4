"""Whole-body fits on the manifold within a time budget: Talos, 45 moving bodies.

Traversaro et al. (2016) announce this as future work. A log of 20 s at 200 Hz by MuJoCo (see
humanoid_log) is compressed once; the same factors are then fitted with budgets from nothing to no
limit. Every result must be physical in exact arithmetic. ``above`` is the objective above that of
the semidefinite program, as a share of that; ``error`` is |torque - measured| / |measured| over all
rows of another run of 10 s.
"""

from __future__ import annotations

import warnings

import numpy as np
from contender import PeerAbsentError, say
from goals import Goal
from humanoid_log import simulate_log
from humanoid_robots import TALOS, perturbed

from steelyard.conic.settle import failing
from steelyard.errors import SteelyardWarning
from steelyard.estimators.manifold.fit import compile_manifold_fit
from steelyard.estimators.manifold.robot_fit import fit_robot_on_manifold
from steelyard.identification.identify import identify
from steelyard.model.kernels import torque
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare

NAME = "manifold-humanoid"
DESCRIPTION = "whole-body fits on the manifold within a time budget, on a humanoid"
BUDGETS = {"none": 1e-9, "0_1_s": 0.1, "0_5_s": 0.5, "2_s": 2.0, "10_s": 10.0, "free": None}
TRAIN_SEED, TEST_SEED, FILE_SEED = 9042, 9043, 9041
FIGURES = ("above", "error", "iterations", "s", "unphysical")
GOALS = (
    *(Goal(f"{name}_unphysical", "<=", 0.0) for name in BUDGETS),
    Goal("10_s_error", "<=", 0.01),
    Goal("free_above", "<=", 0.05),
)


def measure() -> dict[str, float | None]:
    """Objective, error, steps and time of every budget; null without the robot's file."""
    try:
        text = TALOS.text()
        logs = [
            simulate_log(TALOS, seed, seconds, name)
            for seed, seconds, name in ((TRAIN_SEED, 20.0, "train"), (TEST_SEED, 10.0, "test"))
        ]
    except PeerAbsentError as absent:
        say(str(absent))
        return {f"{name}_{figure}": None for name in BUDGETS for figure in FIGURES}
    robot = Robot.from_urdf_text(perturbed(text, FILE_SEED), floating_base=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteelyardWarning)
        found = identify(robot, logs[:1], method="wls", attached="lump")
        test = prepare(logs[1], found.model, found.signals.processing)  # type: ignore[union-attr]
    say(f"{len(found.model.mechanism.bodies)} bodies, {len(found.model.columns)} parameters")
    compile_manifold_fit()
    motion, tau = test.motion, test.measurements.tau
    figures: dict[str, float | None] = {}
    for name, budget in BUDGETS.items():
        one = fit_robot_on_manifold(found.model, found.regression, budget_s=budget)
        predicted = torque(found.model, one.fit.theta, motion.q, motion.v, motion.a)
        known = np.isfinite(tau)
        own = {
            "above": one.above / (one.value - one.above),
            "error": float(np.linalg.norm((predicted - tau)[known]) / np.linalg.norm(tau[known])),
            "iterations": float(one.on_manifold.iterations),
            "s": one.on_manifold.seconds,
            "unphysical": float(len(failing(one.fit.blocks, one.fit.theta))),
        }
        say(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in own.items()))
        figures |= {f"{name}_{figure}": own[figure] for figure in FIGURES}
    return figures
