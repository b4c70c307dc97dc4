"""Design an exciting motion: the one function that does it all.

motion = design_motion(robot)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.excitation.collision.collision_distances import CollisionModel
from steelyard.excitation.design_conditions import DesignConditions
from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.designed import DesignedMotion, measures_of
from steelyard.excitation.fourier_design import design_fourier
from steelyard.excitation.limits import MotionLimits, motion_limits
from steelyard.excitation.motion_factors import model_motion, motion_factors
from steelyard.excitation.polynomial_designs import (
    design_points_motion,
    design_postures,
    design_via_points,
)
from steelyard.excitation.predicted import predicted_precision
from steelyard.excitation.proven_core import DesignedCore
from steelyard.excitation.search.search import Progress
from steelyard.excitation.search_time import search_seconds
from steelyard.excitation.torque_noise import TorqueNoise, assumed_noise
from steelyard.findings import Finding
from steelyard.model.energy import refuse_floating_base
from steelyard.model.model import Model
from steelyard.model.right_angles import with_right_angles
from steelyard.model.typical_sizes import known_parameters
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]
Design = Callable[[DesignTask, Callable[[Progress], None] | None], DesignedCore]

DESIGNS: Mapping[str, Design] = {
    "fourier": design_fourier,
    "points": design_points_motion,
    "via": design_via_points,
    "postures": design_postures,
}
"""How each basis is designed."""


def design_motion(
    model: Model | Robot,
    limits: MotionLimits | None = None,
    settings: DesignSettings | None = None,
    *,
    theta: ArrayLike | None = None,
    noise: TorqueNoise | None = None,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    still: Mapping[str, float] | None = None,
    collision: CollisionModel | None = None,
    known: ArrayLike | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> DesignedMotion:
    """A motion that excites the parameters of a model within limits, proven and ready to run.

    model : or a robot, of which the model with the default terms is used, joint angles that its
        file rounds turned onto right angles, as the command line and `identify` do.
    limits : of the robot, by default those of its file; the motion uses ``settings.share`` of them.
    For theta, noise, start, end, still, collision and known see
    `steelyard.excitation.design_task.DesignTask`; noise is by default 1 % of each joint's torque
    range within the limits.
    """
    model = design_model(model)
    settings = DesignSettings() if settings is None else settings
    limits = motion_limits(model.robot) if limits is None else limits
    refuse_floating_base(model)
    reference = known_parameters(model) if theta is None else np.asarray(theta, dtype=float)
    task = DesignTask(
        model,
        limits.scaled(settings.share),
        settings,
        theta=reference,
        noise=assumed_noise(model, known_parameters(model), limits) if noise is None else noise,
        start=None if start is None else np.asarray(start, dtype=float),
        end=None if end is None else np.asarray(end, dtype=float),
        still={} if still is None else dict(still),
        collision=collision,
        known=None if known is None else np.asarray(known, dtype=float),
    )
    if settings.rounds is None and settings.uses("budget_s"):
        timed = replace(settings, budget_s=search_seconds(task))
        task = replace(task, settings=timed)
    found = DESIGNS[settings.basis](task, progress)
    factors = motion_factors(
        model, model_motion(model, found.core, rate_hz=settings.samples / found.core.duration_s)
    )
    return DesignedMotion(
        trajectory=found.run,
        core=found.core,
        periods=settings.periods,
        limits=limits,
        extremes=found.verified.extremes,
        criterion=found.criterion,
        value=found.value,
        start_value=found.start_value,
        measures=(*measures_of(factors), *found.measures),
        predicted=predicted_precision(
            model,
            found.run,
            task.torque_noise,
            rate_hz=settings.rate_hz,
            reference=task.reference,
            known=task.known,
        ),
        torque=found.verified.torque,
        clearance=found.verified.clearance,
        settings=settings,
        seconds=found.seconds,
        evaluations=found.evaluations,
        model=model,
        theta=task.reference,
        findings=design_findings(task, found),
        conditions=design_conditions(task),
    )


def design_model(model: Model | Robot) -> Model:
    """The model itself, or that of a robot as commands use it: rounded angles turned."""
    return Model(with_right_angles(model)) if isinstance(model, Robot) else model


def design_conditions(task: DesignTask) -> DesignConditions:
    """Poses and surroundings of a task, by joint."""

    def by_joint(pose: Array | None) -> dict[str, float] | None:
        return None if pose is None else dict(zip(task.limits.joints, pose.tolist(), strict=True))

    conditions = DesignConditions(by_joint(task.start), by_joint(task.end), dict(task.still))
    if task.collision is None:
        return conditions
    return replace(
        conditions,
        clearance_m=task.collision.clearance_m,
        surroundings=task.collision.surroundings,
    )


def design_findings(task: DesignTask, found: DesignedCore) -> tuple[Finding, ...]:
    """What a user should know about a design."""
    findings = []
    assumed = task.limits.assumed
    if assumed:
        findings.append(
            Finding(
                "info",
                "acceleration-limits-assumed",
                "no acceleration limit is stated for "
                + ", ".join(f"'{name}'" for name in assumed)
                + ": full speed in half a second was assumed; give limits with --acceleration",
            )
        )
    unlimited = [
        joint.name
        for joint, limit in zip(task.model.robot.free_joints, task.limits.torque, strict=True)
        if joint.limits.effort == 0.0 and np.isinf(limit)
    ]
    if unlimited:
        findings.append(
            Finding(
                "warning",
                "torque-limit-of-zero",
                "the robot file states a torque limit (effort) of 0 for "
                + ", ".join(f"'{name}'" for name in unlimited)
                + ": it is taken for one that nobody filled in, so that the torque is not "
                "limited; give limits with --torque",
            )
        )
    if not found.whole:
        findings.append(
            Finding(
                "warning",
                "first-round-cut",
                "the time budget ended before the first round of the search was complete: the "
                "motion depends on the speed of this machine; give more time, with --budget",
            )
        )
    for joint in one_way_joints(task, found):
        findings.append(
            Finding(
                "warning",
                "joint-does-not-reverse",
                f"joint '{joint}' turns one way only: its Coulomb friction and its offset cannot "
                "be told apart; use another seed or basis",
            )
        )
    notes = () if task.collision is None else task.collision.findings
    return (*findings, *notes)


def one_way_joints(task: DesignTask, found: DesignedCore) -> tuple[str, ...]:
    """Joints that move, but never one way and the other at a tenth of their largest speed."""
    speed = found.run.derivative(np.linspace(0.0, found.run.duration_s, 2000), 1)
    level = 0.1 * np.abs(speed).max(axis=0)
    both = (speed > level).any(axis=0) & (speed < -level).any(axis=0)
    names = zip(found.run.joints, both, strict=True)
    return tuple(name for name, reverses in names if not reverses and name not in task.still)
