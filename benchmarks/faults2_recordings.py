"""Clean recordings of the second fault matrix, and those of robots with a property.

- UR10 and Panda from example-robot-data, simulated by MuJoCo as in `never_loses_logs`: Coulomb and
  viscous friction, a file that is 5 to 30 % wrong, strong excitation, 20 to 60 s at 125 to 250 Hz.
  A robot with a property is simulated with it, in closed loop.
- The demo's arm, recorded as in `fault_recordings`. With a property it keeps its motion and needs
  other torques for it (`faults2_properties.with_property`).

The unseen motion has no noise, so that an error of zero is a perfect prediction.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import fault_recordings
import never_loses_arms as arms
import never_loses_logs as logs
import numpy as np
from fault_recordings import Array, Recording
from faults2_properties import (
    ROBOTS,
    SIMULATED_BY_MUJOCO,
    STILL,
    Gear,
    Property,
    derivative,
    robot_of,
    rocking_gravity,
    urdf_of,
    with_property,
    without_noise,
)

from steelyard.model.model import Model
from steelyard.signals.motion import Motion

SECONDS, RATES_HZ, FILE_ERROR = (20.0, 60.0), (125.0, 200.0, 250.0), (0.05, 0.3)
NOISE, SLOW_NOISE, RIPPLE, OFFSET = 0.02, 0.01, 0.005, 0.02
"""Of the torque, as shares of its size; see `never_loses_logs.Case`."""
UNSEEN_S, UNSEEN_HZ = 15.0, 200.0
LOAD_S = 0.01
"""Time in which friction follows the torque of the gear, in the simulation."""
DAMPING_S = 1e-3
"""Damping of an elastic gear over its stiffness."""


@dataclass(frozen=True, eq=False)
class Case:
    """A robot and seed: what is identified from, and the motion that harm is judged on.

    urdf : text of the robot file that the user has.
    """

    urdf: str
    training: Recording
    unseen: Recording


@lru_cache(maxsize=8)
def clean_case(robot: str, seed: int) -> Case:
    """The recordings of the robot as it is in the file, but for its parameters."""
    if robot in SIMULATED_BY_MUJOCO:
        return Case(urdf_of(robot), *simulated(robot, seed))
    made = fault_recordings.case_of(robot, seed)
    return Case(urdf_of(robot), made.training, without_noise(made.unseen))


def case_with(robot: str, seed: int, given: Property, *, unseen: bool) -> Case:
    """The recordings of the robot with a property.

    unseen : whether the unseen motion has it, too, or is that of the clean case.
    """
    clean = clean_case(robot, seed)
    if robot in SIMULATED_BY_MUJOCO:
        made = list(simulated(robot, seed, given, unseen=unseen))
    else:
        parts = (clean.training, clean.unseen) if unseen else (clean.training,)
        made = [with_property(one, given) for one in parts]
    return Case(clean.urdf, made[0], without_noise(made[1]) if unseen else clean.unseen)


@dataclass(frozen=True, eq=False)
class Setting:
    """What all recordings of a simulated robot and seed share."""

    case: logs.Case
    world: logs.World
    model: Model
    theta: Array
    speed: float
    share: float


@lru_cache(maxsize=8)
def setting_of(robot: str, seed: int) -> Setting:
    """The true robot, its controller and its log, drawn for a seed."""
    rng = np.random.default_rng([301, ROBOTS.index(robot), seed])
    case = logs.Case(
        seed=seed,
        arm=robot,
        law="tanh",
        armature="usual",
        seconds=round(float(logs.between(rng, *SECONDS)), 1),
        rate_hz=float(rng.choice(RATES_HZ)),
        file_error=float(logs.between(rng, *FILE_ERROR)),
        controller=str(rng.choice(["soft", "stiff"])),
        excitation="strong",
        motion=str(rng.choice(["periodic", "aperiodic"])),
        encoder_bits=int(rng.choice([19, 20])),
        noise=NOISE,
        slow_noise=SLOW_NOISE,
        ripple=RIPPLE,
        offset=OFFSET,
        has_velocity=False,
    )
    speed, share = float(rng.uniform(1.0, 2.0)), float(rng.uniform(0.7, 1.0))
    own = [302, ROBOTS.index(robot), seed]
    world = logs.world_of(case, share, np.random.default_rng(own))
    world.shape[0] = STILL
    truth = arms.true_text(robot, case.file_error, np.random.default_rng(own))  # the same draws
    model = Model(robot_of(urdf_of(robot)))
    value = dict(zip(model.column_names, Model(robot_of(truth)).prior_theta(), strict=True))
    for symbol, column in (
        ("Ia", world.model.dof_armature),
        ("fv", world.viscous),
        ("fc", world.coulomb),
        ("fo", np.zeros(len(world.coulomb))),
    ):
        value |= {f"{j}.{symbol}": x for j, x in zip(model.channels, column, strict=True)}
    theta = np.array([value[name] for name in model.column_names])
    return Setting(case, world, model, theta, speed, share)


def simulated(
    robot: str, seed: int, given: Property | None = None, *, unseen: bool = True
) -> tuple[Recording, ...]:
    """The training recording of a robot that MuJoCo simulates, and the unseen one if asked."""
    setting = setting_of(robot, seed)
    case = setting.case
    number = ROBOTS.index(robot)
    made = []
    for part, (seconds, rate) in enumerate(
        ((case.seconds, case.rate_hz), (UNSEEN_S, UNSEEN_HZ))[: 2 if unseen else 1]
    ):
        rng = np.random.default_rng([303, number, seed, part])
        one = closed_loop(setting, given or Property(), seconds, rate, rng)
        if given is not None and given.added is not None:
            more = given.added(recording_of(setting, one, setting.theta))
            one = replace(one, tau=one.tau + more)
        made.append(one)
    # the same noise for each property
    log, zero = logs.log_of(case, made[0], np.random.default_rng([304, number, seed]))
    theta = setting.theta.copy()
    theta[[setting.model.column_names.index(f"{j}.fo") for j in setting.model.channels]] = zero
    training, *others = (
        recording_of(setting, replace(one, tau=one.tau + zero), theta) for one in made
    )
    q, tau = (
        np.column_stack([log.signal(joint, one) for joint in setting.model.channels])
        for one in ("position", "torque")
    )
    return replace(training, q=q, tau=tau), *others


def recording_of(setting: Setting, made: logs.Motion, theta: Array) -> Recording:
    """A simulated motion as recorded by perfect sensors."""
    motion = Motion(made.time, made.q, made.v, made.a)
    return Recording(
        robot=setting.model.robot,
        siblings=(),
        model=setting.model,
        theta=theta,
        time=made.time,
        q=made.q,
        v=made.v,
        tau=made.tau,
        motion=motion,
        true_tau=made.tau,
        commanded=motion,
    )


def closed_loop(
    setting: Setting, given: Property, seconds: float, rate_hz: float, rng: np.random.Generator
) -> logs.Motion:
    """The robot along a new reference, as `never_loses_logs.simulated` but with a property.

    The law of friction is Coulomb's, tanh(v / w); its size may change in every step. Of a joint
    with an elastic gear, MuJoCo has the link and this function the motor, joined by spring and
    damper, which both treat implicitly; its position, speed and torque are the motor's.
    """
    import mujoco

    world, case = setting.world, setting.case
    model = copy.copy(world.model)
    h, every = 1.0 / logs.SIMULATED_HZ, round(logs.SIMULATED_HZ / rate_hz)
    n_samples = int(seconds * rate_hz)
    first = round(logs.SETTLE_S * logs.SIMULATED_HZ)
    n_steps = first + n_samples * every
    model.opt.timestep, model.opt.integrator = h, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    time = h * np.arange(n_steps + 1)
    q, v = logs.reference(case.motion, world.ranges, time, setting.speed, setting.share, rng)
    command = world.gain * q[:-1] + world.speed_gain * v[1:]
    command += logs.fed_forward(world, time, q)[:-1]
    gravity = None
    if given.rocking:
        planned = Motion(time, q, v, derivative(v, time))
        own = recording_of(setting, logs.Motion(time, q, v, v, v), setting.theta)
        gravity = rocking_gravity(own, planned, given.rocking)
    data = mujoco.MjData(model)
    data.qpos, data.qvel = q[0], v[0]
    motor = None if given.gear is None else Motor(given.gear, world, model, q[0], v[0], h)
    coulomb, viscous = world.coulomb.copy(), world.viscous.copy()
    damped, state, gear = viscous + world.speed_gain, np.zeros(model.nv), np.zeros(model.nv)
    before, speeds, later, tau = (np.empty((n_samples, model.nv)) for _ in range(4))
    for k in range(n_steps):
        t = np.array([(k - first) * h])
        at, speed = data.qpos.copy(), data.qvel.copy()
        if motor is not None:
            at[motor.joint], speed[motor.joint] = motor.q, motor.v
        if gravity is not None:
            model.opt.gravity = gravity[k]
        if given.friction is not None:
            by_coulomb, by_viscous = given.friction(t, speed[None], gear[None])
            coulomb, viscous = world.coulomb * by_coulomb[0], world.viscous * by_viscous[0]
            damped = viscous + world.speed_gain
        laws = coulomb, world.shape, state, data.qfrc_applied, model.dof_damping
        logs.drive(1, h, command[k], at, speed, world.gain, damped, *laws)
        if motor is not None:
            motor.push(data, model)
        if given.load is not None:
            data.qfrc_applied -= given.load(t, data.qpos[None], data.qvel[None])[0]
        mujoco.mj_step(model, data)
        after = data.qvel.copy()
        if motor is not None:
            motor.follow(data)
            after[motor.joint] = motor.v
        given_tau = command[k] - world.gain * at - world.speed_gain * after
        if given.friction is not None:
            rubbed = coulomb * np.tanh(after / world.shape[0]) + viscous * after
            now = given_tau - rubbed - world.model.dof_armature * (after - speed) / h
            gear = gear + h / LOAD_S * (now - gear)
        row, rest = divmod(k - first, every)
        if row >= 0 and rest == 0:
            before[row], speeds[row], later[row], tau[row] = at, speed, after, given_tau
    if not np.isfinite(later).all() or np.max(np.abs(later)) > 50.0:
        raise ValueError("the simulation diverged")
    stamps = np.arange(n_samples) / rate_hz
    return logs.Motion(stamps, before, 0.5 * (speeds + later), (later - speeds) / h, tau)


class Motor:
    """The motor of a joint with an elastic gear; MuJoCo's joint is the link without its drive."""

    def __init__(
        self, gear: Gear, world: logs.World, model: Any, q: Array, v: Array, step_s: float
    ) -> None:
        self.joint, self.gear, self.h = gear.joint, gear, step_s
        self.q, self.v = float(q[gear.joint]), float(v[gear.joint])
        self.inertia = float(world.model.dof_armature[gear.joint])
        self.given = self.held = self.pushed = self.per_speed = 0.0
        model.dof_armature[gear.joint] = 0.0

    def push(self, data: Any, model: Any) -> None:
        """Let the gear push the link; controller and friction, which MuJoCo has as applied force
        and damping of the joint at the motor's position and speed, push the motor instead:

            J (v' - v) / h = applied - damping v' - gear
            gear = K (s + h (v' - v_link')) + D (v' - v_link')

        with v' as predicted from v_link, since MuJoCo finds v_link' in its own step.
        """
        j, h = self.joint, self.h
        s, half = self.q - float(data.qpos[j]), 0.5 * self.gear.play
        s = s - min(max(s, -half), half)
        K = self.gear.stiffness if s else 0.0
        self.per_speed = h * K + DAMPING_S * K
        self.given = float(data.qfrc_applied[j]) + self.inertia / h * self.v
        self.held = self.inertia / h + float(model.dof_damping[j])
        v = self.given - K * s + self.per_speed * float(data.qvel[j])
        v /= self.held + self.per_speed
        self.pushed = K * s + self.per_speed * v
        data.qfrc_applied[j] = self.pushed
        model.dof_damping[j] = self.per_speed

    def follow(self, data: Any) -> None:
        """Move the motor under what the gear did to the link, once MuJoCo has moved that."""
        gear = self.pushed - self.per_speed * float(data.qvel[self.joint])
        self.v = (self.given - gear) / self.held
        self.q += self.h * self.v
