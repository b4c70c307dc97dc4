"""Torque delays that are the recording's, and those that are beyond doubt and corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.diagnosis.suspects.delay_readings import LONGEST_S, late_mended
from steelyard.diagnosis.suspects.effort import CODE, without_efforts
from steelyard.diagnosis.suspects.evidence import fit_of, moments, regressor
from steelyard.diagnosis.suspects.intervals import perturbation, torque_slopes
from steelyard.diagnosis.suspects.suspect import Suspect
from steelyard.diagnosis.suspects.thinned import thinned
from steelyard.errors import SteelyardError
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.signals.cutoff import HIGHEST
from steelyard.signals.processing import Processing, TorqueDelay

SURE = 5.0
"""How many half widths of its interval a delay has to be away from zero."""
SPREAD = 0.3
"""Share of a delay by which those of parts of the log may differ from it, and by which it may be
shorter after a filter with a higher cutoff."""
SHARPER = ((2.0, np.inf), (4.0, 10.0))
"""Higher cutoffs, over the one with which a delay was found, and up to how many Hz each is tried:
joints stick for tenths of a second, and a drive's filter delays low frequencies alone."""
ROUNDED_S = 6
"""Digits after the point (s) of a correction."""


def recorded_delays(
    found: tuple[Suspect, ...],
    model: Model,
    log: Log,
    processing: Processing | None,
    cutoff_hz: float,
) -> tuple[Suspect, ...]:
    """The suspects without delays that are much shorter after filters with higher cutoffs.

    A delay is in the recording and not in the filter. A filter spreads what a joint does that
    sticks over samples in which it is fast: there its torque looks late, by a time that is inverse
    to the cutoff.

    cutoff_hz : of the filter with which they were found.
    """
    highest = HIGHEST / float(np.median(np.diff(log.time)))
    for times, most_hz in SHARPER:
        if times * cutoff_hz <= min(highest, most_hz):
            sharper = replace(processing or Processing(), cutoff_hz=times * cutoff_hz)
            found = _as_long(found, model, log, sharper)
    return found


def _as_long(
    found: tuple[Suspect, ...], model: Model, log: Log, sharper: Processing
) -> tuple[Suspect, ...]:
    """The suspects without delays that are much shorter with this processing."""
    late = [one for one in found if one.code == "delay" and one.by_part]
    if not late:
        return found
    try:
        samples = thinned(model.robot, log, sharper).samples
    except SteelyardError:  # too short for this filter
        return found
    samples = without_efforts(samples, tuple(one for one in found if one.code == CODE))
    channels = samples.model.channels
    rows = [channels.index(one.joints[0]) if one.joints else None for one in late]
    for one, row in zip(late, rows, strict=True):
        samples = late_mended(one.size, row)(samples)
    W = regressor(samples)
    fit = fit_of(moments(samples, W))
    gone = []
    for one, row in zip(late, rows, strict=True):
        longer, half = perturbation(samples, W, fit, -torque_slopes(samples, row))
        # a filter that lets much noise through says nothing
        if longer / one.size < -SPREAD and half < 0.5 * SPREAD * abs(one.size):
            gone.append(one)
    return tuple(one for one in found if one not in gone)


def is_sure(suspect: Suspect) -> bool:
    """Whether a suspect is a delay that can be corrected without doubt.

    Its interval excludes zero by far, the delay is the same in every part of the log, and no
    other kind of reading, such as a slow filter, explains the log about as well.
    """
    if suspect.code != "delay" or suspect.interval is None or abs(suspect.size) > LONGEST_S:
        return False
    half = 0.5 * (suspect.interval[1] - suspect.interval[0])
    apart = np.abs(np.array(suspect.by_part) - suspect.size)
    return bool(
        abs(suspect.size) > SURE * half
        and np.all(apart < SPREAD * abs(suspect.size))
        and set(suspect.rivals) <= {"delay"}
    )


def correction_of(found: Sequence[Suspect], joints: Sequence[str]) -> TorqueDelay:
    """The delay (s) to take out: one for all joints, one for each that is late, or None.

    joints : all that have torques. Delays of all and of single joints add up.
    """
    sure = [one for one in found if is_sure(one)]
    if not sure or len(sure) < sum(one.code == "delay" for one in found):
        return None
    delays = dict.fromkeys(joints, 0.0)
    for one in sure:
        for joint in one.joints or joints:
            delays[joint] += one.size
    rounded = {joint: round(delay, ROUNDED_S) for joint, delay in delays.items() if delay}
    same = set(rounded.values())
    if len(rounded) == len(delays) and len(same) == 1:
        return same.pop()
    return rounded


def beyond_stated(suspect: Suspect, stated: TorqueDelay, joints: Sequence[str]) -> Suspect:
    """A delay that is left after one was taken out, with the option that takes out both.

    stated : what is taken out, in seconds or by joint. joints : all that have torques.
    """
    if suspect.code != "delay" or not suspect.option or stated is None or stated == "auto":
        return suspect
    by_joint = stated if isinstance(stated, Mapping) else dict.fromkeys(joints, stated)
    late = suspect.joints or tuple(joints)
    delays = {
        joint: float(by_joint.get(joint, 0.0)) + suspect.size * (joint in late) for joint in joints
    }
    same = set(delays.values())
    if len(same) == 1:
        option = f"--torque-delay {same.pop():.4g}"
    else:
        rest = {joint: delay for joint, delay in delays.items() if delay}
        option = " ".join(f"--torque-delay {joint}={delay:.4g}" for joint, delay in rest.items())
    return replace(suspect, option=option, beyond=True)
