"""A finite change of a log that may explain it, and when it is believed.

A reading says what the log is taken for: with which sign, of which joint, in which unit. Each gives
a fit whose score is compared with that of the log as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.fit import INDEPENDENT, LEAST_ERROR, Fit, far_from_file
from steelyard.diagnosis.hypotheses.samples import Samples

Array = NDArray[np.float64]

LEAST_BETTER = 10.0
"""By how much a score has to be better for a small change to be looked at closely."""
MARGIN = 40.0
"""By how much a finite change has to explain a log better than the log as it is."""
FAR_MARGIN, FAR_SCALE = 20.0, 4.0
"""The same for torques without any model of the robot, and for scales beyond this factor: clean
logs are farther from these."""
UNITS_AND_GEARS = 4e-4, 5e3
"""Scales of torques beyond these come from no unit and no gear: something else is in the columns,
such as velocities."""
GOOD_ERROR, SHARE = 0.01, 0.3
"""Share of what a log leaves unexplained beyond a good fit that a finite change has to explain."""
HALVED = 2.0
"""Factor by which the file of another robot has to reduce what is unexplained."""
LEAST_PAYLOAD_KG = 0.15


@dataclass(frozen=True, eq=False)
class Reading:
    """One hypothesis about a log.

    code : that of its finding. joints : the joints it is about, empty for all.
    size, unit : how large it is. fit : of the samples read in this way.
    cost : what a hypothesis has to be better by, because it has more freedom.
    mended : the samples as they would be without the fault; the same samples where nothing mends.
    span_s : when, where it is about a part of the log. option : what mends it, as a user types it.
    """

    code: str
    joints: tuple[str, ...]
    size: float
    unit: str
    fit: Fit
    mended: Callable[[Samples], Samples]
    cost: float = 0.0
    span_s: tuple[float, float] | None = None
    option: str = ""

    @property
    def score(self) -> float:
        """Score with what its freedom costs; smaller is better."""
        return self.fit.score + self.cost


def unchanged(samples: Samples) -> Samples:
    """The samples themselves, for faults that are not mended here."""
    return samples


def lowest(
    at: Callable[[float], Fit], grid: Array, least: float | None = None, rounds: int = 4
) -> float:
    """Where the score is lowest: the best of a grid, then refined between its neighbours.

    least : sizes below this do not matter: where the grid's zero is best and neither of ±least is
    better, zero is returned at once.
    """
    scores = [at(float(one)).score for one in grid]
    k = int(np.argmin(scores))
    best, value = float(grid[k]), scores[k]
    if least is not None and best == 0.0:
        nearby = {one: at(one).score for one in (-2.0 * least, 2.0 * least)}
        if min(nearby.values()) > value - LEAST_BETTER:
            return 0.0
    low, high = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, len(grid) - 1)])
    for _ in range(rounds):
        points = np.linspace(low, high, 5)[1:-1]
        values = [at(float(one)).score for one in points]
        if min(values) < value:
            best, value = float(points[int(np.argmin(values))]), min(values)
        width = (high - low) / 4.0
        low, high = best - width, best + width
    return best


def believed(reading: Reading, given: Fit) -> bool:
    """Whether a finite change explains a log clearly better than the log as it is.

    Either it explains much of the torque that is left, or it needs no impossible robot.
    """
    better = given.score - reading.score
    margin = _margin_of(reading)
    light = reading.code == "payload" and reading.size < LEAST_PAYLOAD_KG
    if better < margin or light:
        return False
    if reading.code == "other-robot" and given.mean_error < HALVED * reading.fit.mean_error:
        return False  # a right file may be poor
    if reading.code == "torque-scale":
        unit_or_gear = UNITS_AND_GEARS[0] < reading.size < UNITS_AND_GEARS[1]
        if not unit_or_gear or far_from_file(reading.fit):
            return False
    good = INDEPENDENT * len(given.error) * float(np.log(GOOD_ERROR**2))
    left = max(0.0, _error_part(given) - good)
    fewer = _error_part(given) - _error_part(reading.fit)
    if fewer >= max(SHARE * left, 0.5 * better):
        return True
    return better - fewer >= margin and fewer > -0.1 * margin


def _error_part(fit: Fit) -> float:
    """The part of a score that says how much torque is unexplained."""
    return INDEPENDENT * float(np.sum(np.log(np.maximum(fit.error, LEAST_ERROR) ** 2)))


def _margin_of(reading: Reading) -> float:
    """By how much a reading has to be better, which depends on what else it may be."""
    if reading.code == "external-torque":
        return FAR_MARGIN
    # a scale by itself is no better fit, only a more likely robot
    far = max(abs(reading.size), 1.0 / max(abs(reading.size), 1e-12)) > FAR_SCALE
    return FAR_MARGIN if reading.code == "torque-scale" and far else MARGIN
