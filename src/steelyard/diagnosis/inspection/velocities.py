"""Recorded velocities beside the derivative of positions: how late they are, and how large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.signals._timebase import unbroken, usual_period
from steelyard.signals.outliers import UNREACHED
from steelyard.signals.recorded.recorded import Recorded

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
RESTS = 5e-3
"""A joint that stays within this (rad or m) rests."""


@dataclass(frozen=True)
class Compared:
    """A velocity beside the derivative of its position.

    factor : by which it is larger. lag_s : by which it is later (s).
    """

    factor: float
    lag_s: float


def velocity_findings(recorded: Recorded) -> tuple[Finding, ...]:
    """What velocities that are not the derivatives of positions mean."""
    compared = _compared(recorded)
    return _rate(recorded, compared) or _lag(recorded, compared)


def velocities_agree(recorded: Recorded) -> bool:
    """Whether there are velocities, and they are the derivatives of the positions."""
    compared = _compared(recorded)
    return bool(compared) and all(abs(one.factor - 1.0) < SAME for one in compared)


def _compared(recorded: Recorded) -> list[Compared]:
    """Each velocity that can be, beside the derivative of its position."""
    compared = []
    for joint, v in recorded.of_quantity("velocity"):
        one = compare(recorded.time, recorded.signals[joint.name, "position"], v)
        compared += [] if one is None else [one]
    return compared


def _rate(recorded: Recorded, compared: list[Compared]) -> tuple[Finding, ...]:
    """A severe finding if all velocities are away from the derivatives of positions by the same
    factor, so that time stamps are wrong by it.
    """
    if len(compared) < 2:
        return ()
    factors = np.array([one.factor for one in compared])
    factor = float(np.median(factors))
    if not FACTORS[0] < factor < FACTORS[1] or abs(factor - 1.0) < SAME:
        return ()
    if np.max(np.abs(factors - factor)) > COMMON * factor:
        return ()
    rate = 1.0 / recorded.period_s
    return (
        Finding(
            "severe",
            "time-rate",
            f"log '{recorded.name}': the velocities of all joints are {factor:.4g} times the "
            "derivatives of their positions: time stamps come from a sampling rate that is not "
            f"the true one, {factor * rate:.6g} Hz instead of {rate:.6g} Hz",
            size=factor,
            unit="times",
            could_be=("velocities in another unit",),
        ),
    )


def _lag(recorded: Recorded, compared: list[Compared]) -> tuple[Finding, ...]:
    """A warning if velocities come later than positions change."""
    low, high = ABOUT_ONE
    lags = np.array([one.lag_s for one in compared if low < one.factor < high])
    if not len(lags):
        return ()
    lag = float(np.median(lags))
    if lag < max(LEAST_S, LEAST_PERIODS * recorded.period_s):
        return ()
    if np.median(np.abs(lags - lag)) > AGREEMENT * lag:
        return ()
    return (
        Finding(
            "warning",
            "velocity-lags",
            f"log '{recorded.name}': recorded velocities are {1e3 * lag:.3g} ms later than the "
            "derivatives of positions, as behind a drive's filter; differentiate positions "
            "(the default) instead of using them",
            size=lag,
            unit="s",
            option="--velocity differentiate",
        ),
    )


def compare(time: Array, q: Array, v: Array) -> Compared | None:
    """A velocity (n_samples,) beside the derivative of its position; None if it is unclear.

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
    return Compared(factor, -late / factor)


def _between_holes(t: Array, q: Array, v: Array) -> Array:
    """Integrated velocity, position and its rate (n, 3) between two holes, each without the
    parabola in time that fits it best.
    """
    travelled = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(t))])
    table = np.column_stack([travelled, q, np.gradient(q, t)])
    s = np.linspace(-1.0, 1.0, len(t))
    parabola = np.column_stack([np.ones_like(s), s, s**2])
    return np.asarray(table - parabola @ np.linalg.lstsq(parabola, table, rcond=None)[0])
