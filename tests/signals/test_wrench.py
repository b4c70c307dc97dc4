"""Wrenches from logs: axes, sign, time base."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from steelyard.errors import LogError, SignalError
from steelyard.logs.log import Log
from steelyard.signals.wrench import wrench_from_log


def log_of(force: np.ndarray, torque: np.ndarray, frame: str = "", rate: float = 100.0) -> Log:
    time = np.arange(len(force)) / rate
    return Log(time, {}, frame_signals={(frame, "force"): force, (frame, "torque"): torque})


@pytest.fixture
def both() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(20, 6))


def test_a_wrench_in_the_axes_of_the_sensor_is_taken_as_it_is(both):
    """Also from columns that do not name the frame, and with the other sign where it is stated."""
    log = log_of(both[:, :3], both[:, 3:])
    wrench = wrench_from_log(log, "wrist")
    np.testing.assert_array_equal(wrench.force, both[:, :3])
    np.testing.assert_array_equal(wrench.torque, both[:, 3:])
    turned = wrench_from_log(log, "wrist", sign="by-body")
    np.testing.assert_array_equal(turned.force, -both[:, :3])
    assert wrench.frame == "wrist"


def test_a_wrench_in_the_axes_of_the_base_is_turned_into_the_frame(both):
    """R maps vectors of the frame to those of the base; SciPy turns them back."""
    turns = Rotation.random(20, random_state=1)
    log = log_of(turns.apply(both[:, :3]), turns.apply(both[:, 3:]))
    wrench = wrench_from_log(log, "wrist", axes="base", R=turns.as_matrix())
    np.testing.assert_allclose(wrench.force, both[:, :3], atol=1e-12)
    np.testing.assert_allclose(wrench.torque, both[:, 3:], atol=1e-12)


def test_a_wrench_in_the_axes_of_the_base_needs_the_orientation(both):
    """At each sample."""
    log = log_of(both[:, :3], both[:, 3:])
    with pytest.raises(SignalError, match="axes of the base; the orientation of the frame is need"):
        wrench_from_log(log, "wrist", axes="base")
    with pytest.raises(SignalError, match="each of the 20 samples"):
        wrench_from_log(log, "wrist", axes="base", R=np.eye(3)[None])


def test_wrenches_are_interpolated_onto_other_times(both):
    """Linear signals come out exactly; nothing is extrapolated."""
    slope = np.arange(20.0)[:, None] * np.arange(1.0, 7.0)
    log = log_of(slope[:, :3], slope[:, 3:])
    at = np.array([-0.01, 0.0, 0.0125, 0.1, 0.19, 0.2])
    wrench = wrench_from_log(log, "wrist", at)
    inside = np.array([False, True, True, True, True, False])
    np.testing.assert_array_equal(np.isfinite(wrench.force).all(axis=1), inside)
    np.testing.assert_allclose(wrench.force[inside], 100.0 * at[inside, None] * [1, 2, 3])
    np.testing.assert_allclose(wrench.torque[inside], 100.0 * at[inside, None] * [4, 5, 6])


def test_gaps_of_the_sensor_are_missing(both):
    """One lost sample is bridged; five are not, and a sample counts only with all components."""
    both[5, 1] = np.nan
    both[10:15, 4] = np.inf
    log = log_of(both[:, :3], both[:, 3:])
    own = wrench_from_log(log, "wrist")
    assert np.flatnonzero(np.isnan(own.force[:, 0])).tolist() == [5, 10, 11, 12, 13, 14]
    assert np.array_equal(np.isnan(own.force), np.isnan(own.torque))
    between = wrench_from_log(log, "wrist", log.time[:-1] + 0.005)
    assert np.flatnonzero(np.isnan(between.force[:, 0])).tolist() == [9, 10, 11, 12, 13, 14]


def test_a_frame_without_a_wrench_is_refused(both):
    """With the frames that have one."""
    log = log_of(both[:, :3], both[:, 3:], "ft_sensor")
    with pytest.raises(
        LogError, match=r"no force of frame 'wrist'.*give --wrench-columns ft_sensor"
    ):
        wrench_from_log(log, "wrist")
    assert wrench_from_log(log, "wrist", columns="ft_sensor").frame == "wrist"


def test_choices_that_are_none_are_refused(both):
    """With those that are."""
    log = log_of(both[:, :3], both[:, 3:])
    with pytest.raises(SignalError, match="'sensor', 'base'"):
        wrench_from_log(log, "wrist", axes="world")
    with pytest.raises(SignalError, match="'on-body', 'by-body'"):
        wrench_from_log(log, "wrist", sign="minus")
