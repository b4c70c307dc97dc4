"""Motion of frames from joints, against Pinocchio and finite differences."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from oracles import urdf_text
from poses import link_poses
from seeds import every

from steelyard.errors import RobotError, SignalError
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.frame_kinematics import frame_motion_from_joints, joints_to
from steelyard.signals.motion import Motion
from steelyard.testing.random_robots import random_robot

LOCAL = pinocchio.ReferenceFrame.LOCAL


def random_motion(robot: Robot, rng: np.random.Generator, n: int = 3) -> Motion:
    """Independent random states: kinematics knows no time."""
    nv = len(robot.joint_names) + (6 if robot.floating_base else 0)
    q, v, a = (rng.normal(size=(n, nv)) for _ in range(3))
    if robot.floating_base:
        turned = rng.normal(size=(n, 4))
        turned /= np.linalg.norm(turned, axis=1)[:, None]
        q = np.column_stack([q[:, :3], turned, q[:, 6:]])
    return Motion(np.arange(float(n)), q, v, a)


def pinocchio_state(model, robot: Robot, motion: Motion, row: int):
    """q, v, a of one sample in Pinocchio's order, continuous joints as cosine and sine."""
    base = 7 if robot.floating_base else 0
    q, v, a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
    q[:base] = motion.q[row, :base]
    if base:
        v[:6], a[:6] = motion.v[row, :6], motion.a[row, :6]
    for k, name in enumerate(robot.joint_names):
        joint = model.joints[model.getJointId(name)]
        angle = motion.q[row, base + k]
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        )
        v[joint.idx_v] = motion.v[row, (6 if base else 0) + k]
        a[joint.idx_v] = motion.a[row, (6 if base else 0) + k]
    return q, v, a


@every("seed", range(120))
def test_frames_move_as_in_pinocchio(seed):
    """Orientation, angular velocity and both accelerations of a link, fixed ones included."""
    rng = np.random.default_rng(seed)
    floating = seed % 3 == 0
    robot = random_robot(rng, int(rng.integers(1, 8)), fixed=0.6, floating_base=floating)
    motion = random_motion(robot, rng)
    text = urdf_text(robot)
    root = pinocchio.JointModelFreeFlyer() if floating else None
    model = (
        pinocchio.buildModelFromXML(text, root) if floating else pinocchio.buildModelFromXML(text)
    )
    data = model.createData()
    frame = str(rng.choice([link.name for link in robot.links]))
    moved = frame_motion_from_joints(Model(robot) if seed % 2 else robot, motion, frame)
    index = model.getFrameId(frame, pinocchio.FrameType.BODY)
    for row in range(len(motion)):
        pinocchio.forwardKinematics(model, data, *pinocchio_state(model, robot, motion, row))
        pinocchio.updateFramePlacements(model, data)
        R = data.oMf[index].rotation
        velocity = pinocchio.getFrameVelocity(model, data, index, LOCAL)
        classical = pinocchio.getFrameClassicalAcceleration(model, data, index, LOCAL)
        scale = 1.0 + np.abs(classical.linear).max()
        np.testing.assert_allclose(moved.R_world_frame[row], R, atol=1e-12)
        np.testing.assert_allclose(moved.angular_velocity[row], velocity.angular, atol=1e-11)
        np.testing.assert_allclose(
            moved.angular_acceleration[row], classical.angular, atol=1e-11 * scale
        )
        np.testing.assert_allclose(
            moved.proper_acceleration[row],
            classical.linear - R.T @ robot.gravity,
            atol=1e-11 * scale,
        )


@every("seed", range(20))
def test_frames_of_mimic_joints_move_as_finite_differences(seed):
    """Poses composed joint by joint, differentiated twice in time."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 5, chain=True, mimic=0.5, fixed=0.5)
    frame = robot.links[-1].name
    n = len(robot.joint_names)
    q0, v0, a0 = rng.normal(size=(3, n))
    h = 2e-4
    times = np.arange(-2, 3) * h
    poses = [
        link_poses(robot, dict(zip(robot.joint_names, q0 + v0 * t + 0.5 * a0 * t * t)))[frame]
        for t in times
    ]
    p = np.array([pose[:3, 3] for pose in poses])
    R = np.array([pose[:3, :3] for pose in poses])
    weights = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / (12.0 * h * h)
    acceleration = weights @ p
    first = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12.0 * h)
    spin = R[2].T @ np.tensordot(first, R, 1)
    turn = R[2].T @ np.tensordot(weights, R, 1)  # skew(alpha) + skew(omega)²
    moved = frame_motion_from_joints(
        robot, Motion(np.zeros(1), q0[None], v0[None], a0[None]), frame
    )
    expected = R[2].T @ (acceleration - robot.gravity)
    scale = 1.0 + np.abs(expected).max()
    np.testing.assert_allclose(moved.R_world_frame[0], R[2], atol=1e-12)
    np.testing.assert_allclose(moved.proper_acceleration[0], expected, atol=1e-5 * scale)
    np.testing.assert_allclose(moved.angular_velocity[0], _vee(spin), atol=1e-6 * scale)
    np.testing.assert_allclose(moved.angular_acceleration[0], _vee(turn), atol=1e-5 * scale)


def _vee(skew: np.ndarray) -> np.ndarray:
    part = 0.5 * (skew - skew.T)
    return np.array([part[2, 1], part[0, 2], part[1, 0]])


def test_the_path_of_a_frame_starts_at_the_root():
    """Joints of other branches are not on it."""
    robot = random_robot(np.random.default_rng(3), 6, fixed=0.5)
    for link in robot.links:
        path = joints_to(robot, link.name)
        assert [one.parent for one in path[1:]] == [one.child for one in path[:-1]]
        assert (path[-1].child if path else robot.root) == link.name
        assert not path or path[0].parent == robot.root


def test_a_frame_that_the_robot_lacks_is_refused():
    """With the links that it has, and the nearest name."""
    robot = random_robot(np.random.default_rng(1), 2, fixed=0.0)
    motion = random_motion(robot, np.random.default_rng(0))
    with pytest.raises(RobotError, match=r"no link 'link2' \(did you mean 'link_2'\?\).*base"):
        frame_motion_from_joints(robot, motion, "link2")


def test_a_motion_of_another_robot_is_refused():
    """By the number of its coordinates."""
    rng = np.random.default_rng(1)
    with pytest.raises(SignalError, match="has 3 positions and 3 velocities, but robot 'random'"):
        frame_motion_from_joints(
            random_robot(rng, 2), random_motion(random_robot(rng, 3), rng), "link_2"
        )
