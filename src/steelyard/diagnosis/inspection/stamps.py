"""Time stamps: their unit, and whether they say when rows were measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.logs.log import Log
from steelyard.signals._timebase import is_uniform
from steelyard.signals.recorded.clock import Clock
from steelyard.signals.recorded.evenness import unevenness_s
from steelyard.signals.recorded.recorded import Recorded

Array = NDArray[np.float64]

SLOWEST_S, QUICKEST_S = 0.5, 1e-5
"""Periods (s) beyond these are no robot's: the unit of time is another."""
UNITS = ((100.0, "ms", 1e3), (1e5, "us", 1e6), (np.inf, "ns", 1e9))
"""Longest period, in the unit of the stamps, that is read as this unit, and units to a second."""
SMOOTH = 0.3
"""A sampled motion changes by less than this share of its standard deviation from row to row."""
REPEATED_ROWS = 0.02
"""Share of repeated rows that are more than a note."""
MIXED = 1.3
"""Periods at start and end that differ by a power of 1000 within this factor are of two units."""


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
    could_be: tuple[str, ...] = ()
    if np.all(step == 1.0):
        could_be = ("numbers of rows: then divide them by the sampling rate in Hz",)
    name, count = next((name, count) for most, name, count in UNITS if period <= most)
    if period < QUICKEST_S:
        words, option = "time seems to be in a larger unit, such as hours", ""
    else:
        words = f"time seems to be in {name}, which gives {count / period:.4g} Hz: "
        words += f"name its column time[{name}], or map it"
        option = f"--map 'time[{name}]=COLUMN'"
    return (
        Finding(
            "severe",
            "time-unit",
            f"log '{recorded.name}': rows are {period:.4g} s apart, and the log lasts "
            f"{recorded.time[-1] - recorded.time[0]:.4g} s, implausible for a robot's motion: "
            f"{words}",
            size=period,
            unit="s",
            could_be=could_be,
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


def stamp_jitter(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning if uneven stamps contradict positions that are smooth from row to row."""
    if not recorded.evenly_sampled:
        return ()
    error = unevenness_s(recorded.time)
    period = float(recorded.time[-1] - recorded.time[0]) / (len(recorded) - 1)
    return (
        Finding(
            "warning",
            "stamp-jitter",
            f"log '{recorded.name}': time stamps are uneven, by {1e3 * error:.3g} ms (rms), but "
            "positions are far smoother from row to row than these stamps allow: they say when "
            "rows were written, not when they were measured; replace them by even ones, row "
            f"number times {period:.6g} s",
            span_s=(float(recorded.time[0]), float(recorded.time[-1])),
            size=error,
            unit="s",
        ),
    )


def clock_findings(log: Log, clock: Clock | None) -> tuple[Finding, ...]:
    """What was wrong with the time base of a log, and was repaired."""
    if clock is None:
        return ()
    repair, span = clock.repair, (float(log.time[0]), float(log.time[-1]))
    closer = f"positions that are left out are then predicted {repair.closer:.3g} times closer"
    findings = []
    if repair.repeated_rows:
        share = 100.0 * repair.repeated_rows / len(clock.stale)
        stale = np.flatnonzero(clock.stale)
        done = "left out" if clock.dropped else "interpolated between the others"
        findings.append(
            Finding(
                "warning" if share > 100.0 * REPEATED_ROWS else "info",
                "held-samples",
                f"log '{log.name}': {repair.repeated_rows} rows ({share:.3g} %) repeat the row "
                "before while the robot moves: the last known state was written again. They are "
                f"{done}; {closer}",
                span_s=(float(log.time[stale[0]]), float(log.time[stale[-1]])),
                size=share,
                unit="% of rows",
                option="--time-base as-stamped",
                corrected=True,
            )
        )
    if repair.missing_rows and is_uniform(log.time):
        findings.append(
            Finding(
                "warning",
                "dropped-rows",
                f"log '{log.name}': about {repair.missing_rows} rows are missing, where all joints "
                "move as far as in two or more, and the time stamps hide it. Time is counted with "
                f"them; {closer}. Take the stamps of the controller",
                span_s=span,
                size=float(repair.missing_rows),
                unit="rows",
                option="--time-base as-stamped",
                corrected=True,
            )
        )
    elif repair.moved_s > 0.0:
        findings.append(
            Finding(
                "warning",
                "stamp-jitter",
                f"log '{log.name}': time stamps say when rows were written, not when they were "
                f"measured. They are replaced by even ones, {1e3 * repair.moved_s:.3g} ms away "
                f"(rms); {closer}. Take the stamps of the controller",
                span_s=span,
                size=repair.moved_s,
                unit="s",
                option="--time-base as-stamped",
                corrected=True,
            )
        )
    if repair.rate != 1.0:
        findings.append(_rate_finding(log, clock, span))
    return tuple(findings)


def _rate_finding(log: Log, clock: Clock, span: tuple[float, float]) -> Finding:
    """The clock runs fast or slow beside the velocities, in the whole log or more and more."""
    repair = clock.repair
    drifts = repair.drift > abs(repair.rate - 1.0)
    rate = f"{100.0 * abs(repair.rate - 1.0):.3g} % {'slow' if repair.rate > 1.0 else 'fast'}"
    words = f"on average {rate}, changing by {100.0 * repair.drift:.3g} %" if drifts else rate
    return Finding(
        "warning",
        "time-drift" if drifts else "time-rate",
        f"log '{log.name}': by the measured velocities of all joints, the clock of the time stamps "
        f"runs {words}. Time is corrected; positions and velocities then agree "
        f"{repair.agrees:.3g} times better. Check the clock of the recorder",
        span_s=span,
        size=repair.drift if drifts else 1.0 / repair.rate,
        unit="share" if drifts else "times",
        could_be=("velocities in another unit",),
        option="--time-base as-stamped",
        corrected=True,
    )
