"""A two-joint arm as files: its URDF, logs of its motion, and its true parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from steelyard.excitation.motions.fourier import multisine
from steelyard.logs.log import Log
from steelyard.logs.writer_csv import write_csv
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.simulation.simulate import Controller, Sensors, simulate

LINK = """
  <link name="{name}"><inertial><origin xyz="0.1 0.02 0.03"/><mass value="{mass}"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>"""
JOINT = """
  <joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="{xyz}" rpy="0.3 0 0"/><axis xyz="{axis}"/>
    <limit lower="-2.5" upper="2.5" velocity="3" effort="50"/></joint>"""
URDF = (
    '<robot name="small arm"><link name="ground"/>'
    + LINK.format(name="upper", mass="2.5")
    + LINK.format(name="fore", mass="1.5")
    + JOINT.format(name="shoulder", parent="ground", child="upper", xyz="0 0 0.1", axis="0 1 0")
    + JOINT.format(name="elbow", parent="upper", child="fore", xyz="0.3 0 0", axis="0 0 1")
    + "</robot>"
)
TERMS = {"Ia": 0.05, "fv": 0.4, "fc": 0.6, "fo": 0.1}


def write_arm(folder: Path, text: str = URDF, name: str = "arm.urdf") -> Path:
    """The arm's URDF as a file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def true_theta(model: Model) -> np.ndarray:
    """True parameters of the arm: heavier than in its file, with friction."""
    theta = 1.1 * model.prior_theta()
    for k, column in enumerate(model.columns):
        theta[k] = TERMS.get(column.symbol, theta[k])
    return theta


def arm_log(robot: Robot, seed: int, *, noise: float = 0.1, name: str = "run") -> Log:
    """Ten seconds at 100 Hz, with noise on the torque."""
    model = Model(robot)
    return simulate(
        model,
        true_theta(model),
        multisine(robot, period_s=5.0, seed=seed),
        duration_s=10.0,
        rate_hz=100.0,
        controller=Controller(kind="ideal"),
        sensors=Sensors(torque_noise=noise),
        seed=seed,
        name=name,
    )


def write_run(folder: Path, seed: int, name: str = "run.csv") -> Path:
    """A log of the arm as a file."""
    path = folder / name
    write_csv(arm_log(Robot.from_urdf(write_arm(folder)), seed), path)
    return path
