"""Robots of the second fault matrix, and properties that a robot can have and no file states.

A `Property` is a spring, an elastic gear, another friction law, a base that gives way.
`with_property` adds one to a recording whose links move in the same way: the motors then need other
torques, and their encoders may see another position. `faults2_recordings` simulates it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import never_loses_arms as arms
import numpy as np
from fault_harm import MOVING
from fault_loads import gravity_torque
from fault_recordings import Array, Recording
from scipy.signal import butter, filtfilt

from steelyard.robot.robot import Robot
from steelyard.robot.rotations import rotation_about
from steelyard.signals.motion import Motion

ROBOTS = ("ur10", "panda", "arm")
SIMULATED_BY_MUJOCO = ("ur10", "panda")
STILL = 0.005
"""rad/s within which friction changes its sign: F_c tanh(v / STILL)."""
FOLLOWS_HZ = 15.0
"""Up to which the motor of a joint whose gear gives way is looked at."""
PLAY_STIFFNESS_RAD = 2e-4
"""How far a gear with play turns under its typical torque when its teeth touch."""

Load = Callable[[Array, Array, Array], Array]
"""(time (n,), q, v (n, n_joints)) -> torque (n, n_joints) that the motors must give besides."""
Friction = Callable[[Array, Array, Array], tuple[Array, Array]]
"""(time (n,), v, gear torque (n, n_joints)) -> factors of Coulomb and of viscous friction."""


@dataclass(frozen=True)
class Gear:
    """An elastic gear of one joint, whose encoder is at the motor.

    stiffness : N m/rad. play : rad, in which the motor turns and the link does not.
    """

    joint: int
    stiffness: float
    play: float = 0.0


@dataclass(frozen=True, eq=False)
class Property:
    """What a robot has that its file does not state; what is None is as in the file.

    rocking : rms angle (rad) by which the base tilts about its horizontal axes, in proportion to
        the moment that the robot puts on it; gravity turns in the frame of the base. The
        accelerations of the base are left out.
    added : torque (n, n_joints) of the motors that follows from motion and torques alone.
    """

    load: Load | None = None
    friction: Friction | None = None
    gear: Gear | None = None
    rocking: float = 0.0
    added: Callable[[Recording], Array] | None = None


@cache
def urdf_of(robot: str) -> str:
    """The robot file that the user has."""
    if robot in SIMULATED_BY_MUJOCO:
        return arms.urdf_text(robot)
    return (files("steelyard") / "simulation" / "arm7.urdf").read_text(encoding="utf-8")


@lru_cache(maxsize=8)
def robot_of(urdf: str) -> Robot:
    """The robot of a file's text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(urdf, encoding="utf-8")
        return replace(Robot.from_urdf(path), source=None)


def without_noise(recording: Recording) -> Recording:
    """The recording by perfect sensors."""
    motion = recording.motion
    return replace(recording, q=motion.q, v=motion.v, tau=recording.true_tau)


def unseen_error(fit: Any, unseen: Recording, *, low_passed: bool = False) -> float:
    """As `fault_harm.unseen_error`; see there.

    fit : anything with ``predict`` and ``model``. low_passed : whether speeds and accelerations
    are differences of recorded positions, and errors are low-passed at `FOLLOWS_HZ` without delay.
    A motor whose gear has play shakes where the teeth meet, which no estimate predicts.
    """
    motion = unseen.motion
    q, v, a = motion.q, motion.v, motion.a
    if low_passed:
        v = derivative(q, unseen.time)
        a = derivative(v, unseen.time)
    order = [fit.model.channels.index(joint) for joint in unseen.model.channels]
    with np.errstate(over="ignore", invalid="ignore"):
        away = unseen.tau - fit.predict(q, v, a)[:, order]
        if low_passed:
            away = filtfilt(*butter(2, 2.0 * FOLLOWS_HZ / unseen.rate_hz), away, axis=0)
        moving = np.abs(v) > MOVING * np.sqrt(np.mean(v**2, axis=0))
        error = np.linalg.norm(np.where(moving, away, 0.0), axis=0)
        size = np.linalg.norm(np.where(moving, unseen.tau, 0.0), axis=0)
        return float(np.sqrt(np.mean((error / size) ** 2)))


def friction_of(recording: Recording, symbol: str) -> Array:
    """A parameter (n_joints,) of every joint's drive: Ia, fv, fc or fo."""
    value = dict(zip(recording.model.column_names, recording.theta, strict=True))
    return np.array([value[f"{joint}.{symbol}"] for joint in recording.model.channels])


def gear_torque(recording: Recording) -> Array:
    """Torque (n, n_joints) behind the drives: without friction, offsets and drive inertia."""
    v, a = recording.motion.v, recording.motion.a
    drives = friction_of(recording, "Ia") * a + friction_of(recording, "fo")
    friction = friction_of(recording, "fv") * v
    friction += friction_of(recording, "fc") * np.tanh(v / STILL)
    return np.asarray(recording.true_tau - drives - friction)


