"""Consistency checks of a log: velocity against position, joints that should not move, limits."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals._timebase import unbroken, usual_period
from steelyard.signals.outliers import UNREACHED
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]

SAME = (0.8, 1.25)
"""A velocity within these factors of the position's derivative agrees with it."""
NEAR = 0.03
"""Relative tolerance with which a known factor is recognised."""
KNOWN_FACTORS = {
    180.0 / math.pi: "the velocity seems to be in deg/s",
    30.0 / math.pi: "the velocity seems to be in rpm",
    1000.0: "one of them seems to be in milli-units",
    math.pi / 180.0: "the position seems to be in degrees",
    2.0 * math.pi: "the position seems to be in turns",
    -1.0: "one of them has the wrong sign",
}
FAR = 2.0
"""Positions beyond this many times a joint's limits give a warning."""
FEWEST = 8
"""Samples between two holes without which they are not looked at."""
RESTS = {"m": 1e-3, "rad": 1e-2}
"""A fixed or locked joint may move by this much (m, rad) without a warning."""


def velocity_factors(
    log: Log,
    joints: tuple[str, ...],
    signals: Mapping[tuple[str, str], Array],
    processing: Processing,
) -> tuple[dict[str, float], tuple[Finding, ...]]:
    """Measured velocity over the derivative of the position, per joint that has both.

    signals : positions (n_samples,), unwrapped. The factor is the slope of a regression of the
    integrated velocity on the position, straight lines in time removed from both. Integrating
    needs no filter, and a constant offset of the velocity does not matter.
    """
    factors: dict[str, float] = {}
    findings = []
    use = "used" if processing.takes_measured("velocity") else "not used, but the position is"
    for joint in joints:
        if (joint, "velocity") not in log.signals:
            continue
        factor = _slope(log.time, signals[joint, "position"], log.signals[joint, "velocity"])
        if factor is None:
            continue
        factors[joint] = factor
        if SAME[0] <= factor <= SAME[1]:
            continue
        guess = next(
            (f": {words}" for known, words in KNOWN_FACTORS.items() if _near(factor, known)), ""
        )
        findings.append(
            Finding(
                "warning",
                "velocity-factor",
                f"log '{log.name}': the velocity of joint '{joint}' is {factor:.3g} times the "
                f"derivative of its position{guess}; it is {use}; state the units in the names of "
                f"the columns, such as {joint}.velocity[deg/s]",
                joints=(joint,),
                size=factor,
                unit="times",
            )
        )
    return factors, tuple(findings)


def moving_locked_joints(log: Log, robot: Robot) -> tuple[Finding, ...]:
    """A warning for each fixed or locked joint that the log shows moving."""
    fixed = {joint.name for joint in robot.joints if not joint.moves}
    findings = []
    for joint in log.joints:
        if joint not in fixed or (joint, "position") not in log.signals:
            continue
        q = log.signals[joint, "position"]
        q = q[np.isfinite(q)]
        span = float(np.ptp(q)) if len(q) else 0.0
        unit = log.units.get((joint, "position"), "")
        if span > RESTS.get(unit, RESTS["rad"]):
            findings.append(
                Finding(
                    "warning",
                    "locked-joint-moves",
                    f"log '{log.name}': joint '{joint}' is locked or fixed in the robot, but its "
                    f"position moves by {span:.3g} {unit or 'rad or m'} in the log; let it move "
                    "in the model, or use the part of the log in which it rests",
                )
            )
    return tuple(findings)


def _slope(time: Array, q: Array, v: Array) -> float | None:
    """Slope of v (n_samples,) on dq/dt; None where the joint rests or too much is missing.

    Lines are removed between holes, one by one: nothing is integrated across a hole.
    """
    known = (np.abs(q) <= UNREACHED) & (np.abs(v) <= UNREACHED)
    if known.sum() < max(8, 0.5 * len(time)):
        return None
    t, q, v = time[known], q[known], v[known]
    both = []
    for rows in unbroken(t, usual_period(time)):
        if rows.stop - rows.start < FEWEST:
            continue
        since = t[rows] - t[rows][0]
        speed = 0.5 * (v[rows][1:] + v[rows][:-1])
        travelled = np.concatenate([[0.0], np.cumsum(speed * np.diff(since))])
        line = np.column_stack([np.ones_like(since), since])
        part = np.column_stack([q[rows], travelled])
        both.append(part - line @ np.linalg.lstsq(line, part, rcond=None)[0])
    if not both:
        return None
    x, y = np.concatenate(both).T
    size = float(x @ x)
    # below this the position is noise or a straight line, and there is no meaningful slope
    if math.sqrt(size / len(x)) < 1e-3:
        return None
    return float(y @ x) / size


def _near(factor: float, known: float) -> bool:
    return abs(factor - known) <= NEAR * abs(known)


def beyond_limits(robot: Robot, positions: Mapping[str, Array]) -> tuple[Finding, ...]:
    """A warning if joints go far beyond the file's limits: often degrees taken for radians."""
    far = []
    for joint, q in positions.items():
        limits = robot.joint(joint).limits
        known = [abs(end) for end in (limits.lower, limits.upper) if end is not None]
        reach = float(np.nanmax(np.abs(q)))
        if len(known) == 2 and max(known) > 0.0 and reach > FAR * max(known):
            far.append(f"'{joint}' reaches {reach:.4g}, its limit is {max(known):.4g}")
    if not far:
        return ()
    return (
        Finding(
            "warning",
            "beyond-limits",
            f"positions go far beyond the limits of the robot file: {'; '.join(far[:4])}; are they "
            "in degrees? Then name the column like 'joint.position[deg]'",
        ),
    )


def constant_torques(torques: Mapping[str, Array]) -> tuple[Finding, ...]:
    """A warning if the torque of a joint never changes."""
    stuck = {
        joint: f"'{joint}' ({tau[0]:.4g})"
        for joint, tau in torques.items()
        if len(tau) > 1 and tau[0] != 0.0 and np.nanmax(tau) == np.nanmin(tau)
    }
    if not stuck:
        return ()
    return (
        Finding(
            "warning",
            "constant-torque",
            f"the torque of {', '.join(stuck.values())} never changes, as that of a dead sensor: "
            "it is fitted perfectly and would outweigh all others; leave its column out of the "
            "log",
            joints=tuple(stuck),
        ),
    )
