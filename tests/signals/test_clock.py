"""Stamps that contradict the signals are repaired, and stamps that do not are left as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sampled_arm import NAMES, RATE_HZ, STEP, TIME, arm, signals

from steelyard.diagnosis.inspection import inspect_log
from steelyard.logs.log import Log
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.signals.recorded.clock import clock_of
from steelyard.signals.run_record import TimeRepair

PERIOD = 1.0 / RATE_HZ
ROW = np.arange(len(TIME))


def log_of(
    seed: int, time: np.ndarray = TIME, rows: np.ndarray = ROW, *, velocity: bool = False
) -> Log:
    """Some rows of a clean log, with these stamps."""
    q, v, tau = signals(seed)
    measured = v[rows] if velocity else None
    return Log.from_arrays(time, q[rows], tau[rows], v=measured, joints=NAMES)


def repaired_time(log: Log) -> np.ndarray:
    """The times of its samples after the repair."""
    clock = clock_of(log, arm())
    assert clock is not None
    return clock.time


def away(time: np.ndarray, true: np.ndarray) -> float:
    """How far times are from the true ones (s, rms), but for a constant."""
    return float(np.std(time - true))


def codes(log: Log) -> dict[str, bool]:
    """Findings of the inspection, and whether what they name was corrected."""
    return {one.code: one.corrected for one in inspect_log(log, arm()).findings}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("velocity", [False, True])
def test_right_stamps_are_left_alone(seed: int, velocity: bool) -> None:
    """Even ones, ones of uneven sampling, slightly wrong ones, rounded ones, and with holes."""
    rng = np.random.default_rng(seed)
    q, v, _ = signals(seed)
    assert clock_of(log_of(seed, velocity=velocity), arm()) is None
    small = np.sort(TIME + 0.03 * PERIOD * rng.normal(size=len(TIME)))
    assert clock_of(log_of(seed, small, velocity=velocity), arm()) is None
    assert clock_of(log_of(seed, np.round(TIME * 1e3) / 1e3, velocity=velocity), arm()) is None
    keep = np.flatnonzero(rng.random(len(TIME)) > 0.02)
    keep = keep[(keep < 900) | (keep > 1700)]
    assert clock_of(log_of(seed, TIME[keep], keep, velocity=velocity), arm()) is None
    taken = np.sort(TIME + 0.2 * PERIOD * rng.normal(size=len(TIME)))
    taken = taken[np.concatenate([[True], np.diff(taken) > 0.0])]
    uneven = [np.column_stack([np.interp(taken, TIME, x) for x in one.T]) for one in (q, v)]
    signal = np.round(uneven[0] / STEP) * STEP
    log = Log.from_arrays(taken, signal, signal, v=uneven[1] if velocity else None, joints=NAMES)
    assert clock_of(log, arm()) is None


@pytest.mark.parametrize("seed", range(4))
def test_stamps_of_when_rows_were_written(seed: int) -> None:
    """Jitter, bursts and coarse rounding, with ties: times are those of even sampling."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    step = float(rng.uniform(0.4, 3.0)) * PERIOD
    written = {
        "jitter": np.sort(TIME + rng.uniform(0.2, 2.0) * PERIOD * rng.normal(size=len(TIME))),
        "bursts": (ROW // n * n + n - 1) * PERIOD + ROW % n * 0.1 * PERIOD,
        "rounded": np.floor(TIME / step) * step,
    }
    for name, stamps in written.items():
        log = log_of(seed, stamps)
        assert away(repaired_time(log), TIME) < 0.1 * PERIOD, name
        assert codes(log) == {"stamp-jitter": True}, name


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_repeat(seed: int) -> None:
    """Where a message was lost, what is between is interpolated; of a recorder that is faster than
    the robot, and of rows that were written twice, samples are even.
    """
    rng = np.random.default_rng(seed)
    share = float(rng.uniform(0.01, 0.05))
    lost = rng.random(len(TIME)) < share
    lost[0] = False
    held = np.maximum.accumulate(np.where(lost, 0, ROW))
    clock = clock_of(log_of(seed, rows=held), arm())
    assert clock is not None
    assert (clock.dropped, clock.repair.repeated_rows) == (False, np.count_nonzero(lost))
    mended = clock.applied(log_of(seed, rows=held))
    clean = log_of(seed).signal("base", "position")
    assert np.max(np.abs(mended.signal("base", "position") - clean)) < 5.0 * STEP

    in_turn = np.floor(ROW / (1.0 + share)).astype(int)
    times = repaired_time(log_of(seed, rows=in_turn))
    assert np.mean(np.diff(times)) == pytest.approx(PERIOD * (1.0 + share), rel=1e-3)
    assert np.ptp(np.diff(times)) < 0.1 * PERIOD

    twice = np.sort(np.concatenate([ROW, rng.choice(ROW, 80, replace=False)]))
    doubled = log_of(seed, PERIOD * np.arange(len(twice)), twice)
    assert away(repaired_time(doubled), TIME) < 0.1 * PERIOD
    assert codes(doubled) == {"held-samples": True, "stamp-jitter": True}


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_are_missing_are_counted(seed: int) -> None:
    """By the positions, whether stamps are even or say when rows were written."""
    rng = np.random.default_rng(seed)
    keep = np.flatnonzero(rng.random(len(TIME)) > rng.uniform(0.01, 0.05))
    counted = log_of(seed, TIME[: len(keep)], keep)
    assert away(repaired_time(counted), TIME[keep]) < 2.0 * PERIOD
    assert codes(counted) == {"dropped-rows": True}
    written = np.sort(TIME[keep] + 0.5 * PERIOD * rng.normal(size=len(keep)))
    assert away(repaired_time(log_of(seed, written, keep)), TIME[keep]) < 0.3 * PERIOD


@pytest.mark.parametrize("seed", range(4))
def test_a_clock_that_is_fast_or_drifts_shows_beside_velocities(seed: int) -> None:
    """By less than a tenth it is corrected, where velocities are measured and nowhere else."""
    rng = np.random.default_rng(seed)
    factor = 1.0 + float(rng.choice([-1.0, 1.0]) * rng.uniform(0.006, 0.05))
    fast = log_of(seed, factor * TIME, velocity=True)
    assert repaired_time(fast)[-1] == pytest.approx(TIME[-1], rel=5e-4)
    (finding,) = inspect_log(fast, arm()).findings
    assert (finding.code, finding.corrected) == ("time-rate", True)
    assert finding.size == pytest.approx(factor, rel=1e-3)
    assert clock_of(log_of(seed, factor * TIME), arm()) is None
    rates = 1.0 + 0.04 * np.sin(np.linspace(0.0, rng.uniform(2.0, 5.0), len(TIME) - 1))
    drifting = np.concatenate([[0.0], np.cumsum(rates * PERIOD)])
    log = log_of(seed, drifting, velocity=True)
    before, after = away(drifting, TIME), away(repaired_time(log), TIME)
    assert after < 0.1 * before
    assert set(codes(log)) <= {"time-drift", "time-rate"}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("every", [1, 4])
def test_a_clock_whose_rate_turns_is_followed(seed: int, every: int) -> None:
    """Up and down by 2.5 % in the log, from many rows or a quarter of them, with velocities of
    which one is late and one has an offset: the rate is right within 0.02 % (rms).
    """
    rng = np.random.default_rng(seed)
    rows = ROW[::every]
    turn = np.linspace(0.0, 2.0 * np.pi, len(rows) - 1) + rng.uniform(0.0, 6.0)
    drifting = np.concatenate([[0.0], np.cumsum(np.diff(TIME[rows]) * (1 + 0.025 * np.sin(turn)))])
    q, v, tau = (one[rows] for one in signals(seed))
    v[:, 0] += 0.01
    v[:, 1] -= 0.3 * every * PERIOD * np.gradient(v[:, 1], TIME[rows])
    clock = clock_of(Log.from_arrays(drifting, q, tau, v=v, joints=NAMES), arm())
    assert clock is not None
    left = np.diff(clock.time) / np.diff(TIME[rows]) - 1.0
    assert np.sqrt(np.mean(left**2)) < 2e-4


def test_a_filtered_velocity_is_no_wrong_clock() -> None:
    """A drive's filter delays velocities and makes them smaller, of all joints alike."""
    from scipy.signal import lfilter

    q, v, tau = signals(3)
    for cutoff_hz in (5.0, 10.0, 30.0):
        keep = np.exp(-2.0 * np.pi * cutoff_hz / RATE_HZ)
        slow = lfilter([1.0 - keep], [1.0, -keep], v, axis=0, zi=keep * v[:1])[0]
        assert clock_of(Log.from_arrays(TIME, q, tau, v=slow, joints=NAMES), arm()) is None


def test_the_record_says_what_was_repaired_and_an_option_leaves_it() -> None:
    """Samples are counted as recorded; as stamped, nothing is repaired."""
    rng = np.random.default_rng(1)
    log = log_of(1, np.sort(TIME + 0.5 * PERIOD * rng.normal(size=len(TIME))))
    record = prepare(log, arm()).record
    assert record.samples_in == len(TIME)
    assert record.time_repair.moved_s == pytest.approx(0.5 * PERIOD, rel=0.2)
    assert record.time_repair.closer > 10.0
    again = type(record).from_json(record.as_json(), "file", ValueError)
    assert again.time_repair == record.time_repair
    left = prepare(log, arm(), Processing(time_base="as-stamped")).record
    assert left.time_repair == TimeRepair()
    stamped = inspect_log(log, arm(), as_stamped=True).findings
    assert [(one.code, one.corrected) for one in stamped] == [("stamp-jitter", False)]


def test_masks_of_the_inspection_are_those_of_the_given_rows() -> None:
    """An outlier in a log of which repeated rows are left out."""
    rows = np.sort(np.concatenate([ROW, ROW[::40]]))
    log = log_of(2, PERIOD * np.arange(len(rows)), rows)
    q = log.signal("elbow", "position").copy()
    q[2000] += 1.0
    spoiled = replace(log, signals=dict(log.signals) | {("elbow", "position"): q})
    mask = inspect_log(spoiled, arm()).left_out["elbow", "position"]
    assert len(mask) == len(rows)
    assert list(np.flatnonzero(mask)) == [2000]
