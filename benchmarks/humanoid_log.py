"""Logs of legged robots whose forces MuJoCo computes, with friction and sensor noise.

The whole-body motion is prescribed: every joint follows a sum of sines within its limits, and the
base sways by 0.15 m and turns by 0.5 rad. MuJoCo's ``mj_inverse`` gives base wrench and joint
torques of the true robot, drive inertia and viscous friction included; Coulomb friction is added.
A robot hangs on a stand that measures the wrench on its base, or stands on feet whose forces are
measured: the smallest ones that carry it, by MuJoCo's Jacobians.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from engines import without_shapes
from humanoid_robots import LeggedRobot
from numpy.typing import NDArray

from steelyard.excitation.motions.fourier import multisine
from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Motion
from steelyard.signals.orientation import product, rotations_of
from steelyard.simulation.whole_body_motion import base_sines, whole_body_motion

Array = NDArray[np.float64]
RATE_HZ = 200.0
PERIOD_S = 10.0
N_HARMONICS = 5

DRIVE_INERTIA, VISCOUS, COULOMB = 0.002, 0.01, 0.01
"""Of every joint, as shares: of the mean inertia that it moves (kg m²), and of the largest torque
that weight exerts on it (N m at 1 rad/s, and N m)."""
TORQUE_NOISE = 0.01
"""Standard deviation of torques and wrenches, as a share of their root mean square."""
ENCODER_STEP = 2.0 * np.pi / 2**19
POSITION_NOISE, ROTATION_NOISE = 2e-4, 2e-4
"""Motion capture: m and rad."""
GYRO_NOISE, ACCELEROMETER_NOISE = 2e-3, 0.02
"""IMU: rad/s and m/s²."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The forces (n, nv) of the true robot and how it was simulated; feet : forces (n, 3)."""

    motion: Motion
    tau: Array
    feet: dict[str, Array]


def simulate_log(legged: LeggedRobot, seed: int, seconds: float, name: str) -> Log:
    """The log of one run: positions, torques, the base's motion and wrenches, with noise."""
    robot = Robot.from_urdf_text(legged.text(), floating_base=True)
    truth = simulated(legged, robot, seed, seconds)
    rng = np.random.default_rng((3, seed))
    motion, tau = truth.motion, truth.tau
    n = len(motion)

    def noisy(values: Array) -> Array:
        size = np.sqrt(np.mean(values**2, axis=0))
        return np.asarray(values + TORQUE_NOISE * size * rng.normal(size=values.shape))

    signals: dict[tuple[str, str], Array] = {}
    torques = noisy(tau[:, 6:])
    for k, joint in enumerate(robot.joint_names):
        q = ENCODER_STEP * np.round(motion.q[:, 7 + k] / ENCODER_STEP)
        signals[joint, "position"], signals[joint, "torque"] = q, torques[:, k]
    frames: dict[tuple[str, str], Array] = {}
    if legged.base_motion == "pose":
        half = np.column_stack([0.5 * ROTATION_NOISE * rng.normal(size=(n, 3)), np.ones(n)])
        turned = product(motion.q[:, 3:7], half / np.linalg.norm(half, axis=1)[:, None])
        place = motion.q[:, :3] + POSITION_NOISE * rng.normal(size=(n, 3))
        frames = {(robot.root, "position"): place, (robot.root, "quaternion"): turned}
    else:
        frames = imu_signals(robot, motion, str(legged.imu), rng)
    wrenches = truth.feet or {robot.root: tau[:, :6]}
    for frame, wrench in wrenches.items():
        frames[frame, "force"] = noisy(wrench[:, :3])
        if wrench.shape[1] == 6:
            frames[frame, "torque"] = noisy(wrench[:, 3:])
    units = {key: "rad" if key[1] == "position" else "N*m" for key in signals}
    return Log(motion.time, signals, name, units=units, frame_signals=frames)


def imu_signals(
    robot: Robot, motion: Motion, imu: str, rng: np.random.Generator
) -> dict[tuple[str, str], Array]:
    """What an IMU on the base shows: the motion of the root, carried over to it."""
    T = np.eye(4)
    link = imu
    while link != robot.root:
        joint = next(one for one in robot.joints if one.child == link)
        T, link = joint.pose(0.0) @ T, joint.parent
    R, p = T[:3, :3], T[:3, 3]
    R_world = rotations_of(motion.q[:, 3:7])
    w, alpha = motion.v[:, 3:6], motion.a[:, 3:6]
    origin = motion.a[:, :3] + np.cross(w, motion.v[:, :3]) - robot.gravity @ R_world
    proper = origin + np.cross(alpha, p) + np.cross(w, np.cross(w, p))
    shape = (len(motion), 3)
    return {
        (imu, "angular_velocity"): w @ R + GYRO_NOISE * rng.normal(size=shape),
        (imu, "proper_acceleration"): proper @ R + ACCELEROMETER_NOISE * rng.normal(size=shape),
    }


