"""Columns as a whole: units of time and positions, samples that are missing, columns that are
copies, torques without sign, angles that are wrapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import quoted_list
from steelyard.findings import Finding
from steelyard.logs.columns import split_unit
from steelyard.logs.likely_names import unit_option
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.parts import Joint
from steelyard.signals.recorded.recorded import USED, Recorded
from steelyard.signals.steps import whole_turns

Array = NDArray[np.float64]

SLOWEST_S, QUICKEST_S = 0.5, 1e-5
"""Periods (s) beyond these are no robot's: the unit of time is another."""
UNITS = ((100.0, "ms", 1e3), (1e5, "us", 1e6), (np.inf, "ns", 1e9))
"""Longest period, in the unit of the stamps, that is read as this unit, and units to a second."""
SMOOTH = 0.3
"""A sampled motion changes by less than this share of its standard deviation from row to row."""
MIXED = 1.3
"""Periods at start and end that differ by a power of 1000 within this factor are of two units."""
TURNS = 4.0
"""A joint that swings back and forth over more than this many turns is implausible."""
RANGES = 2.5
"""So is one whose span is this many times the range that the robot file gives it."""
SPEED = 60.0
"""So is a joint that is faster (rad/s, rms) than this, ten turns a second."""
ONE_WAY = 0.7
"""Share of its span by which a joint that runs on in one direction ends away from its start."""
PER_DEGREE = 180.0 / np.pi
MISSING = 0.02
"""Share of missing samples above which they are more than a note."""
NEAR_ZERO, TOUCHES, TOUCHING = 0.03, 5, 0.002
"""A torque without sign comes below this share of its 99th percentile at least so many times, with
at least this share of its samples."""
ONE_SIDE, BY_WEIGHT = 0.05, 0.3
"""Weight that pulls a joint to the other side by at most this share of what it pulls to one side,
and that leaves at most this share of the torque (rms), holds its torque above zero."""


