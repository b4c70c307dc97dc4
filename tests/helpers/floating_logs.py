"""Logs of floating robots whose torques Pinocchio computed, without noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steelyard.logs.log import Log
from steelyard.robot.robot import Robot
from tests.helpers.oracles import (
    pinocchio_model,
    pinocchio_q,
    pinocchio_torque,
    pinocchio_velocity_index,
    release_map,
)

RATE_HZ = 500.0


@dataclass(frozen=True, eq=False)
class FloatingRun:
    """Motion of a floating robot at even times; see `steelyard.Motion` for q, v and a."""

    robot: Robot
    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    @property
    def R(self) -> np.ndarray:
        """Orientation (n_samples, 3, 3) of the base."""
        import pinocchio as pin

        return np.array([pin.Quaternion(*one[[3, 0, 1, 2]]).matrix() for one in self.q[:, 3:7]])

    def torques(self) -> np.ndarray:
        """Base wrench and joint torques (n_samples, nv), by Pinocchio."""
        return pinocchio_torque(self.robot, self.q, self.v, self.a)


def floating_run(robot: Robot, rng: np.random.Generator, duration_s: float = 2.0) -> FloatingRun:
    """Sines in base position, base orientation and joints; derivatives are exact."""
    time = np.arange(0.0, duration_s, 1.0 / RATE_HZ)
    n = len(robot.joint_names)

    def sines(width: int, size: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        w = 2 * np.pi * rng.uniform(0.3, 1.5, size=(3, width))
        phase, size = rng.uniform(0, 6.28, size=w.shape), size * rng.uniform(0.3, 1, size=w.shape)
        angle = time[:, None, None] * w + phase
        return (
            (size * np.sin(angle)).sum(axis=1),
            (size * w * np.cos(angle)).sum(axis=1),
            (-size * w**2 * np.sin(angle)).sum(axis=1),
        )

    p, dp, ddp = sines(3, 0.2)
    quaternion, dq4, ddq4 = _unit(*sines(4, 0.25))
    joints = sines(n, 0.4) if n else (np.zeros((len(time), 0)),) * 3
    R = _rotations(quaternion)
    inverse = quaternion * np.array([-1, -1, -1, 1])
    w = 2 * _product(inverse, dq4)[:, :3]
    alpha = 2 * _product(inverse, ddq4)[:, :3]
    linear = np.einsum("nij,ni->nj", R, dp)
    falling = np.einsum("nij,ni->nj", R, ddp) - np.cross(w, linear)
    return FloatingRun(
        robot,
        time,
        np.hstack([p, quaternion, joints[0]]),
        np.hstack([linear, w, joints[1]]),
        np.hstack([falling, alpha, joints[2]]),
    )


def _unit(x, dx, ddx):
    """A unit quaternion with its exact derivatives, from four functions of time."""
    x = x + np.array([0.0, 0.0, 0.0, 2.5])
    size = np.linalg.norm(x, axis=1)[:, None]
    rate = np.sum(x * dx, axis=1)[:, None] / size
    bend = (np.sum(dx * dx + x * ddx, axis=1)[:, None] - rate**2) / size
    q = x / size
    dq = (dx - q * rate) / size
    ddq = (ddx - 2 * dq * rate - q * bend) / size
    return q, dq, ddq


def _product(p, q):
    vector = p[:, 3:] * q[:, :3] + q[:, 3:] * p[:, :3] + np.cross(p[:, :3], q[:, :3])
    return np.column_stack([vector, p[:, 3] * q[:, 3] - np.sum(p[:, :3] * q[:, :3], axis=1)])


def _rotations(q):
    import pinocchio as pin

    return np.array([pin.Quaternion(*one[[3, 0, 1, 2]]).matrix() for one in q])


def contact_torques(run: FloatingRun, frame: str, wrench: np.ndarray) -> np.ndarray:
    """Jᵀ wrench (n_samples, nv) of a wrench (n_samples, 6) in the link's axes, by Pinocchio."""
    import pinocchio as pin

    robot = run.robot
    released = replace(robot, joints=tuple(replace(j, mimic=None) for j in robot.joints))
    G, g0 = release_map(robot, released)
    model = pinocchio_model(released)
    data = model.createData()
    q = pinocchio_q(released, model, np.hstack([run.q[:, :7], run.q[:, 7:] @ G.T + g0]))
    index = pinocchio_velocity_index(released, model)
    place = model.getFrameId(frame)
    out = np.zeros((len(q), len(index)))
    for k, one in enumerate(q):
        J = pin.computeFrameJacobian(model, data, one, place, pin.ReferenceFrame.LOCAL)
        out[k] = (J.T @ wrench[k])[index]
    return np.hstack([out[:, :6], out[:, 6:] @ G])


def frame_orientation(run: FloatingRun, frame: str) -> np.ndarray:
    """Orientations (n_samples, 3, 3) of a link in the world, by Pinocchio."""
    import pinocchio as pin

    robot = run.robot
    released = replace(robot, joints=tuple(replace(j, mimic=None) for j in robot.joints))
    G, g0 = release_map(robot, released)
    model = pinocchio_model(released)
    data = model.createData()
    q = pinocchio_q(released, model, np.hstack([run.q[:, :7], run.q[:, 7:] @ G.T + g0]))
    out = []
    for one in q:
        pin.framesForwardKinematics(model, data, one)
        out.append(data.oMf[model.getFrameId(frame)].rotation.copy())
    return np.array(out)


def joint_signals(run: FloatingRun, tau: np.ndarray, without: tuple[str, ...] = ()) -> dict:
    """Signals of the joints of a log; tau : (n_samples, nv). without : joints with no torque."""
    names = run.robot.joint_names
    found = {(name, "position"): run.q[:, 7 + k] for k, name in enumerate(names)}
    for k, name in enumerate(names):
        if name not in without:
            found[name, "torque"] = tau[:, 6 + k]
    return found


def pose_signals(run: FloatingRun, frame: str | None = None) -> dict:
    """The pose of the base, as a log has it."""
    name = run.robot.root if frame is None else frame
    return {(name, "position"): run.q[:, :3], (name, "quaternion"): run.q[:, 3:7]}


def wrench_signals(frame: str, wrench: np.ndarray) -> dict:
    """Force and torque of a frame, as a log has them."""
    return {(frame, "force"): wrench[:, :3], (frame, "torque"): wrench[:, 3:]}


def log_of(run: FloatingRun, signals: dict, frames: dict, name: str = "walk") -> Log:
    """The log of these signals."""
    return Log(run.time, signals, name, frame_signals=frames)
