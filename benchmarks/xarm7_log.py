"""Logs of the xArm7 of `xarm7_robot`, simulated in closed loop by MuJoCo.

A controller with a position and a velocity gain per joint, the weight of the file's (wrong)
links fed forward, follows a sum of sines. Friction, damping and drive inertia are MuJoCo's own
(frictionloss, damping, armature). Time steps are 0.1 ms, and the log has every 20th.

A joint whose speed changes sign sticks for some milliseconds: then its torque is whatever the
controller gives and does not follow from the motion. `Recording.slides` marks the other samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import xarm7_robot as robot
from xarm7_robot import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from steelyard import Log

STEP_S = 1e-4
LOG_EVERY = 20
"""Steps from sample to sample: 500 Hz."""
SETTLE_S = 1.0
BASE_FREQUENCY_HZ = 0.1
N_HARMONICS = 6
CENTRE = np.array([0.0, 0.0, 0.0, 1.6, 0.0, 0.7, 0.0])
HALF_RANGE = np.array([1.5, 1.0, 1.5, 1.2, 1.5, 1.2, 1.5])
TOP_SPEED = 2.0
"""rad/s; the arm's own limit is 3.14."""
POSITION_GAIN = np.array([6000.0, 6000.0, 4000.0, 4000.0, 1000.0, 800.0, 400.0])
"""N m/rad."""
SPEED_GAIN = np.array([250.0, 250.0, 120.0, 120.0, 30.0, 20.0, 10.0])
"""N m s/rad."""
ENCODER_STEP = 2.0 * np.pi / 2**17
"""rad."""
ENCODER_NOISE = 1e-5
"""Standard deviation, rad, before rounding to the encoder's steps."""
TORQUE_NOISE = np.array([0.10, 0.10, 0.08, 0.08, 0.05, 0.05, 0.05])
"""Standard deviation, N m."""
FRICTION_TIME_CONSTANT_S = 2e-4
"""MuJoCo's friction is a soft constraint; its default of 20 ms lets a joint creep that friction
holds. Two time steps are as stiff as MuJoCo allows."""


@dataclass(frozen=True, eq=False)
class Recording:
    """What the simulator knows, free of noise.

    time : (n,) s. q, v, a, tau : (n, 7) rad, rad/s, rad/s² and N m, tau at the actuators.
    slides : (n, 7) whether the joint's friction is its full Coulomb friction against its speed.
    """

    time: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    slides: NDArray[np.bool_]


def reference(seed: int, time: Array) -> tuple[Array, Array]:
    """q, v (n, 7) of the sum of sines with this seed, within the limits of the arm."""
    rng = np.random.default_rng((1, seed))
    order = np.arange(1, N_HARMONICS + 1)
    shape = (N_HARMONICS, robot.N_JOINTS)
    amplitude = rng.normal(size=shape) / np.sqrt(order)[:, None]
    phase = rng.uniform(0.0, 2.0 * np.pi, shape)
    omega = 2.0 * np.pi * BASE_FREQUENCY_HZ * order

    def sines(t: Array) -> tuple[Array, Array]:
        angle = np.multiply.outer(t, omega)[:, :, None] + phase
        q = np.einsum("hj,thj->tj", amplitude, np.sin(angle))
        return q, np.einsum("hj,thj->tj", amplitude * omega[:, None], np.cos(angle))

    q, v = sines(np.linspace(0.0, 1.0 / BASE_FREQUENCY_HZ, 2000))
    amplitude *= np.minimum(HALF_RANGE / abs(q).max(axis=0), TOP_SPEED / abs(v).max(axis=0))
    q, v = sines(time)
    return CENTRE + q, v


