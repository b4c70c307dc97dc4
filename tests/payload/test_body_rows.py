"""The Newton-Euler equations of one body as rows that are linear in its parameters."""

import numpy as np
import pinocchio as pin
import pytest

from steelyard.payload.body_rows import wrench_regressor
from steelyard.signals.frame_motion import FrameMotion
from tests.helpers.frame_motions import exact_wrench, free_motion, random_body

N = 400


@pytest.fixture(scope="module")
def motion() -> FrameMotion:
    """Hundreds of random states of a frame."""
    rng = np.random.default_rng(0)
    a, w, alpha = rng.normal(size=(3, N, 3)) * np.array([10.0, 3.0, 8.0])[:, None, None]
    return FrameMotion("sensor", np.arange(N) * 0.01, a, w, alpha)


def test_rows_are_those_of_pinocchio(motion):
    """The regressor is Pinocchio's body regressor of the same velocity and acceleration."""
    rows = wrench_regressor(motion)
    for k in range(N):
        v = pin.Motion(np.zeros(3), motion.angular_velocity[k])
        a = pin.Motion(motion.proper_acceleration[k], motion.angular_acceleration[k])
        np.testing.assert_allclose(rows[k], pin.bodyRegressor(v, a), atol=1e-12)


def test_wrench_is_that_of_a_free_body_in_rnea():
    """The wrench of a body in free flight along a real motion is that of Pinocchio's rnea."""
    motion = free_motion(3, duration_s=3.0)
    rng = np.random.default_rng(1)
    phi = random_body(rng, 1.7)
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    model.appendBodyToJoint(joint, pin.Inertia.FromDynamicParameters(phi), pin.SE3.Identity())
    data = model.createData()
    rows = wrench_regressor(motion)
    g = model.gravity.linear
    for k in range(0, len(motion), 7):
        R, w = motion.R_world_frame[k], motion.angular_velocity[k]
        speed = rng.normal(size=3)  # the wrench must not depend on it
        q = np.concatenate([np.zeros(3), pin.Quaternion(R).coeffs()])
        # rnea wants the spatial acceleration: the proper one plus gravity, minus omega × v
        a = motion.proper_acceleration[k] + R.T @ g - np.cross(w, speed)
        acceleration = np.concatenate([a, motion.angular_acceleration[k]])
        tau = pin.rnea(model, data, q, np.concatenate([speed, w]), acceleration)
        np.testing.assert_allclose(rows[k] @ phi, tau, atol=1e-10)


def test_columns_of_force_and_torque(motion):
    """The mass has no part in the torque, and the inertia none in the force."""
    rows = wrench_regressor(motion)
    assert not rows[:, 3:, 0].any()
    assert not rows[:, :3, 4:].any()


def test_helper_motion_is_consistent():
    """The exact derivatives of the test motions are those of finite differences."""
    motion = free_motion(0, duration_s=2.0, rate_hz=2000.0)
    R, h = motion.R_world_frame, motion.time[1]
    S = np.einsum("nji,njk->nik", R[1:-1], (R[2:] - R[:-2]) / (2.0 * h))
    omega = np.stack([S[:, 2, 1], S[:, 0, 2], S[:, 1, 0]], 1)
    np.testing.assert_allclose(omega, motion.angular_velocity[1:-1], atol=1e-4)
    alpha = (motion.angular_velocity[2:] - motion.angular_velocity[:-2]) / (2.0 * h)
    np.testing.assert_allclose(alpha, motion.angular_acceleration[1:-1], atol=1e-3)
    assert exact_wrench(motion, random_body(np.random.default_rng(0), 1.0)).shape == (4000, 6)
