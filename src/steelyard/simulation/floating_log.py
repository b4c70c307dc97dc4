"""Logs of a simulated floating robot: its motion is prescribed, and everything on it is measured.

The robot follows the motion exactly. Either a hoist or test stand holds its base by a wrench that
is measured, or it stands on feet whose forces are measured; the drives give the torques that are
left:

    [base wrench; joint torques] = W(q, v, a) theta - sum over feet of Jᵀ wrench

The forces of the feet are the smallest that carry the robot. They may pull: there is no floor, no
friction cone and no impact.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SimulationError, listed
from steelyard.logs.log import Log
from steelyard.model.kernels import parameter_array, torque
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.frame_kinematics import frame_motion_from_joints, joints_to
from steelyard.signals.motion import Motion
from steelyard.signals.orientation import product
from steelyard.signals.sensing import BASE_SOURCES, BaseSource
from steelyard.signals.wrench_torques import wrench_torques
from steelyard.simulation.sensors import Sensors, record

Array = NDArray[np.float64]
LEAST_POINTS = 3
"""From three feet on each is a point that exerts a force; one or two exert a torque too."""
ARM_M = 0.1
"""Of feet that exert torques, a torque counts as much as this arm (m) times a force."""
OWN_STREAM = 13


@dataclass(frozen=True)
class BaseSensors:
    """How the motion of the base and the wrenches are measured.

    motion : "pose" (motion capture), "twist" (velocities, accelerations and orientation, as a
        state estimator gives them) or "imu".
    frame : link of the base whose motion is recorded; None for the root.
    position_noise, rotation_noise : of poses, m and rad. velocity_noise, gyro_noise : m/s, rad/s.
    accelerometer_noise : m/s². force_noise, torque_noise : of wrenches, N and N m. All are
        standard deviations of white noise.
    """

    motion: BaseSource = "pose"
    frame: str | None = None
    position_noise: float = 0.0
    rotation_noise: float = 0.0
    velocity_noise: float = 0.0
    gyro_noise: float = 0.0
    accelerometer_noise: float = 0.0
    force_noise: float = 0.0
    torque_noise: float = 0.0

    def __post_init__(self) -> None:
        if self.motion not in BASE_SOURCES:
            raise SimulationError(
                f"the motion of the base is recorded as {self.motion!r}; it must be one of "
                f"{listed(BASE_SOURCES)}"
            )
        for name, value in vars(self).items():
            if name.endswith("_noise") and not (np.isfinite(value) and value >= 0.0):
                raise SimulationError(f"{name} is {value}; it must be finite and not negative")


def floating_log(
    model: Model,
    theta: ArrayLike,
    motion: Motion,
    *,
    base: BaseSensors | None = None,
    sensors: Sensors | None = None,
    feet: tuple[str, ...] = (),
    base_wrench: bool = True,
    without_torque: Collection[str] = (),
    seed: int = 0,
    name: str = "virtual",
) -> Log:
    """The log of a floating robot with parameters theta (n_columns,) on this motion.

    motion : see :func:`steelyard.simulation.whole_body_motion.whole_body_motion`.
    feet : links on which the robot stands; without one, a measured wrench at the root holds it.
    base_wrench : whether that wrench is recorded. without_torque : joints whose torque is not.
    """
    robot, base = model.robot, base or BaseSensors()
    if not robot.floating_base:
        raise SimulationError(f"the base of robot '{robot.name}' is fixed; use simulate()")
    unknown = [one for one in without_torque if one not in robot.joint_names]
    if unknown:
        raise SimulationError(
            f"robot '{robot.name}' has no joint {listed(unknown)}, whose torque is not to be "
            f"recorded (without_torque); its joints are {listed(robot.joint_names)}"
        )
    tau = torque(model, parameter_array(model, theta), motion.q, motion.v, motion.a)
    rng = np.random.default_rng([seed, OWN_STREAM])
    frames = base_signals(robot, motion, base, rng)
    if feet:
        carried, wrenches = standing(robot, motion.q[:, 7:], tau[:, :6], feet)
        tau = tau - carried
    else:
        wrenches = {robot.root: tau[:, :6]} if base_wrench else {}
    for frame, wrench in wrenches.items():
        noisy = wrench + rng.normal(size=wrench.shape) * wrench_noise(base)[: wrench.shape[1]]
        frames[frame, "force"] = noisy[:, :3]
        if wrench.shape[1] == 6:
            frames[frame, "torque"] = noisy[:, 3:]
    log = record(
        robot,
        motion.time,
        motion.q[:, 7:],
        motion.v[:, 6:],
        tau[:, 6:],
        sensors or Sensors(),
        seed,
        name,
    )
    signals = {
        key: values
        for key, values in log.signals.items()
        if not (key[0] in without_torque and key[1] == "torque")
    }
    units = {key: unit for key, unit in log.units.items() if key in signals}
    return replace(log, signals=signals, units=units, frame_signals=frames)


def base_signals(
    robot: Robot, motion: Motion, base: BaseSensors, rng: np.random.Generator
) -> dict[tuple[str, str], Array]:
    """What is recorded of the base's motion, by frame and quantity."""
    frame = robot.root if base.frame is None else base.frame
    path = joints_to(robot, frame)
    if any(joint.moves for joint in path):
        raise SimulationError(f"link '{frame}' moves against the base '{robot.root}'")
    n = len(motion)

    def noise(size: float) -> Array:
        return np.asarray(size * rng.normal(size=(n, 3)))

    moved = frame_motion_from_joints(robot, motion, frame)
    if base.motion == "imu":
        return {
            (frame, "angular_velocity"): moved.angular_velocity + noise(base.gyro_noise),
            (frame, "proper_acceleration"): moved.proper_acceleration
            + noise(base.accelerometer_noise),
        }
    if path:
        raise SimulationError(
            f"poses and velocities are recorded of the root '{robot.root}'; only an IMU may be at "
            f"'{frame}'"
        )
    half = np.column_stack([0.5 * noise(base.rotation_noise), np.ones(n)])
    turned = product(motion.q[:, 3:7], half / np.linalg.norm(half, axis=1)[:, None])
    found = {(frame, "quaternion"): turned}
    if base.motion == "pose":
        return {(frame, "position"): motion.q[:, :3] + noise(base.position_noise)} | found
    linear, w = motion.v[:, :3], motion.v[:, 3:6]
    return found | {
        (frame, "linear_velocity"): linear + noise(base.velocity_noise),
        (frame, "angular_velocity"): w + noise(base.gyro_noise),
        # of the origin, in the axes of the base: not the derivative of the components
        (frame, "linear_acceleration"): motion.a[:, :3]
        + np.cross(w, linear)
        + noise(base.accelerometer_noise),
        (frame, "angular_acceleration"): motion.a[:, 3:6],
    }