@cache
def simulate(seed: int, seconds: float) -> Recording:
    """The closed loop along the reference with this seed, sampled without noise."""
    import mujoco
    from mujoco import rollout

    model = true_model()
    data = mujoco.MjData(model)
    n_steps = round((SETTLE_S + seconds) / STEP_S)
    time = STEP_S * np.arange(n_steps)
    q, v = reference(seed, time)
    command = POSITION_GAIN * q + SPEED_GAIN * v + fed_forward(time, q)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty(mujoco.mj_stateSize(model, kind))
    data.qpos, data.qvel = q[0], v[0]
    mujoco.mj_getState(model, data, start, kind)
    states, _ = rollout.rollout(model, data, start, command)
    states = np.vstack([start, states[0]])  # row k: before step k

    rows = np.arange(round(SETTLE_S / STEP_S), n_steps, LOG_EVERY)
    n = robot.N_JOINTS
    q, v = states[rows, 1 : 1 + n], states[rows, 1 + n : 1 + 2 * n]
    a, tau, friction = (np.empty_like(q) for _ in range(3))
    for k, row in enumerate(rows):
        data.qpos, data.qvel, data.ctrl = q[k], v[k], command[row]
        mujoco.mj_forward(model, data)
        a[k], tau[k], friction[k] = data.qacc, data.qfrc_actuator, data.qfrc_constraint
    slides = abs(friction + robot.COULOMB * np.sign(v)) < 1e-6 * robot.COULOMB
    return Recording(time[rows] - SETTLE_S, q, v, a, tau, slides)


def measured(recording: Recording, seed: int) -> tuple[Array, Array]:
    """q and tau (n, 7) as the encoders and torque sensors give them."""
    rng = np.random.default_rng((2, seed))
    q = recording.q + ENCODER_NOISE * rng.normal(size=recording.q.shape)
    tau = recording.tau + TORQUE_NOISE * rng.normal(size=recording.tau.shape)
    return ENCODER_STEP * np.round(q / ENCODER_STEP), tau


def simulate_log(seed: int, seconds: float = 30.0) -> tuple[Log, dict[str, float]]:
    """A log of positions and torques, and the true parameters by name of Steelyard's columns."""
    from steelyard import Log

    recording = simulate(seed, seconds)
    q, tau = measured(recording, seed)
    signals: dict[tuple[str, str], Array] = {}
    for k, joint in enumerate(robot.JOINTS):
        signals[joint, "position"], signals[joint, "torque"] = q[:, k], tau[:, k]
    units = {key: "rad" if key[1] == "position" else "N*m" for key in signals}
    return Log(recording.time, signals, name=f"run{seed}", units=units), robot.true_values()


def true_model() -> Any:
    """The true robot and its controller as a MuJoCo model.

    A drive's torque is its command minus POSITION_GAIN q and SPEED_GAIN v.
    """
    import mujoco

    spec = mujoco.MjSpec.from_string(robot.urdf_text(robot.true_inertials()))
    for k, name in enumerate(robot.JOINTS):
        joint = spec.joint(name)
        joint.damping[0] = robot.VISCOUS[k]
        joint.armature, joint.frictionloss = robot.DRIVE_INERTIA[k], robot.COULOMB[k]
        joint.solref_friction = [FRICTION_TIME_CONSTANT_S, 1.0]
        joint.solimp_friction = [0.999, 0.999, 0.001, 0.5, 2.0]
        joint.actfrclimited = 0
        drive = spec.add_actuator(
            name=name,
            target=name,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            gaintype=mujoco.mjtGain.mjGAIN_FIXED,
            biastype=mujoco.mjtBias.mjBIAS_AFFINE,
        )
        drive.gainprm[0] = 1.0
        drive.biasprm[1:3] = -POSITION_GAIN[k], -SPEED_GAIN[k]
    spec.option.timestep = STEP_S
    # explicit: what implicit damping adds to a step would be missing in the acceleration
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    return spec.compile()


def fed_forward(time: Array, q: Array) -> Array:
    """The torque (n, 7) that holds the links of the file against gravity."""
    import mujoco
    from scipy.interpolate import CubicSpline

    model = mujoco.MjModel.from_xml_string(robot.urdf_text(robot.wrong_inertials()))
    data = mujoco.MjData(model)
    rows = np.append(np.arange(0, len(time) - 1, 50), len(time) - 1)
    weight = np.empty((len(rows), robot.N_JOINTS))
    for k, row in enumerate(rows):
        data.qpos = q[row]
        mujoco.mj_forward(model, data)
        weight[k] = data.qfrc_bias
    return np.asarray(CubicSpline(time[rows], weight)(time))
