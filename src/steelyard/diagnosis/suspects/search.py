"""The search: the reading that explains a log best, then what is left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.change_readings import change_readings
from steelyard.diagnosis.suspects.delay_readings import (
    LEAST_S,
    LONGEST_S,
    Shifted,
    delay_readings,
    drift_readings,
    far_delay,
    filter_readings,
    lags_in_motion,
)
from steelyard.diagnosis.suspects.evidence import (
    INDEPENDENT,
    LEAST_ERROR,
    Fit,
    Samples,
    every,
    fit_of,
    moments,
    regressor,
)
from steelyard.diagnosis.suspects.intervals import only, perturbation, torque_slopes
from steelyard.diagnosis.suspects.load_readings import (
    external_readings,
    gravity_readings,
    offset_column,
    offset_readings,
    payload_readings,
    size_readings,
)
from steelyard.diagnosis.suspects.motion_readings import motion_readings
from steelyard.diagnosis.suspects.reading import Reading, unchanged
from steelyard.diagnosis.suspects.smoothness import commanded_quantity
from steelyard.diagnosis.suspects.suspect import INHERENT, Suspect, finding_of, what_is_wrong
from steelyard.diagnosis.suspects.thinned import thinned
from steelyard.diagnosis.suspects.torque_readings import (
    current_readings,
    gain_readings,
    scale_readings,
    sign_readings,
    swap_readings,
)
from steelyard.errors import SteelyardError
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.processing import Processing

DOUBTED_ERROR, DOUBTED_AWAY, DOUBTED_NEGATIVE = 0.02, 7.0, 0.03
"""A reading is doubted beyond this error of a joint, distance from the file for each joint, or
share of negative friction."""
MARGIN = 40.0
"""By how much a suspect has to explain a log better than the log as it is."""
FAR_MARGIN, FAR_SCALE = 20.0, 4.0
"""The same for torques without any model of the robot, and for scales beyond this factor: clean
logs are farther from these."""
UNITS_AND_GEARS = 4e-4, 5e3
"""Scales of torques beyond these come from no unit and no gear: something else is in the columns,
such as velocities."""
AS_GOOD = 20.0
"""Readings that are worse by less than this are named as other explanations."""
GOOD_ERROR = 0.01
SMALL_KINDS = ("delay", "torque-gain", "position-offset", "gravity-direction", "torque-filtered")
IN_TIME = ("delay", "torque-filtered", "clock-drift")
SHARE_OF_SMALL, SHARE_OF_OTHERS = 0.1, 0.3
"""Share of what a log leaves unexplained beyond a good fit that a suspect has to explain."""
MOST = 3
FEWEST_SAMPLES, COARSE_SAMPLES = 200, 800
UNRELATED_ERROR = 0.15
"""Unexplained share of torques (rms of all joints) beyond which far delays are tried."""
FRICTION_LEAST, FRICTION_MEDIAN = 0.15, 0.3
"""Friction as a share of torques, least and median of all joints, below which it was taken out."""
DRIVES_THERE = 0.03
"""Drive inertia as a share of torques, median of all joints, above which torques are of drives."""
LAGGING_ERROR, NO_FRICTION = 0.04, 0.1
"""Unexplained share of a torque beside commanded positions; friction in commanded torques."""
LEAST_PAYLOAD_KG, LEAST_FRICTION = 0.15, 0.1


def suspect_findings(
    model: Model, log: Log, processing: Processing | None = None
) -> tuple[Finding, ...]:
    """The findings of :func:`suspects`."""
    return tuple(finding_of(one) for one in suspects(model, log, processing))


def suspects(model: Model, log: Log, processing: Processing | None = None) -> tuple[Suspect, ...]:
    """What the physics of the robot file says is wrong with a log; empty where nothing is.

    Robots on a fixed base whose file states masses. What :func:`steelyard.prepare` refuses is not
    looked at: it says why itself.
    """
    robot = model.robot
    if robot.floating_base or robot.transmission is not None or not model.prior_theta().any():
        return ()
    if processing is not None and processing.sensing is not None:
        return ()
    log, _ = name_numbered_joints(log, robot)
    try:
        samples = thinned(robot, log, processing)
    except SteelyardError:
        return ()
    if len(samples.time) < FEWEST_SAMPLES:
        return ()
    rate_hz = 1.0 / float(np.median(np.diff(log.time)))
    quantity = commanded_quantity(log, samples.model.channels)
    found: list[Suspect] = []
    for _ in range(MOST):
        fit, readings = readings_of(samples, rate_hz)
        if not found and quantity is not None and follows(fit, quantity):
            return (commanded_suspect(fit, quantity),)
        good = [one for one in readings if believed(one, fit) and not turning(one, samples)]
        if not good:
            if not found:
                found += without_friction(model, fit)
            break
        best = good[0]
        mended = best.mended(samples)
        found = with_suspect(found, suspect_of(best, readings, fit, mended))
        if best.mended is unchanged:
            break
        samples = mended
    return tuple(found)


def readings_of(samples: Samples, rate_hz: float) -> tuple[Fit, list[Reading]]:
    """The fit of the log as it is, and other readings, best first."""
    W = regressor(samples)
    given = moments(samples, W)
    fit = fit_of(given)
    shifted = Shifted(samples, W, given)
    out = delay_readings(shifted, max(LEAST_S, 0.3 / rate_hz))
    out += gain_readings(given)
    out += scale_readings(given)
    out += external_readings(given) + payload_readings(given)
    out += offset_readings(samples, W, fit)
    out += gravity_readings(samples, W, fit)
    if doubted(fit):
        out += sign_readings(given) + swap_readings(given)
        out += filter_readings(shifted) + drift_readings(shifted)
        out += coarse_readings(samples, W, fit)
        out += current_readings(given)
        best = min(out, key=lambda one: one.score)
        if min(float(np.mean(one.error**2)) for one in (fit, best.fit)) > UNRELATED_ERROR**2:
            out += far_delay(samples, W)
    return fit, sorted(out, key=lambda one: one.score)


def coarse_readings(samples: Samples, W: NDArray[np.float64], fit: Fit) -> list[Reading]:
    """Readings that need a regressor each, on fewer samples.

    Their scores are shifted by what the log as it is scores less or more on these.
    """
    step = max(1, len(samples.time) // COARSE_SAMPLES)
    coarse, rows = every(samples, step), W[::step]
    own = fit_of(moments(coarse, rows))
    found = motion_readings(coarse) + size_readings(coarse) + change_readings(coarse, rows, own)
    shift = fit.score - own.score
    return [replace(one, cost=one.cost + shift) for one in found]


def doubted(fit: Fit) -> bool:
    """Whether the log as it is leaves doubts: a poor fit, or unlikely parameters."""
    return bool(
        fit.error.max() > DOUBTED_ERROR
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
    if reading.code == "torque-scale" and far_from_file(reading.fit):
        return False
    if (
        reading.code == "torque-scale"
        and not UNITS_AND_GEARS[0] < reading.size < UNITS_AND_GEARS[1]
    ):
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


def suspect_of(best: Reading, readings: list[Reading], given: Fit, mended: Samples) -> Suspect:
    """The suspect that a reading is, with its interval and other explanations."""
    others = [
        _in_words(one)
        for one in readings
        if one is not best
        and one.score < best.score + AS_GOOD
        and (one.code, one.joints) != (best.code, best.joints)
        and one.score < given.score - MARGIN
    ]
    size, interval = best.size, None
    column, scale = _column(best, mended)
    if column is not None:
        W = regressor(mended)
        fit = fit_of(moments(mended, W))
        rest, half = perturbation(mended, W, fit, column)
        size, half = size + scale * rest, abs(scale) * half
        interval = (size - half, size + half)
    option = ""
    if best.code == "gravity-direction":
        gravity = mended.model.mechanism.gravity
        option = "--gravity " + " ".join(f"{round(float(one), 3):g}" for one in gravity)
    return Suspect(
        code=best.code,
        joints=best.joints,
        size=size,
        unit=best.unit,
        score=given.score - best.score,
        error=(_mean(given), _mean(best.fit)),
        interval=interval,
        span_s=best.span_s,
        could_be=(*INHERENT.get(best.code, ()), *others[:3]),
        option=option,
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
    return None, 1.0


def with_suspect(found: list[Suspect], new: Suspect) -> list[Suspect]:
    """The suspects with one more; a second delay of the same joints is added to the first."""
    for k, old in enumerate(found):
        if old.code == new.code == "delay" and old.joints == new.joints:
            total = old.size + new.size
            interval = new.interval and (new.interval[0] + old.size, new.interval[1] + old.size)
            both = replace(old, size=total, interval=interval, error=(old.error[0], new.error[1]))
            return [*found[:k], both, *found[k + 1 :]]
    return [*found, new]


def follows(fit: Fit, quantity: str) -> bool:
    """Whether a signal without noise is that of a controller, and not of a simulation.

    The robot lags behind commanded positions; commanded torques know no friction.
    """
    if quantity == "positions":
        return bool(fit.error.max() > LAGGING_ERROR)
    return bool(np.median(np.abs(fit.friction)) < NO_FRICTION)


def commanded_suspect(fit: Fit, quantity: str) -> Suspect:
    """A quantity, "positions" or "torques", that was commanded."""
    error = _mean(fit)
    other = INHERENT["commanded-signals"]
    return Suspect("commanded-signals", (), 0.0, quantity, 0.0, (error, error), could_be=other)


def without_friction(model: Model, fit: Fit) -> list[Suspect]:
    """Torques with hardly any friction, where the model expects some and drive inertia is there.

    Sensors behind the gears show neither.
    """
    kinds = [term.term_kind for term in model.terms]
    if not any(kind.is_friction for kind in kinds):
        return []
    share = np.sort(np.abs(fit.friction))
    if share[0] > FRICTION_LEAST or np.median(share) > FRICTION_MEDIAN:
        return []
    if np.median(fit.inertia) < DRIVES_THERE:
        return []
    other = INHERENT["friction-removed"]
    error = _mean(fit)
    return [
        Suspect(
            "friction-removed",
            (),
            float(np.median(share)),
            "share of the torque",
            0.0,
            (error, error),
            could_be=other,
            option="--torque link",
        )
    ]


def _mean(fit: Fit) -> float:
    """The unexplained share of all torques, every joint counted alike."""
    return float(np.exp(np.mean(np.log(np.maximum(fit.error, 1e-9)))))


def _in_words(reading: Reading) -> str:
    """What would be wrong if a reading were right."""
    one = reading
    return what_is_wrong(
        Suspect(one.code, one.joints, one.size, one.unit, 0.0, (0.0, 0.0), span_s=one.span_s)
    )
