"""Arms as a newcomer has them, and what their recorders write; every torque is Pinocchio's.

- Robots: UFACTORY xArm7, Franka Panda (fingers not recorded) and UR5 of example-robot-data. The
  user's file is the one there. The true robot has every mass 2 to 10 % more or less, centres of
  mass up to 8 mm elsewhere, inertias up to 15 % larger or smaller.
- Drives: inertia on the joint's side (none on the Panda, whose sensors are behind the gears),
  viscous friction, and Coulomb friction that changes over some microradians (Dahl 1968), so that
  a joint at rest keeps a part of it.
- Motion: a sum of sines, or moves from pose to pose with rests between them, by turns of the seed.
- Signals: encoder steps, torque noise of 1 % of each joint's torque and a gear's ripple of 1 %,
  torques rounded as a driver reports them.

Nothing here is Steelyard's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MASS_OFF, CENTRE_OFF_M, INERTIA_OFF = (0.02, 0.1), 0.008, 0.15
NOISE, RIPPLE, TEETH = 0.01, 0.01, 100.0
PRESLIDING_RAD, FINE_HZ = 2e-5, 2000.0
"""Friction changes over this angle; it is followed at this rate, so that it is not late by half a
sample."""
TORQUE_STEP = 0.01
ENCODER_STEP = 2.0 * np.pi / 2**17
TOP_SPEED, REST_S = 1.4, 0.3
"""rad/s, and s of rest after each move."""
HARMONICS, BASE_HZ = 5, 0.1


@dataclass(frozen=True, eq=False)
class Arm:
    """A kind of robot and how people record it.

    file : name of its URDF. joints : those that are recorded; others stay at zero.
    centre, half_range : (n_joints,) rad, where a user lets it move.
    coulomb, viscous, inertia : (n_joints,) of the drives, N m, N m s/rad, kg m².
    rate_hz : of the log. columns : formats of the names of position and torque columns, of a
    joint's name or number (from 0).
    """

    file: str
    joints: tuple[str, ...]
    centre: Array
    half_range: Array
    coulomb: Array
    viscous: Array
    inertia: Array
    rate_hz: float
    time_column: str
    columns: tuple[str, str]

    def header(self) -> list[str]:
        """Names of all columns."""
        return [self.time_column] + [
            form.format(name=name, number=k)
            for form in self.columns
            for k, name in enumerate(self.joints)
        ]


ARMS = {
    "xarm7": Arm(
        "xarm7.urdf",
        tuple(f"joint{k}" for k in range(1, 8)),
        np.array([0.0, -0.2, 0.0, 1.5, 0.0, 0.8, 0.0]),
        np.array([1.5, 0.9, 1.5, 1.1, 1.5, 1.0, 1.8]),
        np.array([3.0, 3.5, 2.0, 2.2, 1.0, 0.9, 0.5]),
        np.array([2.0, 2.0, 1.0, 1.0, 0.5, 0.5, 0.3]),
        np.array([0.10, 0.10, 0.08, 0.06, 0.04, 0.03, 0.02]),
        250.0,
        "time",
        ("{name}.position", "{name}.effort"),
    ),
    "panda": Arm(
        "panda.urdf",
        tuple(f"panda_joint{k}" for k in range(1, 8)),
        np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.8, 0.5]),
        np.array([1.4, 0.9, 1.3, 0.9, 1.4, 1.1, 1.4]),
        np.array([0.55, 0.87, 0.64, 1.28, 0.84, 0.30, 0.56]),
        np.array([0.4, 0.6, 0.4, 0.5, 0.3, 0.2, 0.2]),
        np.zeros(7),
        500.0,
        "__time",
        ("/joint_states/{name}/position", "/joint_states/{name}/effort"),
    ),
    "ur5": Arm(
        "ur5_robot.urdf",
        tuple(
            f"{name}_joint"
            for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
        ),
        np.array([0.0, -1.4, 1.2, -1.2, -1.2, 0.0]),
        np.array([1.8, 0.9, 1.3, 1.6, 1.6, 2.0]),
        np.array([9.0, 11.0, 7.0, 1.6, 1.5, 1.3]),
        np.array([8.0, 9.0, 6.0, 1.5, 1.4, 1.2]),
        np.array([1.1, 1.1, 0.6, 0.12, 0.12, 0.12]),
        125.0,
        "timestamp",
        ("actual_q_{number}", "actual_torque_{number}"),
    ),
}


@dataclass(frozen=True, eq=False)
class Recording:
    """What a right user hands over, and what a mistake may need.

    urdf : text of the robot file. header : names of the columns. time : (n_samples,) s.
    q, tau : (n_samples, n_joints) as recorded. true : inverse dynamics of the true robot with
    friction at states q, v, a and gravity, for mistakes that change the physics.
    """

    arm: Arm
    urdf: str
    header: list[str]
    time: Array
    q: Array
    tau: Array
    motion: tuple[Array, Array, Array]
    true: Any

    def rows(self) -> Array:
        """The table (n_samples, 1 + 2 n_joints) of a log."""
        return np.column_stack([self.time, self.q, self.tau])


def urdf_text(file: str) -> str:
    """The text of a robot file of example-robot-data."""
    return _path(file).read_text(encoding="utf-8")


@cache
def _path(file: str) -> Path:
    files = distribution("example-robot-data").files or ()
    return next(Path(str(one.locate())) for one in files if one.name == file)


def recording(name: str, seed: int, seconds: float = 30.0) -> Recording:
    """A right recording of one of ``ARMS``."""
    arm = ARMS[name]
    rng = np.random.default_rng([seed, list(ARMS).index(name), 14])
    finer = round(FINE_HZ / arm.rate_hz)
    time = np.arange(finer * round(seconds * arm.rate_hz)) / (finer * arm.rate_hz)
    fine = (sines if seed % 2 else moves)(arm, rng, time)
    time, motion = time[::finer], tuple(one[::finer] for one in fine)
    model = true_model(arm, rng)
    drives = [rng.uniform(0.8, 1.25, len(arm.joints)) for _ in range(3)]
    tau = rigid_torques(model, arm, *motion)
    tau += drives[0] * arm.inertia * motion[2] + drives[1] * arm.viscous * motion[1]
    tau += dahl(drives[2] * arm.coulomb, fine[0])[::finer]
    q, tau = measured(arm, rng, motion[0], tau)
    return Recording(arm, urdf_text(arm.file), arm.header(), time, q, tau, motion, model)


def measured(arm: Arm, rng: np.random.Generator, q: Array, tau: Array) -> tuple[Array, Array]:
    """Positions and torques (n_samples, n_joints) as encoders and drives report them."""
    size = np.std(tau, axis=0) + 0.02 * np.max(np.abs(tau))
    phase = rng.uniform(0.0, 2.0 * np.pi, tau.shape[1])
    tau = tau + RIPPLE * size * np.sin(2.0 * TEETH * q + phase)
    tau = tau + NOISE * size * rng.normal(size=tau.shape)
    return (
        ENCODER_STEP * np.round(q / ENCODER_STEP),
        TORQUE_STEP * np.round(tau / TORQUE_STEP),
    )


def true_model(arm: Arm, rng: np.random.Generator) -> Any:
    """Pinocchio's model of the true robot, joints in the order of ``arm.joints``."""
    import pinocchio as pin

    whole = pin.buildModelFromUrdf(str(_path(arm.file)))
    others = [k for k in range(1, whole.njoints) if whole.names[k] not in arm.joints]
    model = pin.buildReducedModel(whole, others, pin.neutral(whole))
    assert tuple(model.names)[1:] == arm.joints
    for k in range(1, model.njoints):
        body = model.inertias[k]
        factor = 1.0 + rng.choice([-1.0, 1.0]) * rng.uniform(*MASS_OFF)
        moved = body.lever + rng.uniform(-1.0, 1.0, 3) * CENTRE_OFF_M
        inertia = factor * (1.0 + rng.uniform(-1.0, 1.0) * INERTIA_OFF) * body.inertia
        model.inertias[k] = pin.Inertia(factor * body.mass, moved, inertia)
    return model


