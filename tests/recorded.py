"""Recorded logs of real robots, as `Log` and `Robot`."""

from __future__ import annotations

import gzip

import numpy as np
from paper_robots import panda
from robot_files import dataset

from steelyard.logs import Log
from steelyard.robot.tree import Joint, Link, Robot, frozen_array

EMPS_GAIN = 35.1507  # N/V


def emps_robot() -> Robot:
    """A carriage on a horizontal rail."""
    slide = Joint("axis", "prismatic", "rail", "carriage", axis=frozen_array((1.0, 0.0, 0.0), (3,)))
    return Robot("emps", (Link("rail"), Link("carriage")), (slide,))


def emps_log(file: str) -> Log:
    """Position and motor force of the one-axis drive."""
    from scipy.io import loadmat

    data = loadmat(dataset("emps") / file)
    signals = {
        ("axis", "position"): data["qm"].ravel(),
        ("axis", "torque"): EMPS_GAIN * data["vir"].ravel(),
    }
    return Log(data["t"].ravel(), signals, name=file)


def panda_log() -> Log:
    """Positions and link-side torques of the Panda's exciting motion."""
    folder = dataset("panda_gaz2019")

    def column(name: str) -> np.ndarray:
        with gzip.open(folder / f"exciting_traj_{name}.txt.gz", "rt") as stream:
            return np.loadtxt(stream)

    q, tau = (column(name).reshape(-1, 7) for name in ("positions", "torques"))
    time = column("time")
    signals = {}
    for k, joint in enumerate(panda().joint_names):
        signals[joint, "position"] = q[:, k]
        signals[joint, "torque"] = tau[:, k]
    return Log(time - time[0], signals, name="panda")
