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
        out.append(float(np.median(differences)) / (0.6745 * np.sqrt(924.0)) / spread)
    return np.array(out)


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
