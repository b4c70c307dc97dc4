"""Recorded logs of real robots, as `Log` and `Robot`."""

from __future__ import annotations

import gzip

import numpy as np
from paper_robots import panda
from robot_files import dataset

from steelyard.logs import Log
from steelyard.motion import Measurements, Motion
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


def kuka_robot() -> Robot:
    """The KUKA LWR4+ as its makers of data describe it."""
    return Robot.from_urdf(dataset("kuka_lwr4_flobaroid") / "kuka_lwr4.urdf")


def kuka_run(run: int, skipped: int) -> tuple[Motion, Measurements]:
    """One recorded run, with the recorded derivatives, without its first samples."""
    robot = kuka_robot()
    with np.load(dataset("kuka_lwr4_flobaroid") / f"measurements_{run}.npz") as data:
        q, v, a, tau = (
            data[name][skipped:] for name in ("positions", "velocities", "accelerations", "torques")
        )
        time = data["times"].ravel()[skipped:]
    return Motion(time, q, v, a, f"run {run}"), Measurements(robot.joint_names, tau)