def rigid_torques(model: Any, arm: Arm, q: Array, v: Array, a: Array) -> Array:
    """Torques (n_samples, n_joints) of the bodies, of Pinocchio's inverse dynamics."""
    import pinocchio as pin

    data = model.createData()
    return np.array([pin.rnea(model, data, *state) for state in zip(q, v, a, strict=True)])


def dahl(coulomb: Array, q: Array) -> Array:
    """Friction (n_samples, n_joints) that grows to its Coulomb value over ``PRESLIDING_RAD``.

    dF/dq = (F_c sgn(dq) - F) / PRESLIDING_RAD.
    """
    step = np.diff(q, axis=0, prepend=q[:1])
    out = np.zeros_like(q)
    now = np.zeros(q.shape[1])
    for k, moved in enumerate(step):
        aim = coulomb * np.sign(moved)
        now = aim + (now - aim) * np.exp(-np.abs(moved) / PRESLIDING_RAD)
        out[k] = now
    return out


def sines(arm: Arm, rng: np.random.Generator, time: Array) -> tuple[Array, Array, Array]:
    """q, v, a (n_samples, n_joints) of a sum of sines."""
    order = np.arange(1, HARMONICS + 1)
    omega = 2.0 * np.pi * BASE_HZ * order
    shape = (HARMONICS, len(arm.joints))
    amplitude = rng.normal(size=shape) / np.sqrt(order)[:, None]
    angle = np.multiply.outer(time, omega)[:, :, None] + rng.uniform(0.0, 2.0 * np.pi, shape)
    q = np.einsum("hj,thj->tj", amplitude, np.sin(angle))
    v = np.einsum("h,hj,thj->tj", omega, amplitude, np.cos(angle))
    a = -np.einsum("h,hj,thj->tj", omega**2, amplitude, np.sin(angle))
    scale = np.minimum(arm.half_range / abs(q).max(axis=0), TOP_SPEED / abs(v).max(axis=0))
    return arm.centre + scale * q, scale * v, scale * a


def moves(arm: Arm, rng: np.random.Generator, time: Array) -> tuple[Array, Array, Array]:
    """q, v, a (n_samples, n_joints) of moves between poses by quintics, with rests."""
    q, v, a = (np.zeros((len(time), len(arm.joints))) for _ in range(3))
    start, pose = 0.0, arm.centre.copy()
    while start < time[-1]:
        goal = arm.centre + arm.half_range * rng.uniform(-1.0, 1.0, len(arm.joints))
        away = goal - pose
        duration = max(0.8, 1.875 * float(np.max(np.abs(away))) / TOP_SPEED)
        inside = (time >= start) & (time < start + duration + REST_S)
        s = np.clip((time[inside] - start) / duration, 0.0, 1.0)
        for table, shape in (
            (q, s**3 * (10.0 - 15.0 * s + 6.0 * s**2)),
            (v, 30.0 * s**2 * (1.0 - s) ** 2 / duration),
            (a, 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / duration**2),
        ):
            table[inside] = np.multiply.outer(shape, away)
        q[inside] += pose
        start, pose = start + duration + REST_S, goal
    return q, v, a
