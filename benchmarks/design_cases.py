"""Random design tasks on real robots: what `designs` designs and checks again."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard import Model, Robot
from steelyard.excitation.design import design_motion
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.designed import DesignedMotion
from steelyard.excitation.limits import MotionLimits, motion_limits
from steelyard.excitation.search.criteria import CRITERION_NAMES

Array = NDArray[np.float64]

ROBOTS = (
    "panda",
    "ur5_robot",
    "ur10_robot",
    "xarm7",
    "kinova",
    "z1",
    "so101",
    "talos_left_arm",
    "baxter",
    "hextilt_flying_arm_5",
)
"""Files of example-robot-data; of Baxter the left arm, of the flying arm the arm."""
FIRST_JOINTS_OF = {"baxter": "left_"}
"""How the names of the joints begin that move; the others are locked."""
LEFT_OUT = {"baxter": "gripper"}
SPEED_LIMITS = {"hextilt_flying_arm_5": 3.0}
"""rad/s, where the file has 10,000."""
ON_THE_GROUND = ("panda", "ur5_robot", "ur10_robot", "xarm7", "kinova", "z1", "so101")
"""Robots whose root link stands on a floor."""
BUDGET_S = 600.0
"""Not reached: one round of search ends before, whatever the speed of the machine."""


@dataclass(frozen=True, eq=False)
class Case:
    """One design task, drawn at random."""

    robot: str
    limits: MotionLimits
    settings: DesignSettings
    start: Array | None = None
    end: Array | None = None
    still: dict[str, float] = field(default_factory=dict)

    def design(self) -> DesignedMotion:
        """The motion, or an error that refuses the task."""
        return design_motion(
            model_of(self.robot),
            self.limits,
            self.settings,
            start=self.start,
            end=self.end,
            still=self.still,
        )


@cache
def example_files() -> dict[str, Path]:
    """The URDFs of example-robot-data, by name."""
    files = [Path(str(file.locate())) for file in distribution("example-robot-data").files or ()]
    return {path.stem: path for path in files if path.suffix == ".urdf"}


@cache
def model_of(name: str) -> Model:
    """The model of a robot of this campaign."""
    robot = Robot.from_urdf(example_files()[name])
    if name in FIRST_JOINTS_OF:
        begin, without = FIRST_JOINTS_OF[name], LEFT_OUT[name]
        held = [j for j in robot.joint_names if not j.startswith(begin) or without in j]
        robot = robot.lock(dict.fromkeys(held, 0.0))
    return Model(robot)


def stated_limits(name: str) -> MotionLimits:
    """The limits of a robot's file."""
    return motion_limits(model_of(name).robot, velocity=SPEED_LIMITS.get(name))


def random_limits(rng: np.random.Generator, stated: MotionLimits) -> MotionLimits:
    """Parts of the stated limits; jerk and torque limits in half of the cases."""
    n = len(stated.joints)
    width = rng.uniform(0.3, 1.0, n) * (stated.upper - stated.lower)
    lower = stated.lower + rng.uniform(size=n) * (stated.upper - stated.lower - width)
    velocity = rng.uniform(0.2, 1.0, n) * stated.velocity
    acceleration = velocity / rng.uniform(0.2, 1.0, n)
    with_jerk, with_torque = rng.uniform(size=2) < 0.5
    none = np.full(n, np.inf)
    return MotionLimits(
        stated.joints,
        lower,
        lower + width,
        velocity,
        acceleration,
        acceleration / rng.uniform(0.05, 0.5, n) if with_jerk else none,
        rng.uniform(0.6, 1.0, n) * stated.torque if with_torque else none,
    )


def random_case(number: int) -> Case:
    """A task: robot by turns, everything else at random."""
    rng = np.random.default_rng((11, number))
    name = ROBOTS[number % len(ROBOTS)]
    limits = random_limits(rng, stated_limits(name))

    def pose() -> Array:
        return limits.middle + 0.9 * rng.uniform(-1.0, 1.0, len(limits.joints)) * limits.half_range

    still = {}
    if rng.uniform() < 0.2:
        j = int(rng.integers(len(limits.joints)))
        still[limits.joints[j]] = float(pose()[j])
    start = pose() if not still and rng.uniform() < 0.3 else None
    end = pose() if not still and rng.uniform() < 0.3 else None
    settings = DesignSettings(
        period_s=float(rng.uniform(4.0, 20.0)),
        periods=int(rng.integers(1, 3)),
        harmonics=int(rng.integers(2, 7)),
        criterion=str(rng.choice(CRITERION_NAMES)),
        seed=number,
        budget_s=BUDGET_S,
        rounds=1,
        rate_hz=1000.0,
        share=1.0,
    )
    return Case(name, limits, settings, start, end, still)
