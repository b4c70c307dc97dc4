"""Contender: `steelyard identify FILE LOG` with every default.

Writes the torque (n, 7) along the held-out motion, and prints ``{"seconds": ..., "names":
[...], "inside": [...]}``: whether each true base parameter is inside its 95 % interval.
Usage: FILE.urdf LOG.csv MOTION.npz TORQUE.npy
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import xarm7_robot

from steelyard import Motion, Robot, identify, predict_base, read_log


def main(urdf: str, log: str, motion: str, out: str) -> None:
    """Identify, predict, and compare with the true parameters."""
    started = perf_counter()
    found = identify(Robot.from_urdf(urdf), read_log(log), threads=1)
    seconds = perf_counter() - started
    estimate = found.estimate
    with np.load(motion) as held_out:
        along = Motion(*(held_out[name] for name in ("time", "q", "v", "a")))
    np.save(Path(out), predict_base(found.model, estimate.base, estimate.beta, along))
    true = estimate.base.K @ found.model.theta(xarm7_robot.true_values())
    answer = {
        "seconds": seconds,
        "names": list(estimate.base.names),
        "inside": [
            bool(parameter.lower <= value <= parameter.upper)
            for parameter, value in zip(estimate.parameters(level=0.95), true, strict=True)
        ],
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
