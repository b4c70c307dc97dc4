"""When a log is doubted, and when a reading of it is believed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.delay_readings import lags_in_motion
from steelyard.diagnosis.suspects.evidence import (
    INDEPENDENT,
    LEAST_ERROR,
    Fit,
    Samples,
    lasting_errors,
)
from steelyard.diagnosis.suspects.reading import Reading

Array = NDArray[np.float64]

DOUBTED_ERROR, DOUBTED_AWAY, DOUBTED_NEGATIVE = 0.012, 7.0, 0.03
"""A reading is doubted beyond this lasting error of a joint, distance from the file for each joint,
or share of negative friction."""
MARGIN = 40.0
"""By how much a suspect has to explain a log better than the log as it is."""
FAR_MARGIN, FAR_SCALE = 20.0, 4.0
"""The same for torques without any model of the robot, and for scales beyond this factor: clean
logs are farther from these."""
UNITS_AND_GEARS = 4e-4, 5e3
"""Scales of torques beyond these come from no unit and no gear: something else is in the columns,
such as velocities."""
GOOD_ERROR = 0.01
SMALL_KINDS = (
    "delay",
    "torque-gain",
    "position-offset",
    "position-factor",
    "position-late",
    "gravity-direction",
    "torque-filtered",
)
IN_TIME = ("delay", "torque-filtered", "clock-drift")
SHARE_OF_SMALL, SHARE_OF_OTHERS = 0.1, 0.3
"""Share of what a log leaves unexplained beyond a good fit that a suspect has to explain."""
LEAST_PAYLOAD_KG, LEAST_FRICTION = 0.15, 0.1


def doubted(samples: Samples, W: Array, fit: Fit) -> bool:
    """Whether the log as it is leaves doubts: torques that are unexplained beyond their noise, or
    unlikely parameters.
    """
    return bool(
        lasting_errors(samples, W, fit).max() > DOUBTED_ERROR
        or far_from_file(fit)
        or fit.negative.max() > DOUBTED_NEGATIVE
    )


def far_from_file(fit: Fit) -> bool:
    """Whether a fit needs parameters that are unlikely even for a poor file."""
    return fit.away > DOUBTED_AWAY * len(fit.error)


def error_part(fit: Fit) -> float:
    """The part of a score that says how much torque is unexplained."""
    return INDEPENDENT * float(np.sum(np.log(np.maximum(fit.error, LEAST_ERROR) ** 2)))


def believed(reading: Reading, given: Fit) -> bool:
    """Whether a reading explains a log clearly better than the log as it is.

    Either it explains much of the torque that is left, or it needs no impossible robot.
    """
    better = given.score - reading.score
    margin = margin_of(reading)
    if better < margin or not matters(reading):
        return False
    if reading.code == "torque-scale":
        unit_or_gear = UNITS_AND_GEARS[0] < reading.size < UNITS_AND_GEARS[1]
        if not unit_or_gear or far_from_file(reading.fit):
            return False
    good = INDEPENDENT * len(given.error) * float(np.log(GOOD_ERROR**2))
    left = max(0.0, error_part(given) - good)
    fewer = error_part(given) - error_part(reading.fit)
    share = SHARE_OF_SMALL if reading.code in SMALL_KINDS else SHARE_OF_OTHERS
    if fewer >= max(share * left, 0.5 * better):
        return True
    return better - fewer >= margin and fewer > -0.1 * margin


def turning(reading: Reading, samples: Samples) -> bool:
    """Whether a reading in time only explains how friction changes where joints turn back."""
    return reading.code in IN_TIME and not lags_in_motion(reading, samples)


def margin_of(reading: Reading) -> float:
    """By how much a reading has to be better, which depends on what else it may be."""
    if reading.code == "external-torque":
        return FAR_MARGIN
    # a scale by itself is no better fit, only a more likely robot
    far = max(abs(reading.size), 1.0 / max(abs(reading.size), 1e-12)) > FAR_SCALE
    return FAR_MARGIN if reading.code == "torque-scale" and far else MARGIN


def matters(reading: Reading) -> bool:
    """Whether a change is large enough to be worth words."""
    least = {"payload-change": LEAST_PAYLOAD_KG, "friction-change": LEAST_FRICTION}
    if reading.code == "payload":
        return reading.size >= LEAST_PAYLOAD_KG
    return abs(reading.size) >= least.get(reading.code, 0.0)
