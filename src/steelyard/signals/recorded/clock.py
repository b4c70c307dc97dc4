"""When the rows of a log were sampled: its stamps, or others that predict its signals better.

Stamps may say when a row was written and not when it was measured: they come in bursts, jitter, or
are rounded. Rows may repeat the row before, where a message was lost or the recorder was faster
than the robot. And the clock may run fast or slow, or drift. Candidates are compared:

rows        all, or without those that repeat the row before
stamps      as they are, or even ones, on a line or slow curve through the stamps by row number,
            counting no missing rows, those that stamps show, those that all positions show, or both
rate        that of the stamps, or that at which positions change as fast as measured velocities say

The first two are judged by positions that are left out: each is predicted by its neighbours
(`left_out_error`). The last is judged by the velocities. What was
recorded stays unless another candidate is clearly better. A constant error of the rate cannot be
seen without velocities: it looks like another inertia.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals._timebase import (
    even_stamps,
    holes_before,
    is_uniform,
    numbers_by_stamps,
    numbers_in_phase,
    usual_period,
)
from steelyard.signals.cubic_spline import cubic_spline
from steelyard.signals.recorded.clock_rate import RateError, rate_error
from steelyard.signals.recorded.jumps import may_jump
from steelyard.signals.recorded.recorded import MOVING, Recorded
from steelyard.signals.run_record import TimeRepair
from steelyard.signals.steps import least_change, steps_of

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

FEWEST = 50
"""Shorter logs are used as they are stamped."""
BETTER = 1.2
"""A candidate is better if left-out positions are this many times closer, over all joints."""
AS_GOOD = 1.3
"""Of candidates that are as good as the best within this factor, that which is nearest to the
stamps: positions from row to row do not show how far whole parts of a log are off."""
WORSE = 0.9
"""It is not if those of a joint are further away than by this factor."""
MOVED = 0.05
"""Stamps that move by less (rms) than this share of a period are left as they are."""
FEWEST_REPEATED, LONGEST_REPEATED_S = 5, 0.05
"""Fewest repeated rows that count; longer runs (s) of them are those of a robot that rests."""
IN_TURN = 2.5
"""Rows repeat in turn if their distances, from the 10th to the 90th percentile, are within this
factor; at random they differ by a factor of 20."""
VISIBLE, MOST_LOST = 6.0, 5.5
"""Motion in a step, in units of its noise, that shows how many rows it is worth, and how many may
be missing in one place.
"""
PARTS, THROUGHOUT = 10, 0.6
"""Rows that repeat throughout do so in this share of the parts of a log. A few moments in which a
recorder hesitated are no reason to move the stamps of all that is behind them."""
AT_REST = 3.0
"""At rest, the share of rows that repeat may be this many times that in motion."""
MOST_REPEATED = 0.1
"""Share of rows of which positions alone repeat."""
WINDOWS, WINDOW = 24, 500
"""Parts of a long log, spread over it, in which candidates are compared, and rows of each."""
POINTS = (5, 3)
"""Positions in a row of which one is left out. Five see jitter even where the motion is curved,
three see bursts of rows even behind a coarse encoder."""
FEWEST_JUDGED = 15
"""Fewest positions of a joint that are left out one by one."""
UNEVEN = 0.1
"""Steps that differ by this share are uneven."""
DIGIT = 0.3
"""Share of the resolution of a position that is no error."""
TOP = 99.8
"""Percentile of errors beyond which they are something else: a slip, or the end of a hole."""


@dataclass(frozen=True, eq=False)
class Clock:
    """When the rows of a log were sampled.

    time : (n_samples,) s of the rows that are samples. stale : (n_rows,) rows that repeat others:
    left out if ``dropped``, else interpolated. repair : what was done.
    """

    time: Array
    stale: Mask
    dropped: bool
    repair: TimeRepair

    def applied(self, log: Log) -> Log:
        """The log on these times."""
        if self.dropped:
            return _with_rows(log, ~self.stale, self.time)
        if not self.stale.any():
            return replace(log, time=self.time)
        signals = {key: self._filled(values) for key, values in log.signals.items()}
        return replace(log, time=self.time, signals=signals)

    def given_rows(self, mask: Mask) -> Mask:
        """A mask of the samples (n_samples,) as one of the rows of the log (n_rows,)."""
        if not self.dropped:
            return mask
        out = np.zeros(len(self.stale), bool)
        out[~self.stale] = mask
        return out

    def _filled(self, values: Array) -> Array:
        """A signal (n_rows,) with a cubic spline in the place of rows that repeat others."""
        new = np.isfinite(values) & ~self.stale
        gone = np.isfinite(values) & self.stale
        if np.count_nonzero(new) < 4 or not gone.any():
            return values
        out = values.copy()
        out[gone] = cubic_spline(self.time[new], values[new])(self.time[gone])
        return out


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
    maybe_stale = _repeats(log, joints)
    counted = even and np.count_nonzero(maybe_stale) < FEWEST_REPEATED
    recorded = Recorded.of(log, robot)
    if counted and not with_velocity and not may_jump(recorded):
        return None
    stale = _stale_rows(log, recorded, maybe_stale)
    clock = _judged_by_positions(recorded, stale, even=even)
    if not with_velocity:
        return clock
    timed = recorded if clock is None else Recorded.of(clock.applied(log), robot)
    rate = rate_error(timed)
    if rate is None:
        return clock
    if clock is None:
        clock = Clock(log.time, np.zeros(len(log), bool), False, TimeRepair())
    return _with_rate(clock, rate)


def _with_rate(clock: Clock, rate: RateError) -> Clock:
    time = rate.true_time(clock.time)
    share = float((time[-1] - time[0]) / (clock.time[-1] - clock.time[0]))
    repair = replace(clock.repair, rate=share, drift=rate.drift, agrees=rate.agrees)
    return replace(clock, time=time, repair=repair)


def _with_rows(log: Log, rows: Mask, time: Array) -> Log:
    signals = {key: values[rows] for key, values in log.signals.items()}
    return replace(log, time=time, signals=signals)


def _repeats(log: Log, joints: list[str]) -> Mask:
    """Rows (n_rows,) in which all positions are those of the row before."""
    out = np.ones(len(log), bool)
    out[0] = False
    for joint in joints:
        rest = np.flatnonzero(out)
        values = log.signals[joint, "position"]
        out[rest] = values[rest] == values[rest - 1]
    return out


def _stale_rows(log: Log, recorded: Recorded, repeats: Mask) -> Mask:
    """Rows (n_rows,) that repeat the row before although the robot moves.

    All signals repeat, or all positions where some joint moves by several steps of its encoder.
    """
    none = np.zeros(len(log), bool)
    if np.count_nonzero(repeats) < FEWEST_REPEATED:
        return none
    whole = repeats.copy()
    for values in log.signals.values():
        rest = np.flatnonzero(whole)
        whole[rest] = values[rest] == values[rest - 1]
    fast = none.copy()
    for joint, q in recorded.of_quantity("position"):
        step = max(least_change(np.diff(q[np.isfinite(q)])), 1e-12)
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
    edge = np.flatnonzero(np.diff(np.concatenate([[False], out, [False]]).astype(np.int8)))
    longest = max(3.0, LONGEST_REPEATED_S / usual_period(log.time))
    for first, end in zip(edge[::2].tolist(), edge[1::2].tolist(), strict=True):
        if end - first > longest:
            out[first:end] = False
    return out if np.count_nonzero(out) >= FEWEST_REPEATED else none


def _judged_by_positions(recorded: Recorded, stale: Mask, *, even: bool) -> Clock | None:
    """The best of the candidates for rows and stamps; None for those of the log."""
    time, fresh = recorded.time, ~stale
    everything = np.zeros(len(time), bool)
    moving = {
        joint.name: q
        for joint, q in recorded.of_quantity("position")
        if recorded.usual_speeds[joint.name] > 0.0
    }
    tried: list[tuple[Array, Mask, bool, int]] = []
    touched = _touched(time, stale)
    if stale.any():
        tried.append((time, stale, False, 0))
        parts = {int(PARTS * row / len(time)) for row in np.flatnonzero(stale).tolist()}
        if len(parts) >= THROUGHOUT * PARTS:
            tried += [(one, stale, True, n) for one, n in _even(moving, time, fresh)]
    if not even:
        tried += [(one, everything, False, n) for one, n in _even(moving, time, ~everything)]
    elif not stale.any():
        numbers = _numbers_by_positions(moving, time, ~everything)
        missing = np.diff(numbers, prepend=0.0) > 1.0
        if np.count_nonzero(missing) >= FEWEST_REPEATED:
            # stamps that were counted: their step is the true one
            counted = time[0] + usual_period(time) * numbers
            tried.append((counted, everything, False, round(numbers[-1]) - len(time) + 1))
            touched |= _near(missing)
    if not tried:
        return None
    of_stamps = [_errors(moving, recorded, time, ~everything, touched, n) for n in POINTS]
    found: list[Clock] = []
    for stamps, left_out, dropped, n_missing in tried:
        rows = ~left_out
        at = stamps if dropped else stamps[rows]
        if not np.all(np.diff(at) > 0.0):
            continue
        closer = max(
            _closer(before / _errors(moving, recorded, at, rows, touched, n))
            for before, n in zip(of_stamps, POINTS, strict=True)
        )
        moved = float(np.sqrt(np.mean((at - time[rows]) ** 2)))
        repaired = left_out.any() or moved >= MOVED * usual_period(time)
        if closer > BETTER and repaired:
            repair = TimeRepair(int(np.count_nonzero(left_out)), n_missing, moved, closer)
            found.append(Clock(stamps, left_out, dropped, repair))
    most = max((one.repair.closer for one in found), default=0.0)
    as_good = [one for one in found if one.repair.closer * AS_GOOD >= most]
    return min(as_good, key=lambda one: one.repair.moved_s, default=None)


def _closer(ratios: Array) -> float:
    """How many times closer positions are predicted, over the joints (n,) that are judged; 0 if
    those of one joint are further away.
    """
    known = ratios[np.isfinite(ratios)]
    if not len(known) or float(np.min(known)) < WORSE:
        return 0.0
    return float(np.exp(np.mean(np.log(known))))


def _even(moving: Mapping[str, Array], time: Array, rows: Mask) -> list[tuple[Array, int]]:
    """Even stamps (n_samples,) for some rows (n_rows,), by each way to number them, and how many
    rows are missing then.
    """
    stamps = time[rows]
    counted = np.arange(float(len(stamps)))
    shown = _numbers_by_positions(moving, stamps, rows)
    given = [counted, numbers_by_stamps(stamps, counted), shown, numbers_in_phase(stamps, shown)]
    different = [given[0], *(one for one in given[1:] if not np.array_equal(one, counted))]
    return [(_spread(stamps, one, time), round(one[-1]) - len(stamps) + 1) for one in different]


def _spread(stamps: Array, numbers: Array, time: Array) -> Array:
    """Even stamps (n_samples,) for samples with these stamps and numbers (n_samples,), of a log
    with the stamps ``time`` (n_rows,).

    A recorder that is faster than the robot repeats every so many rows, and samples are even. Where
    rows repeat at random although stamps are even, these were counted: their step is true.
    """
    even = even_stamps(stamps, numbers)
    if not is_uniform(time):
        return even
    # rows that are left out, counted in those that are not
    apart = np.diff(np.flatnonzero(~np.isin(time, stamps)))
    shortest, longest = np.percentile(apart, [10.0, 90.0]) if len(apart) else (0.0, 1.0)
    if longest <= IN_TURN * shortest:
        return even
    return np.asarray(stamps[0] + usual_period(time) * numbers)


def _numbers_by_positions(moving: Mapping[str, Array], time: Array, rows: Mask) -> Array:
    """Numbers (n_samples,) of some rows (n_rows,), counting those that are missing by the
    positions: all joints move as far as in two rows, or more.
    """
    count = np.arange(float(len(time)))
    surprise, weight = np.zeros(len(time)), np.zeros(len(time))
    for q in moving.values():
        steps = steps_of(count, q[rows], np.isfinite(q[rows]))
        if steps is None or steps.noise == 0.0:
            continue
        at, expected = steps.rows[1:], steps.expected / steps.taken
        surprise[at] += np.where(steps.taken == 1.0, expected * steps.excess, 0.0) / steps.noise**2
        weight[at] += expected**2 / steps.noise**2
    more = surprise / np.maximum(weight, 1e-300)
    sure = (weight > VISIBLE**2) & (np.abs(more - np.round(more)) < 0.3)
    lost = np.where(sure & (more > 0.7) & (more < MOST_LOST), np.round(more), 0.0)
    return np.asarray(count + np.cumsum(lost))


def _touched(time: Array, stale: Mask) -> Mask:
    """Rows (n_rows,) beside which rows repeat or stamps are uneven: elsewhere, no candidate differs
    from the stamps.
    """
    step = np.diff(time)
    steps = np.stack([step[k : len(step) - 3 + k] for k in range(4)])
    uneven = np.ptp(steps, axis=0) > UNEVEN * np.mean(steps, axis=0)
    out = _near(stale)
    out[2:-2] |= uneven
    return out


def _near(rows: Mask) -> Mask:
    """Rows (n_rows,) that are at most two away from these."""
    return np.asarray(np.convolve(rows, np.ones(5), mode="same") > 0.0)


def _errors(
    moving: Mapping[str, Array],
    recorded: Recorded,
    time: Array,
    rows: Mask,
    judged: Mask,
    points: int,
) -> Array:
    """`left_out_error` (n_joints,) of the joints that move, in some rows (n_rows,) that were
    sampled at ``time`` (n_samples,), where they are ``judged`` (n_rows,), by ``points`` of them.
    """
    numbers = np.flatnonzero(rows)
    # those of the stamps, so that every candidate is judged in the same places
    holes = holes_before(recorded.time)[numbers]
    n = len(time)
    parts = [slice(0, n)]
    if n > 2 * WINDOWS * WINDOW:
        starts = np.linspace(0, n - WINDOW, WINDOWS).astype(int)
        parts = [slice(first, first + WINDOW) for first in starts.tolist()]
    out = []
    for joint, q in moving.items():
        use = recorded.faster(joint, MOVING) & judged
        errors = np.concatenate(
            [
                left_out_error(
                    time[part], q[numbers[part]], holes[part], use[numbers[part]], points
                )
                for part in parts
            ]
        )
        if len(errors) < FEWEST_JUDGED:
            out.append(np.nan)
            continue
        least = DIGIT * least_change(np.diff(q[np.isfinite(q)]))
        size = np.minimum(np.abs(errors), np.percentile(np.abs(errors), TOP))
        out.append(max(float(np.sqrt(np.mean(size**2))), least, 1e-300))
    return np.array(out)


def left_out_error(
    time: Array, q: Array, holes: NDArray[np.int64], moves: Mask, points: int
) -> Array:
    """How far positions (n,) are from the polynomial through their neighbours: of five points the
    cubic through two before and two after each, of three the line.

    The error is divided by what it is for noise of standard deviation one, so that stamps close to
    each other count no more than others: it is the divided difference of the positions over the
    norm of its coefficients. Only of those that move, and without holes between them.
    """
    n = len(time) - points + 1
    if n < 1:
        return np.zeros(0)
    middle = points // 2
    use = (holes[points - 1 :] == holes[:n]) & moves[middle : n + middle]
    for k in range(points):
        use &= np.isfinite(q[k : n + k])
    first = np.flatnonzero(use)
    t = np.stack([time[first + k] - time[first + middle] for k in range(points)])
    x = np.stack([q[first + k] for k in range(points)])
    scale = np.maximum(np.max(np.abs(t), axis=0), 1e-300)
    t = t / scale
    c = np.ones_like(t)
    for k in range(points):
        for other in range(points):
            if other != k:
                c[k] /= t[k] - t[other]
    return np.asarray(np.sum(c * x, axis=0) / np.sqrt(np.sum(c**2, axis=0)))
