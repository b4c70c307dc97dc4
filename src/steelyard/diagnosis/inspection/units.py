"""Units of positions: angles and speeds that no arm has, and angles that are wrapped."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.inspection.stamps import time_units
from steelyard.findings import Finding
from steelyard.logs.columns import split_unit
from steelyard.logs.likely_names import unit_option
from steelyard.robot.parts import Joint
from steelyard.signals.recorded.recorded import Recorded
from steelyard.signals.steps import whole_turns

Array = NDArray[np.float64]

TURNS = 4.0
"""A joint that swings back and forth over more than this many turns is implausible."""
RANGES = 2.5
"""So is one whose span is this many times the range that the robot file gives it."""
SPEED = 60.0
"""So is a joint that is faster (rad/s, rms) than this, ten turns a second."""
ONE_WAY = 0.7
"""Share of its span by which a joint that runs on in one direction ends away from its start."""
PER_DEGREE = 180.0 / np.pi


def position_units(recorded: Recorded) -> tuple[Finding, ...]:
    """A severe finding if turning joints move as none of an arm does: often degrees."""
    wide = {
        joint.name: float(np.nanmax(q) - np.nanmin(q))
        for joint, q in recorded.of_quantity("position")
        if joint.kind != "prismatic" and _wide(recorded, joint, q)
    }
    if not wide or time_units(recorded):
        return ()
    spans = ", ".join(f"'{joint}' {span:.4g} rad" for joint, span in wide.items())
    few = 0 < len(wide) < len(recorded.joints)
    return (
        Finding(
            "severe",
            "position-unit",
            f"log '{recorded.name}': {'some joints swing' if few else 'joints swing'} further or "
            f"faster than those of an arm: {spans}; are positions in degrees? In radians that "
            f"would be up to {max(wide.values()) / PER_DEGREE:.3g}; {_what_to_do(recorded, wide)}",
            joints=tuple(wide),
            size=max(wide.values()),
            unit="rad",
            could_be=("positions of motors before their gears", "encoder counts"),
            option=_in_degrees(recorded, tuple(wide)),
        ),
    )


def _column(recorded: Recorded, joint: str) -> str:
    """The column of a joint's position, by the usual name where no file names it."""
    return recorded.columns.get((joint, "position"), f"{joint}.position")


def _what_to_do(recorded: Recorded, joints: Iterable[str]) -> str:
    """How to state the unit: a column that states one already has to be renamed."""
    stated = [column for one in joints if split_unit(column := _column(recorded, one))[1]]
    if stated and split_unit(stated[0])[1] == "deg":
        return f"'{stated[0]}' says so already: are they?"
    if stated:
        return f"then '{stated[0]}' states a wrong unit: rename it to end in [deg]"
    return "name the columns like 'joint.position[deg]', or map them"


def _in_degrees(recorded: Recorded, joints: tuple[str, ...]) -> str:
    """The option that reads the positions of these joints, and of no others, in degrees."""
    columns = {joint: _column(recorded, joint) for joint in joints}
    return unit_option("position", "deg", columns, every=len(joints) == len(recorded.joints))


def wraps(recorded: Recorded) -> tuple[Finding, ...]:
    """A note if angles jump by whole turns."""
    counts = {}
    for joint, q in recorded.of_quantity("position"):
        rows = np.flatnonzero(np.isfinite(q))
        step = np.diff(q[rows])
        if joint.kind == "prismatic" or not np.any(np.abs(step) > np.pi):
            continue
        count = int(np.count_nonzero(whole_turns(step, np.diff(rows))))
        if count:
            counts[joint.name] = count
    if not counts:
        return ()
    words = ", ".join(f"'{joint}' {count} times" for joint, count in counts.items())
    return (
        Finding(
            "info",
            "wraps",
            f"log '{recorded.name}': positions jump by whole turns, and are unwrapped: {words}",
            joints=tuple(counts),
            size=float(sum(counts.values())),
            unit="jumps",
        ),
    )


def _wide(recorded: Recorded, joint: Joint, q: Array) -> bool:
    """Whether a position (n_samples,) moves further or faster than a joint of an arm."""
    known = q[np.isfinite(q)]
    span = float(np.max(known) - np.min(known))
    ends = joint.limits.lower, joint.limits.upper
    beyond = False
    if ends[0] is not None and ends[1] is not None and ends[1] > ends[0]:
        beyond = span > RANGES * (ends[1] - ends[0])
    if abs(float(known[-1] - known[0])) >= ONE_WAY * span and not beyond:
        return False  # it just runs on in one direction, as a wheel's
    if beyond or span > TURNS * 2.0 * np.pi:
        return True
    speed = recorded.usual_speeds.get(joint.name, 0.0) / recorded.period_s
    return span > 2.0 * np.pi and speed > SPEED
