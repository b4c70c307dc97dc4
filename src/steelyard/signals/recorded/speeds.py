"""Speeds that positions and time stamps give, beside the robot's limits and recorded velocities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.signals._timebase import unbroken, usual_period
from steelyard.signals.outliers import UNREACHED
from steelyard.signals.recorded.columns import time_units
from steelyard.signals.recorded.recorded import RESTS, Recorded, without_parabola

Array = NDArray[np.float64]

LEAST_S, LEAST_PERIODS = 3e-3, 1.5
"""Lags below this time (s), or below this many periods, are not reported."""
AGREEMENT = 0.35
"""Joints agree on a lag within this share of it."""
ABOUT_ONE = (0.5, 2.0)
"""Velocities beyond these factors are another matter than those that lag."""
FACTORS, SAME = (0.2, 5.0), 0.1
"""Time stamps may be wrong by factors between these; within ``SAME`` of one they are right."""
COMMON = 0.03
"""Joints agree on a factor within this share of it."""
FEWEST = 20
"""Samples between two holes without which they are not looked at."""
TOO_FAST = 1.35
"""Speeds beyond this many times a joint's limit are implausible."""
GLANCE = 0.7
"""Share of such a speed at which a closer look is taken; averages are below the largest."""
TOP = 99.0
"""Percentile of the speed that is compared."""


def velocity_findings(recorded: Recorded) -> Iterator[Finding]:
    """What velocities that are not the derivatives of positions mean: time stamps that are wrong by
    the factor that is the same for all joints, which is severe, or a filter behind which velocities
    come late.
    """
    factors, lags = _compared(recorded)
    factor = float(np.median(factors)) if len(factors) > 1 else 1.0
    agree = bool(np.all(np.abs(factors - factor) <= COMMON * factor))
    if FACTORS[0] < factor < FACTORS[1] and abs(factor - 1.0) >= SAME and agree:
        rate = 1.0 / recorded.period_s
        yield recorded.finding(
            "severe",
            "time-rate",
            f"the velocities of all joints are {factor:.4g} times the derivatives of their "
            "positions: time stamps come from a sampling rate that is not the true one, "
            f"{factor * rate:.6g} Hz instead of {rate:.6g} Hz",
            size=(factor, "times"),
            could_be=("velocities in another unit",),
        )
        return
    lags = lags[(factors > ABOUT_ONE[0]) & (factors < ABOUT_ONE[1])]
    lag = float(np.median(lags)) if len(lags) else 0.0
    least = max(LEAST_S, LEAST_PERIODS * recorded.period_s)
    if lag >= least and np.median(np.abs(lags - lag)) <= AGREEMENT * lag:
        words = (
            f"recorded velocities are {1e3 * lag:.3g} ms later than the derivatives of positions, "
            "as behind a drive's filter; differentiate positions (the default) instead of using "
            "them"
        )
        yield recorded.finding(
            "warning", "velocity-lags", words, size=(lag, "s"), option="--velocity differentiate"
        )


