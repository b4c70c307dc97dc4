"""Logs of the benchmark `never-loses`, made by MuJoCo; a case is determined by its seed alone.

A controller with a position and a velocity gain per joint and imperfect gravity compensation
follows a reference. Friction is one of ``LAWS``:

    loss      MuJoCo's own frictionloss
    tanh      F_c tanh(v / w)
    stribeck  (F_c + (F_s - F_c) exp(-(v / v_s)²)) tanh(v / w)
    dahl      dF/dq = (F_c sgn(v) - F) / x_p, presliding (Dahl 1968)

each besides viscous damping. MuJoCo treats damping and the velocity gain implicitly; the other laws
are linearised about the speed of each step and treated in the same way, so that stiff friction is
stable. The torque is the motor's: links, reflected inertia and friction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import never_loses_arms as arms
import numba
import numpy as np
from never_loses_arms import Array

if TYPE_CHECKING:
    from steelyard.logs.log import Log

LAWS = ("loss", "tanh", "stribeck", "dahl")
RATES_HZ = (50.0, 100.0, 125.0, 200.0, 250.0, 500.0, 1000.0)
SIMULATED_HZ, LONG_SIMULATED_HZ, LONG_S = 2000.0, 1000.0, 200.0
"""Steps per second; fewer for logs longer than the last, s."""
MOST_SAMPLES = 600_000
SETTLE_S = 2.0
TEST_S, TEST_HZ = 15.0, 100.0
N_HARMONICS = 6
STIFFER = 8.0
"""The widest error of a controller overcomes Coulomb friction so many times."""
TYPICAL_ACCELERATION = 2.0
"""rad/s²; heavy drives have friction in proportion to the torque that this takes."""
SLOW_S = 2.0
"""Correlation time of the slow part of the torque's noise."""


