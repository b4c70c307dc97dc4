"""Logs of the simulated floating robot, against MuJoCo; exact derivatives of its motion."""

from __future__ import annotations

import numpy as np
import pytest
from humanoid import humanoid, humanoid_log, humanoid_text

from steelyard.errors import SimulationError
from steelyard.excitation.motions.fourier import multisine
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Motion
from steelyard.signals.orientation import rotations_of
from steelyard.simulation.floating_log import BaseSensors, floating_log, standing
from steelyard.simulation.whole_body_motion import base_sines, whole_body_motion
from steelyard.testing.random_robots import random_robot


def moved(robot: Robot, seed: int, time: np.ndarray) -> Motion:
    return whole_body_motion(
        robot, multisine(robot, period_s=2.0, seed=seed), base_sines(period_s=2.0, seed=seed), time
    )


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_exact(seed):
    """Velocities and accelerations are the derivatives of positions and orientations."""
    robot = random_robot(np.random.default_rng(seed), 3, floating_base=True)
    h = 1e-5
    at = np.linspace(0.1, 1.9, 20)
    before, now, after = (moved(robot, seed, at + k * h) for k in (-1, 0, 1))
    R = rotations_of(now.q[:, 3:7])
    dp = (after.q[:, :3] - before.q[:, :3]) / (2 * h)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", R, now.v[:, :3]), dp, atol=1e-7)
    turn = (rotations_of(after.q[:, 3:7]) - rotations_of(before.q[:, 3:7])) / (2 * h)
    skew = np.einsum("nji,njk->nik", R, turn)
    w = np.column_stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]])
    np.testing.assert_allclose(now.v[:, 3:6], w, atol=1e-7)
    np.testing.assert_allclose(now.a, (after.v - before.v) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(now.v[:, 6:], (after.q - before.q)[:, 7:] / (2 * h), atol=1e-7)


def mujoco_forces(robot: Robot, motion: Motion) -> np.ndarray:
    """Base wrench and joint torques (n, nv) of the robot's URDF, by ``mj_inverse``."""
    import mujoco

    spec = mujoco.MjSpec.from_string(humanoid_text())
    spec.compiler.fusestatic = 0
    spec.worldbody.bodies[0].add_freejoint()
    model = spec.compile()
    data = mujoco.MjData(model)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    joints = [model.joint(name) for name in robot.joint_names]
    dof = np.array([one.dofadr[0] for one in joints])
    R = rotations_of(motion.q[:, 3:7])
    out = np.empty_like(motion.v)
    for k in range(len(motion)):
        q, v, a = motion.q[k], motion.v[k], motion.a[k]
        data.qpos[:3], data.qpos[3:7] = q[:3], np.roll(q[3:7], 1)
        data.qvel[:3], data.qvel[3:6] = R[k] @ v[:3], v[3:6]
        data.qacc[:3], data.qacc[3:6] = R[k] @ (a[:3] + np.cross(v[3:6], v[:3])), a[3:6]
        data.qpos[dof + 1], data.qvel[dof], data.qacc[dof] = q[7:], v[6:], a[6:]
        mujoco.mj_inverse(model, data)
        force = data.qfrc_inverse
        out[k] = np.concatenate([R[k].T @ force[:3], force[3:6], force[dof]])
    return out


def test_wrench_and_torques_are_mujocos():
    """What holds the robot, and what its drives give, without friction."""
    pytest.importorskip("mujoco")
    robot = humanoid()
    model = Model(robot)
    motion = moved(robot, 4, np.arange(40) / 20.0)
    theirs = mujoco_forces(robot, motion)
    log = floating_log(model, model.prior_theta(), motion)
    ours = np.hstack(
        [log.frame_signals["torso", "force"], log.frame_signals["torso", "torque"]]
        + [log.signals[name, "torque"][:, None] for name in robot.joint_names]
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())
    # feet carry all of it: with theirs, the base is held by nothing
    feet = ("left_foot", "right_foot")
    carried, each = standing(robot, motion.q[:, 7:], theirs[:, :6], feet)
    np.testing.assert_allclose(carried[:, :6], theirs[:, :6], atol=1e-9 * np.abs(theirs).max())
    assert {one.shape for one in each.values()} == {(40, 6)}
    stood = floating_log(model, model.prior_theta(), motion, feet=feet)
    hips = np.column_stack([stood.signals[name, "torque"] for name in robot.joint_names])
    np.testing.assert_allclose(hips, (theirs - carried)[:, 6:], atol=1e-9 * np.abs(theirs).max())


def test_refusals():
    """A fixed base, unknown joints, wrong feet and wrong sensors are named."""
    robot = humanoid()
    model = Model(robot)
    theta = model.prior_theta()
    motion = moved(robot, 1, np.arange(10) / 10.0)
    for options, match in (
        ({"without_torque": ("neck",)}, "has no joint neck.*its joints are"),
        ({"base": BaseSensors("imu", "left_foot")}, "moves against the base"),
        ({"base": BaseSensors("pose", "imu")}, "only an IMU may be at 'imu'"),
        ({"feet": ("left_foot", "left_foot")}, "named twice"),
    ):
        with pytest.raises(SimulationError, match=match):
            floating_log(model, theta, motion, **options)
    with pytest.raises(SimulationError, match="must be one of pose, twist, imu"):
        BaseSensors("gps")
    with pytest.raises(SimulationError, match="force_noise is -1"):
        BaseSensors(force_noise=-1.0)
    with pytest.raises(SimulationError, match="stay away from their pole"):
        base_sines(turn_rad=2.0)
    fixed = Robot.from_urdf_text(humanoid_text())
    with pytest.raises(SimulationError, match="base of robot 'humanoid' is fixed"):
        moved(fixed, 1, motion.time)


def test_noise_has_its_size():
    """Noise of wrenches and of the IMU has the standard deviations that were asked for."""
    base = BaseSensors("imu", gyro_noise=0.01, accelerometer_noise=0.1, force_noise=2.0)
    clean, noisy = (humanoid_log(base=one).frame_signals for one in (BaseSensors("imu"), base))
    for key, size in (
        (("torso", "angular_velocity"), 0.01),
        (("torso", "proper_acceleration"), 0.1),
        (("torso", "force"), 2.0),
    ):
        assert np.std(noisy[key] - clean[key]) == pytest.approx(size, rel=0.1)
    np.testing.assert_array_equal(noisy["torso", "torque"], clean["torso", "torque"])
