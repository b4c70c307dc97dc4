"""A uniform time base from recorded time stamps: rate, jitter, holes, missing samples."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.signals.cubic_spline import cubic_spline
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import PeriodRecord, TimeBaseRecord

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

UNIFORM = 1e-3
"""Stamps are uniform if none is further from an even grid than this share of the period."""
RATES_HZ = (1e-6, 1e9)
"""Sample rates that are processed, lowest and highest; others are stamps in another unit."""
MAX_SAMPLES = 10_000_000
"""Most samples of a uniform grid: an hour at 2.7 kHz."""

HOLE_PERIODS = 3.0
"""Stamps further apart than this many periods leave a hole, in which torque is not used. The log
is cut at a hole longer than ``max_gap_s``."""
CURVE_ROWS, CURVE_BURSTS = 100, 20
"""Rows, or bursts of rows, in a part of a log whose median shows how far stamps are from a line:
the clocks of stamps and of samples drift apart, or missing rows were not seen."""
PHASE_ROWS, PHASE_MEDIAN, IN_PHASE = 200, 51, 0.5
"""Rows over which the phase of stamps is averaged, after a median over rows; shortest mean of unit
vectors that is a phase."""
AVERAGED, OF_BURSTS = 50, 1000
"""Rows over which a step is averaged, so that rows stamped in bursts show their true period; and in
a log of such."""


@dataclass(frozen=True)
class TimeBase:
    """Recorded stamps and the grid that replaces them.

    recorded, grid : (n_in,) and (n_out,) s; the same array where nothing is resampled.
    rate_hz : samples per second of the grid.
    recorded_rate_hz : median rate of the stamps.
    in_hole : (n_out,) grid points too far from any stamp to have a torque of their own.
    """

    recorded: Array
    grid: Array
    rate_hz: float
    recorded_rate_hz: float
    in_hole: Mask

    @property
    def resampled(self) -> bool:
        """Whether the grid differs from the recorded stamps."""
        return self.grid is not self.recorded

    @property
    def record(self) -> TimeBaseRecord:
        """What was found and done."""
        step = np.diff(self.recorded)
        period = float(np.median(step))
        return TimeBaseRecord(
            recorded_rate_hz=self.recorded_rate_hz,
            mean_rate_hz=float(1.0 / np.mean(step)),
            period_s=PeriodRecord(float(step.min()), period, float(step.max()), float(step.std())),
            largest_deviation_periods=unevenness(self.recorded),
            resampled=self.resampled,
            rate_hz=self.rate_hz,
            holes=int(np.sum(step > HOLE_PERIODS * period)),
            samples_in_holes=int(self.in_hole.sum()),
        )


def usual_period(time: Array) -> float:
    """Time (s) from row to row of stamps (n_samples,), whether or not they come in bursts."""
    n = len(time) - 1
    averaged = max(1, min(AVERAGED, n // 8))
    period = float(np.median(np.diff(time[::averaged]))) / averaged
    if float(np.median(np.diff(time))) < 0.5 * period:
        # bursts: so many of them that it does not matter where one ends
        averaged = max(1, min(OF_BURSTS, n // 8))
        period = float(np.median(np.diff(time[::averaged]))) / averaged
    return period


def hole_steps(time: Array, period_s: float | None = None) -> NDArray[np.int64]:
    """Numbers k of the steps from row k to k + 1 of stamps (n_samples,) that leave a hole.

    Not those between two bursts of rows, after which the rows catch up: what counts is how far the
    rows behind a step are, in the median, from where those before it would go on.
    """
    period = usual_period(time) if period_s is None else period_s
    long = np.flatnonzero(np.diff(time) > HOLE_PERIODS * period)
    if not len(long):
        return long
    away = time - time[0] - period * np.arange(len(time))
    shift = _shift_at(away, long, AVERAGED)
    return np.asarray(long[shift > 0.5 * (time[long + 1] - time[long])])


def unbroken(time: Array, period_s: float | None = None) -> list[slice]:
    """Rows between holes of stamps (n_samples,); no difference means anything across a hole."""
    edges = [0, *(hole_steps(time, period_s) + 1).tolist(), len(time)]
    return [slice(first, end) for first, end in pairwise(edges)]


def holes_before(time: Array) -> NDArray[np.int64]:
    """How many holes (n_samples,) there are before each of these stamps (n_samples,)."""
    out = np.zeros(len(time), dtype=np.int64)
    out[hole_steps(time) + 1] = 1
    return np.cumsum(out)


def even_stamps(time: Array, numbers: Array | None = None) -> Array:
    """Even stamps (n_samples,) on a line through these, or on a slow curve where clocks drift.

    numbers : (n_samples,) of the samples, which grow by more than one where some are missing; None
    counts the rows. Each part between holes has a line of its own.
    """
    period = usual_period(time)
    numbers = np.arange(float(len(time))) if numbers is None else numbers
    out = time.copy()
    for rows in unbroken(time, period):
        if rows.stop - rows.start > 2:
            out[rows] = _slow_curve(numbers[rows] - numbers[rows.start], time[rows], period)
    return out


def numbers_by_stamps(time: Array, numbers: Array) -> Array:
    """Numbers (n_samples,) of the samples, counting besides ``numbers`` (n_samples,) those that are
    missing by the stamps: rows behind them are late by whole periods.
    """
    apart = min(AVERAGED, max(1, len(time) // 8))
    period = float(np.median((time[apart:] - time[:-apart]) / _taken(numbers, apart)))
    away = (time - time[0]) / period - numbers
    late = np.flatnonzero(np.diff(away) > 0.5)
    shift = np.zeros(len(time))
    if len(late):
        near, wide = (_shift_at(away, late, n) for n in (AVERAGED // 5, AVERAGED))
        sure = (np.abs(near - np.round(near)) < 0.3) & (near > 0.7) & (np.abs(wide - near) < 1.2)
        shift[late[sure] + 1] = np.round(near[sure])
    return np.asarray(numbers + np.cumsum(shift))


def numbers_in_phase(time: Array, numbers: Array) -> Array:
    """Numbers (n_samples,) corrected by whole ones, so that stamps stay in phase with the samples.

    Samples are even, so that stamps in periods, less the numbers, are about the same fraction all
    along, and change slowly where clocks differ; what is away from it by whole periods over many
    rows was counted wrong.
    """
    from scipy.ndimage import median_filter

    n = len(time) // PHASE_ROWS
    if n < 3:
        return numbers
    period = float(np.median((time[AVERAGED:] - time[:-AVERAGED]) / _taken(numbers, AVERAGED)))
    away = (time - time[0]) / period - numbers
    level = np.asarray(median_filter(away, PHASE_MEDIAN, mode="nearest"))
    turns = np.exp(2j * np.pi * level[: n * PHASE_ROWS]).reshape(n, PHASE_ROWS).mean(axis=1)
    seen = np.flatnonzero(np.abs(turns) > IN_PHASE)
    if len(seen) < 3:
        return numbers
    phase = np.unwrap(np.angle(turns[seen])) / (2.0 * np.pi)
    middle = (seen + 0.5) * PHASE_ROWS
    usual = np.interp(np.arange(len(time)), middle, phase)
    wrong = np.round(level - usual)
    count = np.arange(float(len(time)))
    return np.asarray(np.maximum.accumulate(numbers + wrong - count) + count)


def _taken(numbers: Array, rows: int) -> Array:
    return np.asarray(numbers[rows:] - numbers[:-rows])


def _shift_at(away: Array, steps: NDArray[np.int64], n: int) -> Array:
    """By how much the n values behind each step are above those before it, in the median."""
    near = np.arange(n)
    before = away[np.maximum(steps[:, None] - near, 0)]
    after = away[np.minimum(steps[:, None] + 1 + near, len(away) - 1)]
    return np.asarray(np.median(after, axis=1) - np.median(before, axis=1))


def _slow_curve(numbers: Array, time: Array, period_s: float) -> Array:
    """Times (n,) on a line in the sample numbers (n,), or on a curve through medians of many rows
    where these are further from the line than they scatter.
    """
    if len(time) < 2 * AVERAGED:
        middle = float(np.median(time - period_s * numbers))
        if len(time) < AVERAGED // 2:
            return middle + period_s * numbers
    line = np.polynomial.polynomial.polyfit(numbers, time, 1)
    for _ in range(3):  # without rows that were written much later than others
        away = time - line[0] - line[1] * numbers
        usual = 3.0 * float(np.median(np.abs(away))) + 1e-12
        near = np.abs(away) <= usual
        if np.count_nonzero(near) < 0.5 * len(time):
            break
        line = np.polynomial.polynomial.polyfit(numbers[near], time[near], 1)
    even = line[0] + line[1] * numbers
    away = time - even
    # rows that are written in one burst are as good as one
    burst = len(time) / max(1, int(np.count_nonzero(np.diff(time) > 0.5 * period_s)))
    block = round(max(CURVE_ROWS, CURVE_BURSTS * burst))
    n = len(time) // block
    if n < 3:
        return np.asarray(even)
    whole = away[: n * block].reshape(n, block)
    at = numbers[: n * block].reshape(n, block).mean(axis=1)
    medians = np.median(whole, axis=1)
    scatter = 1.9 * float(np.median(np.abs(whole - medians[:, None]))) / np.sqrt(block / burst)
    if float(np.std(medians)) < max(3.0 * scatter, 0.1 * period_s):
        return np.asarray(even)
    inside = np.interp(numbers, at, medians)
    ends = np.polynomial.polynomial.polyfit(at[:2], medians[:2], 1)
    inside = np.where(numbers < at[0], ends[0] + ends[1] * numbers, inside)
    ends = np.polynomial.polynomial.polyfit(at[-2:], medians[-2:], 1)
    inside = np.where(numbers > at[-1], ends[0] + ends[1] * numbers, inside)
    return np.asarray(even + inside)


def unevenness(time: Array) -> float:
    """Largest distance of a stamp from the even grid that fits best, in periods."""
    index = np.arange(len(time)) - 0.5 * (len(time) - 1)
    slope = float(index @ (time - time[0])) / float(index @ index)
    residual = (time - time[0]) - slope * index
    return float(np.ptp(residual)) / (2.0 * slope)


def last_digit_s(time: Array) -> float | None:
    """The decimal step (s) on which all stamps lie, such as 0.001 for whole milliseconds."""
    noise = np.finfo(float).eps * float(np.max(np.abs(time)))
    for digits in range(10):
        step = 10.0**-digits
        if step < 1e3 * noise:
            return None
        if np.max(np.abs(time - np.round(time / step) * step)) <= 1e-3 * step:
            return step
    return None


def is_uniform(time: Array) -> bool:
    """Whether the stamps are even, or even stamps that were rounded to their last digit.

    Rounding is recognised where the last digit is at most half a period: moving samples to
    rounded stamps would add the jitter that resampling is meant to remove.
    """
    distance = unevenness(time)
    if distance <= UNIFORM:
        return True
    period = float(time[-1] - time[0]) / (len(time) - 1)
    digit = last_digit_s(time)
    return digit is not None and distance * period <= 0.55 * digit <= 0.275 * period


def time_base(time: Array, processing: Processing, name: str) -> TimeBase:
    """The grid for these stamps (n_samples,): the stamps themselves where they are uniform."""
    period = float(np.median(np.diff(time)))
    if not 0.99 / RATES_HZ[1] <= period <= 1.01 / RATES_HZ[0]:
        raise SignalError(
            f"log '{name}': its stamps are {period:.3g} s apart (median); rates from "
            f"{RATES_HZ[0]:g} to {RATES_HZ[1]:g} Hz are processed. Time is in seconds, or in the "
            "unit in its column's name: time[ms], time[us] or time[ns]"
        )
    uniform = is_uniform(time)
    recorded_rate = 1.0 / period
    if uniform:
        recorded_rate = (len(time) - 1) / float(time[-1] - time[0])
    rate = processing.sample_rate_hz or recorded_rate
    # a rate that shifts the last sample by at most 1 % of a period needs no other grid
    if uniform and abs(rate / recorded_rate - 1.0) * len(time) <= 0.01:
        return TimeBase(time, time, recorded_rate, recorded_rate, np.zeros(len(time), bool))
    wanted = float(time[-1] - time[0]) * rate * (1.0 + 1e-12)
    if not wanted <= MAX_SAMPLES:
        raise SignalError(
            f"log '{name}': {time[-1] - time[0]:g} s at {rate:g} Hz would be {wanted:.3g} samples; "
            f"at most {MAX_SAMPLES} are made: choose a lower sample_rate_hz, or cut the log"
        )
    n = int(np.floor(wanted)) + 1
    if n < 2:
        raise SignalError(
            f"log '{name}': lasts {time[-1] - time[0]:g} s, less than one period of "
            f"{rate:g} Hz; choose a higher sample_rate_hz"
        )
    grid = np.minimum(time[0] + np.arange(n) / rate, time[-1])
    return TimeBase(time, grid, rate, recorded_rate, _in_hole(time, grid, period))


def _in_hole(time: Array, grid: Array, period: float) -> Mask:
    """Points inside a hole, more than half a period from both of its ends."""
    after = np.clip(np.searchsorted(time, grid), 1, len(time) - 1)
    left, right = time[after - 1], time[after]
    nearest = np.minimum(grid - left, right - grid)
    return np.asarray((right - left > HOLE_PERIODS * period) & (nearest > 0.5 * period))


def onto_grid(base: TimeBase, x: Array, missing: Mask, processing: Processing, name: str) -> Array:
    """One signal (n_in,) on the grid (n_out,), missing samples interpolated.

    Where the grid is slower than the recording, the signal is first low-passed at 0.4 times
    the new rate, so that noise is not aliased into the motion.
    """
    if not base.resampled:
        filled = x.copy()
        if missing.any():
            filled[missing] = _interpolate(base.grid, x, missing, base.grid[missing], processing)
        return filled
    if base.rate_hz < 0.99 * base.recorded_rate_hz:
        from steelyard.signals.filters import low_pass

        n = int(np.ceil((base.recorded[-1] - base.recorded[0]) * base.recorded_rate_hz)) + 1
        fine = np.linspace(base.recorded[0], base.recorded[-1], n)
        rate = (n - 1) / float(fine[-1] - fine[0])
        smooth = _interpolate(base.recorded, x, missing, fine, processing)
        smooth = low_pass(smooth, 0.4 * base.rate_hz, processing.filter_order, rate, name)
        return _interpolate(fine, smooth, np.zeros(n, bool), base.grid, processing)
    return _interpolate(base.recorded, x, missing, base.grid, processing)


def _interpolate(time: Array, x: Array, missing: Mask, at: Array, processing: Processing) -> Array:
    known = ~missing
    if processing.interpolation == "linear":
        return np.interp(at, time[known], x[known])
    return cubic_spline(time[known], x[known])(at)


def missing_on_grid(base: TimeBase, missing: Mask) -> Mask:
    """Grid points (n_out,) with a missing sample among the two around them."""
    if not base.resampled:
        return missing
    after = np.clip(np.searchsorted(base.recorded, base.grid), 1, len(base.recorded) - 1)
    return missing[after] | missing[after - 1]
