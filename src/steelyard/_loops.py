"""The compiled loops. Imported on first use only: Numba takes a while to load.

For one sample, `advance` carries down the tree each body's spatial velocity and
acceleration (gravity as an acceleration of the ground) and the screws of all joints that
move it, all in the body's frame. A joint with screw (u, w) then feels, from the body's
ten parameters,

    m    u·l                                              l: acceleration of the origin
    h    u×α + (u·ω) ω - |ω|² u + l×w                     h = m c
    I    w·(I α) + (w×ω)·(I ω)

so no 6×10 matrix is ever formed or moved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from steelyard.mechanism import FLOATING, PRISMATIC


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first call; keep the result on disk where there is a place for it."""
    try:
        return numba.njit(function, cache=True, nogil=True)  # type: ignore[no-any-return]
    except RuntimeError:  # no writable cache folder: compile in every process instead
        return numba.njit(function, nogil=True)  # type: ignore[no-any-return]


@jit
def pose_of(kind, rest_R, rest_p, screw, centre, angle, R, p):  # type: ignore[no-untyped-def]
    """Pose of a body in its parent at joint position ``angle``, into R (3, 3), p (3,)."""
    if kind == PRISMATIC:
        for i in range(3):
            p[i] = rest_p[i]
            for j in range(3):
                R[i, j] = rest_R[i, j]
                p[i] += rest_R[i, j] * screw[j] * angle
        return
    s = np.sin(angle)
    half = np.sin(0.5 * angle)
    t = 2.0 * half * half
    x, y, z = screw[3], screw[4], screw[5]
    e00 = 1.0 - t * (y * y + z * z)
    e11 = 1.0 - t * (x * x + z * z)
    e22 = 1.0 - t * (x * x + y * y)
    e01 = t * x * y - s * z
    e10 = t * x * y + s * z
    e02 = t * x * z + s * y
    e20 = t * x * z - s * y
    e12 = t * y * z - s * x
    e21 = t * y * z + s * x
    cx, cy, cz = centre[0], centre[1], centre[2]
    dx = cx - (e00 * cx + e01 * cy + e02 * cz)
    dy = cy - (e10 * cx + e11 * cy + e12 * cz)
    dz = cz - (e20 * cx + e21 * cy + e22 * cz)
    for i in range(3):
        a, b, c = rest_R[i, 0], rest_R[i, 1], rest_R[i, 2]
        R[i, 0] = a * e00 + b * e10 + c * e20
        R[i, 1] = a * e01 + b * e11 + c * e21
        R[i, 2] = a * e02 + b * e12 + c * e22
        p[i] = rest_p[i] + a * dx + b * dy + c * dz


@jit
def carry(R, p, source, target):  # type: ignore[no-untyped-def]
    """A motion vector (linear, angular) from the parent's frame into the body's."""
    w0, w1, w2 = source[3], source[4], source[5]
    l0 = source[0] + w1 * p[2] - w2 * p[1]
    l1 = source[1] + w2 * p[0] - w0 * p[2]
    l2 = source[2] + w0 * p[1] - w1 * p[0]
    for i in range(3):
        target[i] = R[0, i] * l0 + R[1, i] * l1 + R[2, i] * l2
        target[3 + i] = R[0, i] * w0 + R[1, i] * w1 + R[2, i] * w2


@jit
def rotation_of_quaternion(x, y, z, w, R):  # type: ignore[no-untyped-def]
    """Rotation matrix of a quaternion, normalised, into R (3, 3)."""
    n = 2.0 / (x * x + y * y + z * z + w * w)
    R[0, 0] = 1.0 - n * (y * y + z * z)
    R[0, 1] = n * (x * y - z * w)
    R[0, 2] = n * (x * z + y * w)
    R[1, 0] = n * (x * y + z * w)
    R[1, 1] = 1.0 - n * (x * x + z * z)
    R[1, 2] = n * (y * z - x * w)
    R[2, 0] = n * (x * z - y * w)
    R[2, 1] = n * (y * z + x * w)
    R[2, 2] = 1.0 - n * (x * x + y * y)


