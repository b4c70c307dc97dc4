"""Simulate a robot with friction, drives, a controller and sensors, and return its log.

The robot obeys (M(q) + Ia) a + b(q, v) + friction + offset = tau, all from a `Model` and its true
parameters theta; friction that jumps at zero speed is smoothed, as fc tanh(s / slow). For the
integration, see `steelyard.simulation._rollout`. There are no end stops, no effort limits, and no
delay or elasticity in the drives; the controller uses the true state, and only the log has sensor
noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import SimulationError
from steelyard.excitation.trajectory import Trajectory
from steelyard.logs.log import Log
from steelyard.model.kernels import (
    bias_torque,
    body_parameters,
    mass_matrix,
    mechanism_arguments,
    parameter_array,
    torque,
)
from steelyard.model.model import Model
from steelyard.model.terms import Term
from steelyard.robot.inertia import violations
from steelyard.signals.motion import Motion
from steelyard.signals.term_speeds import with_history
from steelyard.simulation._friction_curves import KNOTS, friction_pieces
from steelyard.simulation.sensors import PerJoint, Sensors, per_joint, positive, record

__all__ = ["Controller", "Sensors", "forward_dynamics", "simulate"]

Array = NDArray[np.float64]
ControllerKind = Literal["computed_torque", "pd", "ideal", "free"]

CONTROLLERS = ("computed_torque", "pd", "ideal", "free")
CONTROL_RATE_HZ = 1000.0
USUAL_STIFFNESS = 400.0
"""1/s², 3 Hz."""
LAG = 0.1
"""Share of the leash by which friction may hold a joint back, if the stiffness is open."""
STIFFEST = 0.25
"""Frequency (rad/s) of the stiffest joint, as a share of the controller's rate."""
MAX_TICKS = 20_000_000
MOST_SUSPECTS = 4
SPRINGS = ("spring", "sine", "cosine")
"""Kinds of terms that depend on the position, in the order of their numbers in the loop."""
EXACTLY = "or let it follow exactly, with --controller ideal (Controller('ideal'))"


@dataclass(frozen=True, eq=False)
class Controller:
    """The controller that makes the robot follow a trajectory, with error e = q_ref - q:

        computed_torque  tau = M̂ (a_ref + Kp e + Kd ė) + ĉ(q, v) + ĝ(q)
                         (Sousa and Cortesão 2014, eq 76)
        pd               tau = ĝ(q) + m̂ (Kp e + Kd ė), m̂ the smallest diagonal of M̂ on the motion
        ideal            the robot follows exactly, with the torque of the model
        free             no torque: the robot falls freely from the start of the motion

    stiffness : Kp, 1/s²; one number, or one per joint name. None for 400, and more for joints that
        friction and offset would hold back by more than a tenth of the leash.
    damping : Kd, 1/s; None for 2 sqrt(Kp), critically damped.
    theta : parameters (n_columns,) of the controller's model; None for the true ones. As in the
        paper, that model has no friction and no offsets.
    rate_hz : rate of the controller; torque is constant in between. None for the smallest
        multiple of the log's rate that is at least 1 kHz.
    leash : largest error (rad or m); beyond it the simulation raises an error.
    """

    kind: ControllerKind = "computed_torque"
    stiffness: PerJoint | None = None
    damping: PerJoint | None = None
    theta: Array | None = None
    rate_hz: float | None = None
    leash: PerJoint = 1.0

    def __post_init__(self) -> None:
        if self.kind not in CONTROLLERS:
            raise SimulationError(
                f"there is no controller {self.kind!r}; there are {', '.join(CONTROLLERS)}"
            )


def simulate(
    model: Model,
    theta: ArrayLike,
    trajectory: Trajectory,
    *,
    duration_s: float,
    rate_hz: float = 1000.0,
    controller: Controller | None = None,
    sensors: Sensors | None = None,
    seed: int = 0,
    name: str = "virtual",
    slow: float = 1e-3,
    step_s: float = 5e-4,
) -> Log:
    """Let a robot with parameters theta (n_columns,) follow a trajectory, and log it.

    The robot starts on the trajectory. The recorded torque is that of the drives; where it jumps
    at a sample, the mean of both sides.

    slow : speed (rad/s or m/s) of the tanh that smooths the sign of Coulomb friction.
    step_s : longest integration step (s).
    seed : random seed of the sensors' noise; the same seed gives the same log.
    """
    check_seed(seed)
    motion, tau = followed(
        model,
        theta,
        trajectory,
        duration_s=duration_s,
        rate_hz=rate_hz,
        controller=controller,
        slow=slow,
        step_s=step_s,
    )
    return record(
        model.robot, motion.time, motion.q, motion.v, tau, sensors or Sensors(), seed, name
    )


