"""Logs that are not held in memory: prepared, estimated and validated part by part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_arm import arm_log, true_theta, write_arm

from steelyard.diagnosis.checked_log import check_log
from steelyard.findings import Finding, said_once
from steelyard.identification.identify import identify
from steelyard.logs import stored_log
from steelyard.logs.description import LogDescription
from steelyard.logs.log import Log
from steelyard.logs.stored_log import StoredLog, stored
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals import long_run
from steelyard.signals.long_run import LongRun
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

FIXED = Processing(cutoff_hz=8.0, torque_filter="same", torque_delay=None, dead_band=0.05)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 300 rows, and windows of about 100."""
    monkeypatch.setattr(long_run, "PART_VALUES", 1500)
    monkeypatch.setattr(stored_log, "BLOCK_ROWS", 256)
    monkeypatch.setattr(stored_log, "SELECTED_VALUES", 5 * 1000)


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """The arm of the logs."""
    return Robot.from_urdf(write_arm(tmp_path_factory.mktemp("arm")))


@pytest.fixture(scope="module")
def whole(robot: Robot) -> Log:
    """Forty seconds at 100 Hz: one motion that repeats, with fresh noise."""
    period = arm_log(robot, 1, noise=0.05)
    rng = np.random.default_rng(2)
    time = np.arange(4000) / 100.0
    rows = np.arange(4000) % 1000
    signals = {
        key: values[rows] + (0.05 if key[1] == "torque" else 1e-5) * rng.normal(size=4000)
        for key, values in period.signals.items()
        if key[1] in ("position", "torque")
    }
    return Log(time, signals, "run")


def long(log: Log) -> StoredLog:
    """The same log, not held in memory."""
    return stored(iter([LogDescription(log.time, log.signals, log.name, None, log.units)]))


def samples(run: LongRun) -> dict[str, np.ndarray]:
    """The samples of all parts."""
    parts = [part.prepared for part in run.parts()]
    return {
        "time": np.concatenate([one.motion.time for one in parts]),
        "q": np.concatenate([one.motion.q for one in parts]),
        "a": np.concatenate([one.motion.a for one in parts]),
        "tau": np.concatenate([one.measurements.tau for one in parts]),
    }


