"""The small humanoid of the page on floating bases, and runs of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from page_folder import blocks_of
from project import DOCS

from steelyard.excitation.motions.fourier import multisine
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.simulation.floating_log import BaseSensors, floating_log
from steelyard.simulation.sensors import Sensors
from steelyard.simulation.whole_body_motion import base_sines, whole_body_motion

TRUTH = {"torso.m": 7.0, "left_leg.m": 3.0}
FRICTION = {"fv": 0.3, "fc": 0.5}


@cache
def humanoid_text() -> str:
    """The URDF of the page."""
    blocks = blocks_of(DOCS / "floating-base.md")
    return next(block.text for block in blocks if block.file_name == "humanoid.urdf")


def humanoid() -> Robot:
    """The robot, with a floating base."""
    return Robot.from_urdf_text(humanoid_text(), floating_base=True)


def write_humanoid(folder: Path) -> Path:
    """The file in a folder."""
    path = folder / "humanoid.urdf"
    path.write_text(humanoid_text(), encoding="utf-8")
    return path


def humanoid_log(seed: int = 1, seconds: float = 6.0, **options: object) -> Log:
    """A run of the true robot at 100 Hz; options as of `floating_log`, and gravity."""
    robot = replace(humanoid(), gravity=options.pop("gravity", humanoid().gravity))
    model = Model(robot)
    theta = model.theta(
        TRUTH
        | {f"{joint}.{name}": x for joint in robot.joint_names for name, x in FRICTION.items()}
    )
    motion = whole_body_motion(
        robot,
        multisine(robot, period_s=3.0, seed=seed),
        base_sines(period_s=3.0, seed=seed),
        np.arange(round(100 * seconds)) / 100.0,
    )
    base = options.pop("base", BaseSensors(force_noise=0.5, torque_noise=0.05))
    return floating_log(
        model,
        theta,
        motion,
        base=base,
        sensors=Sensors(torque_noise=0.05),
        seed=seed,
        **options,
    )
