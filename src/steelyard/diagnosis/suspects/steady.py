"""A gain of one torque that explains little, because links and friction absorb most of it, but has
the same size in all parts of a log.

The links that a joint carries alone, and its friction, scale with its torque. What is left is what
other torques say about these links: with the torque W_k theta that the model predicts for joint k,

    tau_k = W_k theta + s W_k theta + noise

The predicted torque has no noise, unlike the measured one, so that s is zero in a right log.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.evidence import Fit, Samples, fit_of, moments
from steelyard.diagnosis.suspects.intervals import Screen, only, perturbation, sizes_by_part
from steelyard.diagnosis.suspects.suspect import INHERENT, Suspect

Array = NDArray[np.float64]

STEADY_MARGIN, STEADY_SHARE = 3.0, 0.7
"""By how much a perturbation has to explain a log better that is not doubted, if it is the same in
all parts of the log, within this share of its size."""
PARTS = 4
"""Parts of a log in which the size of a small perturbation is computed too."""
LEAST_GAIN = 0.06
"""Gains matter that differ from 1 by more than this."""


def is_steady(by_part: tuple[float, ...], away: float, size: float) -> bool:
    """Whether parts of a log agree with a size that is ``away`` from that of a right log."""
    spread = np.abs(np.array(by_part) - size)
    return len(by_part) > 0 and bool(spread.max() < STEADY_SHARE * abs(away))


def steady_gain(samples: Samples, W: Array, given: Fit) -> Suspect | None:
    """The torque whose gain explains most, in a log that is not doubted; None where none does."""
    predicted = W @ given.theta
    screen = Screen(samples, W, given)
    n = predicted.shape[1]
    found = [screen.gain(only(predicted, k)) for k in range(n)]
    k = int(np.argmax([better for better, _ in found]))
    better, size = found[k]
    if better < STEADY_MARGIN or abs(size) < LEAST_GAIN or size <= -1.0:
        return None
    column = only(predicted, k)
    size, half = perturbation(samples, W, given, column)
    by_part = tuple((1.0 + sizes_by_part(samples, W, given, column, PARTS)).tolist())
    if not is_steady(by_part, size, 1.0 + size):
        return None
    mended = fit_of(moments(samples, W), gain=np.where(np.arange(n) == k, 1.0 / (1.0 + size), 1.0))
    return Suspect(
        code="torque-gain",
        joints=(samples.model.channels[k],),
        size=1.0 + size,
        unit="times",
        score=better,
        error=(given.mean_error, mended.mean_error),
        interval=(1.0 + size - half, 1.0 + size + half),
        could_be=INHERENT["torque-gain"],
        by_part=by_part,
    )
