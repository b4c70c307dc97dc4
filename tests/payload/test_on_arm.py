"""Payloads on the virtual arm: small versions of what `benchmarks/payload.py` measures."""

import numpy as np
import pytest

from steelyard.payload.on_sensor import weigh_on_sensor
from steelyard.payload.one_body import fit_body
from steelyard.payload.sensor_factors import compress_wrench
from steelyard.robot.inertia import is_physical
from tests.helpers.point_to_point import MOTION_TIMES_S, recorded
from tests.helpers.sensor_runs import MASSES, sensor_run


def test_bodies_on_the_arm_are_weighed_as_well_as_the_noise_allows():
    """RMSE within 1.5 times the Cramér-Rao bound; mass within 0.5 % and centre within 2 mm."""
    ratios, held = [], []
    for seed in range(3):
        for mass in MASSES:
            run = sensor_run(seed, mass, duration_s=10.0, rate_hz=200.0)
            estimate = weigh_on_sensor([(run.motion, run.wrench)])
            error = np.array([value.value for value in estimate.values]) - run.truth
            ratios.append(error / run.cramer_rao())
            held += [
                value.lower <= true <= value.upper
                for value, true in zip(estimate.values, run.truth, strict=True)
                if not value.at_boundary
            ]
            if mass >= 0.5:
                assert abs(error[0]) < 0.005 * mass
                assert np.abs(error[1:4]).max() < 0.002
    assert np.sqrt(np.mean(np.square(ratios))) < 1.5
    assert np.mean(held) > 0.9


def test_turned_sensor_on_the_arm():
    """Bias and a turn of 3 degrees are found within their intervals."""
    held = []
    for seed in range(4):
        run = sensor_run(seed, 2.0, duration_s=10.0, rate_hz=200.0, turn_degrees=3.0)
        estimate = weigh_on_sensor([(run.motion, run.wrench)], rotation=True)
        truth = [*run.bias, *run.turn]
        held += [v.lower <= x <= v.upper for v, x in zip(estimate.others, truth, strict=True)]
    assert np.mean(held) > 0.85


@pytest.mark.parametrize("seed", [100, 101])
def test_experiment_of_traversaro_and_others(seed):
    """Slow motions make unconstrained least squares impossible; the fit is always physical, and
    both agree on fast motions.
    """
    free_is_physical = {}
    for motion_time in MOTION_TIMES_S:
        run = recorded(motion_time, seed)
        estimate = weigh_on_sensor([(run.motion, run.wrench)])
        assert is_physical(estimate.phi)
        assert estimate.value("m").value == pytest.approx(run.phi[0], rel=0.03)
        factors = compress_wrench([(run.motion, run.wrench)])
        rows = factors.rows(np.array([1.0 / 0.2, 1.0 / 0.01]))
        R = np.linalg.qr(rows.reshape(-1, rows.shape[2]), mode="r")[6:]
        free = np.linalg.lstsq(R[:, 6:-1], R[:, -1], rcond=None)[0]
        free_is_physical[motion_time] = bool(is_physical(free))
        fit = fit_body(R[:, 6:-1], R[:, -1])
        assert is_physical(fit.phi)
        if motion_time == 0.5:
            np.testing.assert_allclose(fit.phi, free, atol=5e-4)
    assert not free_is_physical[10.0]
    assert weigh_on_sensor([(recorded(10.0, seed).motion, recorded(10.0, seed).wrench)]).static