@jit
def advance(  # type: ignore[no-untyped-def]
    i, parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path_length, gravity,
    q, v, a, R, p, velocity, acceleration, screws,
):
    """Fill body i's velocity (6,), acceleration (6,) and screws (n_path, 6)."""
    above = parent[i]
    vel, acc = velocity[i], acceleration[i]
    if kind[i] == FLOATING:
        rotation_of_quaternion(q[3], q[4], q[5], q[6], R)
        for k in range(6):
            vel[k] = v[k]
            acc[k] = a[k]
            for j in range(6):
                screws[i, k, j] = 1.0 if j == k else 0.0
        for k in range(3):
            acc[k] -= R[0, k] * gravity[0] + R[1, k] * gravity[1] + R[2, k] * gravity[2]
        return
    row = coordinate[i]
    shift = q.shape[0] - v.shape[0]
    angle = scale[i] * q[row + shift]
    pose_of(kind[i], rest_R[i], rest_p[i], screw[i], centre[i], angle, R, p)
    n_above = 0
    if above < 0:
        for k in range(6):
            vel[k] = 0.0
        for k in range(3):
            acc[k] = -(R[0, k] * gravity[0] + R[1, k] * gravity[1] + R[2, k] * gravity[2])
            acc[3 + k] = 0.0
    else:
        carry(R, p, velocity[above], vel)
        carry(R, p, acceleration[above], acc)
        n_above = path_length[above]
        for k in range(n_above):
            carry(R, p, screws[above, k], screws[i, k])
    own = screws[i, n_above]
    speed = v[row]
    rate = a[row]
    for k in range(6):
        own[k] = screw[i, k] * scale[i]
        vel[k] += own[k] * speed
        acc[k] += own[k] * rate
    l0, l1, l2, w0, w1, w2 = vel[0], vel[1], vel[2], vel[3], vel[4], vel[5]
    u0, u1, u2 = own[0] * speed, own[1] * speed, own[2] * speed
    z0, z1, z2 = own[3] * speed, own[4] * speed, own[5] * speed
    acc[0] += w1 * u2 - w2 * u1 + l1 * z2 - l2 * z1
    acc[1] += w2 * u0 - w0 * u2 + l2 * z0 - l0 * z2
    acc[2] += w0 * u1 - w1 * u0 + l0 * z1 - l1 * z0
    acc[3] += w1 * z2 - w2 * z1
    acc[4] += w2 * z0 - w0 * z2
    acc[5] += w0 * z1 - w1 * z0


@jit
def fill_regressor(  # type: ignore[no-untyped-def]
    parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path, path_length, gravity,
    first_column, term_column, term_kind, term_start, term_row, term_weight,
    q, v, a, slot, slot_stride, sample_stride, out,
):
    """Regressor of every sample into the flat array ``out`` (zero on entry).

    The entry of torque row r and column c of sample s is added at
    ``slot[r, c] * slot_stride + s * sample_stride``; a negative slot is left out.
    """
    n_bodies = parent.shape[0]
    R = np.empty((3, 3))
    p = np.empty(3)
    velocity = np.empty((n_bodies, 6))
    acceleration = np.empty((n_bodies, 6))
    screws = np.empty((n_bodies, path.shape[1], 6))
    value = np.empty(10)
    for s in range(q.shape[0]):
        at = s * sample_stride
        for i in range(n_bodies):
            advance(
                i, parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path_length,
                gravity, q[s], v[s], a[s], R, p, velocity, acceleration, screws,
            )
            vel, acc = velocity[i], acceleration[i]
            v0, v1, v2, w0, w1, w2 = vel[0], vel[1], vel[2], vel[3], vel[4], vel[5]
            b0, b1, b2 = acc[3], acc[4], acc[5]
            l0 = acc[0] + w1 * v2 - w2 * v1
            l1 = acc[1] + w2 * v0 - w0 * v2
            l2 = acc[2] + w0 * v1 - w1 * v0
            square = w0 * w0 + w1 * w1 + w2 * w2
            first = first_column[i]
            for k in range(path_length[i]):
                joint = screws[i, k]
                u0, u1, u2, z0, z1, z2 = joint[0], joint[1], joint[2], joint[3], joint[4], joint[5]
                along = u0 * w0 + u1 * w1 + u2 * w2
                c0 = z1 * w2 - z2 * w1
                c1 = z2 * w0 - z0 * w2
                c2 = z0 * w1 - z1 * w0
                value[0] = u0 * l0 + u1 * l1 + u2 * l2
                value[1] = u1 * b2 - u2 * b1 + along * w0 - square * u0 + l1 * z2 - l2 * z1
                value[2] = u2 * b0 - u0 * b2 + along * w1 - square * u1 + l2 * z0 - l0 * z2
                value[3] = u0 * b1 - u1 * b0 + along * w2 - square * u2 + l0 * z1 - l1 * z0
                value[4] = z0 * b0 + c0 * w0
                value[5] = z0 * b1 + z1 * b0 + c0 * w1 + c1 * w0
                value[6] = z1 * b1 + c1 * w1
                value[7] = z0 * b2 + z2 * b0 + c0 * w2 + c2 * w0
                value[8] = z1 * b2 + z2 * b1 + c1 * w2 + c2 * w1
                value[9] = z2 * b2 + c2 * w2
                row = path[i, k]
                for c in range(10):
                    where = slot[row, first + c]
                    if where >= 0:
                        out[where * slot_stride + at] += value[c]
        for k in range(term_column.shape[0]):
            along = 0.0
            source = a if term_kind[k] == 0 else v
            for e in range(term_start[k], term_start[k + 1]):
                along += term_weight[e] * source[s, term_row[e]]
            if term_kind[k] == 2:
                along = np.sign(along)
            elif term_kind[k] == 3:
                along = 1.0
            for e in range(term_start[k], term_start[k + 1]):
                where = slot[term_row[e], term_column[k]]
                if where >= 0:
                    out[where * slot_stride + at] += term_weight[e] * along