def simulated(legged: LeggedRobot, robot: Robot, seed: int, seconds: float) -> Truth:
    """Forces of the true robot on a random whole-body motion."""
    sines = multisine(robot, period_s=PERIOD_S, n_harmonics=N_HARMONICS, share=0.5, seed=seed)
    swaying = base_sines(period_s=PERIOD_S, n_harmonics=N_HARMONICS, seed=seed)
    time = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    motion = whole_body_motion(robot, sines, swaying, time, legged.name)
    engine = MujocoRobot(legged.text(), robot)
    tau = engine.torque(motion)
    feet: dict[str, Array] = {}
    if legged.feet:
        tau, feet = engine.standing(motion, tau, legged.feet)
    joints = slice(6, None)
    tau[:, joints] += engine.coulomb * np.tanh(motion.v[:, joints] / 1e-3)
    return Truth(motion, tau, feet)


class MujocoRobot:
    """The true robot in MuJoCo, every joint free: joints that follow others by virtual work."""

    def __init__(self, text: str, robot: Robot) -> None:
        import mujoco

        settings = '<mujoco><compiler boundmass="1e-12" boundinertia="1e-12"/></mujoco>'
        text = re.sub(r"(<robot\b[^>]*>)", rf"\1{settings}", without_shapes(text), count=1)
        spec = mujoco.MjSpec.from_string(text)
        spec.compiler.fusestatic = 0  # the links of the feet stay
        spec.worldbody.bodies[0].add_freejoint()
        self.model: Any = spec.compile()
        self.model.opt.gravity[:] = robot.gravity
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.model.dof_damping[:] = 0.0
        self.model.jnt_stiffness[:] = 0.0
        self.robot = robot
        moving = robot.moving_joints
        column = {name: k for k, name in enumerate(robot.joint_names)}
        self.G, self.g0 = np.zeros((len(moving), len(column))), np.zeros(len(moving))
        for row, joint in enumerate(moving):
            own = joint.mimic
            self.G[row, column[joint.name if own is None else own.joint]] = (
                1.0 if own is None else own.multiplier
            )
            self.g0[row] = 0.0 if own is None else own.offset
        found = [self.model.joint(joint.name) for joint in moving]
        self.dof = np.array([one.dofadr[0] for one in found], dtype=int)
        self.address = np.array([one.qposadr[0] for one in found], dtype=int)
        self.data: Any = mujoco.MjData(self.model)
        self.coulomb = np.zeros(len(column))

    def torque(self, motion: Motion) -> Array:
        """Base wrench and joint torques (n, nv) by ``mj_inverse``, with drives and damping."""
        import mujoco

        R = rotations_of(motion.q[:, 3:7])
        tau = np.empty_like(motion.v)
        inertia = np.zeros(len(self.robot.joint_names))
        M = np.zeros((self.model.nv, self.model.nv))
        for s in range(len(motion)):
            self._set(motion, s, R[s])
            mujoco.mj_inverse(self.model, self.data)
            force = self.data.qfrc_inverse
            tau[s, :3], tau[s, 3:6] = R[s].T @ force[:3], force[3:6]
            tau[s, 6:] = force[self.dof] @ self.G
            if s % 100 == 0:
                mujoco.mj_fullM(self.model, self.data, M)
                inertia += np.diag(self.G.T @ M[np.ix_(self.dof, self.dof)] @ self.G)
        inertia /= len(range(0, len(motion), 100))
        weight = np.abs(tau[:, 6:]).max(axis=0)
        self.coulomb = COULOMB * weight
        tau[:, 6:] += DRIVE_INERTIA * inertia * motion.a[:, 6:]
        tau[:, 6:] += VISCOUS * weight * motion.v[:, 6:]
        return tau

    def standing(
        self, motion: Motion, tau: Array, feet: tuple[str, ...]
    ) -> tuple[Array, dict[str, Array]]:
        """Torques (n, nv) left for the drives, and forces (n, 3) of the feet in their own axes."""
        import mujoco

        R = rotations_of(motion.q[:, 3:7])
        bodies = [self.model.body(foot).id for foot in feet]
        out, forces = tau.copy(), {foot: np.empty((len(motion), 3)) for foot in feet}
        J = np.zeros((3, self.model.nv))
        for s in range(len(motion)):
            self._set(motion, s, R[s])
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_comPos(self.model, self.data)
            rows = []
            for body in bodies:
                mujoco.mj_jac(self.model, self.data, J, None, self.data.xpos[body], body)
                rows.append(np.hstack([J[:, :3] @ R[s], J[:, 3:6], J[:, self.dof] @ self.G]))
            whole = np.vstack(rows)  # forces in the axes of the world
            f = np.linalg.lstsq(whole[:, :6].T, tau[s, :6], rcond=None)[0]
            out[s] -= whole.T @ f
            for foot, body, own in zip(feet, bodies, f.reshape(-1, 3), strict=True):
                forces[foot][s] = self.data.xmat[body].reshape(3, 3).T @ own
        return out, forces

    def _set(self, motion: Motion, s: int, R: Array) -> None:
        """The state of one sample; MuJoCo has the base's linear velocity in the world's axes."""
        data, q, v, a = self.data, motion.q[s], motion.v[s], motion.a[s]
        data.qpos[:3], data.qpos[3:7] = q[:3], np.roll(q[3:7], 1)
        data.qvel[:3], data.qvel[3:6] = R @ v[:3], v[3:6]
        data.qacc[:3], data.qacc[3:6] = R @ (a[:3] + np.cross(v[3:6], v[:3])), a[3:6]
        data.qpos[self.address] = self.G @ q[7:] + self.g0
        data.qvel[self.dof], data.qacc[self.dof] = self.G @ v[6:], self.G @ a[6:]
