"""The two-joint arm with a gripper: a hand and a finger on fixed joints, and a massless frame."""

from __future__ import annotations

import numpy as np
from small_arm import LINK, URDF, true_theta

from steelyard.excitation.motions.fourier import multisine
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.simulation.simulate import Controller, Sensors, simulate

FIXED = """
  <joint name="{child}_mount" type="fixed"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="{xyz}" rpy="0.2 0.1 0"/></joint>"""
SMALL = """
  <link name="{name}"><inertial><origin xyz="0 0.01 0.02"/><mass value="{mass}"/>
    <inertia ixx="{i}" ixy="0" ixz="0" iyy="{i}" iyz="0" izz="{i}"/></inertial></link>"""


def gripper_urdf(finger_inertia: float = 1e-4) -> str:
    """The URDF; a negative inertia of the finger is not physical."""
    return URDF.replace(
        "</robot>",
        LINK.format(name="hand", mass="0.8")
        + SMALL.format(name="finger", mass="0.1", i=finger_inertia)
        + '<link name="tip"/>'
        + FIXED.format(child="hand", parent="fore", xyz="0.25 0 0")
        + FIXED.format(child="finger", parent="hand", xyz="0 0 0.1")
        + FIXED.format(child="tip", parent="finger", xyz="0 0 0.05")
        + "</robot>",
    )


def gripper_arm(finger_inertia: float = 1e-4) -> Robot:
    """The arm; the links hand and finger are merged into the body 'fore'."""
    return Robot.from_urdf_text(gripper_urdf(finger_inertia))


def gripper_truth(model: Model, share: float = 1.0) -> np.ndarray:
    """True parameters; share : of the body 'fore', whose file may be too heavy."""
    theta = true_theta(model)
    for k, column in enumerate(model.columns):
        if column.kind == "rigid_body" and column.owner == "fore":
            theta[k] *= share
    return theta


def gripper_log(robot: Robot, share: float = 1.0, seed: int = 1) -> Log:
    """Ten seconds at 100 Hz of the arm with `gripper_truth`."""
    model = Model(robot)
    return simulate(
        model,
        gripper_truth(model, share),
        multisine(robot, period_s=5.0, seed=seed),
        duration_s=10.0,
        rate_hz=100.0,
        controller=Controller(kind="ideal"),
        sensors=Sensors(torque_noise=0.02),
        seed=seed,
        name=f"gripper {seed}",
    )
