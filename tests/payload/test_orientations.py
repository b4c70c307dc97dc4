"""How many distinct orientations are needed."""

import numpy as np
import pytest

from steelyard.errors import WeighingError
from steelyard.payload.on_sensor import weigh_on_sensor
from tests.helpers.frame_motions import measured, random_body, still_poses


def weighed(n_poses: int, seed: int, *, bias: bool = True, shake: float = 0.0):
    """A body of 2 kg at rest in a number of orientations; accelerations with noise ``shake``."""
    rng = np.random.default_rng([4, seed])
    phi = random_body(rng, 2.0)
    motion = still_poses(rng.normal(size=(n_poses, 3)) * 1.5, 100)
    wrench = measured(motion, phi, rng, bias=np.full(6, 0.3 if bias else 0.0))
    for values in (motion.proper_acceleration, motion.angular_acceleration):
        values += shake * rng.normal(size=values.shape)
    return phi, motion, weigh_on_sensor([(motion, wrench)], bias=bias)


def test_one_orientation_is_refused_with_a_bias():
    """With one orientation weight and bias cannot be told apart."""
    with pytest.raises(WeighingError, match="one orientation only") as caught:
        weighed(1, 0)
    assert caught.value.code == "one-orientation"


@pytest.mark.parametrize("shake", [0.0, 0.02])
def test_two_orientations_leave_the_centre_of_mass_open(shake):
    """With two orientations the mass is determined, the centre along one direction is not; noise
    in the kinematics does not change that.
    """
    for seed in range(4):
        phi, _, estimate = weighed(2, seed, shake=shake)
        (finding,) = (f for f in estimate.findings if f.code == "few-orientations")
        assert "three distinct orientations" in finding.words
        mass = estimate.value("m")
        assert mass.kind == "confidence"
        assert mass.value == pytest.approx(phi[0], rel=0.02)
        kinds = {estimate.value(name).kind for name in ("cx", "cy", "cz")}
        assert "not determined" in kinds


def test_three_orientations_are_enough():
    """With three orientations mass and centre of mass are determined, and right."""
    for seed in range(4):
        phi, _, estimate = weighed(3, seed)
        assert "few-orientations" not in {f.code for f in estimate.findings}
        for k, name in enumerate(("m", "mx", "my", "mz")):
            value = estimate.value(name)
            assert value.kind == "confidence"
            assert abs(value.value - phi[k]) < 5.0 * value.sigma


def test_without_bias_one_orientation_less_is_needed():
    """Without a bias, one orientation gives the mass, and two the centre of mass."""
    phi, motion, estimate = weighed(1, 0, bias=False)
    assert estimate.value("m").value == pytest.approx(phi[0], rel=0.02)
    assert "few-orientations" in {f.code for f in estimate.findings}
    # across gravity the first moment is determined: the torque shows it
    down = motion.proper_acceleration[0] / np.linalg.norm(motion.proper_acceleration[0])
    across = np.eye(3) - np.outer(down, down)
    np.testing.assert_allclose(across @ estimate.phi[1:4], across @ phi[1:4], atol=2e-3)
    _, _, two = weighed(2, 0, bias=False)
    assert "few-orientations" not in {f.code for f in two.findings}
    assert two.value("cx").kind == "confidence"
