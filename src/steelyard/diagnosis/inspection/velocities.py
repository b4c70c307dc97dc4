"""Recorded velocities beside the derivative of positions: how late they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.signals.recorded.recorded import Recorded

Array = NDArray[np.float64]

LEAST_S, LEAST_PERIODS = 3e-3, 1.5
"""Lags below this time (s), or below this many periods, are not reported."""
AGREEMENT = 0.35
"""Joints agree on a lag within this share of it."""


def velocity_lag(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning if recorded velocities come later than positions change.

    The velocity of a joint is integrated; x = integral of v dt is compared with q:
    x(t) = c q(t - lag), so x - c q = - c lag dq/dt, a straight line in time apart.
    """
    lags = []
    for joint, v in recorded.of_quantity("velocity"):
        q = recorded.signals[joint.name, "position"]
        lag = _lag(recorded.time, q, v)
        if lag is not None:
            lags.append(lag)
    if not lags:
        return ()
    lag = float(np.median(lags))
    if lag < max(LEAST_S, LEAST_PERIODS * recorded.period_s):
        return ()
    if np.median(np.abs(np.array(lags) - lag)) > AGREEMENT * lag:
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


def _lag(time: Array, q: Array, v: Array) -> float | None:
    """How much later (s) the velocity (n_samples,) is than the position; None if it is unclear."""
    known = np.isfinite(q) & np.isfinite(v)
    if np.count_nonzero(known) < max(50, len(time) // 2):
        return None
    t, q, v = time[known], q[known], v[known]
    if np.max(np.abs(np.diff(q))) > 3.0:  # wrapped
        q = np.unwrap(q)
    x = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(t))])
    rate = np.gradient(q, t)
    s = np.linspace(-1.0, 1.0, len(t))
    columns = np.column_stack([np.ones_like(s), s, s**2, q, rate])
    scale = np.linalg.norm(columns, axis=0)
    if not np.all(scale > 0.0):
        return None
    fit = np.linalg.lstsq(columns / scale, x, rcond=None)[0] / scale
    factor, of_rate = float(fit[3]), float(fit[4])
    left = float(np.std(x - columns @ fit))
    if not 0.5 < factor < 2.0 or left > 0.3 * float(np.std(q)):
        return None
    return -of_rate / factor
