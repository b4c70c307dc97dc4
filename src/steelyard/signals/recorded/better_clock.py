"""Stamps that predict the positions of a log better than its own.

Each position is left out and predicted by its neighbours (`left_out_error`): with the stamps of the
log, and with each candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.logs.log import Log
from steelyard.signals._timebase import (
    even_stamps,
    holes_before,
    is_uniform,
    numbers_by_stamps,
    numbers_in_phase,
    usual_period,
)
from steelyard.signals.recorded.recorded import (
    DIGIT,
    MOVING,
    Recorded,
    interpolated,
    last_digit,
)
from steelyard.signals.run_record import TimeRepair
from steelyard.signals.steps import steps_of

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

FEWEST_REPEATED = 5
"""Fewest rows that repeat others, or lack some before them, that count."""
BETTER = 1.2
"""A candidate is better if left-out positions are this many times closer, over all joints."""
AS_GOOD = 1.3
"""Of candidates that are as good as the best within this factor, that which is nearest to the
stamps: positions from row to row do not show how far whole parts of a log are off."""
WORSE = 0.9
"""It is not if those of a joint are further away than by this factor."""
MOVED = 0.05
"""Stamps that move by less (rms) than this share of a period are left as they are."""
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
WINDOWS, WINDOW = 24, 500
"""Parts of a long log, spread over it, in which candidates are compared, and rows of each."""
POINTS = (5, 3)
"""Positions in a row of which one is left out. Five see jitter even where the motion is curved,
three see bursts of rows even behind a coarse encoder."""
FEWEST_JUDGED = 15
"""Fewest positions of a joint that are left out one by one."""
UNEVEN = 0.1
"""Steps that differ by this share are uneven."""
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
        signals = log.signals
        if self.dropped:
            signals = {key: values[~self.stale] for key, values in signals.items()}
        elif self.stale.any():
            # a cubic spline in the place of rows that repeat others
            signals = {
                key: interpolated(
                    self.time, x, np.isfinite(x) & ~self.stale, np.isfinite(x) & self.stale
                )
                for key, x in signals.items()
            }
        return replace(log, time=self.time, signals=signals)

    def given_rows(self, mask: Mask) -> Mask:
        """A mask of the samples (n_samples,) as one of the rows of the log (n_rows,)."""
        if not self.dropped:
            return mask
        out = np.zeros(len(self.stale), bool)
        out[~self.stale] = mask
        return out


def better_clock(recorded: Recorded, stale: Mask, *, even: bool) -> Clock | None:
    """The best of the candidates for rows and stamps; None for those of the log.

    stale : (n_rows,) rows that repeat others. even : whether stamps are even.
    """
    time = recorded.time
    everything = np.ones(len(time), bool)
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
            tried += [(one, stale, True, n) for one, n in _even(moving, time, ~stale)]
    if not even:
        tried += [(one, ~everything, False, n) for one, n in _even(moving, time, everything)]
    elif not stale.any():
        numbers = _numbers_by_positions(moving, time, everything)
        missing = np.diff(numbers, prepend=0.0) > 1.0
        if np.count_nonzero(missing) >= FEWEST_REPEATED:
            # stamps that were counted: their step is the true one
            counted = time[0] + usual_period(time) * numbers
            tried.append((counted, ~everything, False, _n_missing(numbers)))
            touched |= _near(missing)
    if not tried:
        return None
    of_stamps = [_errors(moving, recorded, time, everything, touched, n) for n in POINTS]
    found = []
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
        if closer > BETTER and (left_out.any() or moved >= MOVED * usual_period(time)):
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
    return [(_spread(stamps, one, time), _n_missing(one)) for one in different]


def _n_missing(numbers: Array) -> int:
    """How many rows are missing between samples with these numbers (n_samples,)."""
    return round(float(numbers[-1])) - len(numbers) + 1


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
    # holes of the stamps, so that every candidate is judged in the same places
    holes = holes_before(recorded.time)[rows]
    parts = [slice(None)]
    if len(time) > 2 * WINDOWS * WINDOW:
        starts = np.linspace(0, len(time) - WINDOW, WINDOWS).astype(int)
        parts = [slice(first, first + WINDOW) for first in starts.tolist()]
    out = []
    for joint, q in moving.items():
        x, use = q[rows], (recorded.faster(joint, MOVING) & judged)[rows]
        of_parts = [left_out_error(time[k], x[k], holes[k], use[k], points) for k in parts]
        errors = np.abs(np.concatenate(of_parts))
        if len(errors) < FEWEST_JUDGED:
            out.append(np.nan)
            continue
        size = np.minimum(errors, np.percentile(errors, TOP))
        out.append(max(float(np.sqrt(np.mean(size**2))), DIGIT * last_digit(q), 1e-300))
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
