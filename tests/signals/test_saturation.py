"""Sensors at the end of their range."""

import numpy as np

from steelyard.payload.on_sensor import weigh_on_sensor
from steelyard.signals.frame_motion import Wrench
from steelyard.signals.saturation import saturations
from tests.helpers.frame_motions import free_motion, measured, random_body, still_poses


def clipped(wrench: Wrench, limit: float) -> Wrench:
    """The wrench of a sensor whose force ends at a limit, N."""
    return Wrench(wrench.frame, np.clip(wrench.force, -limit, limit), wrench.torque)


def test_plateaus_are_found_and_left_out():
    """Clipped axes are named with their limit; the body is then right, and without it wrong."""
    rng = np.random.default_rng(0)
    motion, phi = free_motion(1), random_body(rng, 2.0)
    wrench = clipped(measured(motion, phi, rng), 14.0)
    found = saturations(wrench)
    assert {(one.axis, abs(one.limit)) for one in found} <= {(f"force_{x}", 14.0) for x in "xyz"}
    at_limit = np.flatnonzero((np.abs(wrench.force) >= 14.0).any(axis=1))
    assert set(np.concatenate([one.samples for one in found])) == set(at_limit)
    estimate = weigh_on_sensor([(motion, wrench)])
    (finding,) = (f for f in estimate.findings if f.code == "saturated-sensor")
    assert "14 N" in finding.words
    mass = estimate.value("m")
    assert abs(mass.value - 2.0) < 4.0 * mass.sigma
    assert estimate.runs[0].n_samples == len(motion) - len(at_limit)


def test_sensors_within_their_range_are_not_called_saturated():
    """Noise, coarse resolution, poses that are held and constant signals are no plateaus."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        phi = random_body(rng, 2.0)
        for motion in (free_motion(seed, duration_s=5.0), still_poses(rng.normal(size=(9, 3)))):
            wrench = measured(motion, phi, rng)
            assert saturations(wrench) == ()
            exact = measured(motion, phi, rng, force_noise=0.0, torque_noise=0.0)
            assert saturations(exact) == ()
            coarse = Wrench("sensor", np.round(wrench.force, 1), np.round(wrench.torque, 2))
            assert saturations(coarse) == ()
    flat = Wrench("sensor", np.ones((100, 3)), np.zeros((100, 3)))
    assert saturations(flat) == ()