def standing(
    robot: Robot, q: Array, wrench: Array, feet: tuple[str, ...]
) -> tuple[Array, dict[str, Array]]:
    """Generalised forces (n_samples, nv) of the feet, and the wrench of each in its own axes.

    q : (n_samples, n_joints). wrench : (n_samples, 6) on the base that the feet must give; theirs
    are the smallest that do, (n_samples, 3) forces of three feet or more, else (n_samples, 6).
    """
    if len(set(feet)) != len(feet):
        raise SimulationError(f"a foot is named twice: {listed(feet)}")
    width = 3 if len(feet) >= LEAST_POINTS else 6
    scale = np.array([1.0] * 3 + [ARM_M] * 3)[:width]
    zero = np.zeros((len(q), 3))
    parts = []
    for foot in feet:
        for k in range(width):
            unit = zero.copy()
            unit[:, k % 3] = scale[k]
            pair = (unit, zero) if k < 3 else (zero, unit)
            parts.append(wrench_torques(robot, foot, q, *pair))
    columns = np.stack(parts, axis=2)  # (n_samples, nv, n_feet * width)
    A = columns[:, :6]
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    flat = np.flatnonzero(s[:, 5] < 1e-6 * s[:, 0])
    if len(flat):
        raise SimulationError(
            f"forces at {listed(feet)} cannot hold the robot in sample {flat[0] + 1}: they lie on "
            "one line; name one foot more, or one or two that exert torques too"
        )
    y = np.einsum("nji,nj->ni", U, wrench) / s
    x = np.einsum("nji,nj->ni", Vt, y)
    carried = np.einsum("nij,nj->ni", columns, x)
    each = {foot: x[:, width * k : width * (k + 1)] * scale for k, foot in enumerate(feet)}
    return carried, each


def wrench_noise(base: BaseSensors) -> Array:
    """Standard deviations (6,) of the components of a wrench, N and N m."""
    return np.repeat([base.force_noise, base.torque_noise], 3)
