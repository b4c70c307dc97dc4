"""What is refused names the option of the command line that helps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from moving_frames import full_log, moving_frame

from steelyard.errors import SteelyardError
from steelyard.logs.log import Log
from steelyard.signals.prepared_frame import prepare_frame


def recorded(n: int = 400) -> Log:
    return full_log(moving_frame(np.random.default_rng(0), np.arange(n) * 0.02))


def only(log: Log, frame: str, *quantities: str) -> Log:
    """A log with these quantities under another frame's name, and the wrench of the tool."""
    kept = {("tool", one): log.frame_signals["tool", one] for one in ("force", "torque")}
    kept |= {(frame, one): log.frame_signals["tool", one] for one in quantities}
    return replace(log, frame_signals=kept)


def test_an_imu_is_offered_where_there_is_no_pose():
    """By the name of its frame, if that is another."""
    parts = ("proper_acceleration", "angular_velocity")
    with pytest.raises(SteelyardError, match=r"has an IMU: --kinematics imu \(source='imu'"):
        prepare_frame(only(recorded(), "tool", *parts), None, "tool", source="pose")
    other = only(recorded(), "data", *parts)
    with pytest.raises(SteelyardError, match="--kinematics imu --motion-columns data"):
        prepare_frame(other, None, "tool", source="pose")
    with pytest.raises(SteelyardError, match=r"frames that have one: data .*--motion-columns data"):
        prepare_frame(other, None, "tool", source="imu")
    with pytest.raises(SteelyardError) as without:
        prepare_frame(only(recorded(), "tool"), None, "tool", source="pose")
    assert "IMU" not in str(without.value)


def test_a_short_table_may_be_one_of_poses_at_rest():
    with pytest.raises(SteelyardError, match=r"20 samples are too few.*--at-rest"):
        prepare_frame(recorded(20), None, "tool", source="pose")


def test_the_order_of_quaternions_is_an_option():
    with pytest.raises(SteelyardError, match="state --quaternion x-first"):
        prepare_frame(recorded(), None, "tool", source="pose", quaternion_order="w-first")