@jit
def sample_torque(  # type: ignore[no-untyped-def]
    parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path, path_length, gravity,
    phi, q, v, a, R, p, velocity, acceleration, screws, tau,
):
    """Rigid-body torque of one sample into tau (nv,), phi (n_bodies, 10)."""
    for row in range(tau.shape[0]):
        tau[row] = 0.0
    for i in range(parent.shape[0]):
        advance(
            i, parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path_length,
            gravity, q, v, a, R, p, velocity, acceleration, screws,
        )
        vel, acc = velocity[i], acceleration[i]
        v0, v1, v2, w0, w1, w2 = vel[0], vel[1], vel[2], vel[3], vel[4], vel[5]
        b0, b1, b2 = acc[3], acc[4], acc[5]
        l0 = acc[0] + w1 * v2 - w2 * v1
        l1 = acc[1] + w2 * v0 - w0 * v2
        l2 = acc[2] + w0 * v1 - w1 * v0
        m, h0, h1, h2 = phi[i, 0], phi[i, 1], phi[i, 2], phi[i, 3]
        xx, xy, yy, xz, yz, zz = phi[i, 4], phi[i, 5], phi[i, 6], phi[i, 7], phi[i, 8], phi[i, 9]
        # force = m l + α×h + ω×(ω×h), moment about the origin = h×l + I α + ω×(I ω)
        d0, d1, d2 = w1 * h2 - w2 * h1, w2 * h0 - w0 * h2, w0 * h1 - w1 * h0
        f0 = m * l0 + b1 * h2 - b2 * h1 + w1 * d2 - w2 * d1
        f1 = m * l1 + b2 * h0 - b0 * h2 + w2 * d0 - w0 * d2
        f2 = m * l2 + b0 * h1 - b1 * h0 + w0 * d1 - w1 * d0
        k0 = xx * w0 + xy * w1 + xz * w2
        k1 = xy * w0 + yy * w1 + yz * w2
        k2 = xz * w0 + yz * w1 + zz * w2
        n0 = h1 * l2 - h2 * l1 + xx * b0 + xy * b1 + xz * b2 + w1 * k2 - w2 * k1
        n1 = h2 * l0 - h0 * l2 + xy * b0 + yy * b1 + yz * b2 + w2 * k0 - w0 * k2
        n2 = h0 * l1 - h1 * l0 + xz * b0 + yz * b1 + zz * b2 + w0 * k1 - w1 * k0
        for k in range(path_length[i]):
            joint = screws[i, k]
            tau[path[i, k]] += (
                joint[0] * f0 + joint[1] * f1 + joint[2] * f2
                + joint[3] * n0 + joint[4] * n1 + joint[5] * n2
            )


@jit
def fill_torque(  # type: ignore[no-untyped-def]
    parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path, path_length, gravity,
    phi, q, v, a, tau,
):
    """Rigid-body torque of every sample into tau (n_samples, nv)."""
    n_bodies = parent.shape[0]
    R = np.empty((3, 3))
    p = np.empty(3)
    velocity = np.empty((n_bodies, 6))
    acceleration = np.empty((n_bodies, 6))
    screws = np.empty((n_bodies, path.shape[1], 6))
    for s in range(q.shape[0]):
        sample_torque(
            parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path, path_length,
            gravity, phi, q[s], v[s], a[s], R, p, velocity, acceleration, screws, tau[s],
        )
