"""A suspect: what is probably wrong with a log, with its size, and the finding that says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from steelyard.errors import listed
from steelyard.findings import Finding, Level


@dataclass(frozen=True)
class Suspect:
    """What is probably wrong with the input.

    code : of its finding. joints : the joints it is about, empty for all.
    size, unit : how large it is. interval : 95 % interval of the size, None where there is none.
    span_s : when, where it is about a part of the log.
    score : by how much it explains the log better than the log as it is; see `evidence`.
    error : unexplained share of torque as the log is, and read in this way, the mean of all joints.
    could_be : other explanations, in words. option : what mends it, as a user types it.
    rivals : codes of readings that explain the log about as well. by_part : the size in parts of
        the log, where it was computed. beyond : whether a delay comes on top of one that is taken
        out already.
    """

    code: str
    joints: tuple[str, ...]
    size: float
    unit: str
    score: float
    error: tuple[float, float]
    interval: tuple[float, float] | None = None
    span_s: tuple[float, float] | None = None
    could_be: tuple[str, ...] = ()
    option: str = ""
    rivals: tuple[str, ...] = ()
    by_part: tuple[float, ...] = ()
    beyond: bool = False


SEVERE = (
    "torque-sign",
    "position-sign",
    "axis-sign",
    "torques-swapped",
    "positions-swapped",
    "joints-swapped",
    "joints-reversed",
    "joints-shifted",
    "torque-scale",
    "currents",
    "gravity-removed",
    "external-torque",
    "time-rate",
    "position-unit",
    "unrelated-torque",
)
"""Suspects that make every result useless. Others are severe where they spoil the fit."""
SPOILT = 2.0
"""Factor by which a suspect has to raise the unexplained torque in order to be severe."""
NEVER_SEVERE = ("effort-not-torque", "payload", "friction-removed", "torque-drift")

INHERENT = {
    "torque-sign": ("the axis of the joint in the robot file, if its position is wrong as well",),
    "position-sign": ("the axis of the joint in the robot file",),
    "axis-sign": ("the signs of both position and torque in the log",),
    "torque-gain": ("links of the file that are far from the robot's",),
    "torque-scale": (
        "currents, motor torques or shares of the rated torque",
        "a robot file of another robot",
    ),
    "currents": ("torques in shares of each drive's rated torque",),
    "delay": ("a slow filter on one of the two signals",),
    "torque-filtered": ("torques that are late",),
    "gravity-removed": ("a robot whose links are balanced by springs or weights",),
    "friction-removed": ("torque sensors behind the gears",),
    "external-torque": ("a robot file that is far from the robot",),
    "other-robot": ("torques in another unit, with a robot file that is far from the robot",),
    "commanded-signals": ("a simulated or a smoothed signal",),
    "position-offset": ("a joint whose zero in the file is not that of the controller",),
    "position-factor": ("links of the file whose lengths are not the robot's",),
    "position-late": ("velocities or positions of this joint that went through a slow filter",),
    "gravity-direction": ("a wrong base frame in the robot file",),
    "payload": ("a last link that is heavier than the file says",),
    "payload-change": ("a lasting contact",),
    "friction-change": ("a torque sensor that warms up",),
    "disturbance": ("a payload that was carried for a while", "a fault of the torque sensor"),
    "clock-drift": ("lost rows",),
    "torque-drift": ("friction that changes",),
    "unrelated-torque": (
        "logs of two recordings put side by side",
        "columns of torques that hold something else",
    ),
    "time-rate": ("links whose inertias in the file are far from the robot's",),
    "position-unit": ("positions of motors before their gears",),
}
"""What cannot be told apart from a suspect on any log."""
TO_DO = {
    "torque-sign": "multiply these torques by -1 in the log",
    "position-sign": "multiply these positions by -1 in the log",
    "axis-sign": "turn the axis in the robot file the other way, or multiply position and torque "
    "of this joint by -1 in the log",
    "torques-swapped": "name both columns after the joints that they belong to",
    "positions-swapped": "name both columns after the joints that they belong to",
    "joints-swapped": "name their columns after the joints that they belong to",
    "joints-reversed": "name the columns after the joints that they belong to",
    "joints-shifted": "name the columns after the joints that they belong to",
    "torque-scale": "convert them to N m at the joints; torques of motors are to be multiplied by "
    "the gear ratios, or an overlay states the motors",
    "currents": "name the columns as currents, and state the torque constant of every drive in an "
    "overlay",
    "torque-gain": "calibrate this torque, or multiply it by the inverse in the log",
    "delay": "state the delay, or record both with one clock",
    "torque-filtered": "record the torques without this filter",
    "gravity-removed": "record the torques of the drives, with gravity",
    "external-torque": "record the torques of the drives, without a model taken out",
    "gravity-direction": "state gravity as it is in the frame of the base",
    "other-robot": "give the file of the robot that was recorded",
    "position-offset": "set the zero of this joint right in the log",
    "position-factor": "multiply these positions by the inverse in the log; look for a wrong gear "
    "ratio or count of the encoder",
    "position-late": "record the positions of all joints with one clock, and without filters",
    "payload-change": "cut the log at this time, and use one part",
    "friction-change": "let the robot warm up, or leave the start of the log out",
    "disturbance": "leave this part out of the log",
    "clock-drift": "give both the stamps of one clock",
    "unrelated-torque": "record both together, with one clock",
    "time-rate": "make the time stamps from the true rate",
    "position-unit": "state the unit in the names of the columns",
}
"""What a user does about a suspect, in words: besides, or for want of, an option."""


OF_MOTORS = (
    "torque-sign",
    "position-sign",
    "torque-gain",
    "torque-scale",
    "currents",
    "position-factor",
    "other-robot",
)
"""Suspects that what an overlay states of motors explains as well."""


def of_motors(found: Iterable[Suspect]) -> tuple[Suspect, ...]:
    """The suspects of a log of motors, which were computed with what the overlay states."""
    stated = "torque constants, gains or gear ratios in the overlay that are not the robot's"
    return tuple(
        replace(one, could_be=(*one.could_be, stated)) if one.code in OF_MOTORS else one
        for one in found
    )


def finding_of(suspect: Suspect) -> Finding:
    """The finding that names a suspect."""
    spoils = suspect.error[0] > SPOILT * suspect.error[1]
    severe = suspect.code in SEVERE or (spoils and suspect.code not in NEVER_SEVERE)
    to_do = f"; {TO_DO[suspect.code]}" if suspect.code in TO_DO else ""
    return _finding(suspect, "severe" if severe else "warning", f"{_evidence(suspect)}{to_do}")


def corrected_finding(suspect: Suspect) -> Finding:
    """The finding that says that a delay was found and taken out."""
    other_way = "earlier" if suspect.size > 0.0 else "later"
    words = (
        f"{_evidence(suspect)}; corrected: these torques are read that much {other_way}; "
        "--torque-delay none leaves them as they were recorded"
    )
    return replace(_finding(suspect, "warning", words), corrected=True)


def _finding(suspect: Suspect, level: Level, words: str) -> Finding:
    return Finding(
        level,
        suspect.code,
        f"{what_is_wrong(suspect)}; {words}",
        joints=suspect.joints,
        span_s=suspect.span_s,
        size=suspect.size,
        unit=suspect.unit,
        could_be=suspect.could_be,
        option=suspect.option,
    )


def _evidence(suspect: Suspect) -> str:
    before, after = suspect.error
    if suspect.code == "commanded-signals":
        return "a measured signal has noise"
    if suspect.code == "unrelated-torque":
        return f"in no reading of the log less than {100 * after:.2g} % of them is unexplained"
    if suspect.code == "friction-removed":
        return "geared joints have more"
    if before < 1.05 * after:
        return "as it is, the log needs links or friction that no robot has"
    return (
        f"as the log is, {100 * before:.2g} % of the torques are unexplained, read in this way "
        f"{100 * after:.2g} %"
    )


def what_is_wrong(suspect: Suspect) -> str:
    """What is wrong, with joints and sizes."""
    size, who = suspect.size, listed(suspect.joints)
    of_whom = f"of '{who}'" if suspect.joints else "of all joints"
    pair = " and ".join(f"'{joint}'" for joint in suspect.joints)
    inside = ""
    if suspect.interval is not None:
        half = 0.5 * (suspect.interval[1] - suspect.interval[0])
        inside = f" ± {1e3 * half:.2g}" if suspect.unit == "s" else f" ± {half:.2g}"
    when = "" if suspect.span_s is None else "{:.4g} to {:.4g} s".format(*suspect.span_s)
    late = "late" if size > 0.0 else "early"
    late += " beyond the delay that is taken out already" if suspect.beyond else ""
    words = {
        "effort-not-torque": f"the effort {of_whom} cannot be its torque: it is {size:.2g} times "
        "what the links of the robot file weigh there",
        "torque-sign": f"torques {of_whom} have the wrong sign",
        "position-sign": f"positions {of_whom} have the wrong sign",
        "axis-sign": f"the axis {of_whom} points the other way than the robot file says",
        "torques-swapped": f"the torques of {pair} are exchanged",
        "positions-swapped": f"the positions of {pair} are exchanged",
        "joints-swapped": f"the columns of {pair} are exchanged",
        "joints-reversed": "the joints are in the order from tip to base",
        "joints-shifted": f"the joints are counted from another one: shifted by {size:+.0f}",
        "torque-scale": f"all torques are about {size:.3g} times those of the robot file: another "
        "unit, or torques of the motors before the gears",
        "currents": f"torques are about {size:.3g} times those of the robot file, with a factor "
        "for each joint: currents, or shares of the rated torques",
        "torque-gain": f"torques {of_whom} are {size:.3g}{inside} times what the others say",
        "friction-travel": "friction follows a change of direction over some travel",
        "delay": f"torques {of_whom} are {1e3 * abs(size):.4g}{inside} ms {late}",
        "torque-filtered": f"torques went through a slow filter of about {size:.3g} Hz",
        "clock-drift": f"the clock of the torques differs by {100 * size:.3g} % from that of the "
        "positions",
        "position-offset": f"the zero {of_whom} is off by {size:.3g}{inside} degrees",
        "position-factor": f"positions {of_whom} are {size:.3g}{inside} times the true ones",
        "position-late": f"positions {of_whom} are {1e3 * abs(size):.3g}{inside} ms {late} beside "
        "those of the others",
        "gravity-direction": f"gravity is turned by {size:.3g} degrees against the robot file: the "
        "base is tilted",
        "gravity-removed": f"{100 * size:.3g} % of gravity is missing in the torques: a controller "
        "took it out",
        "external-torque": "the torques contain no model of the robot: they are an estimate of "
        "external torques",
        "friction-removed": "the torques contain hardly any friction: a controller took it out",
        "other-robot": f"the robot file is of another robot: one {size:.3g} times as large fits",
        "commanded-signals": f"{suspect.unit} are commanded, not measured: they have no noise",
        "payload": f"a mass of about {size:.2g} kg at the last link is not in the robot file",
        "payload-change": f"a mass of {abs(size):.3g} kg at the last link is "
        f"{'picked up' if size > 0 else 'put down'} at about {(suspect.span_s or (0,))[0]:.3g} s",
        "friction-change": f"friction is {100 * size:+.3g} % different at the start of the log "
        "from what it is later",
        "torque-drift": f"the zero of the torque {of_whom} drifts by {size:.3g} N m during the log",
        "disturbance": f"something touched the robot from {when}",
        "unrelated-torque": "torques and motion are not of the same moments",
        "time-rate": f"the time stamps are of another sampling rate than the true one: they run "
        f"{size:.3g} times too far",
        "position-unit": f"positions {of_whom} are in {suspect.unit}, not in radians",
    }
    return words[suspect.code]
