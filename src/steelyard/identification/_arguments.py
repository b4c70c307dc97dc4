"""Arguments of `identify`, checked before any log is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from steelyard.errors import EstimationError, LogError, RobotError, described, listed, shown
from steelyard.estimators.estimator import Estimator
from steelyard.estimators.registry import refuse_needless_prior
from steelyard.knowledge.overlay.apply import apply_overlay
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.overlay.read_robot import read_robot
from steelyard.knowledge.prior import Prior, RepairRule, prior_from_robot
from steelyard.logs.any_log import LogsLike
from steelyard.logs.several import with_first_taken
from steelyard.logs.stored_log import first_rows
from steelyard.model.attached_links import RULES
from steelyard.model.model import Model
from steelyard.model.right_angles import with_right_angles
from steelyard.regression.regression import Regression
from steelyard.robot.robot import Robot
from steelyard.signals.unrecorded import lock_unrecorded

RobotLike = Robot | str | os.PathLike[str]
"""A robot, or the path of its file."""


def as_robot(robot: object) -> Robot:
    """The robot itself, or that in a URDF or MJCF file, its joint angles as written.

    Refuses anything else, and says what to pass instead.
    """
    if isinstance(robot, Robot):
        return robot
    if isinstance(robot, str | os.PathLike):
        return read_robot(Path(robot), keep_angles=True)
    if isinstance(robot, Model):
        raise RobotError("a robot is needed, not a model; pass model.robot, and terms=model.terms")
    raise RobotError(
        f"a robot is needed, not {described(robot)}; pass the path of its file, or "
        "Robot.from_urdf(path)"
    )


def robot_as_used(
    robot: Robot,
    logs: LogsLike,
    overlay: Overlay | None,
    lock: Mapping[str, float] | Literal["unrecorded"] | None,
    keep_angles: bool,
) -> tuple[Robot, LogsLike]:
    """The robot with overlay, locked joints and right angles, and the logs to read after that.

    Only for lock="unrecorded" the first log is taken from the logs, and put before the rest.
    """
    if overlay is not None:
        robot = apply_overlay(robot, overlay)
    if isinstance(lock, str):
        if lock != "unrecorded":
            raise RobotError(
                f"lock is {shown(lock)}; it must be positions by joint, or 'unrecorded'"
            )
        taken = with_first_taken(logs)
        if taken is None:
            raise LogError("lock is 'unrecorded', but there is no log to look at; give one")
        first, logs = taken
        robot = lock_unrecorded(robot, first_rows(first))
    elif lock:
        robot = robot.lock(lock)
    return robot if keep_angles else with_right_angles(robot), logs


def check_level(level: float) -> None:
    """Refuse a level of intervals that is not between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise EstimationError(f"level is {level:g}; it must be between 0 and 1, such as 0.95")


def check_attached(rule: str) -> None:
    """Refuse a rule for attached links that does not exist."""
    if rule not in ("auto", *RULES):
        raise EstimationError(
            f"attached is {shown(str(rule))}; it must be one of auto, {listed(RULES)}"
        )


def prior_for_method(
    model: Model,
    estimator: Estimator,
    prior: Prior | Callable[[Model], Prior] | None,
    repair: RepairRule | None,
) -> Prior | None:
    """The prior of an estimator that takes one, by default the robot file's inertials.

    repair : None if it is not stated: where bodies must be physical, 'floor-moments'.
    """
    if repair is not None and (prior is not None or not estimator.takes_prior):
        why = "a prior is given too: repair it when you make it"
        raise EstimationError(
            "repair_prior is given, but "
            + (why if prior is not None else f"the method '{estimator.name}' takes no prior")
        )
    refuse_needless_prior(estimator, prior)
    if not estimator.takes_prior:
        return None
    if prior is not None:
        return _made(prior, model)
    if estimator.prior == "bodies" or repair == "floor-moments":
        return prior_from_robot(model, repair=repair or "floor-moments")
    theta = model.prior_theta()
    return Prior(theta, np.ones(len(model.first_column_of_body)), "the robot file")


def _made(prior: Prior | Callable[[Model], Prior], model: Model) -> Prior:
    if not isinstance(prior, Prior) and not callable(prior):
        raise EstimationError(
            f"a prior is needed, not {described(prior)}; prior_from_mass(model, 12) makes one, or "
            "pass functools.partial(prior_from_mass, total_mass=12)"
        )
    return prior if isinstance(prior, Prior) else prior(model)


def refuse_own_data(prior: Prior | None, data: Regression) -> None:
    """Refuse a prior that was estimated from one of the logs behind ``data``."""
    if prior is None or not prior.made_from:
        return
    for run in data.runs:
        if run.content_sha256 in prior.made_from:
            raise EstimationError(
                f"the prior {prior.source} was estimated from the log '{run.log}', which is "
                "given again: the same data twice would make the intervals too narrow; give "
                "other logs, or another prior"
            )


def friction_widths(
    model: Model, given: float | Mapping[str, float] | Literal["auto"]
) -> dict[str, float] | Literal["auto"]:
    """Widths (rad/s or m/s) by owner of the Coulomb terms, or "auto"."""
    owners = [term.owner for term in model.jumping_terms]
    if isinstance(given, str):
        if given != "auto":
            raise EstimationError(f"friction_width is {given!r}; it must be a speed or 'auto'")
        return given
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in owners]
        if unknown:
            raise EstimationError(
                f"a friction width is given for {listed(unknown)}, but Coulomb friction acts on "
                f"{listed(owners) or 'nothing'}"
            )
        widths = {name: float(width) for name, width in given.items()}
    else:
        widths = dict.fromkeys(owners, float(given))
    for name, width in widths.items():
        if not (np.isfinite(width) and width >= 0.0):
            raise EstimationError(f"the friction width of '{name}' is {width!r}; it must be >= 0")
    return widths
