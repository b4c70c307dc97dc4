"""Inverse dynamics of enclosed motions: joint torques that are bounded on whole intervals of time.

The recursive Newton-Euler equations of a tree of revolute and prismatic joints, and the terms of
the joints, in the arithmetic of `time_enclosure`. The equations are those of the compiled kernels
(`steelyard.model.kernels`), body by body in each body's own frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.torque.time_enclosure import (
    Enclosure,
    along,
    between,
    constant,
    cross,
    cross_matrix,
    product,
    times_matrix,
    turn_about,
)
from steelyard.model.kernels import body_parameters
from steelyard.model.mechanism import PRISMATIC, Mechanism
from steelyard.model.model import Model
from steelyard.model.term_kinds import TermKind

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EnclosedMotion:
    """Positions, speeds and accelerations of the nv joints on n intervals."""

    q: tuple[Enclosure, ...]
    v: tuple[Enclosure, ...]
    a: tuple[Enclosure, ...]

    @property
    def half(self) -> Array:
        """Half the length (n,) of each interval (s)."""
        return self.q[0].half


def enclosed_torque(model: Model, theta: Array, motion: EnclosedMotion) -> tuple[Enclosure, ...]:
    """The nv torques, N m or N, of a robot with a fixed base.

    theta : (n_columns,). A friction that jumps at zero speed is its whole jump where the speed may
    be zero.
    """
    rows = _rigid_torque(model.mechanism, body_parameters(model, theta), motion)
    terms = model.term_arrays
    for group in terms.groups:
        for k, term in enumerate(group.members):
            value = float(theta[terms.column[term]])
            if value == 0.0:
                continue
            direction = [
                (int(row), float(weight))
                for row, weight in zip(group.rows[k], group.weights[k], strict=True)
                if weight != 0.0
            ]
            shape = float(group.widths[k]), float(group.shape_speeds[k])
            follows = bool(group.travels[k])
            if group.kind.response == "load":
                factor = _load_factor(direction, loads(model, motion), motion)
            else:
                factor = _factor(group.kind, direction, shape, motion, follows)
            for row, weight in direction:
                rows[row] = rows[row] + factor.times(value * weight)
    return tuple(rows)


def loads(model: Model, motion: EnclosedMotion) -> list[Enclosure]:
    """Torques (n,) of the links that load-dependent friction is stated for, by row of v."""
    phi = body_parameters(model, model.load_theta)
    return _rigid_torque(model.mechanism, phi, motion)


def _load_factor(
    direction: Sequence[tuple[int, float]], carried: Sequence[Enclosure], motion: EnclosedMotion
) -> Enclosure:
    """At most the load, in either direction."""
    total = carried[direction[0][0]].times(direction[0][1])
    for row, weight in direction[1:]:
        total = total + carried[row].times(weight)
    most = (np.abs(total.value) + total.radius) / sum(weight**2 for _, weight in direction)
    return between(-most, most, motion.half)


def _factor(
    kind: TermKind,
    direction: Sequence[tuple[int, float]],
    shape: tuple[float, float],
    motion: EnclosedMotion,
    follows: bool,
) -> Enclosure:
    """The factor (n,) of a term's parameter, see `TermKind.law`.

    shape : the term's width, and the speed that shapes its law, rad/s or m/s. follows : whether it
    builds up over a travel: its sign may then be any.
    """

    def summed(x: Sequence[Enclosure]) -> Enclosure:
        total = x[direction[0][0]].times(direction[0][1])
        for row, weight in direction[1:]:
            total = total + x[row].times(weight)
        return total

    if kind.response == "inertia":
        return summed(motion.a)
    if kind.response == "linear":
        return summed(motion.v)
    if kind.position_between is not None:
        place = summed(motion.q)
        low, high = kind.position_between(place.value - place.radius, place.value + place.radius)
        return between(low, high, motion.half)
    speed = summed(motion.v)
    low, high = kind.law_between(speed.value - speed.radius, speed.value + speed.radius, *shape)
    if follows:
        most = np.maximum(np.abs(low), np.abs(high))
        low, high = -most, most
    return between(low, high, motion.half)


def _rigid_torque(mechanism: Mechanism, phi: Array, motion: EnclosedMotion) -> list[Enclosure]:
    """Torques (n,) of the bodies, one entry per row of v; phi (n_bodies, 10)."""
    half = motion.half
    n_bodies = len(mechanism.bodies)
    joints = [_Joint(mechanism, i, motion) for i in range(n_bodies)]
    ground = constant(np.zeros(3), half)
    at_rest = _BodyMotion(ground, ground, constant(-mechanism.gravity, half), ground)
    moving: list[_BodyMotion] = []
    wrenches: list[tuple[Enclosure, Enclosure]] = []
    for i, joint in enumerate(joints):
        above = mechanism.parent[i]
        body = joint.moved(moving[above] if above >= 0 else at_rest)
        moving.append(body)
        wrenches.append(_wrench(phi[i], body))
    rows = [constant(0.0, half) for _ in range(mechanism.nv)]
    for i in reversed(range(n_bodies)):
        joint, (force, moment) = joints[i], wrenches[i]
        rows[joint.row] = rows[joint.row] + joint.along_axis(force, moment)
        above = mechanism.parent[i]
        if above >= 0:
            carried_force, carried_moment = joint.to_parent(force, moment)
            wrenches[above] = (
                wrenches[above][0] + carried_force,
                wrenches[above][1] + carried_moment,
            )
    return rows


@dataclass(frozen=True, eq=False)
class _BodyMotion:
    """Spatial velocity and acceleration (3, n) of a body in its own frame, gravity as an
    acceleration of the ground.
    """

    linear: Enclosure
    angular: Enclosure
    linear_rate: Enclosure
    angular_rate: Enclosure


class _Joint:
    """The joint that moves one body: what it adds, and how vectors pass through it.

    The body's frame is reached from its parent's by the pose at rest, then by a turn about the
    joint's axis through its centre, or by a slide along it.
    """

    def __init__(self, mechanism: Mechanism, i: int, motion: EnclosedMotion) -> None:
        self.row = int(mechanism.coordinate[i])
        self.rest_R = mechanism.rest_rotation[i]
        self.rest_p = cross_matrix(mechanism.rest_position[i])
        scale = float(mechanism.scale[i])
        self.screw = scale * mechanism.screw[i]
        position = motion.q[self.row].times(scale)
        self.speed, self.rate = motion.v[self.row], motion.a[self.row]
        self.slides = bool(mechanism.kind[i] == PRISMATIC)
        if self.slides:
            self.shift = product(position, constant(mechanism.screw[i, :3], motion.half))
        else:
            self.turn = turn_about(mechanism.screw[i, 3:], position)
            self.centre = cross_matrix(mechanism.centre[i])

    def _into_body(self, linear: Enclosure, angular: Enclosure) -> tuple[Enclosure, Enclosure]:
        """A motion vector of the parent, in the body's frame and at its origin."""
        linear = times_matrix(self.rest_R.T, linear - times_matrix(self.rest_p, angular))
        angular = times_matrix(self.rest_R.T, angular)
        if self.slides:
            return linear + cross(angular, self.shift), angular
        at_centre = linear - times_matrix(self.centre, angular)
        angular = self.turn.of(angular, back=True)
        linear = self.turn.of(at_centre, back=True) + times_matrix(self.centre, angular)
        return linear, angular

    def moved(self, parent: _BodyMotion) -> _BodyMotion:
        """The motion of the body, from that of its parent."""
        linear, angular = self._into_body(parent.linear, parent.angular)
        linear_rate, angular_rate = self._into_body(parent.linear_rate, parent.angular_rate)
        u, z = self.screw[:3], self.screw[3:]
        along_u, along_z = constant(u, self.speed.half), constant(z, self.speed.half)
        # angular × u + linear × z, and angular × z
        turning = times_matrix(-cross_matrix(u), angular) + times_matrix(-cross_matrix(z), linear)
        return _BodyMotion(
            linear + product(self.speed, along_u),
            angular + product(self.speed, along_z),
            linear_rate + product(self.rate, along_u) + product(self.speed, turning),
            angular_rate
            + product(self.rate, along_z)
            + product(self.speed, times_matrix(-cross_matrix(z), angular)),
        )

    def along_axis(self, force: Enclosure, moment: Enclosure) -> Enclosure:
        """The torque (n,) of a wrench on the body at its origin."""
        return along(self.screw[:3], force) + along(self.screw[3:], moment)

    def to_parent(self, force: Enclosure, moment: Enclosure) -> tuple[Enclosure, Enclosure]:
        """A wrench on the body at its origin as one on the parent, at the parent's origin."""
        if self.slides:
            moment = moment + cross(self.shift, force)
        else:
            about_centre = moment - times_matrix(self.centre, force)
            force = self.turn.of(force)
            moment = self.turn.of(about_centre)
            moment = moment + times_matrix(self.centre, force)
        force, moment = times_matrix(self.rest_R, force), times_matrix(self.rest_R, moment)
        return force, moment + times_matrix(self.rest_p, force)


def _wrench(phi: Array, body: _BodyMotion) -> tuple[Enclosure, Enclosure]:
    """Force and moment (3, n) about its origin that move a body with parameters phi (10,)."""
    m, h = float(phi[0]), cross_matrix(phi[1:4])
    xx, xy, yy, xz, yz, zz = phi[4:]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    angular, angular_rate = body.angular, body.angular_rate
    linear_rate = body.linear_rate + cross(angular, body.linear)
    # α×h + ω×(ω×h), and h×l + I α + ω×(I ω)
    turning = times_matrix(-h, angular_rate) + cross(angular, times_matrix(-h, angular))
    moment = times_matrix(h, linear_rate) + times_matrix(inertia, angular_rate)
    return linear_rate.times(m) + turning, moment + cross(angular, times_matrix(inertia, angular))
