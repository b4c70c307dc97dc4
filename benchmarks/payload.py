"""Payloads weighed on a force/torque sensor, at the flange and in a stream.

Collects the figures of `payload_motions` (the experiment of Traversaro et al. 2016, and times),
`payload_sensor` (errors and intervals), and those that other modules measure of the manifold's
formulations, of joint torques and of streaming. Times are processor times of one thread.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import payload_motions
import payload_sensor
from contender import THREAD_VARIABLES, say
from goals import Goal

NAME = "payload"
DESCRIPTION = "payloads: errors over the Cramér-Rao bound, coverage, times, the paper's experiment"

# module beside this one, and the function that returns its figures
PARTS = (
    ("payload_motions", "motion_figures"),
    ("payload_sensor", "sensor_figures"),
    ("manifold", "formulations_figures"),
    ("payload_joints", "joints_figures"),
    ("payload_joints", "gains_figures"),
    ("streaming_payload", "streaming_figures"),
)
GOALS: tuple[Goal, ...] = (
    *payload_motions.GOALS,
    *payload_sensor.GOALS,
    Goal("speedup_over_quaternion", ">=", 1.0),
    Goal("joints_coverage", ">=", 0.93),
    Goal("gains_mass_only_coverage", ">=", 0.92),
    Goal("update_us", "<=", 20.0),
    Goal("estimate_ms", "<=", 2.0),
    Goal("detect_s", "<=", 0.5),
    Goal("false_alarms_per_hour", "<=", 0.0),
)


def measure() -> dict[str, float | None]:
    """All figures."""
    # one thread: small matrices, and processor times that can be compared
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    # None is a figure that was not measured
    figures: dict[str, float | None] = dict.fromkeys((goal.figure for goal in GOALS), None)
    for module, function in PARTS:
        if find_spec(module) is not None:
            say(f"{module}: {function}")
            figures |= getattr(import_module(module), function)()
    return figures
