"""Samples at which a force/torque sensor is at the end of its range.

A saturated axis shows the same extreme value many times in a row, and far more often than the
values next to it. Look at the wrench as recorded: a filter rounds the plateau.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.signals.frame_motion import Wrench

Array = NDArray[np.float64]

AXES = ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z")
FEWEST = 4
"""Samples at the extreme value, and samples in a row, that make a plateau."""
NEIGHBOURS = 8
"""Number of values next to the extreme that it is compared with."""
MORE_OFTEN = 4.0
"""A plateau's value occurs at least this many times as often as the values next to it."""


@dataclass(frozen=True, eq=False)
class Saturation:
    """One axis at the end of its range.

    axis : name, as in `AXES`. limit : N or N m. samples : indices at the limit.
    """

    axis: str
    limit: float
    samples: NDArray[np.int64]

    @property
    def words(self) -> str:
        """The axis, its limit and how often it is there."""
        unit = "N" if self.axis.startswith("force") else "N m"
        return f"{self.axis} at {self.limit:g} {unit} in {len(self.samples)} samples"


def saturations(wrench: Wrench) -> tuple[Saturation, ...]:
    """The axes that are at the end of their range, with the samples at which they are."""
    values = np.column_stack([wrench.force, wrench.torque])
    found = []
    for axis, name in enumerate(AXES):
        for sign in (1.0, -1.0):
            samples = plateau(sign * values[:, axis])
            if len(samples):
                found.append(Saturation(name, float(values[samples[0], axis]), samples))
    return tuple(found)


def without_saturated(wrench: Wrench) -> tuple[Wrench, tuple[Saturation, ...]]:
    """The wrench with NaN in the samples at which an axis is saturated, and these axes."""
    found = saturations(wrench)
    if not found:
        return wrench, ()
    bad = np.unique(np.concatenate([one.samples for one in found]))
    force, torque = wrench.force.copy(), wrench.torque.copy()
    force[bad] = torque[bad] = np.nan
    return Wrench(wrench.frame, force, torque), found


def saturation_finding(run: str, found: Sequence[Saturation], n_samples: int) -> Finding:
    """That samples of a run are left out because the sensor is saturated."""
    n_bad = len(np.unique(np.concatenate([one.samples for one in found])))
    return Finding(
        "warning",
        "saturated-sensor",
        f"run '{run}': the sensor is at the end of its range "
        f"({'; '.join(one.words for one in found)}); these samples are left out, "
        f"{n_bad} of {n_samples}: move more slowly or use a larger sensor",
    )


def plateau(values: Array, more_often: float = MORE_OFTEN) -> NDArray[np.int64]:
    """Indices at the largest value (n,), if it is a plateau; else none.

    more_often : a plateau's value occurs at least this many times as often as those next to it.
    """
    none = np.zeros(0, dtype=np.int64)
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return none
    top = finite.max()
    at = np.flatnonzero(values == top)
    if len(at) < FEWEST or len(at) == len(finite):
        return none
    runs = np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)
    if max(len(run) for run in runs) < FEWEST:
        return none
    # a coarse resolution or a pose that is held repeats other values as often
    below = np.partition(-finite, min(len(at) + 40 * NEIGHBOURS, len(finite) - 1))
    others = -below[: len(at) + 40 * NEIGHBOURS]
    _, counts = np.unique(others[others < top], return_counts=True)
    near = counts[-NEIGHBOURS:]
    if len(near) == 0 or len(at) < more_often * near.max():
        return none
    return at