def check_seed(seed: int) -> None:
    """Refuse a negative seed."""
    if seed < 0:
        raise SimulationError(f"seed is {seed}; it must not be negative")


def followed(
    model: Model,
    theta: ArrayLike,
    trajectory: Trajectory,
    *,
    duration_s: float,
    rate_hz: float = 1000.0,
    controller: Controller | None = None,
    slow: float = 1e-3,
    step_s: float = 5e-4,
) -> tuple[Motion, Array]:
    """The true motion of the robot, without sensors, and the torque of its drives (n_samples, nv).

    Arguments as for :func:`simulate`. Accelerations are those of the trajectory if the robot
    follows it exactly, else central differences of the true velocities.
    """
    if not isinstance(model, Model):
        raise SimulationError(f"a model is needed, not a {type(model).__name__}; try Model(robot)")
    if model.robot.floating_base:
        raise SimulationError(
            f"robot '{model.robot.name}' has a floating base, which no controller here can "
            "balance: prescribe its motion with floating_log"
        )
    controller = controller or Controller()
    theta = parameter_array(model, theta)
    check_simulable(model, theta, controller.kind)
    for value, what in ((duration_s, "duration_s"), (rate_hz, "rate_hz")):
        positive(value, what)
    n_samples = round(duration_s * rate_hz) + 1
    every = control_ticks(controller, rate_hz)
    if n_samples < 2:
        raise SimulationError(f"{duration_s:g} s at {rate_hz:g} Hz are less than two samples")
    if n_samples * every > MAX_TICKS:
        raise SimulationError(
            f"{duration_s:g} s at {rate_hz * every:g} Hz are {n_samples * every} ticks of the "
            f"controller; at most {MAX_TICKS} are simulated at once"
        )
    time = np.arange(n_samples) / rate_hz
    if controller.kind == "ideal":
        motion = reference(model, trajectory, time)
        friction = with_history(model, motion).friction
        return motion, torque(model, theta, motion.q, motion.v, motion.a, friction)
    positive(slow, "slow")
    positive(step_s, "step_s")
    ticks = np.arange((n_samples - 1) * every + 1) / (rate_hz * every)
    motion = reference(model, trajectory, ticks)
    q, v, tau = follow(model, theta, controller, motion, every, slow, step_s)
    return Motion(time, q, v, np.gradient(v, time, axis=0), motion.run), tau


def forward_dynamics(
    model: Model, theta: ArrayLike, q: ArrayLike, v: ArrayLike, tau: ArrayLike
) -> Array:
    """Acceleration (n_samples, nv) under drive torques tau (n_samples, nv); friction has the
    model's sign(v), not smoothed. q (n_samples, nq), v (n_samples, nv).
    """
    M = mass_matrix(model, theta, q)
    rest = np.atleast_2d(np.asarray(tau, dtype=float)) - bias_torque(model, theta, q, v)
    return np.asarray(np.linalg.solve(M, rest[:, :, None])[:, :, 0], dtype=float)


