"""When the rows of a log were sampled: its stamps, or others that predict its signals better.

Stamps may say when a row was written and not when it was measured: they come in bursts, jitter, or
are rounded. Rows may repeat the row before, where a message was lost or the recorder was faster
than the robot. And the clock may run fast or slow, or drift. Candidates are compared:

rows        all, or without those that repeat the row before
stamps      as they are, or even ones, on a line or slow curve through the stamps by row number,
            counting no missing rows, those that stamps show, those that all positions show, or both
rate        that of the stamps, or that at which positions change as fast as measured velocities say

The first two are judged by positions that are left out: each is predicted by its neighbours
(`better_clock`). The last is judged by the velocities. What was
recorded stays unless another candidate is clearly better. A constant error of the rate cannot be
seen without velocities: it looks like another inertia.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding, Level
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals._timebase import is_uniform, usual_period
from steelyard.signals.recorded.better_clock import FEWEST_REPEATED, Clock, better_clock
from steelyard.signals.recorded.clock_rate import rate_error
from steelyard.signals.recorded.jumps import may_jump
from steelyard.signals.recorded.recorded import (
    MOVING,
    Recorded,
    in_long_runs,
    last_digit,
    repeated,
    unevenness_s,
)
from steelyard.signals.run_record import TimeRepair

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

FEWEST = 50
"""Shorter logs are used as they are stamped."""
LONGEST_REPEATED_S = 0.05
"""Longer runs (s) of repeated rows are those of a robot that rests."""
AT_REST = 3.0
"""At rest, the share of rows that repeat may be this many times that in motion."""
MOST_REPEATED = 0.1
"""Share of rows of which positions alone repeat."""
REPEATED_ROWS = 0.02
"""Share of repeated rows that are more than a note."""


def clock_of(log: Log, robot: Robot) -> Clock | None:
    """The clock of a log whose stamps are wrong; None where they are used as they are.

    Of robots on a fixed base, whose motion is that of their joints.
    """
    if robot.floating_base or log.frame_signals or len(log) < FEWEST:
        return None
    joints = [one.name for one in robot.free_joints if (one.name, "position") in log.signals]
    if not joints:
        return None
    even = is_uniform(log.time)
    with_velocity = any((joint, "velocity") in log.signals for joint in joints)
    maybe_stale = repeated((log.signals[joint, "position"] for joint in joints), len(log))
    counted = even and np.count_nonzero(maybe_stale) < FEWEST_REPEATED
    recorded = Recorded.of(log, robot)
    if counted and not with_velocity and not may_jump(recorded):
        return None
    stale = _stale_rows(log, recorded, maybe_stale)
    clock = better_clock(recorded, stale, even=even)
    if not with_velocity:
        return clock
    rate = rate_error(recorded if clock is None else Recorded.of(clock.applied(log), robot))
    if rate is None:
        return clock
    if clock is None:
        clock = Clock(log.time, np.zeros(len(log), bool), False, TimeRepair())
    time = rate.true_time(clock.time)
    share = float((time[-1] - time[0]) / (clock.time[-1] - clock.time[0]))
    repair = replace(clock.repair, rate=share, drift=rate.drift, agrees=rate.agrees)
    return replace(clock, time=time, repair=repair)


def _stale_rows(log: Log, recorded: Recorded, repeats: Mask) -> Mask:
    """Rows (n_rows,) that repeat the row before although the robot moves.

    All signals repeat, or all positions where some joint moves by several steps of its encoder.
    """
    none = np.zeros(len(log), bool)
    if np.count_nonzero(repeats) < FEWEST_REPEATED:
        return none
    whole = repeats & repeated(log.signals.values(), len(log))
    fast = none.copy()
    for joint, q in recorded.of_quantity("position"):
        step = max(last_digit(q), 1e-12)
        fast |= recorded.faster(joint.name, MOVING) & (recorded.speeds[joint.name] > 3.0 * step)
    out = repeats & fast
    # of more rows, positions come over a slower bus than the rest, which is another matter
    if np.count_nonzero(out) > MOST_REPEATED * np.count_nonzero(fast):
        out = none.copy()
    moving = recorded.in_motion
    out |= whole & moving
    # what repeats when nothing moves is stale, too, unless signals without noise repeat there
    resting = whole & ~moving
    share = float(np.mean(whole[moving])) if moving.any() else 0.0
    if np.count_nonzero(resting) <= AT_REST * share * np.count_nonzero(~moving):
        out |= resting
    out &= ~in_long_runs(out, max(3.0, LONGEST_REPEATED_S / usual_period(log.time)))
    return out if np.count_nonzero(out) >= FEWEST_REPEATED else none


def stamp_jitter(recorded: Recorded) -> Iterator[Finding]:
    """A warning if uneven stamps contradict positions that are smooth from row to row."""
    if recorded.evenly_sampled:
        error = unevenness_s(recorded.time)
        words = (
            f"time stamps are uneven, by {1e3 * error:.3g} ms (rms), but positions are far "
            "smoother from row to row than these stamps allow: they say when rows were written, "
            "not when they were measured; replace them by even ones, row number times "
            f"{recorded.mean_period_s:.6g} s"
        )
        yield recorded.finding(
            "warning", "stamp-jitter", words, rows=np.array([0, -1]), size=(error, "s")
        )


def clock_findings(log: Log, clock: Clock | None) -> Iterator[Finding]:
    """What was wrong with the time base of a log, and was repaired."""
    if clock is None:
        return

    def finding(level: Level, code: str, words: str, size: float, unit: str) -> Finding:
        words, whole = f"log '{log.name}': {words}", (float(log.time[0]), float(log.time[-1]))
        option = "--time-base as-stamped"
        return Finding(level, code, words, (), whole, size, unit, option=option, corrected=True)

    repair = clock.repair
    closer = f"positions that are left out are then predicted {repair.closer:.3g} times closer"
    if repair.repeated_rows:
        share = 100.0 * repair.repeated_rows / len(clock.stale)
        first, *_, last = log.time[clock.stale].tolist()
        done = "left out" if clock.dropped else "interpolated between the others"
        found = finding(
            "warning" if share > 100.0 * REPEATED_ROWS else "info",
            "held-samples",
            f"{repair.repeated_rows} rows ({share:.3g} %) repeat the row before while the robot "
            f"moves: the last known state was written again. They are {done}; {closer}",
            share,
            "% of rows",
        )
        yield replace(found, span_s=(first, last))
    if repair.missing_rows and is_uniform(log.time):
        words = (
            f"about {repair.missing_rows} rows are missing, where all joints move as far as in two "
            f"or more, and the time stamps hide it. Time is counted with them; {closer}. Take the "
            "stamps of the controller"
        )
        yield finding("warning", "dropped-rows", words, float(repair.missing_rows), "rows")
    elif repair.moved_s > 0.0:
        words = (
            "time stamps say when rows were written, not when they were measured. They are "
            f"replaced by even ones, {1e3 * repair.moved_s:.3g} ms away (rms); {closer}. Take the "
            "stamps of the controller"
        )
        yield finding("warning", "stamp-jitter", words, repair.moved_s, "s")
    if repair.rate != 1.0:
        # the clock runs fast or slow beside the velocities, in the whole log or more and more
        drifts = repair.drift > abs(repair.rate - 1.0)
        rate = f"{100.0 * abs(repair.rate - 1.0):.3g} % {'slow' if repair.rate > 1.0 else 'fast'}"
        words = f"on average {rate}, changing by {100.0 * repair.drift:.3g} %" if drifts else rate
        found = finding(
            "warning",
            "time-drift" if drifts else "time-rate",
            "by the measured velocities of all joints, the clock of the time stamps runs "
            f"{words}. Time is corrected; positions and velocities then agree {repair.agrees:.3g} "
            "times better. Check the clock of the recorder",
            repair.drift if drifts else 1.0 / repair.rate,
            "share" if drifts else "times",
        )
        yield replace(found, could_be=("velocities in another unit",))
