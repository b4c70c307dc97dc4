"""q0 to q3: joints, or a quaternion beside a position."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.logs.log import Log

NUMBERED = ("q0", "q1", "q2", "q3")


def log_of(*names: str) -> Log:
    table = {name: np.full(5, float(k)) for k, name in enumerate(names)}
    return Log.from_frame({"time": np.arange(5.0), **table})


@pytest.mark.parametrize("place", [("x", "y", "z"), ("px", "py", "pz")])
def test_beside_a_position_they_are_a_quaternion(place):
    """In the order of their numbers."""
    log = log_of(*place, *NUMBERED)
    assert not log.joints
    np.testing.assert_array_equal(log.frame_signals["", "quaternion"][0], [3.0, 4.0, 5.0, 6.0])
    np.testing.assert_array_equal(log.frame_signals["", "position"][0], [0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    "others",
    [(), ("fx", "fy", "fz", "tx", "ty", "tz"), ("x", "y", "z", "tau0"), ("x", "y", "z", "q4")],
)
def test_otherwise_they_are_joints(others):
    log = log_of(*NUMBERED, *others)
    assert len(log.joints) >= 4
    assert ("", "quaternion") not in log.frame_signals
