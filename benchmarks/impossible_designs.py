"""Design tasks that no motion can meet, each with what its refusal must name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from design_cases import ROBOTS, example_files, model_of, random_limits, stated_limits

from steelyard import Model, Robot
from steelyard.excitation.design import design_motion
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.limits import MotionLimits, motion_limits

SETTINGS = DesignSettings(rounds=1, budget_s=20.0, period_s=8.0, harmonics=3, share=1.0)
UNSTATED_ROBOT = "double_pendulum_simple"
"""A file whose joints have no speed limit."""


@dataclass(frozen=True, eq=False)
class Impossible:
    """A task that must be refused. named : words of which the refusal must contain each."""

    kind: str
    robot: str
    named: tuple[str, ...]
    attempt: Callable[[], object]


@dataclass(frozen=True, eq=False)
class Drawn:
    """What is drawn at random for one task: possible limits, and the joint that is spoilt."""

    rng: np.random.Generator
    model: Model
    limits: MotionLimits
    j: int

    @property
    def joint(self) -> str:
        """Name of the joint."""
        return self.limits.joints[self.j]

    def spoilt(self, **values: float) -> MotionLimits:
        """The limits with these values for the joint."""
        arrays = {
            name: np.array(getattr(self.limits, name))
            for name in ("lower", "upper", "velocity", "acceleration", "jerk", "torque")
        }
        for name, value in values.items():
            arrays[name][self.j] = value
        return MotionLimits(self.limits.joints, **arrays)

    def outside(self) -> np.ndarray:
        """A pose with the joint outside its range."""
        pose = np.array(self.limits.middle)
        pose[self.j] += self.rng.choice([-1.0, 1.0]) * self.limits.half_range[self.j] * 1.2
        return pose

    def design(self, limits: MotionLimits | None = None, **options: object) -> object:
        """Design with these limits."""
        used = self.limits if limits is None else limits
        return design_motion(self.model, used, SETTINGS, **options)  # type: ignore[arg-type]

    def without(self, quantity: str, value: float) -> object:
        """Design with one limit that is not one."""
        return self.design(self.spoilt(**{quantity: value}))


def kinds(drawn: Drawn) -> Mapping[str, tuple[tuple[str, ...], Callable[[], object]]]:
    """Every kind of task: what must be named, and the attempt."""
    d, joint = drawn, drawn.joint
    low, high = float(d.limits.lower[d.j]), float(d.limits.upper[d.j])
    weak = np.full(len(d.limits.joints), 1e-7)
    return {
        "start outside": ((joint, "start"), lambda: d.design(start=d.outside())),
        "end outside": ((joint, "end"), lambda: d.design(end=d.outside())),
        "start of another robot": (
            ("start", "shape"),
            lambda: d.design(start=np.zeros(2 * d.model.nv)),
        ),
        "start is nan": (
            (joint, "start"),
            lambda: d.design(start=np.where(np.arange(d.model.nv) == d.j, np.nan, d.limits.middle)),
        ),
        "no range": ((joint,), lambda: d.design(d.spoilt(lower=low, upper=low))),
        "lower above upper": ((joint,), lambda: d.design(d.spoilt(lower=high, upper=low))),
        "range without end": ((joint,), lambda: d.design(d.spoilt(upper=np.inf))),
        "range is nan": ((joint,), lambda: d.design(d.spoilt(lower=np.nan))),
        "no velocity": ((joint, "velocity"), lambda: d.without("velocity", 0.0)),
        "negative velocity": ((joint, "velocity"), lambda: d.without("velocity", -1.0)),
        "velocity is nan": ((joint, "velocity"), lambda: d.without("velocity", np.nan)),
        "no acceleration": ((joint, "acceleration"), lambda: d.without("acceleration", 0.0)),
        "no jerk": ((joint, "jerk"), lambda: d.without("jerk", 0.0)),
        "no torque": ((joint, "torque"), lambda: d.without("torque", 0.0)),
        "torque below holding": (
            ("torque", "joint"),
            lambda: d.design(
                MotionLimits(
                    d.limits.joints,
                    d.limits.lower,
                    d.limits.upper,
                    d.limits.velocity,
                    d.limits.acceleration,
                    d.limits.jerk,
                    weak,
                )
            ),
        ),
        "stands still outside": ((joint,), lambda: d.design(still={joint: high + 0.5})),
        "unknown joint stands still": (
            (f"{joint}_x",),
            lambda: d.design(still={f"{joint}_x": 0.0}),
        ),
        "all stand still": (
            ("still",),
            lambda: d.design(still=dict(zip(d.limits.joints, d.limits.middle, strict=True))),
        ),
        "start away from where it stands still": (
            (joint, "start"),
            lambda: d.design(
                still={joint: float(d.limits.middle[d.j])},
                start=d.limits.middle + 0.3 * d.limits.half_range,
            ),
        ),
        "limit of an unknown joint": (
            (f"{joint}_x",),
            lambda: motion_limits(d.model.robot, velocity={f"{joint}_x": 1.0}),
        ),
    }


def impossible_designs(count: int) -> list[Impossible]:
    """Tasks of all kinds in turn, on the campaign's robots in turn, and files without limits."""
    tasks = []
    for number in range(count - 1):
        rng = np.random.default_rng((13, number))
        name = ROBOTS[(number // 3) % len(ROBOTS)]
        model = model_of(name)
        limits = random_limits(rng, stated_limits(name))
        drawn = Drawn(rng, model, limits, int(rng.integers(len(limits.joints))))
        found = kinds(drawn)
        kind = list(found)[number % len(found)]
        named, attempt = found[kind]
        tasks.append(Impossible(kind, name, named, attempt))
    unstated = Robot.from_urdf(example_files()[UNSTATED_ROBOT])
    first = unstated.joint_names[0]
    tasks.append(
        Impossible(
            "file without limits",
            UNSTATED_ROBOT,
            (first, "--velocity"),
            lambda: motion_limits(unstated),
        )
    )
    return tasks
