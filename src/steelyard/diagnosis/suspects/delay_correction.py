"""Torque delays that are corrected: significant, the same all over the log, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.diagnosis.suspects.delay_readings import LONGEST_S
from steelyard.diagnosis.suspects.suspect import Suspect
from steelyard.signals.processing import TorqueDelay

SURE = 5.0
"""How many half widths of its interval a delay has to be away from zero."""
SPREAD = 0.3
"""Share of a delay by which those of parts of the log may differ from it."""
ROUNDED_S = 6
"""Digits after the point (s) of a correction."""


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
