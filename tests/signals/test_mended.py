"""Faults that are planted in a clean log are mended: what is used is the clean log, or nothing."""

from __future__ import annotations

import numpy as np
import pytest
from sampled_arm import NAMES, TAU, TIME, Q, V, arm, changed, signals

from steelyard.logs.log import Log
from steelyard.signals.outliers import left_out
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.recorded.mended import Mended, mended, without_stuck
from steelyard.signals.recorded.recorded import Recorded

RNG = np.random.default_rng


def log_of(q: np.ndarray = Q, tau: np.ndarray = TAU, v: np.ndarray | None = None) -> Log:
    return Log.from_arrays(TIME, q, tau, v=v, joints=NAMES)


def mended_of(q: np.ndarray = Q, tau: np.ndarray = TAU) -> Mended:
    return mended(Recorded.of(log_of(q, tau), arm()))


def prepared_of(q: np.ndarray = Q, tau: np.ndarray = TAU) -> Prepared:
    return prepare(log_of(q, tau), arm())


def held(column: np.ndarray, every: int) -> np.ndarray:
    return column[np.arange(len(column)) // every * every]


@pytest.mark.parametrize("seed", range(6))
def test_a_clean_log_stays_as_it_is(seed: int) -> None:
    """Every value of it, with velocities and without."""
    q, v, tau = signals(seed)
    log = log_of(q, tau, v)
    found = mended(Recorded.of(log, arm()))
    assert all(np.array_equal(found.signals[key], log.signals[key]) for key in log.signals)
    assert (dict(found.stuck), dict(found.slips), found.held) == ({}, {}, ())


@pytest.mark.parametrize("size", [0.037, 0.3, 3.5])
@pytest.mark.parametrize("seed", range(4))
def test_slips_are_taken_back(size: float, seed: int) -> None:
    """Twenty of them, at any row: the position is that of the clean log within its noise."""
    rng = RNG(seed)
    rows = rng.choice(np.arange(1, len(TIME)), size=20, replace=False)
    steps = np.zeros(len(TIME))
    steps[rows] = size * rng.choice([-1.0, 1.0], size=20)
    slipped = changed(Q, "elbow", slice(None), Q[:, 2] + np.cumsum(steps))
    found = mended_of(q=slipped)
    away = found.signals["elbow", "position"] - Q[:, 2]
    assert np.nanmax(np.abs(away)) < 5e-4
    assert np.count_nonzero(np.isnan(away)) <= 20  # two slips that cancel are outliers


def test_slips_do_not_lower_the_cutoff() -> None:
    """Steps of a position have no place in the spectrum of a motion."""
    rows = RNG(1).choice(np.arange(1, len(TIME)), size=20, replace=False)
    steps = np.zeros(len(TIME))
    steps[rows] = 0.037
    slipped = prepared_of(q=changed(Q, "elbow", slice(None), Q[:, 2] + np.cumsum(steps)))
    clean = prepared_of()
    assert slipped.record.slips_taken_back == {"elbow": 20}
    assert slipped.record.cutoff_hz == pytest.approx(clean.record.cutoff_hz, rel=0.05)
    assert np.max(np.abs(slipped.motion.q - clean.motion.q)) < 1e-3


def test_a_signal_that_froze_for_a_moment_has_not_slipped() -> None:
    """It catches up with the motion: nothing is to be taken back."""
    fast = int(np.argmax(np.abs(V[1000:3000, 1]))) + 1000
    for n in (8, 20, 40):
        q = changed(Q, "shoulder", slice(fast, fast + n), Q[fast, 1])
        assert dict(mended_of(q=q).slips) == {}


@pytest.mark.parametrize("fault", ["frozen", "dead", "dead from the start", "clipped"])
def test_a_stuck_torque_is_left_out_alone(fault: str) -> None:
    """Other torques and the motion are those of the clean log, and so is what is left of it."""
    column = TAU[:, 1].copy()
    if fault == "clipped":
        column = np.clip(column, -6.0, 6.0)
        wrong = np.abs(TAU[:, 1]) >= 6.0
    else:
        rows = {"frozen": slice(1500, 2500), "dead": slice(2500, None)}.get(fault, slice(0, 1200))
        column[rows] = column[1500] if fault == "frozen" else 0.0
        wrong = np.zeros(len(column), bool)
        wrong[rows] = True
    clean, spoiled = prepared_of(), prepared_of(tau=changed(TAU, "shoulder", slice(None), column))
    assert spoiled.record.stuck["shoulder.torque"] == pytest.approx(wrong.sum(), abs=2)
    assert np.array_equal(spoiled.motion.q, clean.motion.q)
    tau, true = spoiled.all_measurements.tau, clean.all_measurements.tau
    assert np.array_equal(np.delete(tau, 1, axis=1), np.delete(true, 1, axis=1))
    used = np.isfinite(tau[:, 1])
    at = np.searchsorted(TIME, spoiled.motion.time - 1e-9)
    assert not np.any(used & wrong[at])
    assert np.mean(used) > 0.8 * (1.0 - np.mean(wrong)) - 0.1
    away = np.abs(tau - true)[used, 1]
    assert np.percentile(away, 95.0) < 0.02 * np.std(TAU[:, 1])


def test_a_torque_that_is_zero_throughout_is_not_used() -> None:
    """Unless there is no other: what is left of the log is all there is."""
    dead = prepared_of(tau=changed(TAU, "base", slice(None), 0.0)).all_measurements.tau
    assert np.all(np.isnan(dead[:, 0]))
    assert np.all(np.isfinite(dead[:, 1:]))
    kept, wrong = without_stuck(
        {("one", "torque"): np.zeros(9)}, {("one", "torque"): np.ones(9, bool)}
    )
    assert (list(kept), wrong) == ([("one", "torque")], {})


def test_the_log_is_cut_where_a_position_is_stuck() -> None:
    """Rows in which one position is not known are of no use to any joint."""
    spoiled = prepared_of(q=changed(Q, "base", slice(1500, 2500), Q[1500, 0]))
    assert spoiled.record.stuck == {"base.position": 1000}
    time = spoiled.motion.time
    assert not np.any((time > TIME[1500]) & (time < TIME[2499]))
    assert np.any(time < TIME[1500])
    assert np.any(time > TIME[2499])


@pytest.mark.parametrize("every", [5, 10, 25])
def test_held_positions_are_interpolated(every: int) -> None:
    """To a hundredth of the error that holding makes."""
    table = np.column_stack([held(column, every) for column in Q.T])
    found = mended_of(q=table)
    assert found.held == tuple((name, "position") for name in NAMES)
    away = (
        np.column_stack([found.signals[name, "position"] for name in NAMES])[:-every] - Q[:-every]
    )
    assert np.max(np.abs(away)) < 2e-4
    assert np.max(np.abs(away)) < 0.02 * np.max(np.abs(table - Q))


def test_held_torques_are_interpolated() -> None:
    """What the filter leaves of them is the clean torque, not one that is late."""
    table = np.column_stack([held(column, 10) for column in TAU.T])
    clean, spoiled = prepared_of(), prepared_of(tau=table)
    assert spoiled.record.interpolated_between_updates == tuple(f"{name}.torque" for name in NAMES)
    away = np.column_stack([mended_of(tau=table).signals[name, "torque"] for name in NAMES]) - TAU
    rate = np.gradient(np.column_stack([np.convolve(x, np.ones(25) / 25, "same") for x in TAU.T]),
                       TIME, axis=0)  # fmt: skip
    lag = -np.sum(away * rate, axis=0) / np.sum(rate**2, axis=0)
    lag_of_held = -np.sum((table - TAU) * rate, axis=0) / np.sum(rate**2, axis=0)
    assert np.all(lag_of_held > 5e-3)
    assert np.all(np.abs(lag) < 2e-3)
    assert np.all(np.std(away, axis=0) < np.std(table - TAU, axis=0))
    assert clean.record.interpolated_between_updates == ()


def test_outliers_far_away_are_not_taken_for_whole_turns() -> None:
    """Of positions that are 200 to 300 rad off for a sample, every third is near a whole turn."""
    time = np.arange(0.0, 10.0, 0.01)
    angle = np.sin(time)
    rng = np.random.default_rng(8)
    rows = 50 + 90 * np.arange(10)
    for _ in range(20):
        q = angle.copy()
        q[rows] = rng.uniform(200.0, 300.0, len(rows))
        kept, masks = left_out(time, {("a", "position"): q}, {"a"})
        assert np.flatnonzero(masks["a", "position"]).tolist() == rows.tolist()
        np.testing.assert_array_equal(np.isnan(kept["a", "position"]), masks["a", "position"])
    wrapped = np.mod(40.0 * angle, 2.0 * np.pi)
    assert left_out(time, {("a", "position"): wrapped}, {"a"})[1] == {}
