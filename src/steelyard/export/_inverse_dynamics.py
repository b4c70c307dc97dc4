"""The inverse dynamics of one robot as straight-line code.

Recursive Newton-Euler, unrolled over the bodies. With the rate of change of a body's motion as a
matrix (Khalil and Kleinfinger 1987),

    U = [α]× + ω ωᵀ - |ω|² 1        acceleration of the point r of a body: l + U r
    force  = m l + U h                               h = m c, l: acceleration of the origin
    moment = h × l + Σ over entries of I of the entry times differences of entries of U

Base parameters are put into the columns that they are named after, and all other standard
parameters are zero: the torque is the same, and most products are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ModelError, ResultError
from steelyard.export._straight_line import StraightLine, Value, clip, cos, sign, sin
from steelyard.export._vectors import (
    ZERO,
    Matrix,
    Vector,
    cross,
    dot,
    matrix,
    minus,
    plus,
    scaled,
    times,
    times_transposed,
)
from steelyard.model.base_map import BaseMap
from steelyard.model.kernels import body_parameters
from steelyard.model.mechanism import FLOATING, PRISMATIC, Mechanism
from steelyard.model.model import Model
from steelyard.model.terms import Term

Array = NDArray[np.float64]
ROUNDING = 1e-15
"""Entries of rotations (and positions, as a share of the robot's longest) that differ from 0 or 1
by less are rounding errors: cos(pi/2) is 6e-17.
"""


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """Torques (nv values) as functions of the entries of the arrays q, v and a.

    torque : of everything. gravity : of the weight alone, a function of q.
    """

    torque: tuple[Value, ...]
    gravity: tuple[Value, ...]


def base_theta(model: Model, base: BaseMap, beta: ArrayLike) -> Array:
    """theta (n_columns,): beta (n_base,) in the base columns, zero elsewhere."""
    if base.model_hash != model.hash:
        raise ResultError(
            f"the base parameters belong to a different model than '{model.robot.name}': "
            "its geometry, gravity or terms differ"
        )
    values = np.asarray(beta, dtype=float)
    if values.shape != (base.rank,):
        raise ResultError(
            f"beta has shape {values.shape}, but there are {base.rank} base parameters"
        )
    if not np.isfinite(values).all():
        first = base.names[int(np.flatnonzero(~np.isfinite(values))[0])]
        raise ResultError(f"base parameter '{first}' is not finite: no code can be written")
    theta = np.zeros(len(model.columns))
    theta[list(base.independent)] = values
    return theta


def inverse_dynamics(model: Model, theta: Array) -> InverseDynamics:
    """Torques of the standard parameters theta (n_columns,)."""
    lines = StraightLine()
    q, v, a = (
        [lines.read(name, i) for i in range(width)]
        for name, width in (("q", model.nq), ("v", model.nv), ("a", model.nv))
    )
    phi = body_parameters(model, theta)
    rest = [0.0] * model.nv
    torque = rigid_torque(model.mechanism, phi, q, v, a)
    loads: list[Value] | None = None
    if model.term_arrays.reads_load:
        carried = body_parameters(model, model.load_theta)
        loads = rigid_torque(model.mechanism, carried, q, v, a)
    states = [lines.read("z", i) for i in range(len(travel_terms(model)))]
    add_terms(model, theta, (q[model.nq - model.nv :], v, a, loads, states), torque)
    gravity = rigid_torque(model.mechanism, phi, q, rest, rest)
    return InverseDynamics(tuple(torque), tuple(gravity))


@dataclass(frozen=True, eq=False)
class _Motion:
    """Motion of a body, in its own frame.

    rotation : R_parent_body. arm : the point of the parent (m, in its frame) where the joint is.
    spin, turn : angular velocity ω and acceleration α. lift : acceleration l of the origin, with
    that of gravity upward. change : the matrix U.
    """

    rotation: Matrix
    arm: Vector
    spin: Vector
    turn: Vector
    lift: Vector
    change: Matrix


def rigid_torque(
    mechanism: Mechanism,
    phi: Array,
    q: Sequence[Value],
    v: Sequence[Value],
    a: Sequence[Value],
) -> list[Value]:
    """Torques (nv) of the bodies with parameters phi (n_bodies, 10), gravity included."""
    motions: list[_Motion] = []
    forces: list[Vector] = []
    moments: list[Vector] = []
    for i, above in enumerate(mechanism.parent.tolist()):
        motions.append(_moved(mechanism, i, motions[above] if above >= 0 else None, q, v, a))
        force, moment = _wrench(phi[i].tolist(), motions[i])
        forces.append(force)
        moments.append(moment)
    tau: list[Value] = [0.0] * mechanism.nv
    for i, above in reversed(list(enumerate(mechanism.parent.tolist()))):
        motion, force, moment = motions[i], forces[i], moments[i]
        if mechanism.kind[i] == FLOATING:
            tau[:6] = (*force, *moment)
            continue
        row, scale = int(mechanism.coordinate[i]), float(mechanism.scale[i])
        axis, centre = _joint_axis(mechanism, i)
        # about a point on the joint's axis, which is fixed in both bodies
        moment = minus(moment, cross(centre, force))
        along = force if mechanism.kind[i] == PRISMATIC else moment
        tau[row] = tau[row] + scale * dot(axis, along)
        if above >= 0:
            carried = times(motion.rotation, force)
            forces[above] = plus(forces[above], carried)
            moments[above] = plus(
                moments[above],
                plus(times(motion.rotation, moment), cross(motion.arm, carried)),
            )
    return tau


def _moved(
    mechanism: Mechanism,
    i: int,
    parent: _Motion | None,
    q: Sequence[Value],
    v: Sequence[Value],
    a: Sequence[Value],
) -> _Motion:
    """Motion of body i from that of its parent; None for the ground."""
    if mechanism.kind[i] == FLOATING:
        return _moved_base(mechanism.gravity, q, v, a)
    row, scale = int(mechanism.coordinate[i]), float(mechanism.scale[i])
    position = scale * q[row + mechanism.nq - mechanism.nv]
    speed, rate = scale * v[row], scale * a[row]
    axis, centre = _joint_axis(mechanism, i)
    still, cosine, sine, arm = _joint_constants(mechanism, i)
    lift: Vector = _constants(-mechanism.gravity)
    spin = turn = ZERO
    rotation = still
    if mechanism.kind[i] == PRISMATIC:
        arm = plus(arm, times(still, scaled(position, axis)))
    else:
        c, s = cos(position), sin(position)
        rotation = matrix(
            still[j][k] + cosine[j][k] * c + sine[j][k] * s for j in range(3) for k in range(3)
        )
    if parent is not None:
        lift = plus(parent.lift, times(parent.change, arm))
        spin = times_transposed(rotation, parent.spin)
        turn = times_transposed(rotation, parent.turn)
    lift = times_transposed(rotation, lift)
    if mechanism.kind[i] == PRISMATIC:
        swept = scaled(2.0 * speed, cross(spin, axis))
        lift = plus(plus(lift, swept), scaled(rate, axis))
        return _Motion(rotation, arm, spin, turn, lift, _change(spin, turn))
    own = scaled(speed, axis)
    turn = plus(plus(turn, cross(spin, own)), scaled(rate, axis))
    spin = plus(spin, own)
    change = _change(spin, turn)
    lift = minus(lift, times(change, centre))
    return _Motion(rotation, arm, spin, turn, lift, change)


def _moved_base(
    gravity: Array, q: Sequence[Value], v: Sequence[Value], a: Sequence[Value]
) -> _Motion:
    """Motion of a floating base: q is its position and quaternion, v and a in its own frame."""
    x, y, z, w = q[3:7]
    t = 2.0 / (x * x + y * y + z * z + w * w)
    rotation: Matrix = (
        (1.0 - t * (y * y + z * z), t * (x * y - z * w), t * (x * z + y * w)),
        (t * (x * y + z * w), 1.0 - t * (x * x + z * z), t * (y * z - x * w)),
        (t * (x * z - y * w), t * (y * z + x * w), 1.0 - t * (x * x + y * y)),
    )
    spin, turn = (v[3], v[4], v[5]), (a[3], a[4], a[5])
    lift = plus((a[0], a[1], a[2]), cross(spin, (v[0], v[1], v[2])))
    lift = plus(lift, times_transposed(rotation, _constants(-gravity)))
    return _Motion(rotation, ZERO, spin, turn, lift, _change(spin, turn))


def _joint_axis(mechanism: Mechanism, i: int) -> tuple[Vector, Vector]:
    """Direction of the joint, and a point on its axis (m) if it turns, in the body's frame."""
    if mechanism.kind[i] == PRISMATIC:
        return _constants(mechanism.screw[i, :3], unit=True), ZERO
    centre = _constants(mechanism.centre[i], _longest(mechanism))
    return _constants(mechanism.screw[i, 3:], unit=True), centre


def _joint_constants(mechanism: Mechanism, i: int) -> tuple[Matrix, Matrix, Matrix, Vector]:
    """A, B, C and p: R_parent_body = A + B cos + C sin, and p (m) a point of the joint's axis,
    in the parent's frame. For a slide A is the rotation, and p where it starts.
    """
    rest, at = mechanism.rest_rotation[i], mechanism.rest_position[i]
    none = matrix([0.0] * 9)
    if mechanism.kind[i] == PRISMATIC:
        return _rotation(rest), none, none, _constants(at, _longest(mechanism))
    x, y, z = axis = mechanism.screw[i, 3:]
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    along = np.outer(axis, axis)
    arm = _constants(at + rest @ mechanism.centre[i], _longest(mechanism))
    return (
        _rotation(rest @ along),
        _rotation(rest @ (np.eye(3) - along)),
        _rotation(rest @ skew),
        arm,
    )


def _longest(mechanism: Mechanism) -> float:
    """The largest coordinate (m) between joints."""
    return float(max(np.abs(mechanism.rest_position).max(), np.abs(mechanism.centre).max()))


def _rotation(R: Array) -> Matrix:
    return matrix(x for row in R for x in _constants(row, unit=True))


def _constants(values: Array, size: float = 1.0, *, unit: bool = False) -> Vector:
    """Three numbers without rounding errors; ``unit``: those near 1 and -1, too."""
    out = np.where(np.abs(values) < ROUNDING * size, 0.0, values)
    if unit:
        out = np.where(np.abs(np.abs(out) - 1.0) < ROUNDING, np.sign(out), out)
    x, y, z = out.tolist()
    return x, y, z


def _change(spin: Vector, turn: Vector) -> Matrix:
    """U = [α]× + ω ωᵀ - |ω|² 1."""
    x, y, z = spin
    a, b, c = turn
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz = x * y, x * z, y * z
    return (
        (-(yy + zz), xy - c, xz + b),
        (xy + c, -(xx + zz), yz - a),
        (xz - b, yz + a, -(xx + yy)),
    )


def _wrench(phi: Sequence[float], motion: _Motion) -> tuple[Vector, Vector]:
    """Force (N) and moment about the origin (N m) that move a body as stated."""
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = phi
    h = (hx, hy, hz)
    U, (wx, wy, wz), (ax, ay, az) = motion.change, motion.spin, motion.turn
    force = plus(scaled(m, motion.lift), times(U, h))
    moment = (
        xx * ax + (zz - yy) * (wy * wz) - xy * U[2][0] + xz * U[1][0] + yz * (wy * wy - wz * wz),
        yy * ay + (xx - zz) * (wz * wx) - yz * U[0][1] + xy * U[2][1] + xz * (wz * wz - wx * wx),
        zz * az + (yy - xx) * (wx * wy) - xz * U[1][2] + yz * U[0][2] + xy * (wx * wx - wy * wy),
    )
    return force, plus(moment, cross(h, motion.lift))


@dataclass(frozen=True, eq=False)
class _MotionAlong:
    """What the law of a term reads (see `MotionAlong`), for one term, as values.

    state : of friction that builds up over a travel, instead of the sign of the speed.
    """

    position: Value
    speed: Value
    acceleration: Value
    load: Value
    width: float
    shape_speed: float
    state: Value | None = None
    ones: Value = 1.0

    @property
    def sign(self) -> Value:
        """The sign of the speed, or clip(speed / width, -1, 1), or the state."""
        if self.state is not None:
            return self.state
        return clip(self.speed / self.width) if self.width else sign(self.speed)

    @property
    def way(self) -> Value:
        """The sign of the speed."""
        return sign(self.speed)

    @property
    def per_shape_speed(self) -> Value:
        """The speed over the one that shapes the law."""
        return self.speed / self.shape_speed


def travel_terms(model: Model) -> tuple[Term, ...]:
    """One term of each joint, motor or coupling whose friction builds up over a travel; the order
    of their states.
    """
    return tuple({term.owner: term for term in model.terms if term.travel}.values())


Along = tuple[
    Sequence[Value], Sequence[Value], Sequence[Value], Sequence[Value] | None, Sequence[Value]
]
"""Joint positions, speeds and accelerations, loads of the gears, states of friction."""


def add_terms(model: Model, theta: Array, motion: Along, tau: list[Value]) -> None:
    """Add the torques of drive inertia, friction, offsets and springs to ``tau``."""
    q, v, a, loads, states = motion
    row_of = {name: row for row, name in enumerate(model.channels)}
    state_of = {term.owner: k for k, term in enumerate(travel_terms(model))}

    def along(entries: Sequence[Value], term: Term) -> Value:
        return sum((weight * entries[row_of[joint]] for joint, weight in term.direction), 0.0)

    for term, column in zip(model.terms, model.term_arrays.column.tolist(), strict=True):
        if theta[column] == 0.0:
            continue
        load: Value = 0.0
        if loads is not None and term.load:
            squares = float(sum(weight * weight for _, weight in term.direction))
            load = cast(Value, abs(along(loads, term))) / squares
        factor = _law(
            term,
            _MotionAlong(
                along(q, term),
                along(v, term),
                along(a, term),
                load,
                term.width,
                term.speed or 1.0,
                states[state_of[term.owner]] if term.travel else None,
            ),
        )
        for joint, weight in term.direction:
            row = row_of[joint]
            tau[row] = tau[row] + weight * (float(theta[column]) * factor)


def _law(term: Term, motion: _MotionAlong) -> Value:
    """The law of the term's kind on values instead of arrays."""
    try:
        return cast(Value, term.term_kind.law(cast(Any, motion)))
    except (TypeError, AttributeError):
        raise ModelError(
            f"term '{term.name}': {term.term_kind.description} cannot be written as C or NumPy code"
        ) from None
