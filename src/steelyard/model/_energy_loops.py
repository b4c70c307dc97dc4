"""Compiled energy of the bodies and its gradient (Numba); imported on first use.

Arrays are those of `_loops`, but for the second entry of ``moving``: here its first three numbers
are gravity in the body's frame. ``height`` (n_bodies, LANES) is g·p of each body's origin p.
"""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import inner, jit
from steelyard.model._gradient_loops import return_to_parent
from steelyard.model._loops import LANES, NO_JOINTS, advance
from steelyard.model.mechanism import FLOATING


@jit
def fill_energy(  # type: ignore[no-untyped-def]
    parent,
    kind,
    coordinate,
    scale,
    rest_R,
    rest_p,
    screw,
    centre,
    path,
    path_length,
    gravity,
    first_column,
    q,
    v,
    out,
):
    """Kinetic and potential energy per unit of each body's parameters into out (n_samples, ...).

        ½ m |l|² + h·(l×ω) + ½ ω·(I ω) - m g·p - (Rᵀ g)·h

    with velocity l, ω of the body's frame and its position p and orientation R.
    """
    n_bodies = parent.shape[0]
    kin = np.empty((10, LANES))
    pose = np.empty((12, LANES))
    moving = np.empty((n_bodies, 2 + path.shape[1], 6, LANES))
    height = np.empty((n_bodies, LANES))
    rest = np.zeros((q.shape[0], v.shape[1]))
    for begin in range(0, q.shape[0], LANES):
        n = min(LANES, q.shape[0] - begin)
        for i in range(n_bodies):
            advance(
                i,
                parent,
                kind,
                coordinate,
                scale,
                rest_R,
                rest_p,
                screw,
                centre,
                path_length,
                np.zeros(3),
                q,
                v,
                rest,
                begin,
                n,
                pose,
                moving,
                kin,
                NO_JOINTS,
            )
            lift(i, parent, kind, gravity, q, begin, n, pose, moving, height)
            first = first_column[i]
            for s in range(n):
                l0, l1, l2 = moving[i, 0, 0, s], moving[i, 0, 1, s], moving[i, 0, 2, s]
                w0, w1, w2 = moving[i, 0, 3, s], moving[i, 0, 4, s], moving[i, 0, 5, s]
                g0, g1, g2 = moving[i, 1, 0, s], moving[i, 1, 1, s], moving[i, 1, 2, s]
                row = begin + s
                out[row, first] = 0.5 * (l0 * l0 + l1 * l1 + l2 * l2) - height[i, s]
                out[row, first + 1] = l1 * w2 - l2 * w1 - g0
                out[row, first + 2] = l2 * w0 - l0 * w2 - g1
                out[row, first + 3] = l0 * w1 - l1 * w0 - g2
                out[row, first + 4] = 0.5 * w0 * w0
                out[row, first + 5] = w0 * w1
                out[row, first + 6] = 0.5 * w1 * w1
                out[row, first + 7] = w0 * w2
                out[row, first + 8] = w1 * w2
                out[row, first + 9] = 0.5 * w2 * w2


@inner
def lift(i, parent, kind, gravity, q, begin, n, pose, moving, height):  # type: ignore[no-untyped-def]
    """Replace a body's acceleration by gravity in its frame; g·p of its origin into ``height``."""
    above = parent[i]
    for s in range(n):
        g0, g1, g2, base = gravity[0], gravity[1], gravity[2], 0.0
        if above >= 0:
            g0, g1, g2 = moving[above, 1, 0, s], moving[above, 1, 1, s], moving[above, 1, 2, s]
            base = height[above, s]
        if kind[i] == FLOATING:
            p0, p1, p2 = q[begin + s, 0], q[begin + s, 1], q[begin + s, 2]
        else:
            p0, p1, p2 = pose[9, s], pose[10, s], pose[11, s]
        height[i, s] = base + g0 * p0 + g1 * p1 + g2 * p2
        moving[i, 1, 0, s] = pose[0, s] * g0 + pose[3, s] * g1 + pose[6, s] * g2
        moving[i, 1, 1, s] = pose[1, s] * g0 + pose[4, s] * g1 + pose[7, s] * g2
        moving[i, 1, 2, s] = pose[2, s] * g0 + pose[5, s] * g1 + pose[8, s] * g2
        for k in range(3, 6):
            moving[i, 1, k, s] = 0.0


