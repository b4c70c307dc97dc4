"""Whether a filter biases the estimated friction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.model.model import Model
from steelyard.signals.prepare import Prepared

Array = NDArray[np.float64]

PERIODS_OF_SMEAR = 1.5
"""Time over which a filter smears a reversal to each side, in periods of its cutoff."""


SMEARED_SHARE = 0.2
"""Share of smeared torques above which the bias of friction exceeds its error bars."""


def filter_bias_findings(model: Model, prepared: Prepared) -> tuple[Finding, ...]:
    """Warn where filtering the torque biases the estimated friction.

    A low-pass filter smears the jump of the torque at a reversal over some time, while sign(v) in
    the model jumps at once. If the cutoff is low, a dead band in speed removes little of that.
    """
    cutoff = prepared.record.cutoff_hz
    if cutoff is None or not prepared.record.torque_is_low_passed:
        return ()
    rows = {name: row for row, name in enumerate(model.channels)}
    time, v, measurements = prepared.motion.time, prepared.motion.v, prepared.measurements
    shares = {}
    for term in model.terms:
        if not term.term_kind.jumps_at_zero_speed:
            continue
        speed = np.zeros(len(time))
        for joint, weight in term.direction:
            speed += weight * v[:, rows[joint]]
        near = near_reversal(time, speed, PERIODS_OF_SMEAR / cutoff)
        for joint, _ in term.direction:
            if joint in measurements.channels:
                used = np.isfinite(measurements.tau[:, measurements.channels.index(joint)])
                shares[joint] = float(np.mean(near[used])) if used.any() else 0.0
    worst = [name for name, share in shares.items() if share > SMEARED_SHARE]
    if not worst:
        return ()
    largest = max(worst, key=lambda name: shares[name])
    return (
        Finding(
            "warning",
            "friction-smeared",
            f"the {cutoff:.3g} Hz filter smears friction at reversals in "
            f"{100 * shares[largest]:.0f} % of the torques of {largest} ({len(worst)} of "
            f"{len(shares)} joints are above {100 * SMEARED_SHARE:.0f} %): their friction is "
            "biased by more than its error bars say; leave the torque unfiltered "
            "(torque_filter 'none') or raise the cutoff",
        ),
    )


def near_reversal(time: Array, speed: Array, smear_s: float) -> NDArray[np.bool_]:
    """Whether each sample lies within ``smear_s`` of a reversal of the joint."""
    change = np.flatnonzero(np.sign(speed[1:]) != np.sign(speed[:-1]))
    if len(change) == 0:
        return np.zeros(len(time), dtype=bool)
    reversals = 0.5 * (time[change] + time[change + 1])
    after = np.searchsorted(reversals, time)
    previous = reversals[np.maximum(after - 1, 0)]
    following = reversals[np.minimum(after, len(reversals) - 1)]
    return np.minimum(np.abs(time - previous), np.abs(time - following)) <= smear_s
