"""Compiled gradients of weighted sums of regressor entries (Numba); imported on first use.

For weights λ the sum over torque rows r and columns c

    y = sum_rc λ_rc W_rc(q, v, a)

is, row by row, a torque whose parameters are the weights. Its gradient runs the loops of `_loops`
backward. With screws (u, w) of a joint and l, ω, α of a body as there,

    ∂y/∂l = m u + w×h        ∂y/∂α = h×u + I w
    ∂y/∂ω = u (ω·h) + h (u·ω) - 2 (u·h) ω + (I ω)×w + I (w×ω)

and a motion vector X that a joint with screw S carries into the body's frame changes with the
joint by ∂X/∂q = -S × X, so that poses need no derivatives.

Array arguments that recur, besides those of `_loops`:

    back   (n_bodies, 2 + n_path, 6, LANES)  gradients of the entries of ``moving``
    poses  (n_bodies, 12, LANES)  the pose of every body in its parent
"""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import inner, jit
from steelyard.model._loops import LANES, NO_JOINTS, advance


@inner
def gather(weights, slot, row, first, at, slot_stride, sample_stride, n, phi):  # type: ignore[no-untyped-def]
    """The ten weights of a body in one torque row; says whether there are any."""
    found = False
    for c in range(10):
        where = slot[row, first + c]
        if where >= 0:
            found = True
            start = where * slot_stride + at
            for s in range(n):
                phi[c, s] = weights[start + s * sample_stride]
        else:
            for s in range(n):
                phi[c, s] = 0.0
    return found


@inner
def add_wrench(phi, joint, kin, n, slope, back_joint):  # type: ignore[no-untyped-def]
    """Gradients by one body and one joint of its path.

    slope : (9, LANES) of l, ω and α of the body, added to. back_joint : (6, LANES) of the screw.
    """
    for s in range(n):
        m, h0, h1, h2 = phi[0, s], phi[1, s], phi[2, s], phi[3, s]
        xx, xy, yy = phi[4, s], phi[5, s], phi[6, s]
        xz, yz, zz = phi[7, s], phi[8, s], phi[9, s]
        u0, u1, u2 = joint[0, s], joint[1, s], joint[2, s]
        z0, z1, z2 = joint[3, s], joint[4, s], joint[5, s]
        l0, l1, l2 = kin[0, s], kin[1, s], kin[2, s]
        w0, w1, w2 = kin[3, s], kin[4, s], kin[5, s]
        b0, b1, b2 = kin[6, s], kin[7, s], kin[8, s]
        wh = w0 * h0 + w1 * h1 + w2 * h2
        ww = kin[9, s]
        # I ω and I z
        k0 = xx * w0 + xy * w1 + xz * w2
        k1 = xy * w0 + yy * w1 + yz * w2
        k2 = xz * w0 + yz * w1 + zz * w2
        back_joint[0, s] += m * l0 + b1 * h2 - b2 * h1 + w0 * wh - ww * h0
        back_joint[1, s] += m * l1 + b2 * h0 - b0 * h2 + w1 * wh - ww * h1
        back_joint[2, s] += m * l2 + b0 * h1 - b1 * h0 + w2 * wh - ww * h2
        back_joint[3, s] += h1 * l2 - h2 * l1 + xx * b0 + xy * b1 + xz * b2 + w1 * k2 - w2 * k1
        back_joint[4, s] += h2 * l0 - h0 * l2 + xy * b0 + yy * b1 + yz * b2 + w2 * k0 - w0 * k2
        back_joint[5, s] += h0 * l1 - h1 * l0 + xz * b0 + yz * b1 + zz * b2 + w0 * k1 - w1 * k0
        slope[0, s] += m * u0 + z1 * h2 - z2 * h1
        slope[1, s] += m * u1 + z2 * h0 - z0 * h2
        slope[2, s] += m * u2 + z0 * h1 - z1 * h0
        uw = u0 * w0 + u1 * w1 + u2 * w2
        uh = 2.0 * (u0 * h0 + u1 * h1 + u2 * h2)
        # z×ω
        c0, c1, c2 = z1 * w2 - z2 * w1, z2 * w0 - z0 * w2, z0 * w1 - z1 * w0
        slope[3, s] += u0 * wh + h0 * uw - uh * w0 + k1 * z2 - k2 * z1 + xx * c0 + xy * c1 + xz * c2
        slope[4, s] += u1 * wh + h1 * uw - uh * w1 + k2 * z0 - k0 * z2 + xy * c0 + yy * c1 + yz * c2
        slope[5, s] += u2 * wh + h2 * uw - uh * w2 + k0 * z1 - k1 * z0 + xz * c0 + yz * c1 + zz * c2
        slope[6, s] += h1 * u2 - h2 * u1 + xx * z0 + xy * z1 + xz * z2
        slope[7, s] += h2 * u0 - h0 * u2 + xy * z0 + yy * z1 + yz * z2
        slope[8, s] += h0 * u1 - h1 * u0 + xz * z0 + yz * z1 + zz * z2


