"""Signals without noise: commanded, not measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.logs.log import Log

Array = NDArray[np.float64]

ORDER = 6
"""Differences of this order of a smooth signal are smaller than any sensor's noise."""
NOISELESS, NOISY = 1e-10, 1e-8
"""Noise as a share of the signal: below the first there is none, above the second there is."""
PLACES, LOOKED_AT = range(3, 10), 300
"""Decimal places to which a file may have rounded, and how many samples are looked at."""
ROUNDED, FINE = 1.5, 1e-4
"""Noise below this many times that of the rounded digits is theirs, if these are below this share
of the signal: coarser digits would hide the noise of an encoder."""


def noise_shares(log: Log, joints: tuple[str, ...], quantity: str) -> Array:
    """Noise of each joint's signal (n_joints,) as a share of its standard deviation."""
    out = []
    for joint in joints:
        values = log.signals.get((joint, quantity))
        values = np.zeros(0) if values is None else values[np.isfinite(values)]
        spread = float(np.std(values)) if len(values) else 0.0
        if len(values) < 10 * ORDER or spread == 0.0:
            out.append(np.nan)
            continue
        differences = np.abs(np.diff(values, ORDER))
        # of white noise of size one: a median of 0.67 times the root of the sum of C(6, k)²
        noise = float(np.median(differences)) / (0.6745 * np.sqrt(924.0))
        step = decimal_step(values)
        if noise < ROUNDED * step / np.sqrt(12.0) and step < FINE * spread:
            noise = 0.0  # that of the digits alone
        out.append(noise / spread)
    return np.array(out)


def decimal_step(values: Array) -> float:
    """The decimal place to which values were rounded, such as 1e-6; 0 where there is none."""
    some = values[:: max(1, len(values) // LOOKED_AT)]
    for places in PLACES:
        scaled = some * 10.0**places
        if np.all(np.abs(scaled - np.round(scaled)) < 1e-3):
            return float(10.0**-places)
    return 0.0


def commanded_quantity(log: Log, joints: tuple[str, ...]) -> str | None:
    """The quantity that has no noise beside another one that has: "positions" or "torques"."""
    q, tau = (noise_shares(log, joints, one) for one in ("position", "torque"))
    if np.isnan(q).any() or np.isnan(tau).any():
        return None
    if (q < NOISELESS).all() and (tau > NOISY).all():
        return "positions"
    if (tau < NOISELESS).all() and (q > NOISY).all():
        return "torques"
    return None