def time_units(recorded: Recorded) -> Iterator[Finding]:
    """A severe finding if time is not in seconds, in the whole log or in a part of it."""
    step, period = np.diff(recorded.time), recorded.period_s
    quarter = max(len(step) // 4, 1)
    first, last = float(np.median(step[:quarter])), float(np.median(step[-quarter:]))
    ratio = max(last / first, first / last)
    for power in (1e3, 1e6, 1e9):
        if power / MIXED < ratio < power * MIXED:
            words = (
                f"rows are {first:.4g} s apart at its start and {last:.4g} s at its end, a factor "
                f"of {power:g}: time is in two units; write it in seconds"
            )
            yield recorded.finding("severe", "time-unit", words, size=(power, "times"))
            return
    if QUICKEST_S <= period < SLOWEST_S or not _smooth(recorded):
        return
    numbered = "numbers of rows: then divide them by the sampling rate in Hz"
    name, count = next((name, count) for most, name, count in UNITS if period <= most)
    words, option = "time seems to be in a larger unit, such as hours", ""
    if period >= QUICKEST_S:
        words = (
            f"time seems to be in {name}, which gives {count / period:.4g} Hz: name its column "
            f"time[{name}], or map it"
        )
        option = f"--map 'time[{name}]=COLUMN'"
    yield recorded.finding(
        "severe",
        "time-unit",
        f"rows are {period:.4g} s apart, and the log lasts "
        f"{recorded.time[-1] - recorded.time[0]:.4g} s, implausible for a robot's motion: {words}",
        size=(period, "s"),
        could_be=(numbered,) if np.all(step == 1.0) else (),
        option=option,
    )


def _smooth(recorded: Recorded) -> bool:
    """Whether positions change little from row to row, unlike a table of poses at rest."""
    shares = []
    for _, q in recorded.of_quantity("position"):
        known = q[np.isfinite(q)]
        if len(known) > 50 and np.std(known) > 0.0:
            shares.append(float(np.sqrt(np.mean(np.diff(known) ** 2)) / np.std(known)))
    return bool(shares) and float(np.median(shares)) < SMOOTH


def position_units(recorded: Recorded) -> Iterator[Finding]:
    """A severe finding if turning joints move as none of an arm does: often degrees."""
    wide = {
        joint.name: float(np.nanmax(q) - np.nanmin(q))
        for joint, q in recorded.of_quantity("position")
        if joint.kind != "prismatic" and _wide(recorded, joint, q)
    }
    if not wide or any(time_units(recorded)):
        return
    spans = ", ".join(f"'{joint}' {span:.4g} rad" for joint, span in wide.items())
    every = len(wide) == len(recorded.joints)
    # by the usual name where no file names the column
    columns = {
        joint: recorded.columns.get((joint, "position"), f"{joint}.position") for joint in wide
    }
    in_degrees = unit_option("position", "deg", columns, every=every)
    yield recorded.finding(
        "severe",
        "position-unit",
        f"{'joints swing' if every else 'some joints swing'} further or faster than those of an "
        f"arm: {spans}; are positions in degrees? In radians that would be up to "
        f"{max(wide.values()) / PER_DEGREE:.3g}; {_what_to_do(columns)}",
        tuple(wide),
        size=(max(wide.values()), "rad"),
        could_be=("positions of motors before their gears", "encoder counts"),
        option=in_degrees,
    )


def _what_to_do(columns: Mapping[str, str]) -> str:
    """How to state the unit: a column that states one already has to be renamed."""
    stated = [column for column in columns.values() if split_unit(column)[1]]
    if stated and split_unit(stated[0])[1] == "deg":
        return f"'{stated[0]}' says so already: are they?"
    if stated:
        return f"then '{stated[0]}' states a wrong unit: rename it to end in [deg]"
    return "name the columns like 'joint.position[deg]', or map them"


def _wide(recorded: Recorded, joint: Joint, q: Array) -> bool:
    """Whether a position (n_samples,) moves further or faster than a joint of an arm."""
    known = q[np.isfinite(q)]
    span = float(np.max(known) - np.min(known))
    ends = joint.limits.lower, joint.limits.upper
    beyond = False
    if ends[0] is not None and ends[1] is not None and ends[1] > ends[0]:
        beyond = span > RANGES * (ends[1] - ends[0])
    if abs(float(known[-1] - known[0])) >= ONE_WAY * span and not beyond:
        return False  # it just runs on in one direction, as a wheel's
    if beyond or span > TURNS * 2.0 * np.pi:
        return True
    speed = recorded.usual_speeds.get(joint.name, 0.0) / recorded.period_s
    return span > 2.0 * np.pi and speed > SPEED


def wraps(recorded: Recorded) -> Iterator[Finding]:
    """A note if angles jump by whole turns."""
    counts = {}
    for joint, q in recorded.of_quantity("position"):
        rows = np.flatnonzero(np.isfinite(q))
        step = np.diff(q[rows])
        if joint.kind == "prismatic" or not np.any(np.abs(step) > np.pi):
            continue
        count = int(np.count_nonzero(whole_turns(step, np.diff(rows))))
        if count:
            counts[joint.name] = count
    if counts:
        words = ", ".join(f"'{joint}' {count} times" for joint, count in counts.items())
        words = f"positions jump by whole turns, and are unwrapped: {words}"
        yield recorded.finding(
            "info", "wraps", words, tuple(counts), size=(sum(counts.values()), "jumps")
        )


def missing_samples(recorded: Recorded) -> Iterator[Finding]:
    """A warning for each quantity of which many samples were not recorded, a note for few."""
    for quantity in ("position", "velocity", "torque"):
        shares = {
            joint.name: float(np.mean(~np.isfinite(recorded.raw[joint.name, quantity])))
            for joint in recorded.joints
            if (joint.name, quantity) in recorded.raw
        }
        shares = {joint: share for joint, share in shares.items() if share > 0.0}
        if shares:
            few = max(shares.values()) <= MISSING or quantity == "velocity"
            words = ", ".join(f"'{joint}' {100 * share:.3g} %" for joint, share in shares.items())
            yield recorded.finding(
                "info" if few else "warning",
                "missing-samples",
                f"samples of the {quantity} were not recorded: {words}; short gaps are "
                "interpolated, the log is cut at long ones",
                tuple(shares),
                size=(100.0 * max(shares.values()), "% of samples"),
            )


def copied_channels(recorded: Recorded) -> Iterator[Finding]:
    """A warning for each two columns of a quantity that hold the same signal."""
    for quantity in USED:
        seen: dict[bytes, str] = {}
        for joint in recorded.joints:
            x = recorded.raw.get((joint.name, quantity))
            if x is None or np.count_nonzero(np.abs(np.diff(x)) > 0.0) < 10:
                continue  # NaN, which is nowhere equal to itself, is no signal
            first = seen.setdefault(x.tobytes(), joint.name)
            if first != joint.name:
                words = (
                    f"the {quantity} of '{first}' and that of '{joint.name}' are the same in every "
                    "row; one column is a copy of the other: export the log anew"
                )
                yield recorded.finding("warning", "copied-channel", words, (first, joint.name))


def unsigned_torques(recorded: Recorded) -> Iterator[Finding]:
    """A warning if torques are never negative and yet come back from zero again and again.

    Not of a joint whose links weigh to one side all the time, as those of an elbow may, if the file
    says that this is most of its torque.
    """
    lacking = {joint.name: tau for joint, tau in recorded.of_quantity("torque") if _lacks_sign(tau)}
    held = _held_by_weight(recorded, lacking)
    unsigned = tuple(one for one in lacking if one not in held)
    if unsigned:
        words = (
            f"the torque of {quoted_list(unsigned)} is never negative, but comes down to zero and "
            "turns back again and again: only its size was recorded; record it with its sign"
        )
        yield recorded.finding("warning", "unsigned-torque", words, unsigned)


def _lacks_sign(tau: Array) -> bool:
    known = tau[np.isfinite(tau)]
    known = known[known != 0.0]
    if len(known) < 100 or known.min() < 0.0:
        return False
    low = known < NEAR_ZERO * float(np.percentile(known, 99.0))
    touches = np.count_nonzero(low[1:] & ~low[:-1])
    return bool(touches >= TOUCHES and np.mean(low) >= TOUCHING)


def _held_by_weight(recorded: Recorded, torques: Mapping[str, Array]) -> tuple[str, ...]:
    """Joints whose torque (n_samples,) is mostly weight that never changes its side.

    None where the file states no masses, or positions of some joints are not known.
    """
    robot = recorded.robot
    q = {joint.name: x for joint, x in recorded.of_quantity("position")}
    if not torques or robot.floating_base or set(robot.joint_names) - set(q):
        return ()
    model = Model(robot, ())
    at = np.column_stack([q[name] for name in robot.joint_names])
    rows = np.isfinite(at).all(axis=1)
    still = np.zeros_like(at[rows])
    weight = torque(model, model.prior_theta(), at[rows], still, still)
    held = []
    for name, tau in torques.items():
        known = np.isfinite(tau[rows])
        g, x = weight[known, robot.joint_names.index(name)], tau[rows][known]
        if not len(g) or g.max() <= 0.0 or g.min() < -ONE_SIDE * g.max():
            continue
        scale = float(g @ x / (g @ g))
        if scale > 0.0 and np.std(x - scale * g) <= BY_WEIGHT * np.sqrt(np.mean(x**2)):
            held.append(name)
    return tuple(held)
