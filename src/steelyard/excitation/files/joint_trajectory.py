"""The points of a motion as a ROS 2 message, trajectory_msgs/msg/JointTrajectory.

YAML as ``ros2 topic pub`` and ``rosidl_runtime_py.set_message_fields`` take it, and the same as
JSON. Numbers are plain decimals: YAML 1.1, which ROS reads, takes 1e-5 for text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal

from steelyard.errors import SignalError
from steelyard.excitation.files.motion_points import MotionPoints

NANOSECONDS = 1_000_000_000
LATEST_S = 2**31 - 1
"""Largest number of seconds that a message can hold."""


def joint_trajectory_yaml(points: MotionPoints) -> str:
    """The message as YAML."""
    return "\n".join(_yaml_lines(points)) + "\n"


def joint_trajectory_json(points: MotionPoints) -> str:
    """The message as JSON, with the same numbers."""
    _check_duration(points)
    message = {
        "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""},
        "joint_names": list(points.joints),
        "points": [
            {
                "positions": q,
                "velocities": v,
                "accelerations": a,
                "effort": [],
                "time_from_start": {
                    "sec": nanoseconds // NANOSECONDS,
                    "nanosec": nanoseconds % NANOSECONDS,
                },
            }
            for nanoseconds, q, v, a in _rows(points)
        ],
    }
    return json.dumps(message, ensure_ascii=False, allow_nan=False) + "\n"


def _yaml_lines(points: MotionPoints) -> Iterator[str]:
    _check_duration(points)
    names = ", ".join(json.dumps(name) for name in points.joints)
    yield "header: {stamp: {sec: 0, nanosec: 0}, frame_id: ''}"
    yield f"joint_names: [{names}]"
    yield "points:"
    for nanoseconds, q, v, a in _rows(points):
        yield f"- positions: [{_numbers(q)}]"
        yield f"  velocities: [{_numbers(v)}]"
        yield f"  accelerations: [{_numbers(a)}]"
        yield "  effort: []"
        sec, nanosec = divmod(nanoseconds, NANOSECONDS)
        yield f"  time_from_start: {{sec: {sec}, nanosec: {nanosec}}}"


def _rows(points: MotionPoints) -> Iterator[tuple[int, list[float], list[float], list[float]]]:
    return zip(
        points.nanoseconds.tolist(),
        points.q.tolist(),
        points.v.tolist(),
        points.a.tolist(),
        strict=True,
    )


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(_plain(value) for value in values)


def _plain(value: float) -> str:
    """A number as a plain decimal with a point, without exponent, that reads back to itself."""
    text = repr(value)
    if "e" in text:
        text = format(Decimal(text), "f")
    return text if "." in text else f"{text}.0"


def _check_duration(points: MotionPoints) -> None:
    last = int(points.nanoseconds[-1])
    if last // NANOSECONDS > LATEST_S:
        raise SignalError(
            f"the motion ends after {last / 1e9:.4g} s; a JointTrajectory message can hold "
            f"{LATEST_S} s"
        )
