"""Trajectories as plain data for JSON, and back; one entry of `KINDS` for each kind.

Numbers are written with the digits that read back to the same floats, so that what is proven of a
trajectory is proven of its file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard._files.json_object import JsonObject
from steelyard.errors import SignalError, is_name, listed, shown
from steelyard.excitation.motions.fourier import FourierTrajectory
from steelyard.excitation.motions.polynomial import PolynomialTrajectory
from steelyard.excitation.motions.sequence import SequenceTrajectory
from steelyard.excitation.motions.slowed import SlowedTrajectory
from steelyard.excitation.trajectory import Trajectory

Array = NDArray[np.float64]

DEEPEST = 8
"""Trajectories inside trajectories, in a file."""
MOST_JOINTS = 10_000
MOST_PARTS = 200


class MotionFileError(SignalError):
    """A motion file is wrong; its message names the file and the place in it."""


@dataclass(frozen=True)
class TrajectoryKind:
    """How one kind of trajectory is written and read.

    write : the fields as plain data. read : the trajectory of these fields, joints, and depth.
    """

    name: str
    type: type
    write: Callable[[Any], Mapping[str, Any]]
    read: Callable[[JsonObject, tuple[str, ...], int], Trajectory]


def trajectory_data(trajectory: Trajectory) -> dict[str, Any]:
    """A trajectory as plain data; its joints are stated once, beside it."""
    for kind in KINDS:
        if type(trajectory) is kind.type:
            return {"kind": kind.name, **kind.write(trajectory)}
    raise SignalError(
        f"a {type(trajectory).__name__} cannot be written; there are "
        f"{listed(kind.type.__name__ for kind in KINDS)}"
    )


def read_trajectory(data: JsonObject, joints: tuple[str, ...], depth: int = 0) -> Trajectory:
    """The trajectory of these fields; anything wrong is an error of the file."""
    if depth > DEEPEST:
        raise data.error(f"{data.where}: trajectories are nested more than {DEEPEST} deep")
    name = data.text("kind")
    for kind in KINDS:
        if kind.name == name:
            try:
                return kind.read(data, joints, depth)
            except MotionFileError:
                raise  # it says where already
            except SignalError as failure:
                raise MotionFileError(f"{data.where}: {failure}") from None
    raise data.error(
        f"{data.where}: there is no kind {shown(str(name))} of trajectory; the kinds are "
        f"{listed(kind.name for kind in KINDS)}"
    )


def read_joints(data: JsonObject, key: str = "joints") -> tuple[str, ...]:
    """Names of joints, each once."""
    joints = data.texts(key)
    if not joints or len(joints) > MOST_JOINTS:
        raise data.error(f"{data.where}: '{key}' has {len(joints)} names; 1 to {MOST_JOINTS} fit")
    for joint in joints:
        if not is_name(joint):
            raise data.error(f"{data.where}: {shown(joint)} in '{key}' is not a name of a joint")
    if len(set(joints)) != len(joints):
        raise data.error(f"{data.where}: '{key}' names a joint twice: {listed(joints)}")
    return joints


def read_array(data: JsonObject, key: str, n_dims: int) -> Array:
    """A table of finite numbers with this number of dimensions, all rows of the same length."""
    value = data.entries.get(key)
    array = _table(value, n_dims)
    if array is None:
        form = "a list" if n_dims == 1 else f"a table of {n_dims} dimensions"
        raise data.error(f"{data.where}: '{key}' must be {form} of finite numbers")
    return array


def _table(value: object, n_dims: int) -> Array | None:
    """The array of nested lists, or None for anything else."""
    if not isinstance(value, list):
        return None
    if n_dims > 1:
        rows = [_table(row, n_dims - 1) for row in value]
        shapes = {None if row is None else row.shape for row in rows}
        if not rows or len(shapes) != 1 or None in shapes:
            return None
        return np.stack(rows)  # type: ignore[arg-type]
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in value):
        return None
    # compared before conversion: an integer may be too large for a float
    if not all(-1e300 <= x <= 1e300 for x in value):
        return None
    return np.array(value, dtype=float)


def _number(data: JsonObject, key: str) -> float:
    value = data.number(key)
    if np.isnan(value):
        raise data.error(f"{data.where}: '{key}' is missing")
    return value


def _child(data: JsonObject, key: str) -> JsonObject:
    child = data.child(key)
    if child is None:
        raise data.error(f"{data.where}: '{key}' is missing")
    return child


def _write_fourier(one: FourierTrajectory) -> Mapping[str, Any]:
    return {
        "omega_rad_s": one.omega,
        "a": one.a.tolist(),
        "b": one.b.tolist(),
        "q0": one.q0.tolist(),
    }


def _read_fourier(data: JsonObject, joints: tuple[str, ...], depth: int) -> FourierTrajectory:
    a, b = (read_array(data, key, 2) for key in ("a", "b"))
    return FourierTrajectory(joints, _number(data, "omega_rad_s"), a, b, read_array(data, "q0", 1))


def _write_polynomial(one: PolynomialTrajectory) -> Mapping[str, Any]:
    return {"breaks_s": one.breaks.tolist(), "coefficients": one.coefficients.tolist()}


def _read_polynomial(data: JsonObject, joints: tuple[str, ...], depth: int) -> PolynomialTrajectory:
    return PolynomialTrajectory(
        joints, read_array(data, "breaks_s", 1), read_array(data, "coefficients", 3)
    )


def _write_sequence(one: SequenceTrajectory) -> Mapping[str, Any]:
    rows = zip(one.parts, one.durations_s, one.starts_s, strict=True)
    return {
        "parts": [
            {"duration_s": duration, "start_s": start, "trajectory": trajectory_data(part)}
            for part, duration, start in rows
        ]
    }


def _read_sequence(data: JsonObject, joints: tuple[str, ...], depth: int) -> SequenceTrajectory:
    entries = data.entries.get("parts")
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_PARTS:
        raise data.error(f"{data.where}: 'parts' must be a list of 1 to {MOST_PARTS} objects")
    parts, durations, starts = [], [], []
    for number, entry in enumerate(entries, start=1):
        part = JsonObject.of(entry, f"{data.where}: 'parts' {number}", data.error)
        parts.append(read_trajectory(_child(part, "trajectory"), joints, depth + 1))
        durations.append(_number(part, "duration_s"))
        starts.append(_number(part, "start_s"))
    return SequenceTrajectory(tuple(parts), tuple(durations), tuple(starts))


def _write_slowed(one: SlowedTrajectory) -> Mapping[str, Any]:
    return {"speed": one.speed, "trajectory": trajectory_data(one.trajectory)}


def _read_slowed(data: JsonObject, joints: tuple[str, ...], depth: int) -> SlowedTrajectory:
    inner = read_trajectory(_child(data, "trajectory"), joints, depth + 1)
    return SlowedTrajectory(inner, _number(data, "speed"))


KINDS = (
    TrajectoryKind("fourier", FourierTrajectory, _write_fourier, _read_fourier),
    TrajectoryKind("polynomial", PolynomialTrajectory, _write_polynomial, _read_polynomial),
    TrajectoryKind("sequence", SequenceTrajectory, _write_sequence, _read_sequence),
    TrajectoryKind("slowed", SlowedTrajectory, _write_slowed, _read_slowed),
)
"""Every kind of trajectory that a file can hold."""
