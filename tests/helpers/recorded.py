"""Recorded logs of real robots, as `Log` and `Robot`."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Literal

import numpy as np
from paper_robots import panda
from robot_files import dataset

from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.overlay.toml_file import parse_overlay
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.parts import Joint, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.signals.motion import Measurements, Motion
from steelyard.signals.processing import Processing

EMPS_GAIN = 35.1507  # N/V
KUKA = "kuka_lwr4_flobaroid"
KINOVA = "kinova_gen3_chiha"
TX40 = "staubli_tx40_figaroh"
UR10 = "ur10_unisa"
# motor 6 turns with joints 5 and 6 (Gautier and Venture 2013, eqs 34-35), and nothing else
TX40_OVERLAY = """
[joint.joint_6]
terms = ["viscous", "coulomb", "offset"]

[[coupling]]
name = "motor_6"
direction = { joint_5 = 1.0, joint_6 = 1.0 }
terms = ["drive_inertia", "viscous", "coulomb"]
"""


def csv_table(path: Path) -> dict[str, np.ndarray]:
    """The columns of a compressed table with one line of names."""
    with gzip.open(path, "rt") as stream:
        names = [name.strip('"') for name in stream.readline().strip().split(",")]
        values = np.genfromtxt(stream, delimiter=",")
    return dict(zip(names, values.T, strict=True))


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
    """The KUKA LWR4+ as the authors of the data describe it."""
    return Robot.from_urdf(dataset(KUKA) / "kuka_lwr4.urdf")


def kuka_run(run: int, skipped: int) -> tuple[Motion, Measurements]:
    """One recorded run, with the recorded derivatives, without its first samples."""
    robot = kuka_robot()
    with np.load(dataset(KUKA) / f"measurements_{run}.npz") as data:
        q, v, a, tau = (
            data[name][skipped:] for name in ("positions", "velocities", "accelerations", "torques")
        )
        time = data["times"].ravel()[skipped:]
    return Motion(time, q, v, a, f"run {run}"), Measurements(robot.joint_names, tau)


def kuka_log(run: int, skipped: int) -> Log:
    """Positions and link-side torques of one run, without its first samples."""
    motion, measured = kuka_run(run, skipped)
    signals = {}
    for k, joint in enumerate(measured.channels):
        signals[joint, "position"], signals[joint, "torque"] = motion.q[:, k], measured.tau[:, k]
    return Log(motion.time - motion.time[0], signals, name=f"kuka run {run}")


def ur10_robot() -> Robot:
    """The UR10 as its vendor's ROS package describes it."""
    return Robot.from_urdf(dataset(UR10) / "ur10_robot.urdf")


def ur10_log(part: Literal["first two thirds", "last third"]) -> Log:
    """Positions, velocities and torques (motor currents times drive gains) of one motion, 125 Hz.

    The last third alone is a short training set.
    """
    table = csv_table(dataset(UR10) / "ur10_exciting_trajectory.csv.gz")
    cut = 2 * len(table["t"]) // 3
    rows = slice(cut, None) if part == "last third" else slice(cut)
    time = table["t"][rows]
    signals = {
        (joint, signal): table[f"{symbol}{k + 1}"][rows]
        for k, joint in enumerate(ur10_robot().joint_names)
        for signal, symbol in (("position", "q"), ("velocity", "qd"), ("torque", "tau"))
    }
    return Log(time - time[0], signals, name=f"ur10 {part}")


def kinova_robot() -> Robot:
    """The Kinova Gen3 as the authors of the data describe it; some of its bodies are unphysical."""
    return Robot.from_urdf(dataset(KINOVA) / "gen3.urdf")


def kinova_log(file: str, torque: str = "TorqueCur", position: str = "Position") -> Log:
    """Positions and torques, 1 kHz; by default those from motor currents.

    torque, position : columns of the file, without their numbers.
    """
    table = csv_table(dataset(KINOVA) / f"{file}.csv.gz")
    signals = {
        (joint, signal): table[f"{column}{k + 1}"]
        for k, joint in enumerate(kinova_robot().joint_names)
        for signal, column in (("position", position), ("torque", torque))
    }
    return Log(table["Time"] * 1e-3, signals, name=file)


