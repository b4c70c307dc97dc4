"""Torques that are nothing: columns that were never recorded, or are something else."""

from __future__ import annotations

import numpy as np

from steelyard.findings import Finding
from steelyard.signals.recorded.recorded import Recorded

NOTHING = 1e-9
"""N m or N; the drives of the smallest robots have a thousand times as much."""


def torque_size(recorded: Recorded) -> tuple[Finding, ...]:
    """A severe finding if the torques of all joints together are as good as zero."""
    torques = {joint.name: tau for joint, tau in recorded.of_quantity("torque")}
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
