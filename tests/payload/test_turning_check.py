"""An angular velocity that contradicts the recorded orientation is named."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard.errors import WeighingError
from steelyard.payload._turning_check import check_turning
from steelyard.payload.on_sensor import weigh_on_sensor
from tests.helpers.frame_motions import free_motion, measured, random_body, still_poses


def recording(seed: int = 0, **options):
    """A motion and the wrench of a body."""
    rng = np.random.default_rng([8, seed])
    motion = free_motion(seed, duration_s=8.0, **options)
    return motion, measured(motion, random_body(rng, 1.5), rng)


@pytest.mark.parametrize("rate_hz", [20.0, 100.0, 1000.0])
@pytest.mark.parametrize("fastest_hz", [0.1, 0.8, 1.6])
def test_right_velocities_are_not_doubted(rate_hz, fastest_hz):
    """Neither slow nor fast motions, at low and high rates, with noise of the gyro, are named."""
    for seed in range(4):
        motion, wrench = recording(seed, rate_hz=rate_hz, fastest_hz=fastest_hz)
        noise = 0.01 * np.random.default_rng(seed).normal(size=(len(motion), 3))
        noisy = replace(motion, angular_velocity=motion.angular_velocity + noise)
        assert check_turning([(noisy, wrench)]) == ()


def test_poses_at_rest_and_unknown_orientations_are_not_compared():
    """Samples at rest have no angular velocity, and an IMU alone has no orientation."""
    rng = np.random.default_rng(0)
    motion = still_poses(rng.normal(size=(12, 3)))
    assert check_turning([(motion, measured(motion, random_body(rng, 1.0), rng))]) == ()
    motion, wrench = recording()
    wrong = replace(motion, R_world_frame=None, angular_velocity=50.0 * motion.angular_velocity)
    assert check_turning([(wrong, wrench)]) == ()


def base(motion):
    """The angular velocity in the base's axes."""
    return np.einsum("nij,nj->ni", motion.R_world_frame, motion.angular_velocity)


@pytest.mark.parametrize(
    ("changed", "code", "words"),
    [
        (lambda m: np.degrees(m.angular_velocity), "angular-velocity-unit", "deg/s"),
        (base, "twist-in-base-axes", "--twist-axes base"),
        (lambda m: np.degrees(base(m)), "angular-velocity-unit", "--twist-axes base"),
        (lambda m: -m.angular_velocity, "angular-velocity-sign", "sign"),
    ],
)
def test_other_units_and_axes_are_named(changed, code, words):
    """Degrees, the base's axes and the sign are refused by name."""
    for seed in range(3):
        motion, wrench = recording(seed)
        wrong = replace(motion, angular_velocity=changed(motion))
        with pytest.raises(WeighingError, match=words) as caught:
            weigh_on_sensor([(wrong, wrench)])
        assert caught.value.code == code


def test_inverted_orientations_are_named():
    """Orientations of the world in the frame beside the right angular velocity."""
    motion, wrench = recording(2)
    wrong = replace(motion, R_world_frame=np.swapaxes(motion.R_world_frame, 1, 2))
    with pytest.raises(WeighingError) as caught:
        check_turning([(wrong, wrench)])
    assert caught.value.code == "orientation-inverted"


def test_other_differences_are_a_finding():
    """A velocity of the wrong size that nothing explains is warned of, with the size."""
    motion, wrench = recording(3)
    wrong = replace(motion, angular_velocity=1.6 * motion.angular_velocity)
    (finding,) = check_turning([(wrong, wrench)])
    assert (finding.level, finding.code) == ("warning", "turning-differs")
    assert "by 60 %" in finding.words or "by 61 %" in finding.words
