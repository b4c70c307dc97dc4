"""What the physics of a robot file says is wrong with a log: hypotheses in rivalry."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses import finite_motion, finite_torques
from steelyard.diagnosis.hypotheses.effort import (
    CODE,
    effort_finding,
    evidence_against,
    unit_of,
    weightless_efforts,
    without_efforts,
)
from steelyard.diagnosis.hypotheses.finite import MARGIN, Reading, believed, unchanged
from steelyard.diagnosis.hypotheses.finite_motion import (
    COARSE_SAMPLES,
    finite_readings,
    motion_readings,
    position_unit_readings,
)
from steelyard.diagnosis.hypotheses.fit import (
    Fit,
    doubted,
    fit_of,
    moments,
)
from steelyard.diagnosis.hypotheses.hypothesis import (
    Kind,
    Scene,
    Suspect,
    corrected_finding,
    finding_of,
    of_motors,
    scene_of,
)
from steelyard.diagnosis.hypotheses.remedies import (
    DELAYS,
    beyond_stated,
    correction_of,
    with_options,
)
from steelyard.diagnosis.hypotheses.samples import Samples, every, thinned, within_limits
from steelyard.diagnosis.hypotheses.smoothness import commanded_quantity
from steelyard.diagnosis.hypotheses.stepwise import (
    SMALL,
    Believed,
    Explanation,
    Missing,
    explained,
    missing_of,
    score_of,
    with_laws_of_friction,
)
from steelyard.diagnosis.hypotheses.weighing import Weighed
from steelyard.errors import SteelyardError
from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.physical_links import without_negative_masses
from steelyard.signals.drives import joint_side
from steelyard.signals.numbered_joints import name_numbered_joints
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]

MOST = 3
FEWEST_SAMPLES = 200
FRICTION_LEAST = 0.04
"""Friction as a share of torques, median of all joints, below which it was taken out. A log from
which four fifths were taken looks as that of a robot with little friction."""
DRIVES_THERE = 0.03
"""Drive inertia as a share of torques, median of all joints, above which torques are of drives."""
LAGGING_ERROR, NO_FRICTION = 0.04, 0.1
"""Unexplained share of a torque beside commanded positions; friction in commanded torques."""
POSITIONS_DOUBTED = ("beyond-limits",)
"""Findings of the preparation after which only unit and order of positions are looked for."""
NOTHING_FITS, NO_JOINT_FITS = 0.4, 0.25
"""Unexplained shares of torques, mean and least of all joints, beyond which torques and motion have
nothing to do with each other."""
NOTED_GAIN = 15.0
"""Gain from which on a law of friction is noted."""
AS_GOOD = 20.0
"""Readings that are worse by less than this are named as other explanations."""

ALONE = (
    Kind(
        "commanded-signals",
        "log",
        lambda one: f"{one.unit} are commanded, not measured: they have no noise",
        could_be=("a simulated or a smoothed signal",),
        severity="never",
        because=lambda one: "a measured signal has noise",
    ),
    Kind(
        "unrelated-torque",
        "log",
        lambda one: "torques and motion are not of the same moments",
        to_do="record both together, with one clock",
        could_be=(
            "logs of two recordings put side by side",
            "columns of torques that hold something else",
        ),
        severity="always",
        because=lambda one: (
            f"no hypothesis leaves less than {100 * one.error[1]:.2g} % of them unexplained"
        ),
    ),
    Kind(
        "friction-removed",
        "log",
        lambda one: "the torques contain hardly any friction: a controller took it out",
        could_be=("torque sensors behind the gears",),
        severity="never",
        option=lambda one: "--torque link",
        because=lambda one: "geared joints have more",
    ),
)
"""What is seen without a rival."""
KINDS = {one.code: one for one in (*SMALL, *finite_torques.KINDS, *finite_motion.KINDS, *ALONE)}
"""Every kind of hypothesis, by code."""


@dataclass(frozen=True)
class Physics:
    """What the physics of a robot file says about a log.

    processing : in which a delay of the torques is taken out that is beyond doubt.
    missing : what would explain how much of the log.
    """

    findings: tuple[Finding, ...]
    processing: Processing
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True)
class Searched:
    """What explains a log: suspects, laws of friction that are noted, everything with its share."""

    suspects: tuple[Suspect, ...] = ()
    laws: tuple[Suspect, ...] = ()
    missing: tuple[Missing, ...] = ()


def physics_of(model: Model, log: Log, processing: Processing | None = None) -> Physics:
    """The findings of :func:`suspects`; a delay that is beyond doubt is corrected, if the
    processing leaves that open and the log, so corrected, shows no delay any more.
    """
    given = processing or Processing()
    searched = searched_log(model, log, given)
    found = searched.suspects
    efforts = [one for one in found if one.code == CODE]
    found = tuple(one for one in found if one.code != CODE)
    given, told = _without_efforts(model, log, given, efforts)
    delay = correction_of(found, model.robot.joint_names) if given.torque_delay == "auto" else None
    if delay is not None:
        corrected = replace(given, torque_delay=delay)
        left = suspects(model, log, corrected)
        if all(one.code not in DELAYS for one in left):
            said = [corrected_finding(one) for one in found if one.code in DELAYS]
            left = tuple(one for one in left if one.code != CODE)
            said = [*told, *said, *(finding_of(one) for one in (*left, *searched.laws))]
            return Physics(of_log(log, said), corrected, searched.missing)
    joints = model.robot.joint_names
    total = [beyond_stated(one, given.torque_delay, joints) for one in found]
    said = [*told, *(finding_of(one) for one in (*total, *searched.laws))]
    return Physics(of_log(log, said), given, searched.missing)


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
    """What the physics of the robot file says is wrong with a log; empty where nothing is."""
    return searched_log(model, log, processing).suspects


def searched_log(model: Model, log: Log, processing: Processing | None = None) -> Searched:
    """What explains a log, by the physics of the robot file.

    Robots on a fixed base whose file states masses. What :func:`steelyard.prepare` refuses is not
    looked at: it says why itself.
    """
    if why_not_judged(model, processing):
        return Searched()
    # what a negative mass does to the torques of the file is no fault of the log
    model = replace(model, robot=without_negative_masses(model.robot))
    log, numbers = name_numbered_joints(log, model.robot)
    if model.robot.transmission is None:
        found = _searched(model, log, processing)
        told = with_options(found.suspects, log, model.robot, numbered=bool(numbers))
        return replace(found, suspects=told)
    try:
        log, _ = joint_side(log, model.robot)
    except SteelyardError:
        return Searched()
    joints_alone = replace(model, robot=replace(model.robot, transmission=None))
    found = _searched(joints_alone, log, processing)
    return replace(found, suspects=with_options(of_motors(found.suspects), log, model.robot))


def _searched(model: Model, log: Log, processing: Processing | None) -> Searched:
    """What explains the log best, then what explains the log so mended, and so on."""
    try:
        prepared = thinned(model.robot, log, processing)
    except SteelyardError:
        return Searched()
    samples = prepared.samples
    if len(samples.time) < FEWEST_SAMPLES:
        return Searched()
    if any(one.code in POSITIONS_DOUBTED for one in prepared.findings):
        return Searched(positions_only(samples))
    efforts = weightless_efforts(samples)
    samples = without_efforts(samples, efforts)
    found = _found(model, log, samples)
    named = (*efforts, *found.suspects)
    # one in another unit has a gain, which other hypotheses name, unless it is as good as nothing;
    # that every joint has a factor of its own is less likely, if the others need none
    if not named or any(one.code == "currents" for one in named):
        following = weightless_efforts(samples, following=True)
        rest = _found(model, log, without_efforts(samples, following)) if following else found
        if following and not rest.suspects:
            return replace(rest, suspects=following)
    return replace(found, suspects=named)


def _found(model: Model, log: Log, samples: Samples) -> Searched:
    """What explains these samples: finite changes as long as one is believed, then small ones."""
    quantity = commanded_quantity(log, samples.model.channels)
    found: list[Suspect] = []
    while True:
        scene = scene_of(samples)
        if not found and quantity is not None and follows(scene.fit, quantity):
            return Searched((_alone("commanded-signals", scene.fit, unit=quantity),))
        small = explained(samples)
        if len(found) == MOST or not doubted(scene.samples, scene.W, scene.fit):
            break
        readings = finite_readings(samples, scene)
        likely = [one for one in readings if believed(one, scene.fit)][: 1 if found else MOST]
        best = next((one for one in likely if _explains_more(one, samples, small)), None)
        if best is None:
            break
        # an estimate of external torques is what no model explains
        if not found and best.code != "external-torque" and unrelated(best.fit):
            return Searched((_alone("unrelated-torque", best.fit),))
        found.append(_suspect_of_reading(best, readings, scene.fit))
        if best.mended is unchanged:
            return Searched(tuple(found), missing=missing_of(small))
        samples = best.mended(samples)
    if not found and unrelated(small.scene.fit):
        return Searched((_alone("unrelated-torque", small.scene.fit),))
    found += [_suspect_of(one, small.scene) for one in small.believed]
    found = found or without_friction(model, small)
    return Searched(tuple(found), tuple(laws_of_friction(small)), missing_of(small))


def _explains_more(best: Reading, samples: Samples, small: Explanation) -> bool:
    """Whether a finite change explains a log better than all small ones; where it can be taken out,
    with the laws of friction that the log then has.
    """
    if best.mended is unchanged:
        return best.score < small.score
    return score_of(with_laws_of_friction(best.mended(samples))) < small.score - AS_GOOD


def _suspect_of_reading(best: Reading, readings: list[Reading], given: Fit) -> Suspect:
    """The suspect that a finite change is, with other explanations."""
    others = [
        one
        for one in readings
        if one is not best
        and one.score < min(best.score + AS_GOOD, given.score - MARGIN)
        and (one.code, one.joints) != (best.code, best.joints)
    ]
    return replace(
        _plain(best),
        score=given.score - best.score,
        error=(given.mean_error, best.fit.mean_error),
        could_be=(*KINDS[best.code].could_be, *(_plain(one).words for one in others[:3])),
        option=best.option,
        rivals=tuple(dict.fromkeys(one.code for one in others if one.code != best.code)),
    )


def _plain(one: Reading) -> Suspect:
    return Suspect(
        KINDS[one.code], one.joints, one.size, one.unit, 0.0, (0.0, 0.0), span_s=one.span_s
    )


def _suspect_of(one: Believed, scene: Scene) -> Suspect:
    """The suspect that a small hypothesis is, with its interval and other explanations."""
    kind, candidate = one.kind, one.weighed.candidate
    suspect = Suspect(
        kind=kind,
        joints=candidate.joints,
        size=one.size,
        unit=kind.unit,
        score=one.weighed.worth,
        error=one.error,
        interval=(one.size - one.half, one.size + one.half),
        span_s=candidate.span_s,
        by_part=one.by_part,
    )
    rivals = [
        replace(
            suspect,
            kind=r.kind,
            joints=r.candidate.joints,
            size=r.size,
            unit=r.kind.unit,
            interval=None,
            span_s=r.candidate.span_s,
        )
        for r in one.rivals
        if (r.kind.code, r.candidate.joints) != (suspect.code, suspect.joints)
    ]
    option = kind.option(suspect)
    if kind.code == "gravity-direction":
        gravity = scene.model.mechanism.gravity
        option = "--gravity " + " ".join(f"{round(float(x), 3):g}" for x in gravity)
    return replace(
        suspect,
        could_be=(*kind.could_be, *dict.fromkeys(one.words for one in rivals)),
        option=option,
        rivals=tuple(dict.fromkeys(one.code for one in rivals if one.code != suspect.code)),
    )


def laws_of_friction(small: Explanation) -> list[Suspect]:
    """The laws of friction that explain a part of the log, each once, for all joints that have it:
    no faults, but what the model lacks.
    """
    by_kind: dict[str, list[Weighed]] = {}
    for one in small.friction:
        if one.worth > NOTED_GAIN:
            by_kind.setdefault(one.kind.code, []).append(one)
    error = small.scene.fit.mean_error
    return [
        Suspect(
            laws[0].kind,
            tuple(dict.fromkeys(joint for one in laws for joint in one.candidate.joints)),
            laws[0].size,
            laws[0].kind.unit,
            laws[0].worth,
            (error, error),
        )
        for laws in by_kind.values()
    ]


def _alone(code: str, fit: Fit, *, unit: str = "", size: float | None = None) -> Suspect:
    """A suspect that is seen without a rival."""
    error, kind = fit.mean_error, KINDS[code]
    suspect = Suspect(kind, (), error if size is None else size, unit, 0.0, (error, error))
    return replace(suspect, could_be=kind.could_be, option=kind.option(suspect))


def positions_only(samples: Samples) -> tuple[Suspect, ...]:
    """What explains positions beyond the limits of the robot file: another unit, sign or order of
    joints, with which the positions are within them. Nothing else can be told from such.
    """
    coarse = every(samples, max(1, len(samples.time) // COARSE_SAMPLES))
    fit = fit_of(moments(coarse))
    found = position_unit_readings(coarse) + motion_readings(coarse)
    readings = sorted(found, key=lambda one: one.score)
    for one in readings:
        if believed(one, fit) and within_limits(one.mended(coarse)):
            return (_suspect_of_reading(one, readings, fit),)
    return ()


def follows(fit: Fit, quantity: str) -> bool:
    """Whether a signal without noise is that of a controller, and not of a simulation.

    The robot lags behind commanded positions; commanded torques know no friction.
    """
    if quantity == "positions":
        return bool(fit.error.max() > LAGGING_ERROR)
    return bool(np.median(np.abs(fit.friction[fit.used])) < NO_FRICTION)


def unrelated(fit: Fit) -> bool:
    """Whether torques of every joint are unexplained with the best that was tried."""
    return bool(fit.mean_error >= NOTHING_FITS and fit.error[fit.used].min() >= NO_JOINT_FITS)


def without_friction(model: Model, small: Explanation) -> list[Suspect]:
    """Torques with hardly any friction, where the model expects some and drive inertia is there.

    Sensors behind the gears show neither. A drive at the base has an inertia that cannot be told
    from that of the links it turns: where all joints are at the base, as that of a pendulum,
    nothing is said.
    """
    fit = small.scene.fit
    if not any(term.term_kind.is_friction for term in model.terms):
        return []
    median = float(np.median(np.abs(fit.friction[fit.used])))
    if median > FRICTION_LEAST or np.median(fit.inertia[fit.used]) < DRIVES_THERE:
        return []
    if not (model.mechanism.parent >= 0).any():
        return []
    return [_alone("friction-removed", fit, unit="share of the torque", size=median)]
