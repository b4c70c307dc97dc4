"""Torques that say nothing: columns that were never recorded, or are something else."""

from __future__ import annotations

import numpy as np

from steelyard.findings import Finding
from steelyard.signals.recorded.recorded import Recorded

NOTHING = 1e-9
"""N m or N; the drives of the smallest robots have a thousand times as much."""


def torque_size(recorded: Recorded) -> tuple[Finding, ...]:
    """A severe finding if the torques of all joints are as good as zero, or never change."""
    torques = {joint.name: tau for joint, tau in recorded.of_quantity("torque")}
    values = [tau[np.isfinite(tau)] for tau in torques.values()]
    if values and all(one[0] != 0.0 and np.ptp(one) == 0.0 for one in values):
        return _constant(recorded, tuple(torques)) if recorded.in_motion.any() else ()
    largest = max(
        (float(np.nanmax(np.abs(tau))) for tau in torques.values() if np.isfinite(tau).any()),
        default=np.inf,
    )
    if largest >= NOTHING or largest == 0.0:  # of channels at zero `standing` tells
        return ()
    return (
        Finding(
            "severe",
            "no-torque",
            f"log '{recorded.name}': no torque is above {largest:.2g} N m: they were not recorded, "
            "or are in another unit",
            joints=tuple(torques),
            size=largest,
            unit="N m",
            could_be=("torques in shares of another quantity", "a column of something else"),
            option="--map JOINT.torque=COLUMN",
        ),
    )


def _constant(recorded: Recorded, joints: tuple[str, ...]) -> tuple[Finding, ...]:
    return (
        Finding(
            "severe",
            "constant-torque",
            f"log '{recorded.name}': no torque changes from the first row to the last, although "
            "the robot moves: there is nothing to identify from; was another column meant?",
            joints=joints,
            option="--map JOINT.torque=COLUMN",
        ),
    )
