"""Time stamps: their unit, their evenness, and the speeds that follow from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.inspection.recorded import Recorded
from steelyard.findings import Finding

Array = NDArray[np.float64]

SLOWEST_S, QUICKEST_S = 0.5, 1e-5
"""Periods (s) beyond these are no robot's: the unit of time is another."""
UNITS = ((100.0, "ms", 1e3), (1e5, "us", 1e6), (np.inf, "ns", 1e9))
"""Longest period, in the unit of the stamps, that is read as this unit, and units to a second."""
SMOOTH = 0.3
"""A sampled motion changes by less than this share of its standard deviation from row to row."""
MIXED = 1.3
"""Periods at start and end that differ by a power of 1000 within this factor are of two units."""
UNEVEN = 0.05
"""Stamps further (rms) from an even grid than this share of a period are uneven."""
SMOOTHER = 3.0
"""Rows are even if positions are smoother by this factor with even stamps."""
TOO_FAST = 1.35
"""Speeds beyond this many times a joint's limit are implausible."""


def time_units(recorded: Recorded) -> tuple[Finding, ...]:
    """A finding if time is not in seconds, in the whole log or in a part of it."""
    step = np.diff(recorded.time)
    quarter = max(len(step) // 4, 1)
    first, last = float(np.median(step[:quarter])), float(np.median(step[-quarter:]))
    for power in (1e3, 1e6, 1e9):
        for ratio in (last / first, first / last):
            if power / MIXED < ratio < power * MIXED:
                return (
                    Finding(
                        "severe",
                        "time-unit",
                        f"log '{recorded.name}': rows are {first:.4g} s apart at its start and "
                        f"{last:.4g} s at its end, a factor of {power:g}: time is in two units; "
                        "write it in seconds",
                        size=power,
                        unit="times",
                    ),
                )
    period = recorded.period_s
    if QUICKEST_S <= period < SLOWEST_S or not _smooth(recorded):
        return ()
    name, count = next((name, count) for most, name, count in UNITS if period <= most)
    if period < QUICKEST_S:
        words, option = "time seems to be in a larger unit, such as hours", ""
    else:
        words = f"time seems to be in {name}, which gives {count / period:.4g} Hz"
        option = f"name the column time[{name}], or use --map time[{name}]=COLUMN"
    return (
        Finding(
            "severe",
            "time-unit",
            f"log '{recorded.name}': rows are {period:.4g} s apart, and the log lasts "
            f"{recorded.time[-1] - recorded.time[0]:.4g} s, implausible for a robot's motion: "
            f"{words}",
            size=period,
            unit="s",
            option=option,
        ),
    )


def _smooth(recorded: Recorded) -> bool:
    """Whether positions change little from row to row, unlike a table of poses at rest."""
    shares = []
    for _, q in recorded.of_quantity("position"):
        known = q[np.isfinite(q)]
        if len(known) > 50 and np.std(known) > 0.0:
            shares.append(float(np.sqrt(np.mean(np.diff(known) ** 2)) / np.std(known)))
    return bool(shares) and float(np.median(shares)) < SMOOTH


def rows_are_even(recorded: Recorded) -> bool:
    """Whether the rows were sampled evenly although their stamps are uneven."""
    ratios = _smoothness(recorded)
    return bool(len(ratios)) and float(np.median(ratios)) > SMOOTHER


def _smoothness(recorded: Recorded) -> Array:
    """Per moving joint, how far samples are from the line between their neighbours: with the
    recorded stamps over with even ones; nothing where the stamps are even.
    """
    n = len(recorded)
    even = np.linspace(recorded.time[0], recorded.time[-1], n)
    period = float(even[1] - even[0])
    if n < 50 or float(np.sqrt(np.mean(_detrended(recorded.time - even) ** 2))) < UNEVEN * period:
        return np.zeros(0)
    before, after = np.diff(recorded.time)[:-1], np.diff(recorded.time)[1:]
    share = before / (before + after)
    ratios = []
    for joint, q in recorded.of_quantity("position"):
        use = recorded.faster(joint.name, 0.1)[1:-1] & np.isfinite(q[2:] + q[1:-1] + q[:-2])
        if np.count_nonzero(use) < 30:
            continue
        by_row = (q[1:-1] - 0.5 * (q[:-2] + q[2:]))[use]
        by_stamp = (q[1:-1] - (1.0 - share) * q[:-2] - share * q[2:])[use]
        sizes = [_size(one) for one in (by_stamp, by_row)]
        if sizes[1] > 0.0:
            ratios.append(sizes[0] / sizes[1])
    return np.array(ratios)


def _size(x: Array) -> float:
    """Root mean square (n,) without its largest half percent."""
    size = np.abs(x)
    return float(np.sqrt(np.mean(np.minimum(size, np.percentile(size, 99.5)) ** 2)))


def _detrended(x: Array) -> Array:
    """``x`` (n,) without its mean in each of up to 20 parts, so that gaps count little."""
    n = max(len(x) // 20, 1)
    whole = x[: len(x) // n * n].reshape(-1, n)
    return np.asarray(whole - whole.mean(axis=1, keepdims=True)).ravel()


def stamp_jitter(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning if uneven stamps contradict positions that are smooth from row to row."""
    if not rows_are_even(recorded):
        return ()
    even = np.linspace(recorded.time[0], recorded.time[-1], len(recorded))
    error = float(np.std(recorded.time - even))
    return (
        Finding(
            "warning",
            "stamp-jitter",
            f"log '{recorded.name}': time stamps are uneven, by {1e3 * error:.3g} ms (rms), but "
            "positions are far smoother from row to row than these stamps allow: they say when "
            "rows were written, not when they were measured; replace them by even ones, row "
            f"number times {even[1] - even[0]:.6g} s",
            span_s=(float(recorded.time[0]), float(recorded.time[-1])),
            size=error,
            unit="s",
        ),
    )


def speeds_beyond_limits(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning if joints are faster than the robot file allows, though within their range."""
    fast = {}
    for joint, q in recorded.of_quantity("position"):
        limit = joint.limits.velocity
        if limit is None or not limit > 0.0 or not np.isfinite(limit):
            continue
        ends = [end for end in (joint.limits.lower, joint.limits.upper) if end is not None]
        if len(ends) == 2 and np.nanmax(np.abs(q)) > 2.0 * max(abs(end) for end in ends):
            return ()
        speed = float(np.percentile(recorded.speeds[joint.name], 99.0)) / recorded.period_s
        if speed > TOO_FAST * limit:
            fast[joint.name] = speed / limit
    if not fast or time_units(recorded):
        return ()
    words = ", ".join(f"'{joint}' {factor:.3g} times" for joint, factor in fast.items())
    return (
        Finding(
            "warning",
            "time-rate",
            f"log '{recorded.name}': joints are faster than the limits of the robot file: {words}; "
            "is the sampling rate, from which time stamps were made, the true one?",
            joints=tuple(fast),
            size=max(fast.values()),
            unit="times",
            could_be=("positions in another unit", "limits of the file that are too low"),
        ),
    )