@dataclass(frozen=True)
class Case:
    """What a log is like.

    file_error : share by which the file's inertials are wrong. armature : "usual", or "high", far
    above the links'. encoder_bits : of a turn.
    noise, slow_noise, ripple, offset : of the torque, as shares of its size: white, correlated
    over ``SLOW_S``, turning with the gear, and constant. The errors of recorded arms are 3 to 30 %;
    these make 2 to 20 %.
    """

    seed: int
    arm: str
    law: str
    armature: str
    seconds: float
    rate_hz: float
    file_error: float
    controller: str
    excitation: str
    motion: str
    encoder_bits: int
    noise: float
    slow_noise: float
    ripple: float
    offset: float
    has_velocity: bool


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion without noise: time (n,) s; q, v, a, tau (n, n_joints), tau of the motors."""

    time: Array
    q: Array
    v: Array
    a: Array
    tau: Array


@dataclass(frozen=True, eq=False)
class World:
    """The true robot with its drives and its controller; arrays (n_joints,).

    shape : of the law: a speed w; F_s / F_c, v_s; a distance x_p.
    """

    model: Any
    ranges: arms.Ranges
    coulomb: Array
    viscous: Array
    shape: Array
    gain: Array
    speed_gain: Array
    gravity: float


def case_of(seed: int) -> Case:
    """The case of a seed: 4 laws × high armature in one of 4, everything else at random."""
    rng = np.random.default_rng([29, seed])
    kind = rng.choice(4, p=[0.12, 0.68, 0.15, 0.05])
    low, high = [(5.0, 10.0), (10.0, 60.0), (60.0, 300.0), (300.0, 1200.0)][kind]
    seconds = round(float(between(rng, low, high)), 1)
    fitting = [rate for rate in RATES_HZ if rate * seconds <= MOST_SAMPLES]
    return Case(
        seed,
        arm=str(rng.choice(list(arms.ARMS))),
        law=LAWS[seed % 4],
        armature="high" if (seed // 4) % 4 == 1 else "usual",
        seconds=seconds,
        rate_hz=float(rng.choice(fitting)),
        file_error=float(between(rng, 0.05, 0.4)),
        controller=str(rng.choice(["soft", "stiff"])),
        excitation=str(rng.choice(["weak", "strong"], p=[0.35, 0.65])),
        motion=str(rng.choice(["periodic", "aperiodic", "moves"], p=[0.4, 0.3, 0.3])),
        encoder_bits=int(rng.choice([15, 17, 19, 20])),
        noise=float(between(rng, 0.01, 0.1)),
        slow_noise=float(between(rng, 0.01, 0.1)),
        ripple=float(between(rng, 0.01, 0.1)),
        offset=float(between(rng, 0.003, 0.03)),
        has_velocity=bool(rng.random() < 0.3),
    )


def recorded(case: Case) -> tuple[Log, Motion]:
    """The log of a case, and another motion of the same robot, without noise; the zeros of its
    torque sensors are off as in the log.
    """
    rng = np.random.default_rng([30, case.seed])
    speed = float(rng.uniform(0.2, 0.4) if case.excitation == "weak" else rng.uniform(1.0, 2.0))
    share = float(rng.uniform(0.15, 0.35) if case.excitation == "weak" else rng.uniform(0.7, 1.0))
    world = world_of(case, share, rng)
    motion = simulated(world, case.law, case.motion, case.seconds, case.rate_hz, speed, share, rng)
    # of a motion that looks different, about as fast and as wide
    speed, share = speed * rng.uniform(0.8, 1.2), min(1.0, share * rng.uniform(0.8, 1.2))
    test = simulated(world, case.law, "aperiodic", TEST_S, TEST_HZ, speed, share, rng)
    log, zero = log_of(case, motion, rng)
    return log, replace(test, tau=test.tau + zero)


def world_of(case: Case, share: float, rng: np.random.Generator) -> World:
    """The true robot of a case, with a controller that overcomes friction within a part of the
    motion, whose width is a share of the ranges.
    """
    import mujoco

    text = arms.true_text(case.arm, case.file_error, rng)
    names, ranges = arms.ARMS[case.arm].joints, arms.ranges(case.arm)
    spec = mujoco.MjSpec.from_string(text)
    spec.compiler.fusestatic = True
    for name in names:
        spec.joint(name).limited = 0
        spec.joint(name).actfrclimited = 0
    model = spec.compile()
    order = [model.joint(name).id for name in names]
    if order != list(range(len(names))):
        raise ValueError(f"{case.arm}: MuJoCo has the joints in the order {order}")
    size, inertia = sizes(model, ranges, rng)
    n = len(names)
    high = case.armature == "high"
    if high:  # as of gears of 100 to 1: a wrist's drive is nearly as heavy as the shoulder's
        drives = between(rng, 3.0, 10.0, n) * inertia + between(rng, 0.03, 0.3) * np.max(inertia)
        size = size + TYPICAL_ACCELERATION * drives
    else:
        drives = rng.uniform(0.1, 0.8, n) * inertia + 0.002 * np.max(inertia)
    model.dof_armature = drives
    level = between(rng, 0.05, 0.5)
    coulomb = size * level * rng.uniform(0.5, 2.0, n)
    viscous = size * level * rng.uniform(0.5, 2.0, n)
    shape = np.zeros((3, n))
    if case.law == "dahl":
        shape[0] = between(rng, 3e-5, 1e-2)
    else:
        shape[0] = rng.uniform(0.005, 0.03)
        shape[1] = rng.uniform(1.2, 1.6, n)
        shape[2] = rng.uniform(0.02, 0.1)
    if case.law == "loss":
        model.dof_frictionloss = coulomb
        model.dof_solimp = [0.999, 0.999, 0.001, 0.5, 2.0]
    hertz = rng.uniform(1.0, 2.0) if case.controller == "soft" else rng.uniform(6.0, 15.0)
    moved = inertia + model.dof_armature
    gain = np.maximum((2.0 * np.pi * hertz) ** 2 * moved, STIFFER * coulomb / (share * ranges.half))
    damped = 2.0 * rng.uniform(0.7, 1.0) * np.sqrt(gain * moved)
    gravity = (
        float(rng.uniform(0.8, 1.0)) if case.controller == "soft" else float(rng.choice([0, 1]))
    )
    return World(model, ranges, coulomb, viscous, shape, gain, damped, gravity)


def sizes(model: Any, ranges: arms.Ranges, rng: np.random.Generator) -> tuple[Array, Array]:
    """Torque (n_joints,) that holds the arm, rms over poses and with a floor, and the mean inertia
    about each joint.
    """
    import mujoco

    data = mujoco.MjData(model)
    weights: list[Array] = []
    inertias: list[list[float]] = []
    moved = np.zeros(model.nv)
    for _ in range(50):
        data.qpos = ranges.centre + ranges.half * rng.uniform(-1.0, 1.0, model.nq)
        mujoco.mj_forward(model, data)
        weights.append(data.qfrc_bias.copy())
        inertias.append([])
        for j, unit in enumerate(np.eye(model.nv)):
            mujoco.mj_mulM(model, data, moved, unit)
            inertias[-1].append(moved[j])
    weight = np.sqrt(np.mean(np.square(weights), axis=0))
    return np.maximum(weight, 0.05 * np.max(weight)), np.mean(inertias, axis=0)


def simulated(
    world: World,
    law: str,
    kind: str,
    seconds: float,
    rate_hz: float,
    speed: float,
    share: float,
    rng: np.random.Generator,
) -> Motion:
    """The closed loop along a new reference, with ``rate_hz`` samples per second."""
    import mujoco

    model = world.model
    data = mujoco.MjData(model)
    simulated_hz = LONG_SIMULATED_HZ if seconds > LONG_S else SIMULATED_HZ
    every = round(simulated_hz / rate_hz)
    h = 1.0 / simulated_hz
    n_samples = int(seconds * rate_hz)
    n_steps = round(SETTLE_S * simulated_hz) + n_samples * every
    model.opt.timestep = h
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    if law == "loss":
        model.dof_solref = [2.0 * h, 1.0]
    time = h * np.arange(n_steps + 1)
    q, v = reference(kind, world.ranges, time, speed, share, rng)
    command = world.gain * q[:-1] + world.speed_gain * v[1:] + fed_forward(world, time, q)[:-1]
    data.qpos, data.qvel = q[0], v[0]
    friction = np.zeros(model.nv)
    damped = world.viscous + world.speed_gain
    of = 0 if law == "loss" else LAWS.index(law)
    rows = n_samples, model.nv
    before, speeds, later, given = (np.empty(rows) for _ in range(4))
    applied, damping = data.qfrc_applied, model.dof_damping
    qpos, qvel = data.qpos, data.qvel
    constants = world.gain, damped, world.coulomb, world.shape
    first, step = n_steps - n_samples * every, mujoco.mj_step
    for k in range(n_steps):
        drive(of, h, command[k], qpos, qvel, *constants, friction, applied, damping)
        sampled = k >= first and (k - first) % every == 0
        if sampled:
            row = (k - first) // every
            before[row], speeds[row], given[row] = qpos, qvel, command[k]
        step(model, data)
        if of == 3:
            after_step(h, qvel, world.coulomb, world.shape, friction)
        if sampled:
            later[row] = qvel
    if not np.isfinite(later).all() or np.max(np.abs(later)) > 50.0:
        raise ValueError("the simulation diverged")
    tau = given - world.gain * before - world.speed_gain * later
    return Motion(
        np.arange(n_samples) / rate_hz,
        before,
        0.5 * (speeds + later),
        (later - speeds) / h,
        tau,
    )


@numba.njit(cache=True)
def drive(law, h, command, q, v, gain, damped, coulomb, shape, friction, applied, damping):
    """Forces and damping of one step: those of the controller, and friction linearised in v."""
    for j in range(len(v)):
        F, slope = 0.0, 0.0
        F_c, x = coulomb[j], shape[0, j]
        if law == 1 or law == 2:
            t = np.tanh(v[j] / x)
            size, change = F_c, 0.0
            if law == 2:
                dip = (shape[1, j] - 1.0) * F_c * np.exp(-((v[j] / shape[2, j]) ** 2))
                size, change = F_c + dip, -2.0 * v[j] / shape[2, j] ** 2 * dip
            F = size * t
            slope = max(0.0, size * (1.0 - t * t) / x + change * t)
        elif law == 3:
            sign = 1.0 if v[j] >= 0.0 else -1.0
            decay = np.exp(-abs(v[j]) * h / x)
            F = sign * F_c + (friction[j] - sign * F_c) * decay
            slope = max(0.0, (F_c - sign * friction[j]) * decay * h / x)
        applied[j] = command[j] - gain[j] * q[j] - F + slope * v[j]
        damping[j] = damped[j] + slope


@numba.njit(cache=True)
def after_step(h, v, coulomb, shape, friction):
    """The state of Dahl's law after a step with the speed v."""
    for j in range(len(v)):
        aim = coulomb[j] if v[j] >= 0.0 else -coulomb[j]
        friction[j] = aim + (friction[j] - aim) * np.exp(-abs(v[j]) * h / shape[0, j])