def speeds_beyond_limits(recorded: Recorded) -> Iterator[Finding]:
    """A warning if joints are faster than the robot file allows, though within their range; a note
    if recorded velocities say so, too.
    """
    if not _some_are_fast(recorded):
        return
    speeds, limits = {}, {}
    period = recorded.mean_period_s if recorded.evenly_sampled else recorded.period_s
    for joint, q in recorded.of_quantity("position"):
        limit = joint.limits.velocity
        if limit is None or not limit > 0.0 or not np.isfinite(limit):
            continue
        ends = [end for end in (joint.limits.lower, joint.limits.upper) if end is not None]
        if len(ends) == 2 and np.nanmax(np.abs(q)) > 2.0 * max(abs(end) for end in ends):
            return
        steps = recorded.steps.get(joint.name)
        if steps is not None:
            speed = np.percentile(np.abs(steps.expected) / steps.taken, TOP) / period
            speeds[joint.name], limits[joint.name] = float(speed), limit
    fast = {
        joint: speed / limits[joint]
        for joint, speed in speeds.items()
        if speed > TOO_FAST * limits[joint]
    }
    if not fast or any(time_units(recorded)):
        return
    # joints in another order than the file's: their speeds fit the limits of other joints
    if np.all(np.sort([*speeds.values()]) <= TOO_FAST * np.sort([*limits.values()])):
        return
    words = ", ".join(f"'{joint}' {factor:.3g} times" for joint, factor in fast.items())
    words = f"joints are faster than the limits of the robot file: {words}"
    factors, _ = _compared(recorded)
    if len(factors) and np.all(np.abs(factors - 1.0) < SAME):
        words = (
            f"{words}; recorded velocities agree with the positions, so time is right unless they "
            "were computed from them: check the limits of the file"
        )
        yield recorded.finding(
            "info", "beyond-speed-limits", words, tuple(fast), size=(max(fast.values()), "times")
        )
        return
    yield recorded.finding(
        "warning",
        "time-rate",
        f"{words}; is the sampling rate, from which time stamps were made, the true one?",
        tuple(fast),
        size=(max(fast.values()), "times"),
        could_be=("positions in another unit", "limits of the file that are too low"),
    )


def _some_are_fast(recorded: Recorded) -> bool:
    """Whether a joint comes near a speed that is implausible, seen at a glance."""
    near = GLANCE * TOO_FAST * recorded.period_s
    return recorded.evenly_sampled or any(
        (limit := joint.limits.velocity) is not None
        and float(np.max(recorded.speeds[joint.name])) > near * limit > 0.0
        for joint, _ in recorded.of_quantity("position")
    )


def _compared(recorded: Recorded) -> tuple[Array, Array]:
    """`compare` of each joint (n,) whose velocity is clear: factors, and lags (s)."""
    found = [
        compare(recorded.time, recorded.signals[joint.name, "position"], v)
        for joint, v in recorded.of_quantity("velocity")
    ]
    factors, lags = np.array([one for one in found if one]).reshape(-1, 2).T
    return factors, lags


def compare(time: Array, q: Array, v: Array) -> tuple[float, float] | None:
    """By what factor a velocity (n_samples,) is larger than the derivative of its position, and by
    how much it is later (s); None if it is unclear.

    The velocity is integrated, x = integral of v dt, and compared with q:
    x(t) = c q(t - lag), so x - c q = - c lag dq/dt, a parabola in time apart. Nothing is integrated
    or differentiated across a hole.
    """
    known = (np.abs(q) <= UNREACHED) & (np.abs(v) <= UNREACHED)
    if np.count_nonzero(known) < max(50, len(time) // 2):
        return None
    t, q, v = time[known], q[known], v[known]
    if np.max(np.abs(np.diff(q))) > 3.0:  # wrapped
        q = np.unwrap(q)
    parts = [
        _between_holes(t[rows], q[rows], v[rows])
        for rows in unbroken(t, usual_period(time))
        if rows.stop - rows.start >= FEWEST
    ]
    if not parts or np.ptp(q) < RESTS:
        return None
    x, *columns = np.concatenate(parts).T
    scale = np.linalg.norm(columns, axis=1)
    if not np.all(scale > 0.0) or not np.all(np.isfinite(scale)):
        return None
    scaled = np.column_stack(columns) / scale
    try:
        fit = np.linalg.solve(scaled.T @ scaled, scaled.T @ x)
    except np.linalg.LinAlgError:
        return None
    left = float(np.std(x - scaled @ fit))
    factor, late = (float(one) for one in fit / scale)
    if not np.isfinite(left) or factor == 0.0 or left > 0.3 * abs(factor) * float(np.std(q)):
        return None
    return factor, -late / factor


def _between_holes(t: Array, q: Array, v: Array) -> Array:
    """Integrated velocity, position and its rate (n, 3) between two holes, each without the
    parabola in time that fits it best.
    """
    travelled = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(t))])
    return without_parabola(np.column_stack([travelled, q, np.gradient(q, t)]))
