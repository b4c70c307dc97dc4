"""A designed motion beside random sums of sines, identified on the virtual robot.

The built-in arm follows each motion exactly; its log has torque noise of 1 % of each joint's
torque range and small noise of the encoders. Every motion has the same period, harmonics and
limits. The log goes through the signal processing, with the dead band that identification takes by
default (near standstill the encoders do not say the sign of friction), and weighted least squares.

- ``sigma_ratio``: geometric mean of the standard deviations of all base parameters, median of
  twenty ``multisine(share=1)`` over that of the designed motion; ``sigma_ratio_best`` beside the
  best of the twenty.
- ``predicted_worst``: largest factor, over all base parameters, between the predicted standard
  deviation and that of the estimates from 200 logs with different noise (1.3 is 30 %).
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
from contender import say
from goals import Goal

from steelyard import (
    Controller,
    Model,
    Processing,
    Robot,
    Sensors,
    base_map,
    compress,
    multisine,
    prepare,
    simulate,
    wls,
)
from steelyard.excitation.design import design_motion
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.limits import motion_limits
from steelyard.excitation.predicted import predicted_precision
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth

NAME = "designed-runs"
DESCRIPTION = "a designed motion beside random sums of sines, and predicted beside seen precision"
GOALS = (
    Goal("sigma_ratio", ">=", 1.8),
    Goal("predicted_worst", "<=", 1.3),
)
RATE_HZ = 200.0
N_RANDOM = 20
N_RUNS = int(os.environ.get("STEELYARD_DESIGNED_RUNS", "200"))
PROCESSING = Processing(cutoff_hz=20.0, torque_filter="none", decimate=1, dead_band="tenth")


def measure() -> dict[str, float | None]:
    """Figures of this benchmark."""
    robot = limited_arm()
    model = Model(robot)
    truth = builtin_truth(model)
    limits = motion_limits(robot)
    designed = design_motion(
        model, limits, DesignSettings(budget_s=60.0, rate_hz=RATE_HZ, share=1.0)
    )
    say(f"designed: {designed!r}")
    noise = designed.predicted.noise
    core = designed.core
    own = log_mean(sigma_of(model, truth, core, noise, seed=0)[1])
    others = []
    for seed in range(N_RANDOM):
        sines = multisine(robot, period_s=20.0, n_harmonics=5, share=1.0, seed=seed)
        others.append(log_mean(sigma_of(model, truth, sines, noise, seed=seed)[1]))
    estimates = []
    for seed in range(N_RUNS):
        estimates.append(sigma_of(model, truth, core, noise, seed=1000 + seed)[0])
        if seed % 20 == 19:
            say(f"{seed + 1} of {N_RUNS} runs")
    # the ends that signal processing cuts off are not part of the log that is used
    used_s = len(prepared(model, truth, core, noise, 0).motion) / RATE_HZ
    predicted = predicted_precision(
        model, core, noise, rate_hz=RATE_HZ, duration_s=used_s, reference=truth
    )
    seen = np.std(estimates, axis=0, ddof=1)
    factor = np.maximum(seen / predicted.sigma, predicted.sigma / seen)
    return {
        "sigma_ratio": float(np.exp(np.median(others) - own)),
        "sigma_ratio_best": float(np.exp(min(others) - own)),
        "predicted_worst": float(factor.max()),
        "predicted_median": float(np.median(factor)),
        "runs": N_RUNS,
    }


def limited_arm() -> Robot:
    """The built-in arm, with the acceleration limits that a design assumes written down."""
    robot = builtin_arm()
    limits = motion_limits(robot)
    rate = dict(zip(limits.joints, limits.acceleration.tolist(), strict=True))
    joints = tuple(
        replace(joint, limits=replace(joint.limits, acceleration=rate[joint.name]))
        if joint.name in rate
        else joint
        for joint in robot.joints
    )
    return replace(robot, joints=joints)


def prepared(model, truth, trajectory, noise, seed):
    """One log of a motion, processed."""
    log = simulate(
        model,
        truth,
        trajectory,
        duration_s=20.0,
        rate_hz=RATE_HZ,
        controller=Controller("ideal"),
        sensors=Sensors(
            torque_noise=dict(zip(noise.joints, noise.rms.tolist(), strict=True)),
            position_noise=1e-6,
        ),
        seed=seed,
    )
    return prepare(log, model, PROCESSING)


def sigma_of(model, truth, trajectory, noise, seed):
    """Estimates and standard deviations of all base parameters from one log."""
    run = prepared(model, truth, trajectory, noise, seed)
    regression = compress(model, run.motion, run.measurements, base=base_map(model))
    estimate = wls(regression)
    return estimate.beta, estimate.spreads[0].sigma


def log_mean(sigma) -> float:
    """Log of the geometric mean."""
    return float(np.mean(np.log(sigma)))
