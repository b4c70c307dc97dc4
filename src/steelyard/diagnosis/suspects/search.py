"""The search: the reading that explains a log best, then what is left."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.suspects.belief import IN_TIME, believed, doubted, turning
from steelyard.diagnosis.suspects.change_readings import change_readings
from steelyard.diagnosis.suspects.delay_correction import (
    beyond_stated,
    correction_of,
    recorded_delays,
)
from steelyard.diagnosis.suspects.delay_readings import (
    LEAST_S,
    TRAVEL,
    Shifted,
    delay_readings,
    drift_readings,
    far_delay,
    filter_readings,
    travel_readings,
)
from steelyard.diagnosis.suspects.effort import (
    CODE,
    effort_finding,
    evidence_against,
    unit_of,
    weightless_efforts,
    without_efforts,
)
from steelyard.diagnosis.suspects.evidence import (
    Fit,
    Samples,
    every,
    fit_of,
    moments,
    regressor,
)
from steelyard.diagnosis.suspects.from_reading import suspect_of
from steelyard.diagnosis.suspects.intervals import SCREENED, Screen, only
from steelyard.diagnosis.suspects.joint_motion import (
    FACTOR,
    KINDS,
    joint_motion_readings,
)
from steelyard.diagnosis.suspects.load_readings import (
    external_readings,
    gravity_readings,
    offset_readings,
    payload_readings,
    size_readings,
)
from steelyard.diagnosis.suspects.motion_readings import motion_readings
from steelyard.diagnosis.suspects.reading import Reading, unchanged
from steelyard.diagnosis.suspects.remedies import with_options
from steelyard.diagnosis.suspects.smoothness import commanded_quantity
from steelyard.diagnosis.suspects.steady import (
    STEADY_MARGIN,
    is_steady,
    steady_gain,
)
from steelyard.diagnosis.suspects.suspect import (
    INHERENT,
    Suspect,
    corrected_finding,
    finding_of,
    of_motors,
)
from steelyard.diagnosis.suspects.thinned import thinned
from steelyard.diagnosis.suspects.torque_readings import (
    current_readings,
    gain_readings,
    scale_readings,
    sign_readings,
    swap_readings,
)
from steelyard.diagnosis.suspects.unit_readings import position_unit_readings, rate_readings
from steelyard.errors import SteelyardError
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.physical_links import without_negative_masses
from steelyard.signals.drives import joint_side
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.processing import Processing

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
POSITIONS_DOUBTED = ("beyond-limits",)
"""Findings of the preparation after which only unit and order of positions are looked for."""
LIMIT_SLACK = 0.05
"""Share of its span by which a joint may be beyond its limits."""
NOTHING_FITS, NO_JOINT_FITS = 0.4, 0.25
"""Unexplained shares of torques, mean and least of all joints, beyond which torques and motion have
nothing to do with each other."""


@dataclass(frozen=True)
class Physics:
    """What the physics of a robot file says about a log.

    processing : in which a delay of the torques is taken out that is beyond doubt.
    """

    findings: tuple[Finding, ...]
    processing: Processing


def physics_of(model: Model, log: Log, processing: Processing | None = None) -> Physics:
    """The findings of :func:`suspects`; a delay that is beyond doubt is corrected, if the
    processing leaves that open and the log, so corrected, shows no delay any more.
    """
    given = processing or Processing()
    found = suspects(model, log, given)
    efforts = [one for one in found if one.code == CODE]
    found = tuple(one for one in found if one.code != CODE)
    given, told = _without_efforts(model, log, given, efforts)
    delay = correction_of(found, model.robot.joint_names) if given.torque_delay == "auto" else None
    if delay is not None:
        corrected = replace(given, torque_delay=delay)
        left = suspects(model, log, corrected)
        if all(one.code != "delay" for one in left):
            said = [corrected_finding(one) for one in found if one.code == "delay"]
            left = tuple(one for one in left if one.code != CODE)
            said = [*told, *said, *(finding_of(one) for one in left)]
            return Physics(of_log(log, said), corrected)
    joints = model.robot.joint_names
    total = [beyond_stated(one, given.torque_delay, joints) for one in found]
    return Physics(of_log(log, [*told, *(finding_of(one) for one in total)]), given)


def _without_efforts(
    model: Model, log: Log, processing: Processing, efforts: list[Suspect]
) -> tuple[Processing, list[Finding]]:
    """The processing without the efforts that cannot be torques, where that predicts the others
    better and nothing else is stated, and what is said of them.
    """
    findings = []
    for one in efforts:
        joint = one.joints[0]
        evidence = evidence_against(model, log, processing, one.joints)
        better = evidence is not None and evidence.better
        if better and processing.without_torque != ():
            left_out = (*processing.torques_left_out, joint)
            processing = replace(processing, without_torque=left_out)
        else:
            better = False
        findings.append(effort_finding(one, evidence, unit_of(model, joint), left_out=better))
    return processing, findings


def of_log(log: Log, findings: list[Finding]) -> tuple[Finding, ...]:
    """The findings with the name of the log: an estimate may be made from several."""
    return tuple(replace(one, words=f"log '{log.name}': {one.words}") for one in findings)


def why_not_judged(model: Model, processing: Processing | None = None) -> str:
    """Why no log of a robot is compared with its file, in words; empty if logs are."""
    if model.robot.floating_base:
        return "its base is not fixed"
    if model.robot.transmission is not None and model.robot.transmission.couples:
        return "some of its motors turn several joints"
    if not model.prior_theta().any():
        return "its file states no masses"
    if processing is not None and processing.sensing is not None:
        return "forces on it are measured"
    return ""


def suspects(model: Model, log: Log, processing: Processing | None = None) -> tuple[Suspect, ...]:
    """What the physics of the robot file says is wrong with a log; empty where nothing is.

    Robots on a fixed base whose file states masses. What :func:`steelyard.prepare` refuses is not
    looked at: it says why itself.
    """
    if why_not_judged(model, processing):
        return ()
    # what a negative mass does to the torques of the file is no fault of the log
    model = replace(model, robot=without_negative_masses(model.robot))
    log, numbers = name_numbered_joints(log, model.robot)
    if model.robot.transmission is None:
        found = _searched(model, log, processing)
        return with_options(found, log, model.robot, numbered=bool(numbers))
    try:
        log, _ = joint_side(log, model.robot)
    except SteelyardError:
        return ()
    joints_alone = replace(model, robot=replace(model.robot, transmission=None))
    return with_options(of_motors(_searched(joints_alone, log, processing)), log, model.robot)


def _searched(model: Model, log: Log, processing: Processing | None) -> tuple[Suspect, ...]:
    """What the best reading of the log says is wrong, then that of the log so mended, and so on."""
    try:
        prepared = thinned(model.robot, log, processing)
    except SteelyardError:
        return ()
    samples = prepared.samples
    if len(samples.time) < FEWEST_SAMPLES:
        return ()
    if any(one.code in POSITIONS_DOUBTED for one in prepared.findings):
        return positions_only(samples)
    efforts = weightless_efforts(samples)
    samples = without_efforts(samples, efforts)
    found = (*efforts, *_readings_found(model, log, samples))
    if prepared.cutoff_hz is not None:
        found = recorded_delays(found, model, log, processing, prepared.cutoff_hz)
    # one in another unit has a gain, which other readings name, unless it is as good as nothing
    return found or weightless_efforts(samples, following=True)


def _readings_found(model: Model, log: Log, samples: Samples) -> tuple[Suspect, ...]:
    """What other readings of these samples say is wrong."""
    rate_hz = 1.0 / float(np.median(np.diff(log.time)))
    quantity = commanded_quantity(log, samples.model.channels)
    found: list[Suspect] = []
    for _ in range(MOST + 1):
        fit, readings = readings_of(samples, rate_hz)
        if not found and quantity is not None and follows(fit, quantity):
            return (commanded_suspect(fit, quantity),)
        best = next((one for one in readings if trusted(one, readings, fit, samples)), None)
        # an estimate of external torques is what no model explains
        if best is not None and not found and best.code != "external-torque":
            nothing = unrelated(best.fit)
            if nothing:
                return tuple(nothing)
        if best is None:
            if not found:
                found += unrelated(fit) or [
                    *steady_suspects(readings, fit, samples),
                    *without_friction(model, fit),
                ]
            break
        if best.code in IN_TIME:
            best = _or_travel(best, readings, samples, rate_hz)
        if best.code == TRAVEL:
            samples = best.mended(samples)
            continue
        found = with_suspect(found, suspect_of(best, readings, fit, samples))
        if best.mended is unchanged or len(found) == MOST:
            break
        samples = best.mended(samples)
    return tuple(found)


def _or_travel(best: Reading, readings: list[Reading], samples: Samples, rate_hz: float) -> Reading:
    """A reading in time, or that of friction over a travel if this, with what it leaves of a delay,
    explains the log better: friction that builds up makes a delay seem longer.
    """
    travel = next((one for one in readings if one.code == TRAVEL), None)
    if travel is None:
        return best
    _, others = readings_of(travel.mended(samples), rate_hz)
    late = [one.score for one in others if one.code in IN_TIME]
    return travel if min(late, default=np.inf) + travel.cost < best.score else best


def trusted(one: Reading, readings: list[Reading], given: Fit, samples: Samples) -> bool:
    """Whether a reading is believed, and holds in all of the log.

    Positions that are scaled or late are so in every part of it; much else looks like it for a
    while.
    """
    if not believed(one, given) or turning(one, samples):
        return False
    if one.code not in KINDS:
        return True
    suspect = suspect_of(one, readings, given, samples)
    away = suspect.size - 1.0 if one.code == FACTOR else suspect.size
    return is_steady(suspect.by_part, away, suspect.size)


def positions_only(samples: Samples) -> tuple[Suspect, ...]:
    """What explains positions beyond the limits of the robot file: another unit, sign or order of
    joints, with which the positions are within them. Nothing else can be told from such.
    """
    step = max(1, len(samples.time) // COARSE_SAMPLES)
    coarse = every(samples, step)
    fit = fit_of(moments(coarse))
    found = position_unit_readings(coarse) + motion_readings(coarse)
    readings = sorted(found, key=lambda one: one.score)
    for one in readings:
        if believed(one, fit) and within_limits(one.mended(coarse)):
            return (suspect_of(one, readings, fit, coarse),)
    return ()


def within_limits(samples: Samples) -> bool:
    """Whether the positions of every joint are within its limits, or hardly beyond."""
    for name, q in zip(samples.model.channels, samples.q.T, strict=True):
        limits = samples.model.robot.joint(name).limits
        slack = LIMIT_SLACK * float(np.ptp(q))
        if limits.lower is not None and q.min() < limits.lower - slack:
            return False
        if limits.upper is not None and q.max() > limits.upper + slack:
            return False
    return True


def readings_of(samples: Samples, rate_hz: float) -> tuple[Fit, list[Reading]]:
    """The fit of the log as it is, and other readings, best first."""
    W = regressor(samples)
    given = moments(samples, W)
    fit = fit_of(given)
    shifted = Shifted(samples, W, given)
    screen = Screen(samples, W, fit)
    doubts = doubted(samples, W, fit)
    joints = range(len(fit.error))
    out = delay_readings(shifted, max(LEAST_S, 0.3 / rate_hz), None if doubts else screen)
    out += gain_readings(
        given,
        [k for k in joints if doubts or screen.gain(only(samples.tau, k))[0] > SCREENED],
    )
    out += scale_readings(given)
    out += external_readings(given) + payload_readings(given)
    out += offset_readings(samples, fit, screen)
    out += gravity_readings(samples, W, fit)
    if doubts or any(one.code == "delay" and believed(one, fit) for one in out):
        out += filter_readings(shifted) + drift_readings(shifted) + travel_readings(samples, W)
    if doubts:
        out += sign_readings(given) + swap_readings(given)
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
    found += rate_readings(coarse, rows) + position_unit_readings(coarse)
    found += joint_motion_readings(coarse, own, Screen(coarse, rows, own))
    shift = fit.score - own.score
    return [replace(one, cost=one.cost + shift) for one in found]


def with_suspect(found: list[Suspect], new: Suspect) -> list[Suspect]:
    """The suspects with one more; a second delay of the same joints is added to the first."""
    for k, old in enumerate(found):
        if old.code == new.code == "delay" and old.joints == new.joints:
            total = old.size + new.size
            interval = new.interval and (new.interval[0] + old.size, new.interval[1] + old.size)
            both = replace(
                old,
                size=total,
                interval=interval,
                error=(old.error[0], new.error[1]),
                by_part=tuple(old.size + one for one in new.by_part),
            )
            return [*found[:k], both, *found[k + 1 :]]
    return [*found, new]


def follows(fit: Fit, quantity: str) -> bool:
    """Whether a signal without noise is that of a controller, and not of a simulation.

    The robot lags behind commanded positions; commanded torques know no friction.
    """
    if quantity == "positions":
        return bool(fit.error.max() > LAGGING_ERROR)
    return bool(np.median(np.abs(fit.friction[fit.used])) < NO_FRICTION)


def commanded_suspect(fit: Fit, quantity: str) -> Suspect:
    """A quantity, "positions" or "torques", that was commanded."""
    error = fit.mean_error
    other = INHERENT["commanded-signals"]
    return Suspect("commanded-signals", (), 0.0, quantity, 0.0, (error, error), could_be=other)


def unrelated(fit: Fit) -> list[Suspect]:
    """Torques that are unexplained in this reading of the log, the best, for every joint."""
    if fit.mean_error < NOTHING_FITS or fit.error[fit.used].min() < NO_JOINT_FITS:
        return []
    error = fit.mean_error
    other = INHERENT["unrelated-torque"]
    return [Suspect("unrelated-torque", (), error, "share", 0.0, (error, error), could_be=other)]


def steady_suspects(readings: list[Reading], given: Fit, samples: Samples) -> list[Suspect]:
    """A zero or a gain that explains little, since links beyond the joint absorb most of it, but
    the same in all parts of the log: noise has another size in each. Only of a log that leaves no
    doubts, as errors of a model may be steady.
    """
    W = regressor(samples)
    if doubted(samples, W, given):
        return []
    found = []
    for one in readings:
        if one.code == "position-offset" and given.score - one.fit.score >= STEADY_MARGIN:
            suspect = suspect_of(one, readings, given, samples)
            if is_steady(suspect.by_part, suspect.size, suspect.size):
                found.append(replace(suspect, score=given.score - one.fit.score))
    gain = steady_gain(samples, W, given)
    found += [] if gain is None else [gain]
    return sorted(found, key=lambda one: -one.score)[:1]


def without_friction(model: Model, fit: Fit) -> list[Suspect]:
    """Torques with hardly any friction, where the model expects some and drive inertia is there.

    Sensors behind the gears show neither. A drive at the base has an inertia that cannot be told
    from that of the links it turns: where all joints are at the base, as that of a pendulum,
    nothing is said.
    """
    kinds = [term.term_kind for term in model.terms]
    if not any(kind.is_friction for kind in kinds):
        return []
    share = np.sort(np.abs(fit.friction[fit.used]))
    if share[0] > FRICTION_LEAST or np.median(share) > FRICTION_MEDIAN:
        return []
    if not (model.mechanism.parent >= 0).any() or np.median(fit.inertia[fit.used]) < DRIVES_THERE:
        return []
    other = INHERENT["friction-removed"]
    error = fit.mean_error
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
