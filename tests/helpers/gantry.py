"""A gantry: two horizontal slides, and a vertical one with a ram, as a URDF with a motion."""

from __future__ import annotations

import numpy as np

from steelyard.excitation.motions.fourier import multisine
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.simulation.simulate import Controller, Sensors, simulate

LINK = """
  <link name="{name}"><inertial><origin xyz="0.01 0.02 0.1"/><mass value="{mass}"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>"""
SLIDE = """
  <joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="0 0 0.2"/><axis xyz="{axis}"/>
    <limit lower="-0.4" upper="0.4" velocity="1.5" effort="500"/></joint>"""
GANTRY = (
    '<robot name="gantry"><link name="ground"/>'
    + LINK.format(name="bridge", mass="20.0")
    + LINK.format(name="trolley", mass="8.0")
    + LINK.format(name="ram", mass="4.0")
    + SLIDE.format(name="x", parent="ground", child="bridge", axis="1 0 0")
    + SLIDE.format(name="y", parent="bridge", child="trolley", axis="0 1 0")
    + SLIDE.format(name="z", parent="trolley", child="ram", axis="0 0 1")
    + "</robot>"
)
TRUE_RAM = 4.37
TERMS = {"Ia": 1.5, "fv": 8.0, "fc": 3.0, "fo": 0.0}


def gantry_truth(model: Model) -> np.ndarray:
    """True parameters: those of the file with a heavier ram, drives and friction, no offsets."""
    theta = model.theta({"ram.m": TRUE_RAM})
    for k, column in enumerate(model.columns):
        theta[k] = TERMS.get(column.symbol, theta[k])
    return theta


def gantry_log(robot: Robot, seed: int = 1) -> Log:
    """Twenty seconds at 100 Hz, with noise on the forces."""
    model = Model(robot)
    return simulate(
        model,
        gantry_truth(model),
        multisine(robot, period_s=5.0, seed=seed),
        duration_s=20.0,
        rate_hz=100.0,
        controller=Controller(kind="ideal"),
        sensors=Sensors(torque_noise=0.5),
        seed=seed,
        name="gantry",
    )