def tx40_facts() -> dict:
    """Gear ratios, processing and a priori drive parameters, by the authors of the data."""
    return json.loads((dataset(TX40) / "drive_model_and_prior.json").read_text(encoding="utf-8"))


def tx40_robot() -> Robot:
    """The Stäubli TX-40 with its CAD inertials."""
    return Robot.from_urdf(dataset(TX40) / "tx40_mdh_modified.urdf")


def tx40_overlay() -> Overlay:
    """The coupled wrist."""
    return parse_overlay(TX40_OVERLAY)


def tx40_processing() -> Processing:
    """The processing of the authors: 100 Hz, every tenth sample, their dead bands (rad/s)."""
    bands = tx40_facts()["velocity_deadband_rad_s"]
    joints = tx40_robot().joint_names
    return Processing(
        cutoff_hz=100.0,
        torque_filter="same",
        decimate=10,
        dead_band=dict(zip(joints, bands, strict=True)),
    )


def tx40_log(first: int = 0, behind: int | None = None, name: str = "tx40") -> Log:
    """Joint positions and torques from the recorded motor positions and motor torques.

    Motor speeds are T times joint speeds, with T[6, 5] for the coupling, so joint torques are
    Tᵀ times motor torques. 45,000 samples at 5 kHz, or those from ``first`` to ``behind``.
    """
    facts = tx40_facts()
    ratio = facts["reduction_ratio"]
    T = np.diag(ratio)
    T[5, 4] = ratio[5]

    def table(file: str) -> np.ndarray:
        with gzip.open(dataset(TX40) / file, "rt") as stream:
            return np.loadtxt(stream, delimiter=",", skiprows=1)[first:behind]

    q = table("pos_read_data.csv.gz") @ np.linalg.inv(T).T
    tau = table("curr_data.csv.gz") @ T
    q[:, 1] -= np.pi / 2
    q[:, 2] += np.pi / 2
    time = (first + np.arange(len(q))) * facts["sampling_period_s"]
    signals = {}
    for k, joint in enumerate(tx40_robot().joint_names):
        signals[joint, "position"] = q[:, k]
        signals[joint, "torque"] = tau[:, k]
    return Log(time, signals, name=name)


def tx40_prior(model: Model, *, offsets: bool) -> np.ndarray:
    """CAD inertials with the authors' drive parameters, as terms along joints and motor 6.

    Their Ia5, fv5 and fv6 hold rotor 6's share (Gautier and Venture 2013, eq 35). That
    paper takes offsets as zero a priori.
    """
    prior = tx40_facts()["prior"]
    values = {}
    for k in range(6):
        joint = f"joint_{k + 1}"
        values[f"{joint}.fv"], values[f"{joint}.fc"] = prior["fv"][k], prior["fs"][k]
        values[f"{joint}.fo"] = prior["offset"][k] if offsets else 0.0
        if k < 5:
            values[f"{joint}.Ia"] = prior["Ia"][k]
    values["joint_5.Ia"] -= prior["Iam6"]
    values["joint_5.fv"] -= prior["fvm6"]
    values["joint_6.fv"] -= prior["fvm6"]
    values["motor_6.Ia"] = prior["Iam6"]
    values["motor_6.fv"], values["motor_6.fc"] = prior["fvm6"], prior["fsm6"]
    return model.theta(values)


def tx40_published() -> dict[str, tuple[float, float]]:
    """OLS and WLS value of each published base parameter, by its expression."""
    path = dataset(TX40) / "published_base_parameters_TX40_bp_5.csv"
    with path.open(encoding="utf-8") as stream:
        return {row[0]: (float(row[1]), float(row[3])) for row in csv.reader(stream)}