@pytest.mark.parametrize("values", [700, 1500, 4000])
def test_samples_do_not_depend_on_the_parts(
    robot: Robot, whole: Log, monkeypatch: pytest.MonkeyPatch, values: int
) -> None:
    """The parts have the samples of the whole log, each once, and its record."""
    monkeypatch.setattr(long_run, "PART_VALUES", values)
    model = Model(robot)
    run = LongRun(long(whole), model, FIXED)
    found, of_all = samples(run), prepare(whole, model, FIXED)
    np.testing.assert_allclose(found["time"], of_all.motion.time, atol=1e-9)
    np.testing.assert_allclose(found["q"], of_all.motion.q, atol=1e-7)
    np.testing.assert_allclose(found["a"], of_all.motion.a, atol=1e-4 * abs(of_all.motion.a).max())
    np.testing.assert_allclose(found["tau"], of_all.measurements.tau, atol=1e-4)
    ours, theirs = run.record(), of_all.record
    for name in ("samples_in", "samples_out", "duration_s", "content_sha256", "dead_band"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.torque_samples_missing == theirs.torque_samples_missing
    assert ours.time is not None
    assert theirs.time is not None
    assert (ours.time.starts_s, ours.time.ends_s) == (theirs.time.starts_s, theirs.time.ends_s)


def test_faults_are_mended_and_counted_once(robot: Robot, whole: Log) -> None:
    """A spike, a slip of an encoder, missing samples and a hole, as in the whole log."""
    signals = {key: values.copy() for key, values in whole.signals.items()}
    signals["elbow", "position"][1650:] += 0.3
    signals["shoulder", "torque"][2400] = 400.0
    signals["elbow", "torque"][1190:1193] = np.nan
    keep = np.r_[0:3000, 3090:4000]
    log = Log(whole.time[keep], {key: one[keep] for key, one in signals.items()}, "run")
    model = Model(robot)
    run = LongRun(long(log), model, FIXED)
    found, of_all = samples(run), prepare(log, model, FIXED)
    ours, theirs = run.record(), of_all.record
    for name in ("outliers", "slips_taken_back", "samples_bridged", "stuck"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.outliers
    assert ours.slips_taken_back
    assert ours.samples_bridged
    np.testing.assert_allclose(found["time"], of_all.motion.time, atol=1e-9)
    np.testing.assert_allclose(found["q"], of_all.motion.q, atol=1e-6)
    assert ours.time is not None
    assert theirs.time is not None
    np.testing.assert_allclose(ours.time.starts_s, theirs.time.starts_s)
    codes = [one.code for one in run.findings]
    assert codes.count("outliers") == 1
    assert codes.count("log-cut") == 1
    told = [one.code for one in check_log(long(log), robot, FIXED).findings]
    assert told.count("slips") == 1
    assert told.count("outliers") == 1


def test_a_slow_rest_is_left_out_by_the_speed_of_the_whole_log(robot: Robot, whole: Log) -> None:
    """Parts in which the robot rests have no torques to use; their own speed would be the noise."""
    rest = slice(1000, 2000)
    signals = {key: values.copy() for key, values in whole.signals.items()}
    for joint in robot.joint_names:
        noise = signals[joint, "position"][rest] - signals[joint, "position"][rest].mean()
        signals[joint, "position"][rest] = signals[joint, "position"][999] + 1e-6 * noise
    run = LongRun(
        long(Log(whole.time, signals, "run")), Model(robot), replace(FIXED, dead_band="rest")
    )
    found = samples(run)
    inside = (found["time"] > 11.0) & (found["time"] < 19.0)
    assert inside.any()
    assert np.isnan(found["tau"][inside]).all()
    assert np.isfinite(found["tau"][~inside]).mean() > 0.8


def test_the_estimate_is_that_of_the_log_in_memory(robot: Robot, whole: Log) -> None:
    """Parameters, held-out errors and noise agree; processing and widths are given."""
    test = arm_log(robot, 7, name="test")
    given = {"processing": FIXED, "friction_width": 0.0, "method": "wls", "certify": False}
    in_memory = identify(robot, whole, validate_on=test, **given)
    in_parts = identify(robot, long(whole), validate_on=long(test), **given)
    np.testing.assert_allclose(
        in_parts.estimate.beta, in_memory.estimate.beta, rtol=1e-4, atol=1e-5
    )
    assert in_parts.estimate.log_hashes == in_memory.estimate.log_hashes
    ours, theirs = in_parts.validation, in_memory.validation
    assert ours is not None
    assert theirs is not None
    for name in ("prediction", "prior", "zero", "file_with_terms"):
        a, b = getattr(ours.overall, name), getattr(theirs.overall, name)
        if b is None:
            assert a is None
            continue
        assert a.n_rows == pytest.approx(b.n_rows, rel=0.02)
        assert a.relative_error == pytest.approx(b.relative_error, rel=0.02)
        for one, other in zip(a.channels, b.channels, strict=True):
            assert one.fit_percent == pytest.approx(other.fit_percent, abs=0.3)


def test_a_motion_that_repeats_is_identified_by_default(robot: Robot, whole: Log) -> None:
    """With all defaults, as near to the true parameters as from the log in memory."""
    steps: list[tuple[str, int, int]] = []
    found = identify(robot, long(whole), ranges=False, progress=lambda *step: steps.append(step))
    in_memory = identify(robot, whole, ranges=False)
    truth = found.estimate.base.K @ true_theta(found.model)
    ours, theirs = (float(np.linalg.norm(one.estimate.beta - truth)) for one in (found, in_memory))
    assert ours < 1.1 * theirs < 0.3
    told = [(done, total) for what, done, total in steps if what == "compression" and done]
    assert told == [(k, len(told)) for k in range(1, len(told) + 1)]
    assert len(told) > 10


def test_check_says_what_is_wrong_throughout(robot: Robot, whole: Log) -> None:
    """Two torques that are exchanged are named as in the log that is held in memory."""
    first, second = robot.joint_names
    signals = dict(whole.signals)
    signals[first, "torque"], signals[second, "torque"] = (
        signals[second, "torque"],
        signals[first, "torque"],
    )
    log = Log(whole.time, signals, "run")
    ours, theirs = check_log(long(log), robot), check_log(log, robot)
    assert (ours.n_samples, ours.duration_s) == (theirs.n_samples, theirs.duration_s)
    assert {one.code for one in ours.findings if one.alarming} == {
        one.code for one in theirs.findings if one.alarming
    }


def test_a_finding_of_some_parts_is_said_once() -> None:
    """With where it is; what is severe in few parts only does not make the log useless."""
    one = Finding("severe", "dead", "joint 'a' is dead", ("a",), size=2.0, unit="rows")
    parts = [((float(k), k + 1.0), [one] if k in (3, 7) else []) for k in range(9)]
    (found,) = said_once(parts)
    assert (found.level, found.size, found.span_s) == ("warning", 4.0, (3.0, 8.0))
    assert "in 2 of 9 parts" in found.words
    assert "from 3 to 4 s" in found.words
    (found,) = said_once([((0.0, 1.0), [one]), ((1.0, 2.0), [one])])
    assert (found.level, found.words) == ("severe", one.words)