def follow(
    model: Model,
    theta: Array,
    controller: Controller,
    motion: Motion,
    every: int,
    slow: float,
    step_s: float,
) -> tuple[Array, Array, Array]:
    """True q, v and tau (n_samples, nv) at every ``every``-th tick of the reference."""
    from steelyard.simulation import _rollout

    joints = model.channels
    kind = {"computed_torque": _rollout.COMPUTED_TORQUE, "pd": _rollout.PD, "free": _rollout.FREE}
    believed = theta if controller.theta is None else parameter_array(model, controller.theta)
    leash = per_joint(controller.leash, joints, "leash")
    period = float(motion.time[1] - motion.time[0])
    if controller.stiffness is None:
        stiffness = stiffness_for(model, theta, motion, leash, period)
    else:
        stiffness = per_joint(controller.stiffness, joints, "stiffness")
    if controller.damping is None:
        damping = 2.0 * np.sqrt(stiffness)
    else:
        damping = per_joint(controller.damping, joints, "damping")
    if controller.kind == "pd":
        some = motion.q[:: max(1, len(motion) // 100)]
        inertia = mass_matrix(model, believed, some).diagonal(axis1=1, axis2=2).min(axis=0)
        stiffness, damping = stiffness * inertia, damping * inertia
    if controller.kind == "free":
        leash = np.full(len(joints), np.inf)
    n_samples = (len(motion) - 1) // every + 1
    q, v, tau = (np.empty((n_samples, len(joints))) for _ in range(3))
    status, tick, joint = _rollout.rollout(
        mechanism_arguments(model.mechanism),
        body_parameters(model, theta),
        joint_work(model, theta),
        float(slow),
        (
            kind[controller.kind],
            stiffness,
            damping,
            body_parameters(model, believed),
            joint_work(model, believed)[0],
        ),
        (motion.q, motion.v, motion.a),
        leash,
        period,
        max(1, int(np.ceil(period / step_s - 1e-9))),
        every,
        (q, v, tau),
    )
    if status == _rollout.DONE:
        return q, v, tau
    where = f"joint '{joints[joint]}' at {motion.time[tick]:.6g} s"
    if status == _rollout.NOT_POSITIVE:
        raise SimulationError(not_positive(model, theta, joints[joint], where, q[0]))
    if status == _rollout.LEFT_REFERENCE:
        unit = "m" if model.robot.joint(joints[joint]).kind == "prismatic" else "rad"
        raise SimulationError(
            f"{where} is more than {leash[joint]:g} {unit} away from its reference; if it lags, "
            "because friction is large for its inertia: raise its stiffness or its drive inertia, "
            "or slow the motion down; if it oscillates: lower the stiffness, or raise the "
            f"controller's rate_hz; {EXACTLY}"
        )
    if status == _rollout.NOT_SOLVED:
        raise SimulationError(f"friction did not converge at {motion.time[tick]:.6g} s: raise slow")
    raise SimulationError(
        f"{where} diverged; lower the stiffness (1/s²), raise the controller's rate_hz, or shorten "
        f"step_s; {EXACTLY}"
    )


def stiffness_for(
    model: Model, theta: Array, motion: Motion, leash: Array, period_s: float
) -> Array:
    """Stiffness (nv,) 1/s² with which joints keep up with a motion (a reference) despite friction.

    Friction f, which the controller does not know, holds joint i back by (M⁻¹ f)_i / Kp_i.
    """
    some = slice(None, None, max(1, len(motion) // 100))
    q, v = motion.q[some], motion.v[some]
    terms = np.array([column.term_kind is not None for column in model.columns])
    friction = torque(model, np.where(terms, theta, 0.0), q, v, np.zeros_like(v))
    try:
        pushed = np.linalg.solve(mass_matrix(model, theta, q), friction[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:  # told where the motion gets there
        return np.full(model.nv, USUAL_STIFFNESS)
    needed = np.abs(pushed).max(axis=0) / (LAG * leash)
    return np.asarray(
        np.clip(needed, USUAL_STIFFNESS, max((STIFFEST / period_s) ** 2, USUAL_STIFFNESS))
    )


def joint_work(model: Model, theta: Array) -> tuple[Any, ...]:
    """The terms as arrays for the compiled loop: ``work`` of `steelyard.simulation._rollout`."""
    nv, arrays = model.nv, model.term_arrays
    inertia, viscous, offset = np.zeros((nv, nv)), np.zeros((nv, nv)), np.zeros(nv)
    friction: list[tuple[Array, float, Term]] = []
    springs: list[tuple[Array, float, int]] = []
    for k, term in enumerate(model.terms):
        entries = slice(arrays.start[k], arrays.start[k + 1])
        d = np.zeros(nv)
        np.add.at(d, arrays.row[entries], arrays.weight[entries])
        value = theta[arrays.column[k]]
        kind = term.term_kind
        if kind.response == "inertia":
            inertia += value * np.outer(d, d)
        elif kind.response == "linear":
            viscous += value * np.outer(d, d)
        elif kind.response == "constant":
            offset += value * d
        elif kind.response == "position" and value != 0.0:
            springs.append((d, value, SPRINGS.index(kind.name)))
        elif value != 0.0:
            friction.append((d, value, term))
    kinds = [term.term_kind for _, _, term in friction]
    pieces = [friction_pieces(term.term_kind, term.speed or 1.0) for _, _, term in friction]
    return (
        inertia,
        viscous,
        offset,
        np.array([d for d, *_ in friction]).reshape(-1, nv),
        np.array([value for _, value, _ in friction]),
        np.array([kind.jumps_at_zero_speed for kind in kinds], dtype=np.bool_),
        np.array(pieces).reshape(-1, len(KNOTS) - 1, 4),
        KNOTS,
        np.array([term.travel for _, _, term in friction], dtype=float),
        np.zeros(len(friction)),
        np.array([kind.response == "load" for kind in kinds], dtype=np.bool_),
        np.zeros(len(friction)),
        np.array([d for d, *_ in springs]).reshape(-1, nv),
        np.array([value for _, value, _ in springs]),
        np.array([code for *_, code in springs], dtype=np.int64),
    )


def check_simulable(model: Model, theta: Array, kind: ControllerKind) -> None:
    """Refuse numbers that are not finite, and negative friction where it decides the motion."""
    for column, value in zip(model.columns, theta, strict=True):
        if not np.isfinite(value):
            raise SimulationError(f"{column.name} is {value}; it must be a finite number")
        term = column.term_kind
        friction = term is not None and term.is_friction and not term.may_be_negative
        if kind != "ideal" and friction and value < 0.0:
            raise SimulationError(
                f"{column.name} is {value:g} {column.unit}: negative friction cannot be simulated"
            )


def control_ticks(controller: Controller, rate_hz: float) -> int:
    """Ticks of the controller per sample of the log."""
    if controller.kind == "ideal":
        return 1
    if controller.rate_hz is None:
        return max(1, int(np.ceil(CONTROL_RATE_HZ / rate_hz - 1e-9)))
    positive(controller.rate_hz, "the controller's rate_hz")
    ratio = controller.rate_hz / rate_hz
    if round(ratio) < 1 or abs(ratio - round(ratio)) > 1e-9 * ratio:
        raise SimulationError(
            f"the controller's {controller.rate_hz:g} Hz are no multiple of the log's "
            f"{rate_hz:g} Hz; choose one that is"
        )
    return round(ratio)


def reference(model: Model, trajectory: Trajectory, time: Array) -> Motion:
    """The trajectory at these times, columns in the model's order of joints."""
    joints = model.channels
    if sorted(trajectory.joints) != sorted(joints):
        raise SimulationError(
            f"the trajectory moves {', '.join(trajectory.joints)}, but the joints of robot "
            f"'{model.robot.name}' are {', '.join(joints)}"
        )
    motion = trajectory.evaluate(time)
    order = [trajectory.joints.index(name) for name in joints]
    q, v, a = (np.ascontiguousarray(x[:, order]) for x in (motion.q, motion.v, motion.a))
    return Motion(time, q, v, a, motion.run)


def not_positive(model: Model, theta: Array, joint: str, where: str, q: Array) -> str:
    """Error text for an inertia matrix that is not positive definite, with suspect bodies."""
    smallest = float(np.linalg.eigvalsh(mass_matrix(model, theta, q[None])[0])[0])
    bodies = zip(model.mechanism.bodies, body_parameters(model, theta), strict=True)
    wrong: list[str] = []
    # the body that the joint moves is the first suspect
    for body, phi in sorted(bodies, key=lambda pair: pair[0].joint != joint):
        wrong.extend(violation.words for violation in violations(phi, body.name))
        if not phi.any():
            wrong.append(f"link '{body.name}' is massless")
    if len(wrong) > MOST_SUSPECTS:
        wrong = [*wrong[:MOST_SUSPECTS], f"{len(wrong) - MOST_SUSPECTS} more"]
    what = "; ".join(wrong) if wrong else "each link by itself is physical: look at drive inertia"
    return (
        f"the inertia matrix is not positive definite at {where} (its smallest eigenvalue is "
        f"{smallest:.3g}): {what}"
    )
