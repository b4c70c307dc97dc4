"""A designed motion as a JSON file: coefficients, limits, and what is proven.

The schema is named ``steelyard.motion/1``, and is ``excitation/files/motion-1.schema.json`` in the
package. The reader trusts no statement about bounds: it proves
them again from the coefficients.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard._files.json_data import MAX_BYTES, finite
from steelyard._files.json_object import JsonObject, read_json_object
from steelyard.errors import SignalError, SteelyardError
from steelyard.excitation.designed import DesignedMotion
from steelyard.excitation.extremes import QUANTITIES, Extremes, LimitCheck, check_limits
from steelyard.excitation.files.trajectory_json import (
    MotionFileError,
    read_joints,
    read_trajectory,
    trajectory_data,
)
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.predicted import RULE, PredictedPrecision
from steelyard.excitation.trajectory import Trajectory
from steelyard.findings import Finding
from steelyard.robot.robot import Robot

Array = NDArray[np.float64]

MOTION_SCHEMA = "steelyard.motion/1"
LIMITS = ("lower", "upper", "velocity", "acceleration", "jerk", "torque")


@dataclass(frozen=True, eq=False)
class MotionFile:
    """A motion that was read from a file.

    robot : name of the robot that it was designed for. limits : that it was designed for.
    extremes : bounds that were proven when the file was read. rate_hz : of the log that the design
    assumed.
    """

    robot: str
    trajectory: Trajectory
    limits: MotionLimits
    extremes: Extremes
    rate_hz: float

    def __repr__(self) -> str:
        return (
            f"<MotionFile of '{self.robot}': {self.trajectory.duration_s:.4g} s of "
            f"{len(self.trajectory.joints)} joints; {'within' if self.holds else 'NOT within'} "
            "its limits>"
        )

    @property
    def checks(self) -> tuple[LimitCheck, ...]:
        """Every proven bound beside its limit."""
        return check_limits(self.extremes, self.limits)

    @property
    def holds(self) -> bool:
        """Whether the motion is proven to be within the limits that its file states."""
        return all(check.holds for check in self.checks)


def motion_document(designed: DesignedMotion, robot: Robot) -> dict[str, Any]:
    """A designed motion as plain data, ready for JSON."""
    from steelyard._version import __version__

    document = {
        "schema": MOTION_SCHEMA,
        "steelyard": __version__,
        "robot": {"name": robot.name, "sha256": robot.source_sha256},
        "joints": list(designed.joints),
        "units": [
            "m" if robot.joint(name).kind == "prismatic" else "rad" for name in designed.joints
        ],
        "duration_s": designed.duration_s,
        "periods": designed.periods,
        "trajectory": trajectory_data(designed.trajectory),
        "limits": limits_data(designed.limits),
        "proven": {
            "extremes": _by_joint(
                designed.extremes.joints,
                {name: designed.extremes.of(name) for name in QUANTITIES},
            ),
            "within_limits": designed.holds,
            "torque": plain_data(designed.torque),
            "clearance": plain_data(designed.clearance),
        },
        "criterion": {
            "name": designed.criterion,
            "value": designed.value,
            "best_random_start": designed.start_value,
        },
        "measures": [asdict(measure) for measure in designed.measures],
        "predicted": predicted_data(designed.predicted),
        "settings": designed.settings.as_json(),
        "conditions": designed.conditions.to_dict(),
        "seconds": designed.seconds,
        "evaluations": designed.evaluations,
        "findings": [finding.as_json() for finding in designed.findings],
    }
    return finite(document)  # type: ignore[no-any-return]


def motion_text(document: Mapping[str, Any]) -> str:
    """The text of a motion file."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_motion_schema() -> dict[str, Any]:
    """The published JSON schema of motion files."""
    from importlib.resources import files

    text = files("steelyard").joinpath("excitation/files/motion-1.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def limits_data(limits: MotionLimits) -> dict[str, Any]:
    """Limits by joint; null where there is none."""
    return {
        **_by_joint(limits.joints, {name: limits.of(name) for name in LIMITS}),
        "assumed_acceleration": list(limits.assumed),
    }


def predicted_data(predicted: PredictedPrecision) -> dict[str, Any]:
    """The predicted precision of every base parameter, and what it assumes."""
    return {
        "rate_hz": predicted.rate_hz,
        "n_samples": predicted.n_samples,
        "noise": {
            "rms": dict(zip(predicted.noise.joints, predicted.noise.rms.tolist(), strict=True)),
            "source": predicted.noise.source,
            "bandwidth_hz": predicted.noise.bandwidth_hz,
        },
        "rule": RULE,
        "counts": predicted.counts,
        "parameters": [
            asdict(one) | {"relative": one.relative, "verdict": one.verdict}
            for one in predicted.parameters
        ],
        "standard": [asdict(one) for one in predicted.standard()],
    }


def plain_data(proof: object) -> Any:
    """The fields of a proof as plain data; None where there is none."""
    if proof is None:
        return None
    fields = {name: value for name, value in vars(proof).items() if not name.startswith("_")}
    return {name: _plain(value) for name, value in fields.items()}


def read_motion(path: str | Path) -> MotionFile:
    """Read a motion file of anybody's; what is not one is an error that says where."""
    document = read_json_object(path, MAX_BYTES, MOTION_SCHEMA, "a motion file", SignalError)
    return _parse(replace(document, error=MotionFileError))


def _parse(document: JsonObject) -> MotionFile:
    joints = read_joints(document)
    trajectory = read_trajectory(_needed(document, "trajectory"), joints)
    limits = _read_limits(_needed(document, "limits"), joints)
    robot, settings = document.child("robot"), document.child("settings")
    name = None if robot is None else robot.text("name")
    rate_hz = 0.0 if settings is None else settings.number("rate_hz", 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        extremes = trajectory.extremes()
    for quantity in QUANTITIES:
        if np.isnan(extremes.of(quantity)).any():
            raise document.error(
                f"{document.where}: the numbers of its trajectory are too large: its {quantity} "
                "cannot be computed"
            )
    return MotionFile(name or "robot", trajectory, limits, extremes, rate_hz)


def _read_limits(data: JsonObject, joints: tuple[str, ...]) -> MotionLimits:
    arrays = {}
    for name in LIMITS:
        stated = data.numbers_by_name(name)
        foreign = [joint for joint in stated if joint not in joints]
        if foreign or (name in ("lower", "upper", "velocity") and set(stated) != set(joints)):
            raise data.error(
                f"{data.where}: '{name}' must have one number for each of {', '.join(joints)}"
            )
        none = -np.inf if name == "lower" else np.inf
        values = [stated.get(joint, np.nan) for joint in joints]
        if name in ("lower", "upper", "velocity") and not np.isfinite(values).all():
            raise data.error(
                f"{data.where}: '{name}' must have one number for each of {', '.join(joints)}"
            )
        arrays[name] = np.array([none if np.isnan(value) else value for value in values])
    assumed = tuple(joint for joint in data.texts("assumed_acceleration") if joint in joints)
    try:
        return MotionLimits(joints, **arrays, assumed=assumed)
    except SteelyardError as failure:
        raise data.error(f"{data.where}: {failure}") from None


def _needed(data: JsonObject, key: str) -> JsonObject:
    child = data.child(key)
    if child is None:
        raise data.error(f"{data.where}: '{key}' is missing")
    return child


def _by_joint(joints: tuple[str, ...], arrays: Mapping[str, Array]) -> dict[str, dict[str, float]]:
    return {
        name: dict(zip(joints, values.tolist(), strict=True)) for name, values in arrays.items()
    }


def _plain(value: object) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Finding):
        return asdict(value)
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if value is None or isinstance(value, str | bool | int | float | np.number):
        return value
    return plain_data(value) if hasattr(value, "__dict__") else str(value)