def size_of_torque(recording: Recording) -> Array:
    """Root mean square (n_joints,) of the torque about its mean, and a tenth of its own."""
    tau = recording.true_tau
    return np.asarray(np.std(tau, axis=0) + 0.1 * np.sqrt(np.mean(tau**2, axis=0)))


def with_property(recording: Recording, given: Property) -> Recording:
    """The recording of a robot with a property whose links move in the same way."""
    time, motion, gear = recording.time, recording.motion, gear_torque(recording)
    more = np.zeros_like(recording.tau)
    turned = motion.q
    if given.load is not None:
        more += given.load(time, motion.q, motion.v)
    if given.friction is not None:
        coulomb, viscous = given.friction(time, motion.v, gear)
        more += (coulomb - 1.0) * friction_of(recording, "fc") * np.tanh(motion.v / STILL)
        more += (viscous - 1.0) * friction_of(recording, "fv") * motion.v
    if given.rocking:
        gravity = rocking_gravity(recording, motion, given.rocking)
        for k, unit in enumerate(np.eye(3)):
            away = gravity[:, k] - recording.robot.gravity[k]
            more += away[:, None] * gravity_torque(recording, unit)
    if given.gear is not None:
        j = given.gear.joint
        motor, drive_torque = behind_gear(recording, gear[:, j], given.gear)
        turned = motion.q.copy()
        turned[:, j] = motor
        more[:, j] += drive_torque
    if given.added is not None:
        more += given.added(recording)
    seen = motion
    if given.gear is not None:
        v, a = (derivative(turned, time), derivative(derivative(turned, time), time))
        seen = Motion(time, turned, v, a)
    return replace(
        recording,
        q=recording.q + turned - motion.q,
        tau=recording.tau + more,
        motion=seen,
        true_tau=recording.true_tau + more,
    )


def behind_gear(recording: Recording, gear: Array, given: Gear) -> tuple[Array, Array]:
    """Position (n,) of a motor whose gear gives way under its torque (n,), and the torque that
    the motor needs for its own extra acceleration and friction.
    """
    time, j = recording.time, given.joint
    # friction that reverses within a sample would shake the motor, which MuJoCo's does not do
    gear = filtfilt(*butter(2, 2.0 * FOLLOWS_HZ / recording.rate_hz), gear)
    away = gear / given.stiffness
    if given.play:
        away = 0.5 * given.play * np.tanh(gear / (0.05 * np.sqrt(np.mean(gear**2))))
    q, v = recording.motion.q[:, j] + away, recording.motion.v[:, j]
    speed = v + derivative(away, time)
    more = friction_of(recording, "fv")[j] * (speed - v)
    more += friction_of(recording, "fc")[j] * (np.tanh(speed / STILL) - np.tanh(v / STILL))
    if not given.play:  # of a gear with play the motor jumps
        more += friction_of(recording, "Ia")[j] * derivative(derivative(away, time), time)
    return q, more


def derivative(values: Array, time: Array) -> Array:
    """By time, along the rows."""
    return np.asarray(np.gradient(values, time, axis=0))


def rocking_gravity(recording: Recording, motion: Motion, rocking: float) -> Array:
    """Gravity (n, 3) in the frame of a base that tilts; see `Property`."""
    moment = base_moment(recording, motion)[:, :2]
    tilt = rocking * moment / np.sqrt(np.mean(np.sum(moment**2, axis=1)))
    gravity = np.empty((len(tilt), 3))
    for row, (x, y) in enumerate(tilt):
        angle = float(np.hypot(x, y))
        axis = np.array([x, y, 0.0]) / (angle or 1.0)
        gravity[row] = rotation_about(axis, angle).T @ recording.robot.gravity
    return gravity


def base_moment(recording: Recording, motion: Motion) -> Array:
    """Moment (n, 3) of the first joint's link on the base, by Pinocchio."""
    import pinocchio as pin

    model = pinocchio_model(recording)
    data = model.createData()
    rows = np.unique(np.append(np.arange(0, len(motion), 10), len(motion) - 1))
    moments = np.empty((len(rows), 3))
    for k, row in enumerate(rows):
        pin.rnea(model, data, motion.q[row], motion.v[row], motion.a[row])
        moments[k] = data.oMi[1].act(data.f[1]).angular
    return np.column_stack([np.interp(motion.time, motion.time[rows], one) for one in moments.T])


def pinocchio_model(recording: Recording) -> Any:
    """Pinocchio's model of the true robot."""
    import pinocchio as pin

    names = {robot_of(urdf_of(name)).name: name for name in ROBOTS}
    model = pin.buildModelFromXML(urdf_of(names[recording.robot.name]))
    for body, first in zip(
        recording.model.mechanism.bodies, recording.model.first_column_of_body, strict=True
    ):
        phi = recording.theta[first : first + 10]
        model.inertias[model.getJointId(body.joint)] = pin.Inertia.FromDynamicParameters(phi)
    return model
