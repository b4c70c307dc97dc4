"""Faults of time stamps, and of the alignment of torque with motion.

Each function is a fault as `fault_codes` defines it; ``KINDS`` gives them their sizes and says what
the user did.
"""

from __future__ import annotations

import numpy as np
from fault_codes import FaultKind, Given, given, late, one_joint, rows_of, with_column
from fault_recordings import Recording

WRITE_S = 2e-4
"""Time between two rows that are written in one burst."""
GLUED = 3
"""Gaps that are glued in one log."""


def torque_late(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All torques are ``size`` seconds late."""
    return given(clean, tau=late(clean.tau, rows_of(clean, size)))


def torque_late_of_one(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The torque of one joint is ``size`` seconds late."""
    joint = one_joint(clean, rng)
    shifted = late(clean.tau, rows_of(clean, size))[:, joint]
    return given(clean, tau=with_column(clean.tau, joint, shifted))


def position_late(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All positions are ``size`` seconds late."""
    return given(clean, q=late(clean.q, rows_of(clean, size)))


def torque_filtered(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All torques went through a first-order low-pass with a cutoff of ``size`` Hz."""
    from scipy.signal import lfilter

    keep = np.exp(-2.0 * np.pi * size / clean.rate_hz)
    start = keep * clean.tau[:1]
    return given(clean, tau=lfilter([1.0 - keep], [1.0, -keep], clean.tau, axis=0, zi=start)[0])


def torque_started_later(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The recorder of torques was started ``size`` seconds after that of positions."""
    n = rows_of(clean, size)
    return given(clean, time=clean.time[:-n], q=clean.q[:-n], tau=clean.tau[n:])


def clock_drift(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The clock of the torques is fast by a share ``size``: tau(t (1 + size)) is stamped t."""
    at = clean.time * (1.0 + size)
    n = int(np.searchsorted(at, clean.time[-1], side="right"))
    columns = [np.interp(at[:n], clean.time, column) for column in clean.tau.T]
    return given(clean, time=clean.time[:n], q=clean.q[:n], tau=np.column_stack(columns))


def stamps_jittered(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Even samples are stamped with errors of ``size`` seconds (rms), sorted."""
    stamps = np.sort(clean.time + size * rng.normal(size=len(clean.time)))
    return given(clean, time=stamps)


def stamps_in_bursts(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Even samples are stamped when ``size`` rows at a time are written."""
    n = int(size)
    row = np.arange(len(clean.time))
    written = clean.time[0] + ((row // n) * n + n - 1) / clean.rate_hz
    return given(clean, time=written + (row % n) * WRITE_S)


def gap_glued(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Three pieces of ``size`` seconds are cut out, and time is counted on without them."""
    n = rows_of(clean, size)
    keep = np.ones(len(clean.time), dtype=bool)
    for k in range(GLUED):
        first, last = k * len(keep) // GLUED, (k + 1) * len(keep) // GLUED - n
        start = int(rng.integers(first + n // 2 + 1, last))
        keep[start : start + n] = False
    return kept_rows(clean, keep)


def rows_dropped(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """A share ``size`` of single rows is missing, and time is counted on without them."""
    return kept_rows(clean, rng.random(len(clean.time)) >= size)


def kept_rows(clean: Recording, keep: np.ndarray) -> Given:
    """Some rows of the log, with even time stamps."""
    return given(
        clean, time=clean.time[: np.count_nonzero(keep)], q=clean.q[keep], tau=clean.tau[keep]
    )


def time_scaled(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Time stamps multiplied by ``size``."""
    return given(clean, time=size * clean.time)


def time_mixed(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """From the middle on, time stamps are in a unit of which ``size`` are a second."""
    row = np.arange(len(clean.time))
    return given(clean, time=np.where(row < len(row) // 2, clean.time, size * clean.time))


def sorted_as_text(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Rows in the alphabetical order of their time stamps: 1, 10, 11, ..., 2, 3."""
    order = np.argsort([f"{stamp:g}" for stamp in clean.time], kind="stable")
    return given(clean, time=clean.time[order], q=clean.q[order], tau=clean.tau[order])


KINDS = (
    FaultKind(
        "torque-late",
        "Recorded torques that arrive later than positions, over another bus or topic.",
        ("delay",),
        torque_late,
        (0.002, 0.008, 0.02),
        "s",
    ),
    FaultKind(
        "torque-late-of-one",
        "Read one drive in another cycle than the others.",
        ("delay",),
        torque_late_of_one,
        (0.008, 0.02, 0.04),
        "s",
    ),
    FaultKind(
        "position-late",
        "Recorded positions that arrive later than torques.",
        ("delay",),
        position_late,
        (0.008, 0.02),
        "s",
    ),
    FaultKind(
        "torque-filtered",
        "Recorded torques behind the drive's slow display filter.",
        ("torque-filtered", "delay"),
        torque_filtered,
        (8.0, 2.0),
        "Hz",
    ),
    FaultKind(
        "torque-started-later",
        "Put together two recordings that were started by hand, as if at once.",
        ("unrelated-torque", "delay"),
        torque_started_later,
        (0.5, 3.7),
        "s",
    ),
    FaultKind(
        "clock-drift",
        "Put together recordings of two computers whose clocks differ in rate.",
        ("clock-drift",),
        clock_drift,
        (0.001, 0.005),
        "share",
    ),
    FaultKind(
        "stamps-jittered",
        "Stamped rows on a busy computer when they arrived.",
        ("stamp-jitter",),
        stamps_jittered,
        (0.001, 0.004),
        "s",
    ),
    FaultKind(
        "stamps-in-bursts",
        "Stamped rows when a buffer of them was written.",
        ("stamp-jitter",),
        stamps_in_bursts,
        (10.0, 25.0),
        "rows",
    ),
    FaultKind(
        "gap-glued",
        "Cut pieces out of a log and counted the time on, or joined runs into one.",
        ("glued-gap",),
        gap_glued,
        (0.2, 1.0),
        "s",
    ),
    FaultKind(
        "rows-dropped",
        "Lost rows, and made the time stamps from the number of the row.",
        ("dropped-rows", "glued-gap"),
        rows_dropped,
        (0.02, 0.1),
        "share of rows",
    ),
    FaultKind(
        "time-in-ms",
        "Recorded time in milliseconds (or microseconds) without saying so.",
        ("time-unit",),
        time_scaled,
        (1e3, 1e6),
        "times",
    ),
    FaultKind(
        "time-in-ns",
        "Recorded time in nanoseconds without saying so, as ROS does.",
        ("time-unit",),
        time_scaled,
        (1e9,),
        "times",
    ),
    FaultKind(
        "time-mixed",
        "Joined a log in seconds and one in milliseconds.",
        ("time-unit",),
        time_mixed,
        (1e3,),
        "times from the middle on",
    ),
    FaultKind(
        "wrong-rate",
        "Made time stamps from a sampling rate that was not the true one.",
        ("time-rate", "time-unit"),
        time_scaled,
        (2.0, 0.5),
        "times",
    ),
    FaultKind(
        "sorted-as-text",
        "Sorted the rows of a table as text.",
        ("time-order",),
        sorted_as_text,
        refusal=("backwards",),
    ),
)
