"""Poses and joints that are sampled more slowly than the wrench beside them."""

from __future__ import annotations

import numpy as np
import pytest
from moving_frames import COM, body_wrench, moving_frame
from scipy.spatial.transform import Rotation

from steelyard.identification.payload import weigh_payload_ft
from steelyard.logs.log import Log
from steelyard.signals.cutoff import at_recorded_rate
from steelyard.signals.join_logs import join_logs

MASS = 1.4
INERTIA = np.array([[0.02, 0.003, 0.0], [0.003, 0.03, -0.002], [0.0, -0.002, 0.025]])


def recorded(seed: int, rate_hz: float, noise: float, offset_s: float) -> tuple[Log, Log]:
    """Poses at a rate, with noise (m, and twice as many rad), and wrenches at 500 Hz."""
    rng = np.random.default_rng(seed + 100)
    time = np.arange(0.0, 20.0, 0.002)
    force, torque = body_wrench(moving_frame(np.random.default_rng(seed), time), MASS, COM, INERTIA)
    force = force + 0.2 * rng.normal(size=force.shape) + [2.0, -3.0, 5.0]
    torque = torque + 0.01 * rng.normal(size=torque.shape)
    wrenches = Log(time, {}, "w", frame_signals={("", "force"): force, ("", "torque"): torque})
    stamps = np.arange(offset_s, 20.0, 1.0 / rate_hz)
    moved = moving_frame(np.random.default_rng(seed), stamps)
    turned = Rotation.from_matrix(moved.R) * Rotation.from_rotvec(
        2.0 * noise * rng.normal(size=(len(stamps), 3))
    )
    poses = {
        ("tool", "position"): moved.p + noise * rng.normal(size=moved.p.shape),
        ("tool", "quaternion"): turned.as_quat(),
    }
    return Log(stamps, {}, "p", frame_signals=poses), wrenches


@pytest.mark.parametrize("how", ["linear", "cubic"])
@pytest.mark.parametrize("noise", [1e-5, 2e-4])
@pytest.mark.parametrize("rate_hz", [250.0, 125.0, 50.0])
def test_the_mass_is_right_whatever_the_rate_of_the_poses(rate_hz, noise, how):
    """With stamps of their own, 0.6 ms late; a cutoff chosen on interpolated poses halves it."""
    poses, wrenches = recorded(3, rate_hz, noise, 0.0006)
    joined = join_logs(poses, wrenches, interpolation=how).log
    assert joined.motion_rate_hz == pytest.approx(rate_hz)
    found = weigh_payload_ft(None, joined, "tool", level=0.999)
    mass = found.value("m")
    assert mass.lower <= MASS <= mass.upper
    assert abs(mass.value - MASS) < 2e-3
    assert found.runs[0].cutoff_hz <= 0.4 * rate_hz


def test_signals_return_to_the_rate_of_their_samples():
    """Samples that were interpolated in between are the first ones again."""
    x = np.random.default_rng(0).normal(size=(201, 2))
    fine = np.column_stack([np.interp(np.arange(801) / 4.0, np.arange(201), c) for c in x.T])
    back, rate = at_recorded_rate(fine, 500.0, 125.0)
    assert rate == 125.0
    np.testing.assert_allclose(back, x, atol=1e-12)
    assert at_recorded_rate(fine, 500.0, None)[0] is fine
    assert at_recorded_rate(fine, 500.0, 1000.0) == (fine, 500.0)
