"""Late torques are read at the moments at which they acted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_arm import URDF, arm_log

from steelyard.errors import SignalError
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import RunRecord
from steelyard.signals.torque_delay import read_at

RATE_HZ = 100.0


def sines(time: np.ndarray) -> np.ndarray:
    """A signal that is known at every time."""
    return np.sin(2.0 * np.pi * 0.7 * time) + 0.3 * np.cos(2.0 * np.pi * 2.9 * time)


@pytest.mark.parametrize("delay", [0.0137, -0.0042, 0.03])
def test_a_signal_is_read_between_its_samples(delay: float) -> None:
    """The truth is the closed form; where nothing was recorded there is NaN."""
    time = np.arange(0.0, 4.0, 1.0 / RATE_HZ)
    got = read_at(time, sines(time - delay), time + delay, 0.05)
    inside = (time + delay >= -1e-9) & (time + delay <= time[-1] + 1e-9)
    np.testing.assert_array_equal(np.isfinite(got), inside)
    np.testing.assert_allclose(got[inside][5:-5], sines(time[inside][5:-5]), atol=2e-4)


def test_samples_beside_missing_ones_are_missing() -> None:
    """A whole number of samples moves the hole; half a sample widens it by one."""
    time = np.arange(0.0, 2.0, 1.0 / RATE_HZ)
    values = sines(time)
    values[100:103] = np.nan
    for samples, lost in ((4.0, [96, 97, 98]), (4.5, [95, 96, 97, 98])):
        got = read_at(time, values, time + samples / RATE_HZ, 0.05)
        assert np.flatnonzero(np.isnan(got[:190])).tolist() == lost


def test_nothing_is_read_in_a_hole_of_the_recording() -> None:
    """Stamps that are a second apart."""
    time = np.arange(0.0, 4.0, 1.0 / RATE_HZ)
    time = time[(time < 1.0) | (time > 2.0)]
    got = read_at(time, sines(time), time + 0.05, 0.05)
    assert np.flatnonzero(np.isnan(got)).tolist() == [95, 96, 97, 98, 99, *range(294, 299)]


@pytest.mark.parametrize("given", [0.05, {"elbow": 0.05}])
def test_prepared_torques_are_those_of_a_log_without_delay(given) -> None:
    """By five samples, of all joints or of one."""
    robot = Robot.from_urdf_text(URDF)
    log = arm_log(robot, 1)
    late = dict(log.signals)
    joints = robot.joint_names if given == 0.05 else ("elbow",)
    for joint in joints:
        tau = log.signals[joint, "torque"]
        late[joint, "torque"] = np.concatenate([np.repeat(tau[:1], 5), tau[:-5]])
    asked = Processing(cutoff_hz=15.0, dead_band=None)
    truth = prepare(log, robot, asked)
    got = prepare(replace(log, signals=late), robot, replace(asked, torque_delay=given))
    n = len(got.motion)
    assert n == len(truth.motion) - 5
    np.testing.assert_allclose(got.measurements.tau, truth.measurements.tau[:n], atol=1e-9)
    back = RunRecord.from_json(got.record.as_json(), "file", SignalError)
    assert back.processing_as_used.torque_delay == given


def test_delays_of_unknown_joints_and_no_seconds_are_refused() -> None:
    """With the names that there are."""
    robot = Robot.from_urdf_text(URDF)
    with pytest.raises(SignalError, match=r"torque_delay names wrist.*shoulder, elbow"):
        prepare(arm_log(robot, 1), robot, Processing(torque_delay={"wrist": 0.01}))
    for wrong in (True, "late", 30.0, float("nan"), {"elbow": "late"}):
        with pytest.raises(SignalError, match="torque_delay"):
            Processing(torque_delay=wrong)
