"""Numbers that no robot and no working sensor shows are refused before anything is computed."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from steelyard.errors import SignalError, WeighingError
from steelyard.payload.on_sensor import weigh_on_sensor
from steelyard.signals.frame_motion import Wrench
from tests.helpers.frame_motions import free_motion, measured, random_body, still_poses


@pytest.fixture(scope="module")
def good():
    """A motion and the wrench of a body of 2 kg."""
    rng = np.random.default_rng(3)
    motion = free_motion(1, duration_s=5.0)
    return motion, measured(motion, random_body(rng, 2.0), rng)


def refused(motion, wrench, kind=WeighingError):
    """The error, which must come without a numerical warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(kind) as caught:
            weigh_on_sensor([(motion, wrench)])
    return caught.value


@pytest.mark.parametrize("factor", [0.0, 1e-200])
def test_zero_wrench_is_named(good, factor):
    """A sensor that is disconnected or zeroed is refused by that name."""
    motion, wrench = good
    error = refused(motion, Wrench("sensor", factor * wrench.force, factor * wrench.torque))
    assert error.code == "zero-wrench"
    assert "the wrench is zero in all samples: sensor disconnected or zeroed" in str(error)


def test_zero_force_with_a_torque_is_named(good):
    """Columns of the force that are not connected."""
    motion, wrench = good
    error = refused(motion, Wrench("sensor", 0.0 * wrench.force, wrench.torque))
    assert error.code == "zero-wrench"
    assert "the force is zero in all samples" in str(error)


@pytest.mark.parametrize("still", [False, True])
def test_constant_wrench_is_named(good, still):
    """Readings that are the same in all samples are no payload, moving and at rest."""
    motion = still_poses(np.random.default_rng(0).normal(size=(12, 3))) if still else good[0]
    force = np.tile([3.0, -2.0, 11.0], (len(motion), 1))
    error = refused(motion, Wrench("sensor", force, 0.1 * force))
    assert error.code == "constant-wrench"
    assert "no payload" in str(error)


@pytest.mark.parametrize("factor", [1e10, 1e160, 1e306])
def test_huge_numbers_are_named(good, factor):
    """Wrench and motion beyond 1e9 are refused with sample and quantity, in one sample or all."""
    motion, wrench = good
    error = refused(motion, Wrench("sensor", factor * wrench.force, wrench.torque), SignalError)
    assert "the force" in str(error)
    torque = wrench.torque.copy()
    torque[41, 1] = -factor
    words = str(refused(motion, Wrench("sensor", wrench.force, torque), SignalError))
    assert "the torque" in words
    assert "in sample 42 (1 such samples)" in words
    fast = replace(motion, proper_acceleration=factor * motion.proper_acceleration)
    assert "the proper acceleration" in str(refused(fast, wrench, SignalError))


def test_zero_torque_of_a_point_mass_is_weighed(good):
    """A point mass at the origin has no torque, and is weighed."""
    motion, _ = good
    force = 2.0 * motion.proper_acceleration
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate = weigh_on_sensor([(motion, Wrench("sensor", force, 0.0 * force))])
    assert estimate.value("m").value == pytest.approx(2.0, abs=1e-6)