@jit
def fill_energy_gradient(  # type: ignore[no-untyped-def]
    parent,
    kind,
    coordinate,
    scale,
    rest_R,
    rest_p,
    screw,
    centre,
    path,
    path_length,
    gravity,
    first_column,
    q,
    v,
    weights,
    dq,
    dv,
):
    """Add the gradient of sum(weights * energy regressor) to dq and dv (n_samples, nv).

    weights : (n_samples, n_columns). Fixed bases only.
    """
    n_bodies = parent.shape[0]
    kin = np.empty((10, LANES))
    poses = np.empty((n_bodies, 12, LANES))
    moving = np.empty((n_bodies, 2 + path.shape[1], 6, LANES))
    height = np.empty((n_bodies, LANES))
    # gradients of the velocity, of gravity in the body's frame and of the height
    back = np.empty((n_bodies, 6, LANES))
    back_gravity = np.empty((n_bodies, 3, LANES))
    back_height = np.empty((n_bodies, LANES))
    rest = np.zeros((q.shape[0], v.shape[1]))
    none = np.zeros(3)
    for begin in range(0, q.shape[0], LANES):
        n = min(LANES, q.shape[0] - begin)
        for i in range(n_bodies):
            advance(
                i,
                parent,
                kind,
                coordinate,
                scale,
                rest_R,
                rest_p,
                screw,
                centre,
                path_length,
                none,
                q,
                v,
                rest,
                begin,
                n,
                poses[i],
                moving,
                kin,
                NO_JOINTS,
            )
            lift(i, parent, kind, gravity, q, begin, n, poses[i], moving, height)
        back[:] = 0.0
        back_gravity[:] = 0.0
        back_height[:] = 0.0
        for i in range(n_bodies - 1, -1, -1):
            first, row, above = first_column[i], coordinate[i], parent[i]
            add_energy(
                weights, first, begin, n, moving[i, 0], back[i], back_gravity[i], back_height[i]
            )
            through_joint(
                screw[i],
                scale[i],
                row,
                begin,
                n,
                moving[i, 0],
                moving[i, 1],
                back[i],
                back_gravity[i],
                back_height[i],
                dq,
                dv,
            )
            if above < 0:
                continue
            return_to_parent(poses[i], back[i], back[above], n)
            for s in range(n):
                d0, d1, d2 = back_gravity[i, 0, s], back_gravity[i, 1, s], back_gravity[i, 2, s]
                lifted = back_height[i, s]
                for x in range(3):
                    back_gravity[above, x, s] += (
                        poses[i, 3 * x, s] * d0
                        + poses[i, 3 * x + 1, s] * d1
                        + poses[i, 3 * x + 2, s] * d2
                        + lifted * poses[i, 9 + x, s]
                    )
                back_height[above, s] += lifted


@inner
def add_energy(weights, first, begin, n, velocity, back, back_gravity, back_height):  # type: ignore[no-untyped-def]
    """Gradients of a body's energy by its velocity, gravity in its frame and its height."""
    for s in range(n):
        row = begin + s
        m, h0, h1 = weights[row, first], weights[row, first + 1], weights[row, first + 2]
        h2, xx, xy = weights[row, first + 3], weights[row, first + 4], weights[row, first + 5]
        yy, xz = weights[row, first + 6], weights[row, first + 7]
        yz, zz = weights[row, first + 8], weights[row, first + 9]
        l0, l1, l2 = velocity[0, s], velocity[1, s], velocity[2, s]
        w0, w1, w2 = velocity[3, s], velocity[4, s], velocity[5, s]
        back[0, s] += m * l0 + w1 * h2 - w2 * h1
        back[1, s] += m * l1 + w2 * h0 - w0 * h2
        back[2, s] += m * l2 + w0 * h1 - w1 * h0
        back[3, s] += h1 * l2 - h2 * l1 + xx * w0 + xy * w1 + xz * w2
        back[4, s] += h2 * l0 - h0 * l2 + xy * w0 + yy * w1 + yz * w2
        back[5, s] += h0 * l1 - h1 * l0 + xz * w0 + yz * w1 + zz * w2
        back_gravity[0, s] -= h0
        back_gravity[1, s] -= h1
        back_gravity[2, s] -= h2
        back_height[s] -= m


@inner
def through_joint(  # type: ignore[no-untyped-def]
    screw, scale, row, begin, n, velocity, down, back, back_gravity, back_height, dq, dv
):
    """Gradients of the joint's coordinate; ``down`` is gravity in the body's frame."""
    u0, u1, u2 = scale * screw[0], scale * screw[1], scale * screw[2]
    z0, z1, z2 = scale * screw[3], scale * screw[4], scale * screw[5]
    for s in range(n):
        b0, b1, b2 = back[0, s], back[1, s], back[2, s]
        c0, c1, c2 = back[3, s], back[4, s], back[5, s]
        l0, l1, l2 = velocity[0, s], velocity[1, s], velocity[2, s]
        w0, w1, w2 = velocity[3, s], velocity[4, s], velocity[5, s]
        g0, g1, g2 = down[0, s], down[1, s], down[2, s]
        dv[begin + s, row] += u0 * b0 + u1 * b1 + u2 * b2 + z0 * c0 + z1 * c1 + z2 * c2
        total = b0 * (w1 * u2 - w2 * u1 + l1 * z2 - l2 * z1)
        total += b1 * (w2 * u0 - w0 * u2 + l2 * z0 - l0 * z2)
        total += b2 * (w0 * u1 - w1 * u0 + l0 * z1 - l1 * z0)
        total += c0 * (w1 * z2 - w2 * z1) + c1 * (w2 * z0 - w0 * z2) + c2 * (w0 * z1 - w1 * z0)
        total -= back_gravity[0, s] * (z1 * g2 - z2 * g1)
        total -= back_gravity[1, s] * (z2 * g0 - z0 * g2)
        total -= back_gravity[2, s] * (z0 * g1 - z1 * g0)
        total += back_height[s] * (g0 * u0 + g1 * u1 + g2 * u2)
        dq[begin + s, row] += total
