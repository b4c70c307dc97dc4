"""A fast arm above a floor, two parts of which never are far apart, and a task to design for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ball_arm import joint, link, write

from steelyard.excitation.collision.collision import collision_model
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.limits import MotionLimits
from steelyard.model.model import Model
from steelyard.robot.robot import Robot

CLEARANCE_M = 0.01
SETTINGS = DesignSettings(period_s=4.0, harmonics=3, rounds=1, budget_s=600.0, share=1.0, threads=1)
# the bracket is 12 to 14 mm from the shoulder wherever the arm is
WRIST = [
    link("base", 0.02),
    link("shoulder", 0.05),
    link("upper", 0.02, (0.4, 0, 0)),
    link("bracket", 0.05, (0.112, 0, 0)),
    link("fore", 0.03, (0.3, 0, 0)),
    joint("turn", "base", "shoulder", (0, 0, 0.3), axis=(0, 0, 1)),
    joint("lift", "shoulder", "upper", (0.002, 0, 0)),
    joint("mount", "upper", "bracket", kind="fixed"),
    joint("elbow", "upper", "fore", (0.6, 0, 0)),
]
INERTIAL = (
    '<inertial><origin xyz="0.2 0.01 0.02"/><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def crowded_task(folder: Path) -> DesignTask:
    """The task, with its URDF in a folder."""
    parts = [part.replace("<collision>", INERTIAL + "<collision>") for part in WRIST]
    path = write(folder, parts)
    robot = Robot.from_urdf(path)
    model = Model(robot)
    one = np.ones(3)
    limits = MotionLimits(
        model.channels, -1.4 * one, 1.4 * one, 5.0 * one, 25.0 * one, np.inf * one, np.inf * one
    )
    collision = collision_model(path, robot, ground=0.1, clearance_m=CLEARANCE_M, limits=limits)
    return DesignTask(model, limits, SETTINGS, collision=collision)
