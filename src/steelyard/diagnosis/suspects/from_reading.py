"""The suspect that a reading is: its size with an interval and in parts of the log, and what else
explains the log about as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.belief import MARGIN
from steelyard.diagnosis.suspects.delay_readings import LONGEST_S, late_mended
from steelyard.diagnosis.suspects.evidence import Fit, Samples, fit_of, moments, regressor
from steelyard.diagnosis.suspects.intervals import (
    only,
    perturbation,
    sizes_by_part,
    torque_slopes,
)
from steelyard.diagnosis.suspects.joint_motion import KINDS, joint_motion_column
from steelyard.diagnosis.suspects.load_readings import offset_column
from steelyard.diagnosis.suspects.reading import Reading
from steelyard.diagnosis.suspects.steady import PARTS
from steelyard.diagnosis.suspects.suspect import INHERENT, Suspect, what_is_wrong

AS_GOOD = 20.0
"""Readings that are worse by less than this are named as other explanations."""
STEPS = 2
"""Steps of Newton's method in which a delay is found to a fraction of a sample."""


def suspect_of(best: Reading, readings: list[Reading], given: Fit, samples: Samples) -> Suspect:
    """The suspect that a reading is, with its interval and other explanations."""
    others = [
        one
        for one in readings
        if one is not best
        and one.score < best.score + AS_GOOD
        and (one.code, one.joints) != (best.code, best.joints)
        and one.score < given.score - MARGIN
    ]
    size, interval = best.size, None
    by_part: tuple[float, ...] = ()
    mended = best.mended(samples)
    for _ in range(STEPS):
        column, scale = _column(best, mended)
        if column is None:
            break
        W = regressor(mended)
        fit = fit_of(moments(mended, W))
        rest, half = perturbation(mended, W, fit, column)
        parts = size + scale * sizes_by_part(mended, W, fit, column, PARTS)
        size, half = size + scale * rest, abs(scale) * half
        interval, by_part = (size - half, size + half), tuple(parts.tolist())
        if best.code != "delay":
            break
        joint = mended.model.channels.index(best.joints[0]) if best.joints else None
        mended = late_mended(size, joint)(samples)
    option = ""
    if best.code == "gravity-direction":
        gravity = mended.model.mechanism.gravity
        option = "--gravity " + " ".join(f"{round(float(one), 3):g}" for one in gravity)
    if best.code == "delay" and interval is not None:
        of_whom = f"{best.joints[0]}=" if best.joints else ""
        option = f"--torque-delay {of_whom}{size:.4g}"
    return Suspect(
        code=best.code,
        joints=best.joints,
        size=size,
        unit=best.unit,
        score=given.score - best.score,
        error=(given.mean_error, best.fit.mean_error),
        interval=interval,
        span_s=best.span_s,
        could_be=(*INHERENT.get(best.code, ()), *(_in_words(one) for one in others[:3])),
        option=option,
        rivals=tuple(dict.fromkeys(one.code for one in others)),
        by_part=by_part,
    )


def _column(best: Reading, mended: Samples) -> tuple[NDArray[np.float64] | None, float]:
    """The column of a small perturbation of the mended samples, and what its unit is."""
    joint = mended.model.channels.index(best.joints[0]) if best.joints else None
    if best.code == "delay" and abs(best.size) <= LONGEST_S:
        return -torque_slopes(mended, joint), 1.0
    if best.code == "torque-gain" and joint is not None:
        return only(mended.tau, joint), best.size
    if best.code == "position-offset" and joint is not None:
        fit = fit_of(moments(mended))
        return -offset_column(mended, fit.theta, joint), float(np.degrees(1.0))
    if best.code in KINDS:
        return joint_motion_column(best, mended, fit_of(moments(mended)))
    return None, 1.0


def _in_words(reading: Reading) -> str:
    """What would be wrong if a reading were right."""
    one = reading
    return what_is_wrong(
        Suspect(one.code, one.joints, one.size, one.unit, 0.0, (0.0, 0.0), span_s=one.span_s)
    )