@inner
def into_motion(slope, kin, velocity, n, back_velocity, back_acceleration):  # type: ignore[no-untyped-def]
    """From l, ω and α to the body's velocity and acceleration: l = a_linear + ω × v_linear."""
    for s in range(n):
        d0, d1, d2 = slope[0, s], slope[1, s], slope[2, s]
        l0, l1, l2 = velocity[0, s], velocity[1, s], velocity[2, s]
        w0, w1, w2 = kin[3, s], kin[4, s], kin[5, s]
        back_acceleration[0, s] += d0
        back_acceleration[1, s] += d1
        back_acceleration[2, s] += d2
        back_acceleration[3, s] += slope[6, s]
        back_acceleration[4, s] += slope[7, s]
        back_acceleration[5, s] += slope[8, s]
        back_velocity[0, s] += d1 * w2 - d2 * w1
        back_velocity[1, s] += d2 * w0 - d0 * w2
        back_velocity[2, s] += d0 * w1 - d1 * w0
        back_velocity[3, s] += slope[3, s] + l1 * d2 - l2 * d1
        back_velocity[4, s] += slope[4, s] + l2 * d0 - l0 * d2
        back_velocity[5, s] += slope[5, s] + l0 * d1 - l1 * d0


@inner
def through_joint(  # type: ignore[no-untyped-def]
    screw,
    scale,
    row,
    v,
    a,
    begin,
    n,
    velocity,
    acceleration,
    back_velocity,
    back_acceleration,
    dq,
    dv,
    da,
):
    """Through a joint's own motion: gradients of its coordinate; ``back_velocity`` becomes that
    of the carried velocity. The carried velocity and acceleration turn with the joint.
    """
    u0, u1, u2 = scale * screw[0], scale * screw[1], scale * screw[2]
    z0, z1, z2 = scale * screw[3], scale * screw[4], scale * screw[5]
    for s in range(n):
        speed, rate = v[begin + s, row], a[begin + s, row]
        a0, a1, a2 = back_acceleration[0, s], back_acceleration[1, s], back_acceleration[2, s]
        e0, e1, e2 = back_acceleration[3, s], back_acceleration[4, s], back_acceleration[5, s]
        l0, l1, l2 = velocity[0, s], velocity[1, s], velocity[2, s]
        w0, w1, w2 = velocity[3, s], velocity[4, s], velocity[5, s]
        # V × S
        x0 = w1 * u2 - w2 * u1 + l1 * z2 - l2 * z1
        x1 = w2 * u0 - w0 * u2 + l2 * z0 - l0 * z2
        x2 = w0 * u1 - w1 * u0 + l0 * z1 - l1 * z0
        y0, y1, y2 = w1 * z2 - w2 * z1, w2 * z0 - w0 * z2, w0 * z1 - w1 * z0
        da[begin + s, row] += u0 * a0 + u1 * a1 + u2 * a2 + z0 * e0 + z1 * e1 + z2 * e2
        b0 = back_velocity[0, s] + speed * (z1 * a2 - z2 * a1)
        b1 = back_velocity[1, s] + speed * (z2 * a0 - z0 * a2)
        b2 = back_velocity[2, s] + speed * (z0 * a1 - z1 * a0)
        c0 = back_velocity[3, s] + speed * (u1 * a2 - u2 * a1 + z1 * e2 - z2 * e1)
        c1 = back_velocity[4, s] + speed * (u2 * a0 - u0 * a2 + z2 * e0 - z0 * e2)
        c2 = back_velocity[5, s] + speed * (u0 * a1 - u1 * a0 + z0 * e1 - z1 * e0)
        dv[begin + s, row] += (
            x0 * a0
            + x1 * a1
            + x2 * a2
            + y0 * e0
            + y1 * e1
            + y2 * e2
            + u0 * b0
            + u1 * b1
            + u2 * b2
            + z0 * c0
            + z1 * c1
            + z2 * c2
        )
        back_velocity[0, s], back_velocity[1, s], back_velocity[2, s] = b0, b1, b2
        back_velocity[3, s], back_velocity[4, s], back_velocity[5, s] = c0, c1, c2
        # S × X of the carried velocity is S × V; the carried acceleration is what is left of A
        f0 = acceleration[0, s] - u0 * rate - speed * x0
        f1 = acceleration[1, s] - u1 * rate - speed * x1
        f2 = acceleration[2, s] - u2 * rate - speed * x2
        g0 = acceleration[3, s] - z0 * rate - speed * y0
        g1 = acceleration[4, s] - z1 * rate - speed * y1
        g2 = acceleration[5, s] - z2 * rate - speed * y2
        total = b0 * x0 + b1 * x1 + b2 * x2 + c0 * y0 + c1 * y1 + c2 * y2
        total -= a0 * (z1 * f2 - z2 * f1 + u1 * g2 - u2 * g1)
        total -= a1 * (z2 * f0 - z0 * f2 + u2 * g0 - u0 * g2)
        total -= a2 * (z0 * f1 - z1 * f0 + u0 * g1 - u1 * g0)
        total -= e0 * (z1 * g2 - z2 * g1) + e1 * (z2 * g0 - z0 * g2) + e2 * (z0 * g1 - z1 * g0)
        dq[begin + s, row] += total


