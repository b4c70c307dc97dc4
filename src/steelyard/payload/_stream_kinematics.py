"""Compiled kinematics and torques of one sample of a robot with a fixed base.

`steelyard.model._loops` computes many samples at once and carries the screws of all joints through
the tree; for one sample it is quicker to work in world axes. Arguments that recur:

    tree     (n_bodies, 3)   parent (-1 for the ground), whether the joint slides, its coordinate
    numbers  (n_bodies, 32)  scale, rest_R, rest_p, screw, centre, phi; see `packed`
    state    (n_bodies, 30)  scratch, see the offsets below: pose, angular velocity and
             acceleration, proper acceleration of the origin, screw of the joint at the origin
             (linear, angular), all in world axes; then force and moment about the world's origin
             of the body and of all that it carries
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.jit import jit
from steelyard.model.mechanism import PRISMATIC
from steelyard.model.model import Model

Array = NDArray[np.float64]
ROTATION, POSITION, SPIN, SPIN_RATE, PROPER, SLIDE, TURN, FORCE, MOMENT = (
    0, 9, 12, 15, 18, 21, 24, 27, 30,
)  # fmt: skip
N_STATE = 33
SCALE, REST_R, REST_P, SCREW, CENTRE, PHI = 0, 1, 10, 13, 19, 22
N_NUMBERS = 32


def packed(model: Model, phi: Array) -> tuple[NDArray[np.int64], Array]:
    """The arrays ``tree`` and ``numbers`` of a model whose bodies have parameters phi (n, 10)."""
    mechanism = model.mechanism
    n = len(mechanism.parent)
    tree = np.column_stack([mechanism.parent, mechanism.kind == PRISMATIC, mechanism.coordinate])
    parts: list[Any] = [
        mechanism.scale, mechanism.rest_rotation, mechanism.rest_position, mechanism.screw,
        mechanism.centre, phi,
    ]  # fmt: skip
    numbers = np.concatenate([np.reshape(part, (n, -1)) for part in parts], axis=1)
    return np.ascontiguousarray(tree, dtype=np.int64), np.ascontiguousarray(numbers)


@jit
def rotated(state, i, x, y, z):  # type: ignore[no-untyped-def]
    """A vector in the axes of body i, in world axes."""
    return (
        state[i, 0] * x + state[i, 1] * y + state[i, 2] * z,
        state[i, 3] * x + state[i, 4] * y + state[i, 5] * z,
        state[i, 6] * x + state[i, 7] * y + state[i, 8] * z,
    )


@jit
def turned_back(state, i, x, y, z):  # type: ignore[no-untyped-def]
    """A vector in world axes, in the axes of body i."""
    return (
        state[i, 0] * x + state[i, 3] * y + state[i, 6] * z,
        state[i, 1] * x + state[i, 4] * y + state[i, 7] * z,
        state[i, 2] * x + state[i, 5] * y + state[i, 8] * z,
    )


@jit
def cross(a0, a1, a2, b0, b1, b2):  # type: ignore[no-untyped-def]
    """a × b."""
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


@jit
def place(tree, numbers, q, i, state, E):  # type: ignore[no-untyped-def]
    """Pose of body i in the world, from that of its parent; E (9,) is scratch."""
    angle = numbers[i, SCALE] * q[tree[i, 2]]
    x, y, z = numbers[i, SCREW + 3], numbers[i, SCREW + 4], numbers[i, SCREW + 5]
    d0, d1, d2 = 0.0, 0.0, 0.0
    if tree[i, 1]:
        for k in range(9):
            E[k] = 1.0 if k % 4 == 0 else 0.0
        d0 = numbers[i, SCREW] * angle
        d1 = numbers[i, SCREW + 1] * angle
        d2 = numbers[i, SCREW + 2] * angle
    else:
        sine, t = np.sin(angle), 1.0 - np.cos(angle)
        E[0], E[4], E[8] = 1.0 - t * (y * y + z * z), 1.0 - t * (x * x + z * z), 1.0
        E[8] -= t * (x * x + y * y)
        E[1], E[3] = t * x * y - sine * z, t * x * y + sine * z
        E[2], E[6] = t * x * z + sine * y, t * x * z - sine * y
        E[5], E[7] = t * y * z - sine * x, t * y * z + sine * x
        # a rotation about an axis away from the origin moves the origin
        c0, c1, c2 = numbers[i, CENTRE], numbers[i, CENTRE + 1], numbers[i, CENTRE + 2]
        d0 = c0 - (E[0] * c0 + E[1] * c1 + E[2] * c2)
        d1 = c1 - (E[3] * c0 + E[4] * c1 + E[5] * c2)
        d2 = c2 - (E[6] * c0 + E[7] * c1 + E[8] * c2)
    above = tree[i, 0]
    for r in range(3):
        # row r of R_world_parent rest_R
        if above < 0:
            m0 = numbers[i, REST_R + 3 * r]
            m1 = numbers[i, REST_R + 3 * r + 1]
            m2 = numbers[i, REST_R + 3 * r + 2]
            p = numbers[i, REST_P + r]
        else:
            a0, a1, a2 = state[above, 3 * r], state[above, 3 * r + 1], state[above, 3 * r + 2]
            m0 = a0 * numbers[i, 1] + a1 * numbers[i, 4] + a2 * numbers[i, 7]
            m1 = a0 * numbers[i, 2] + a1 * numbers[i, 5] + a2 * numbers[i, 8]
            m2 = a0 * numbers[i, 3] + a1 * numbers[i, 6] + a2 * numbers[i, 9]
            p = state[above, POSITION + r]
            p += a0 * numbers[i, REST_P] + a1 * numbers[i, REST_P + 1] + a2 * numbers[i, REST_P + 2]
        state[i, 3 * r] = m0 * E[0] + m1 * E[3] + m2 * E[6]
        state[i, 3 * r + 1] = m0 * E[1] + m1 * E[4] + m2 * E[7]
        state[i, 3 * r + 2] = m0 * E[2] + m1 * E[5] + m2 * E[8]
        state[i, POSITION + r] = p + m0 * d0 + m1 * d1 + m2 * d2


@jit
def move(tree, numbers, gravity, q, v, a, state, E):  # type: ignore[no-untyped-def]
    """Pose and motion of all bodies, in world axes; gravity as an acceleration of the ground."""
    for i in range(tree.shape[0]):
        place(tree, numbers, q, i, state, E)
        u0, u1, u2 = rotated(
            state, i, numbers[i, SCREW], numbers[i, SCREW + 1], numbers[i, SCREW + 2]
        )
        z0, z1, z2 = rotated(
            state, i, numbers[i, SCREW + 3], numbers[i, SCREW + 4], numbers[i, SCREW + 5]
        )
        speed = numbers[i, SCALE] * v[tree[i, 2]]
        rate = numbers[i, SCALE] * a[tree[i, 2]]
        above = tree[i, 0]
        w0, w1, w2, b0, b1, b2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        l0, l1, l2 = -gravity[0], -gravity[1], -gravity[2]
        if above >= 0:
            w0, w1, w2 = state[above, SPIN], state[above, SPIN + 1], state[above, SPIN + 2]
            b0 = state[above, SPIN_RATE]
            b1 = state[above, SPIN_RATE + 1]
            b2 = state[above, SPIN_RATE + 2]
            d0 = state[i, POSITION] - state[above, POSITION]
            d1 = state[i, POSITION + 1] - state[above, POSITION + 1]
            d2 = state[i, POSITION + 2] - state[above, POSITION + 2]
            s0, s1, s2 = cross(w0, w1, w2, d0, d1, d2)
            e0, e1, e2 = cross(b0, b1, b2, d0, d1, d2)
            c0, c1, c2 = cross(w0, w1, w2, s0, s1, s2)
            l0 = state[above, PROPER] + e0 + c0
            l1 = state[above, PROPER + 1] + e1 + c1
            l2 = state[above, PROPER + 2] + e2 + c2
        # the origin moves on a circle in the parent's frame, which itself turns
        x0, x1, x2 = cross(2.0 * w0 + speed * z0, 2.0 * w1 + speed * z1, 2.0 * w2 + speed * z2,
                           u0, u1, u2)  # fmt: skip
        y0, y1, y2 = cross(w0, w1, w2, z0, z1, z2)
        state[i, PROPER] = l0 + u0 * rate + speed * x0
        state[i, PROPER + 1] = l1 + u1 * rate + speed * x1
        state[i, PROPER + 2] = l2 + u2 * rate + speed * x2
        state[i, SPIN], state[i, SPIN + 1] = w0 + speed * z0, w1 + speed * z1
        state[i, SPIN + 2] = w2 + speed * z2
        state[i, SPIN_RATE] = b0 + z0 * rate + speed * y0
        state[i, SPIN_RATE + 1] = b1 + z1 * rate + speed * y1
        state[i, SPIN_RATE + 2] = b2 + z2 * rate + speed * y2
        state[i, SLIDE], state[i, SLIDE + 1], state[i, SLIDE + 2] = u0, u1, u2
        state[i, TURN], state[i, TURN + 1], state[i, TURN + 2] = z0, z1, z2


@jit
def own_motion(state, i, kin):  # type: ignore[no-untyped-def]
    """l, ω, α (9,) of a body in its own axes."""
    kin[0], kin[1], kin[2] = turned_back(
        state, i, state[i, PROPER], state[i, PROPER + 1], state[i, PROPER + 2]
    )
    kin[3], kin[4], kin[5] = turned_back(
        state, i, state[i, SPIN], state[i, SPIN + 1], state[i, SPIN + 2]
    )
    kin[6], kin[7], kin[8] = turned_back(
        state, i, state[i, SPIN_RATE], state[i, SPIN_RATE + 1], state[i, SPIN_RATE + 2]
    )


@jit
def subtract_bodies(tree, numbers, state, kin, rest):  # type: ignore[no-untyped-def]
    """Subtract the torques of all bodies from rest (nv,): f = m l + α×h + ω×(ω×h), and so on."""
    n_bodies = tree.shape[0]
    for i in range(n_bodies):
        own_motion(state, i, kin)
        m, h0, h1, h2 = numbers[i, 22], numbers[i, 23], numbers[i, 24], numbers[i, 25]
        xx, xy, yy = numbers[i, 26], numbers[i, 27], numbers[i, 28]
        xz, yz, zz = numbers[i, 29], numbers[i, 30], numbers[i, 31]
        l0, l1, l2, w0, w1, w2 = kin[0], kin[1], kin[2], kin[3], kin[4], kin[5]
        b0, b1, b2 = kin[6], kin[7], kin[8]
        d0, d1, d2 = cross(w0, w1, w2, h0, h1, h2)
        k0 = xx * w0 + xy * w1 + xz * w2
        k1 = xy * w0 + yy * w1 + yz * w2
        k2 = xz * w0 + yz * w1 + zz * w2
        f0, f1, f2 = rotated(
            state,
            i,
            m * l0 + b1 * h2 - b2 * h1 + w1 * d2 - w2 * d1,
            m * l1 + b2 * h0 - b0 * h2 + w2 * d0 - w0 * d2,
            m * l2 + b0 * h1 - b1 * h0 + w0 * d1 - w1 * d0,
        )
        t0, t1, t2 = rotated(
            state,
            i,
            h1 * l2 - h2 * l1 + xx * b0 + xy * b1 + xz * b2 + w1 * k2 - w2 * k1,
            h2 * l0 - h0 * l2 + xy * b0 + yy * b1 + yz * b2 + w2 * k0 - w0 * k2,
            h0 * l1 - h1 * l0 + xz * b0 + yz * b1 + zz * b2 + w0 * k1 - w1 * k0,
        )
        c0, c1, c2 = cross(state[i, 9], state[i, 10], state[i, 11], f0, f1, f2)
        state[i, FORCE], state[i, FORCE + 1], state[i, FORCE + 2] = f0, f1, f2
        state[i, MOMENT], state[i, MOMENT + 1] = t0 + c0, t1 + c1
        state[i, MOMENT + 2] = t2 + c2
    for i in range(n_bodies - 1, -1, -1):
        f0, f1, f2 = state[i, FORCE], state[i, FORCE + 1], state[i, FORCE + 2]
        c0, c1, c2 = cross(state[i, 9], state[i, 10], state[i, 11], f0, f1, f2)
        along = state[i, SLIDE] * f0 + state[i, SLIDE + 1] * f1 + state[i, SLIDE + 2] * f2
        along += state[i, TURN] * (state[i, MOMENT] - c0)
        along += state[i, TURN + 1] * (state[i, MOMENT + 1] - c1)
        along += state[i, TURN + 2] * (state[i, MOMENT + 2] - c2)
        rest[tree[i, 2]] -= numbers[i, SCALE] * along
        above = tree[i, 0]
        if above >= 0:
            for k in range(6):
                state[above, FORCE + k] += state[i, FORCE + k]


@jit
def to_frame(T_body_frame, kin, own):  # type: ignore[no-untyped-def]
    """The motion of a frame in its own axes (9,), from that of the body it is fixed to (9,)."""
    p0, p1, p2 = T_body_frame[0, 3], T_body_frame[1, 3], T_body_frame[2, 3]
    w0, w1, w2, b0, b1, b2 = kin[3], kin[4], kin[5], kin[6], kin[7], kin[8]
    d0, d1, d2 = cross(w0, w1, w2, p0, p1, p2)
    l0 = kin[0] + b1 * p2 - b2 * p1 + w1 * d2 - w2 * d1
    l1 = kin[1] + b2 * p0 - b0 * p2 + w2 * d0 - w0 * d2
    l2 = kin[2] + b0 * p1 - b1 * p0 + w0 * d1 - w1 * d0
    for x in range(3):
        r0, r1, r2 = T_body_frame[0, x], T_body_frame[1, x], T_body_frame[2, x]
        own[x] = r0 * l0 + r1 * l1 + r2 * l2
        own[3 + x] = r0 * w0 + r1 * w1 + r2 * w2
        own[6 + x] = r0 * b0 + r1 * b1 + r2 * b2


@jit
def add_carried(tree, numbers, state, body, T_body_frame, wrench, rows):  # type: ignore[no-untyped-def]
    """Add the torques of a body in a frame to the rows of the joints that carry it.

    wrench : (6, 10) by the ten parameters, at the frame's origin in its axes.
    """
    p0, p1, p2 = rotated(state, body, T_body_frame[0, 3], T_body_frame[1, 3], T_body_frame[2, 3])
    p0, p1, p2 = p0 + state[body, 9], p1 + state[body, 10], p2 + state[body, 11]
    i = body
    while i >= 0:
        z0, z1, z2 = state[i, TURN], state[i, TURN + 1], state[i, TURN + 2]
        u0, u1, u2 = cross(z0, z1, z2, p0 - state[i, 9], p1 - state[i, 10], p2 - state[i, 11])
        u0, u1, u2 = turned_back(
            state, body, u0 + state[i, SLIDE], u1 + state[i, SLIDE + 1], u2 + state[i, SLIDE + 2]
        )
        z0, z1, z2 = turned_back(state, body, z0, z1, z2)
        scale, row = numbers[i, SCALE], tree[i, 2]
        for x in range(3):
            r0, r1, r2 = T_body_frame[0, x], T_body_frame[1, x], T_body_frame[2, x]
            slide = scale * (r0 * u0 + r1 * u1 + r2 * u2)
            turn = scale * (r0 * z0 + r1 * z1 + r2 * z2)
            for c in range(10):
                rows[row, c] += slide * wrench[x, c] + turn * wrench[3 + x, c]
        i = tree[i, 0]
