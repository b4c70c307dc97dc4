"""Do 95 % intervals of drive gains contain the true gain in 95 % of the runs?

A simulated arm with six joints, friction and drives moves for 20 s without and for 20 s with 2 kg
on its tool. Recorded torques are wrong by a gain per joint, drawn between 0.8 and 1.25 for each
run, and have noise of 2 % (rms) through a 10 Hz low-pass. Positions are rounded as by an
encoder; each run starts from the logs. Coverage is pooled over joints.
"""

from __future__ import annotations

import sys
from pathlib import Path

from contender import say
from goals import Goal

NAME = "drive-gains"
DESCRIPTION = "300 runs: share of true drive gains inside their 95 % intervals, payload of 2 kg"
N_RUNS = 300
GOALS = (Goal("coverage", ">=", 0.92), Goal("coverage", "<=", 0.98), Goal("runs", ">=", 300))


def measure() -> dict[str, float | None]:
    """Coverage pooled and by joint, and how wide the intervals are."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    import numpy as np
    from payload_runs import PROCESSING, PayloadRuns

    from steelyard.identification.drive_gains import identify_gains

    world = PayloadRuns()
    n_joints = len(world.robot.joint_names)
    inside = np.zeros((N_RUNS, n_joints), dtype=bool)
    error = np.full((N_RUNS, n_joints), np.nan)
    half_width = np.full((N_RUNS, n_joints), np.nan)
    told = 0
    for k in range(N_RUNS):
        if k % 50 == 0:
            say(f"run {k} of {N_RUNS}")
        truth, empty, loaded = world.drawn(k)
        found = identify_gains(world.robot, empty, loaded, world.payload, processing=PROCESSING)
        for j, (gain, true) in enumerate(zip(found.gains, truth, strict=True)):
            if gain.gain is None or gain.lower is None or gain.upper is None:
                continue  # a gain that is not told counts as missed
            told += 1
            inside[k, j] = gain.lower <= true <= gain.upper
            error[k, j] = gain.gain / true - 1.0
            half_width[k, j] = 0.5 * (gain.upper - gain.lower) / gain.gain
    by_joint = inside.mean(axis=0)
    return {
        "coverage": float(inside.mean()),
        "coverage_lowest_joint": float(by_joint.min()),
        "coverage_highest_joint": float(by_joint.max()),
        "runs": N_RUNS,
        "told": told / inside.size,
        "rms_error_percent": float(100.0 * np.sqrt(np.nanmean(error**2))),
        "mean_error_percent": float(100.0 * np.nanmean(error)),
        "half_width_percent_widest_joint": float(100.0 * np.nanmean(half_width, axis=0).max()),
        "half_width_percent_narrowest_joint": float(100.0 * np.nanmean(half_width, axis=0).min()),
    }