@inner
def turn(screw, scale, row, carried, gradient, begin, n, dq):  # type: ignore[no-untyped-def]
    """Gradient of q by a carried motion vector X and the gradient of X: -(S × X)."""
    u0, u1, u2 = scale * screw[0], scale * screw[1], scale * screw[2]
    z0, z1, z2 = scale * screw[3], scale * screw[4], scale * screw[5]
    for s in range(n):
        f0, f1, f2 = carried[0, s], carried[1, s], carried[2, s]
        g0, g1, g2 = carried[3, s], carried[4, s], carried[5, s]
        dq[begin + s, row] -= (
            gradient[0, s] * (z1 * f2 - z2 * f1 + u1 * g2 - u2 * g1)
            + gradient[1, s] * (z2 * f0 - z0 * f2 + u2 * g0 - u0 * g2)
            + gradient[2, s] * (z0 * f1 - z1 * f0 + u0 * g1 - u1 * g0)
            + gradient[3, s] * (z1 * g2 - z2 * g1)
            + gradient[4, s] * (z2 * g0 - z0 * g2)
            + gradient[5, s] * (z0 * g1 - z1 * g0)
        )


@inner
def return_to_parent(pose, source, target, n):  # type: ignore[no-untyped-def]
    """Transposed of `_loops.carry`: add a gradient in the body's frame to that of the parent."""
    for s in range(n):
        d0, d1, d2 = source[0, s], source[1, s], source[2, s]
        e0, e1, e2 = source[3, s], source[4, s], source[5, s]
        p0, p1, p2 = pose[9, s], pose[10, s], pose[11, s]
        r0, r1, r2 = pose[0, s], pose[1, s], pose[2, s]
        r3, r4, r5 = pose[3, s], pose[4, s], pose[5, s]
        r6, r7, r8 = pose[6, s], pose[7, s], pose[8, s]
        l0 = r0 * d0 + r1 * d1 + r2 * d2
        l1 = r3 * d0 + r4 * d1 + r5 * d2
        l2 = r6 * d0 + r7 * d1 + r8 * d2
        target[0, s] += l0
        target[1, s] += l1
        target[2, s] += l2
        target[3, s] += r0 * e0 + r1 * e1 + r2 * e2 + p1 * l2 - p2 * l1
        target[4, s] += r3 * e0 + r4 * e1 + r5 * e2 + p2 * l0 - p0 * l2
        target[5, s] += r6 * e0 + r7 * e1 + r8 * e2 + p0 * l1 - p1 * l0


@jit
def fill_gradient(  # type: ignore[no-untyped-def]
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
    a,
    slot,
    slot_stride,
    sample_stride,
    weights,
    dq,
    dv,
    da,
):
    """Add the gradient of the bodies' part of y to dq, dv and da (n_samples, nv).

    ``weights`` is flat, with the layout that `_loops.fill_regressor` writes. Fixed bases only.
    """
    n_bodies = parent.shape[0]
    kins = np.empty((n_bodies, 10, LANES))
    phi = np.empty((10, LANES))
    slope = np.empty((9, LANES))
    poses = np.empty((n_bodies, 12, LANES))
    moving = np.empty((n_bodies, 2 + path.shape[1], 6, LANES))
    back = np.empty((n_bodies, 2 + path.shape[1], 6, LANES))
    for begin in range(0, q.shape[0], LANES):
        n = min(LANES, q.shape[0] - begin)
        at = begin * sample_stride
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
                gravity,
                q,
                v,
                a,
                begin,
                n,
                poses[i],
                moving,
                kins[i],
                NO_JOINTS,
            )
        back[:] = 0.0
        for i in range(n_bodies - 1, -1, -1):
            slope[:] = 0.0
            for k in range(path_length[i]):
                if gather(
                    weights,
                    slot,
                    path[i, k],
                    first_column[i],
                    at,
                    slot_stride,
                    sample_stride,
                    n,
                    phi,
                ):
                    add_wrench(phi, moving[i, 2 + k], kins[i], n, slope, back[i, 2 + k])
            into_motion(slope, kins[i], moving[i, 0], n, back[i, 0], back[i, 1])
            row = coordinate[i]
            through_joint(
                screw[i],
                scale[i],
                row,
                v,
                a,
                begin,
                n,
                moving[i, 0],
                moving[i, 1],
                back[i, 0],
                back[i, 1],
                dq,
                dv,
                da,
            )
            above = parent[i]
            if above < 0:
                continue
            for k in range(path_length[above]):
                turn(screw[i], scale[i], row, moving[i, 2 + k], back[i, 2 + k], begin, n, dq)
            for k in range(2 + path_length[above]):
                return_to_parent(poses[i], back[i, k], back[above, k], n)