def fed_forward(world: World, time: Array, q: Array) -> Array:
    """Torques (n, n_joints) of the controller against gravity along its reference."""
    import mujoco
    from scipy.interpolate import CubicSpline

    if world.gravity == 0.0:
        return np.zeros_like(q)
    data = mujoco.MjData(world.model)
    rows = np.append(np.arange(0, len(time) - 1, round(0.04 / (time[1] - time[0]))), len(time) - 1)
    weight = np.empty((len(rows), q.shape[1]))
    for k, row in enumerate(rows):
        data.qpos = q[row]
        mujoco.mj_fwdPosition(world.model, data)
        mujoco.mj_fwdVelocity(world.model, data)
        weight[k] = data.qfrc_bias
    return np.asarray(world.gravity * CubicSpline(time[rows], weight)(time))


def reference(
    kind: str,
    ranges: arms.Ranges,
    time: Array,
    speed: float,
    share: float,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """q, v (n, n_joints) that the controller follows: sums of sines, or moves between poses."""
    n = len(ranges.centre)
    half = share * ranges.half
    if kind == "moves":
        return moves(ranges.centre, half, speed, time, rng)
    hertz = max(rng.uniform(0.05, 0.2), 0.7 / time[-1]) * np.arange(1, N_HARMONICS + 1)[:, None]
    off = rng.uniform(-0.3, 0.3, (N_HARMONICS, n)) if kind == "aperiodic" else 0.0
    omega = 2.0 * np.pi * hertz * (1.0 + off) * np.ones((1, n))
    amplitude = rng.normal(size=omega.shape) / np.sqrt(np.arange(1, N_HARMONICS + 1))[:, None]
    phase = rng.uniform(0.0, 2.0 * np.pi, omega.shape)
    q, v = np.zeros((len(time), n)), np.zeros((len(time), n))
    for w, c, p in zip(omega, amplitude, phase, strict=True):
        angle = np.multiply.outer(time, w) + p
        q += c * np.sin(angle)
        v += w * c * np.cos(angle)
    scale = np.minimum(half / abs(q).max(axis=0), speed / abs(v).max(axis=0))
    return ranges.centre + scale * q, scale * v


def moves(
    centre: Array, half: Array, speed: float, time: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """q, v (n, n_joints) of moves between random poses by quintics, with rests."""
    q, v = np.empty((len(time), len(centre))), np.zeros((len(time), len(centre)))
    start, pose = 0.0, centre.copy()
    while start <= time[-1]:
        goal = centre + half * rng.uniform(-1.0, 1.0, len(centre))
        away = goal - pose
        duration = max(0.5, 1.875 * float(np.max(np.abs(away))) / speed)
        end = start + duration + rng.uniform(0.1, 0.5)
        inside = slice(*np.searchsorted(time, [start, end]))
        s = np.clip((time[inside] - start) / duration, 0.0, 1.0)
        q[inside] = pose + np.multiply.outer(s**3 * (10.0 - 15.0 * s + 6.0 * s**2), away)
        v[inside] = np.multiply.outer(30.0 * s**2 * (1.0 - s) ** 2 / duration, away)
        start, pose = end, goal
    return q, v


def log_of(case: Case, motion: Motion, rng: np.random.Generator) -> tuple[Log, Array]:
    """What a recorder writes: encoder steps, torques with noise and in steps, perhaps speeds; and
    the error (n_joints,) of the torque sensors' zeros.
    """
    from steelyard.logs.log import Log

    step = 2.0 * np.pi / 2.0**case.encoder_bits
    shape = motion.q.shape
    q = motion.q + 0.3 * step * rng.normal(size=shape)
    size = np.std(motion.tau, axis=0) + 0.1 * np.sqrt(np.mean(motion.tau**2, axis=0))
    tau = motion.tau + case.noise * size * rng.normal(size=shape)
    tau += case.slow_noise * size * slow(rng, motion.time, shape[1])
    zero = case.offset * size * rng.normal(size=shape[1])
    tau += zero
    teeth, phase = rng.uniform(50.0, 160.0, shape[1]), rng.uniform(0.0, 2.0 * np.pi, shape[1])
    tau += case.ripple * size * np.sin(teeth * motion.q + phase)
    coarse = case.noise * size * rng.uniform(0.1, 1.0)
    recorded = {"position": step * np.round(q / step), "torque": coarse * np.round(tau / coarse)}
    if case.has_velocity:
        top = np.sqrt(np.mean(motion.v**2, axis=0))
        recorded["velocity"] = motion.v + 0.01 * top * rng.normal(size=shape)
    unit = {"position": "rad", "velocity": "rad/s", "torque": "N*m"}
    signals = {
        (joint, quantity): values[:, j].copy()
        for quantity, values in recorded.items()
        for j, joint in enumerate(arms.ARMS[case.arm].joints)
    }
    units = {key: unit[key[1]] for key in signals}
    return Log(motion.time, signals, name=f"case{case.seed}", units=units), zero


def slow(rng: np.random.Generator, time: Array, n: int) -> Array:
    """Noise (n_samples, n) of standard deviation 1 that is correlated over ``SLOW_S``."""
    from scipy.signal import lfilter

    keep = np.exp(-(time[1] - time[0]) / SLOW_S)
    white = np.sqrt(1.0 - keep**2) * rng.normal(size=(len(time), n))
    white[0] /= np.sqrt(1.0 - keep**2)
    return np.asarray(lfilter([1.0], [1.0, -keep], white, axis=0))


def between(rng: np.random.Generator, low: float, high: float, n: int | None = None) -> Array:
    """Numbers whose logarithms are uniform."""
    return np.exp(rng.uniform(np.log(low), np.log(high), n))
