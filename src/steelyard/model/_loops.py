"""The compiled loops. Imported on first use only: Numba takes a while to load.

Samples are taken in groups of LANES, and every inner loop runs over the lanes of a group,
which the compiler turns into vector instructions. For a group, `advance` propagates down the
tree each body's spatial velocity and acceleration (gravity as an acceleration of the ground)
and the screws of all joints that move it, all in the body's frame. The torque at a joint with
screw (u, w) is the sum over the body's ten parameters of

    m    u·l                                              l: acceleration of the origin
    h    u×α + (u·ω) ω - |ω|² u + l×w                     h = m c
    I    w·(I α) + (w×ω)·(I ω)

so no 6×10 matrix is formed. Array arguments that recur:

    moving  (n_bodies, 2 + n_path, 6, LANES)  per body: velocity, acceleration, then the
            screws of the joints on its path; each linear part first, in its own frame
    pose    (12, LANES)  rotation (row by row) and position of a body in its parent
    kin     (10, LANES)  kinematics of one body: l, ω, α and |ω|²
"""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import inner, jit
from steelyard.model.mechanism import FLOATING, PRISMATIC

LANES = 32
NO_JOINTS = np.int64(0)
"""Not a Python integer: Numba compiles a function for each of those that it is called with."""


@inner
def place(  # type: ignore[no-untyped-def]
    slides, rest_R, rest_p, screw, centre, scale, row, q, begin, n, pose
):
    """Pose of a body in its parent, from column ``row`` of q, for n lanes."""
    r00, r01, r02 = rest_R[0, 0], rest_R[0, 1], rest_R[0, 2]
    r10, r11, r12 = rest_R[1, 0], rest_R[1, 1], rest_R[1, 2]
    r20, r21, r22 = rest_R[2, 0], rest_R[2, 1], rest_R[2, 2]
    p0, p1, p2 = rest_p[0], rest_p[1], rest_p[2]
    if slides:
        u0 = r00 * screw[0] + r01 * screw[1] + r02 * screw[2]
        u1 = r10 * screw[0] + r11 * screw[1] + r12 * screw[2]
        u2 = r20 * screw[0] + r21 * screw[1] + r22 * screw[2]
        for s in range(n):
            along = scale * q[begin + s, row]
            pose[0, s], pose[1, s], pose[2, s] = r00, r01, r02
            pose[3, s], pose[4, s], pose[5, s] = r10, r11, r12
            pose[6, s], pose[7, s], pose[8, s] = r20, r21, r22
            pose[9, s] = p0 + u0 * along
            pose[10, s] = p1 + u1 * along
            pose[11, s] = p2 + u2 * along
        return
    x, y, z = screw[3], screw[4], screw[5]
    cx, cy, cz = centre[0], centre[1], centre[2]
    for s in range(n):
        angle = scale * q[begin + s, row]
        pose[0, s] = np.sin(angle)
        pose[1, s] = 1.0 - np.cos(angle)
    for s in range(n):
        sine, t = pose[0, s], pose[1, s]
        e00 = 1.0 - t * (y * y + z * z)
        e11 = 1.0 - t * (x * x + z * z)
        e22 = 1.0 - t * (x * x + y * y)
        e01 = t * x * y - sine * z
        e10 = t * x * y + sine * z
        e02 = t * x * z + sine * y
        e20 = t * x * z - sine * y
        e12 = t * y * z - sine * x
        e21 = t * y * z + sine * x
        # a rotation about an axis away from the origin moves the origin
        d0 = cx - (e00 * cx + e01 * cy + e02 * cz)
        d1 = cy - (e10 * cx + e11 * cy + e12 * cz)
        d2 = cz - (e20 * cx + e21 * cy + e22 * cz)
        pose[0, s] = r00 * e00 + r01 * e10 + r02 * e20
        pose[1, s] = r00 * e01 + r01 * e11 + r02 * e21
        pose[2, s] = r00 * e02 + r01 * e12 + r02 * e22
        pose[3, s] = r10 * e00 + r11 * e10 + r12 * e20
        pose[4, s] = r10 * e01 + r11 * e11 + r12 * e21
        pose[5, s] = r10 * e02 + r11 * e12 + r12 * e22
        pose[6, s] = r20 * e00 + r21 * e10 + r22 * e20
        pose[7, s] = r20 * e01 + r21 * e11 + r22 * e21
        pose[8, s] = r20 * e02 + r21 * e12 + r22 * e22
        pose[9, s] = p0 + r00 * d0 + r01 * d1 + r02 * d2
        pose[10, s] = p1 + r10 * d0 + r11 * d1 + r12 * d2
        pose[11, s] = p2 + r20 * d0 + r21 * d1 + r22 * d2


@inner
def place_base(q, begin, n, pose):  # type: ignore[no-untyped-def]
    """Rotation of a floating base from its quaternion q[:, 3:7], normalised."""
    for s in range(n):
        x, y, z, w = q[begin + s, 3], q[begin + s, 4], q[begin + s, 5], q[begin + s, 6]
        t = 2.0 / (x * x + y * y + z * z + w * w)
        pose[0, s] = 1.0 - t * (y * y + z * z)
        pose[1, s] = t * (x * y - z * w)
        pose[2, s] = t * (x * z + y * w)
        pose[3, s] = t * (x * y + z * w)
        pose[4, s] = 1.0 - t * (x * x + z * z)
        pose[5, s] = t * (y * z - x * w)
        pose[6, s] = t * (x * z - y * w)
        pose[7, s] = t * (y * z + x * w)
        pose[8, s] = 1.0 - t * (x * x + y * y)


@inner
def start_from_ground(pose, gravity, n, velocity, acceleration):  # type: ignore[no-untyped-def]
    """Velocity and acceleration of the ground, in the frame of a body without a parent."""
    g0, g1, g2 = gravity[0], gravity[1], gravity[2]
    for s in range(n):
        for k in range(6):
            velocity[k, s] = 0.0
        acceleration[0, s] = -(pose[0, s] * g0 + pose[3, s] * g1 + pose[6, s] * g2)
        acceleration[1, s] = -(pose[1, s] * g0 + pose[4, s] * g1 + pose[7, s] * g2)
        acceleration[2, s] = -(pose[2, s] * g0 + pose[5, s] * g1 + pose[8, s] * g2)
        for k in range(3, 6):
            acceleration[k, s] = 0.0


@inner
def carry(pose, source, target, n):  # type: ignore[no-untyped-def]
    """Transform a motion vector from the parent's frame into the body's, for n lanes."""
    for s in range(n):
        w0, w1, w2 = source[3, s], source[4, s], source[5, s]
        p0, p1, p2 = pose[9, s], pose[10, s], pose[11, s]
        l0 = source[0, s] + w1 * p2 - w2 * p1
        l1 = source[1, s] + w2 * p0 - w0 * p2
        l2 = source[2, s] + w0 * p1 - w1 * p0
        r0, r1, r2 = pose[0, s], pose[1, s], pose[2, s]
        r3, r4, r5 = pose[3, s], pose[4, s], pose[5, s]
        r6, r7, r8 = pose[6, s], pose[7, s], pose[8, s]
        target[0, s] = r0 * l0 + r3 * l1 + r6 * l2
        target[1, s] = r1 * l0 + r4 * l1 + r7 * l2
        target[2, s] = r2 * l0 + r5 * l1 + r8 * l2
        target[3, s] = r0 * w0 + r3 * w1 + r6 * w2
        target[4, s] = r1 * w0 + r4 * w1 + r7 * w2
        target[5, s] = r2 * w0 + r5 * w1 + r8 * w2


@inner
def add_joint(  # type: ignore[no-untyped-def]
    screw, scale, row, v, a, begin, n, velocity, acceleration, own
):
    """Add a joint's own motion to its body, and write its screw into ``own``."""
    u0, u1, u2 = scale * screw[0], scale * screw[1], scale * screw[2]
    z0, z1, z2 = scale * screw[3], scale * screw[4], scale * screw[5]
    for s in range(n):
        speed, rate = v[begin + s, row], a[begin + s, row]
        own[0, s], own[1, s], own[2, s] = u0, u1, u2
        own[3, s], own[4, s], own[5, s] = z0, z1, z2
        l0 = velocity[0, s] + u0 * speed
        l1 = velocity[1, s] + u1 * speed
        l2 = velocity[2, s] + u2 * speed
        w0 = velocity[3, s] + z0 * speed
        w1 = velocity[4, s] + z1 * speed
        w2 = velocity[5, s] + z2 * speed
        velocity[0, s], velocity[1, s], velocity[2, s] = l0, l1, l2
        velocity[3, s], velocity[4, s], velocity[5, s] = w0, w1, w2
        acceleration[0, s] += u0 * rate + speed * (w1 * u2 - w2 * u1 + l1 * z2 - l2 * z1)
        acceleration[1, s] += u1 * rate + speed * (w2 * u0 - w0 * u2 + l2 * z0 - l0 * z2)
        acceleration[2, s] += u2 * rate + speed * (w0 * u1 - w1 * u0 + l0 * z1 - l1 * z0)
        acceleration[3, s] += z0 * rate + speed * (w1 * z2 - w2 * z1)
        acceleration[4, s] += z1 * rate + speed * (w2 * z0 - w0 * z2)
        acceleration[5, s] += z2 * rate + speed * (w0 * z1 - w1 * z0)


@inner
def add_base(v, a, begin, n, moving):  # type: ignore[no-untyped-def]
    """Add a floating base's own motion, and its six unit screws."""
    for k in range(6):
        for s in range(n):
            moving[0, k, s] = v[begin + s, k]
            moving[1, k, s] += a[begin + s, k]
        for j in range(6):
            for s in range(n):
                moving[2 + k, j, s] = 1.0 if j == k else 0.0


@jit
def advance(  # type: ignore[no-untyped-def]
    i, parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path_length, gravity,
    q, v, a, begin, n, pose, moving, kin, skipped,
):
    """Fill ``moving[i]`` and ``kin`` for samples begin to begin + n.

    skipped : number of joints at the start of the body's path whose screws are not needed.
    """
    above = parent[i]
    velocity, acceleration = moving[i, 0], moving[i, 1]
    if kind[i] == FLOATING:
        place_base(q, begin, n, pose)
        start_from_ground(pose, gravity, n, velocity, acceleration)
        add_base(v, a, begin, n, moving[i])
    else:
        row = coordinate[i]
        position = row + q.shape[1] - v.shape[1]
        place(
            kind[i] == PRISMATIC, rest_R[i], rest_p[i], screw[i], centre[i], scale[i],
            position, q, begin, n, pose,
        )
        n_carried = 0
        if above < 0:
            start_from_ground(pose, gravity, n, velocity, acceleration)
        else:
            n_carried = path_length[above]
            carry(pose, moving[above, 0], moving[i, 0], n)
            carry(pose, moving[above, 1], moving[i, 1], n)
            for k in range(2 + skipped, 2 + n_carried):
                carry(pose, moving[above, k], moving[i, k], n)
        add_joint(
            screw[i], scale[i], row, v, a, begin, n, velocity, acceleration,
            moving[i, 2 + n_carried],
        )
    for s in range(n):
        l0, l1, l2 = velocity[0, s], velocity[1, s], velocity[2, s]
        w0, w1, w2 = velocity[3, s], velocity[4, s], velocity[5, s]
        kin[0, s] = acceleration[0, s] + w1 * l2 - w2 * l1
        kin[1, s] = acceleration[1, s] + w2 * l0 - w0 * l2
        kin[2, s] = acceleration[2, s] + w0 * l1 - w1 * l0
        kin[3, s], kin[4, s], kin[5, s] = w0, w1, w2
        kin[6, s] = acceleration[3, s]
        kin[7, s] = acceleration[4, s]
        kin[8, s] = acceleration[5, s]
        kin[9, s] = w0 * w0 + w1 * w1 + w2 * w2


@inner
def entry(parameter, joint, kin, n, value):  # type: ignore[no-untyped-def]
    """The torque (n,) at one joint per unit of one of a body's ten parameters."""
    if parameter == 0:
        for s in range(n):
            along = joint[0, s] * kin[0, s] + joint[1, s] * kin[1, s]
            value[s] = along + joint[2, s] * kin[2, s]
        return
    if parameter < 4:
        # the formula for h, with x, y, z permuted cyclically
        x = parameter - 1
        y, z = (x + 1) % 3, (x + 2) % 3
        for s in range(n):
            along = joint[0, s] * kin[3, s] + joint[1, s] * kin[4, s] + joint[2, s] * kin[5, s]
            value[s] = (
                joint[y, s] * kin[6 + z, s]
                - joint[z, s] * kin[6 + y, s]
                + along * kin[3 + x, s]
                - kin[9, s] * joint[x, s]
                + kin[y, s] * joint[3 + z, s]
                - kin[z, s] * joint[3 + y, s]
            )
        return
    # w·(I α) + (w×ω)·(I ω), entry (x, y) of I in the order xx xy yy xz yz zz
    x = 0 if parameter in (4, 5, 7) else (1 if parameter in (6, 8) else 2)
    y = 0 if parameter == 4 else (1 if parameter in (5, 6) else 2)
    x1, x2, y1, y2 = (x + 1) % 3, (x + 2) % 3, (y + 1) % 3, (y + 2) % 3
    if x == y:
        for s in range(n):
            value[s] = joint[3 + x, s] * kin[6 + x, s] + kin[3 + x, s] * (
                joint[3 + x1, s] * kin[3 + x2, s] - joint[3 + x2, s] * kin[3 + x1, s]
            )
        return
    for s in range(n):
        value[s] = (
            joint[3 + x, s] * kin[6 + y, s]
            + joint[3 + y, s] * kin[6 + x, s]
            + kin[3 + y, s]
            * (joint[3 + x1, s] * kin[3 + x2, s] - joint[3 + x2, s] * kin[3 + x1, s])
            + kin[3 + x, s]
            * (joint[3 + y1, s] * kin[3 + y2, s] - joint[3 + y2, s] * kin[3 + y1, s])
        )


@inner
def add(value, weight, n, out, at, step):  # type: ignore[no-untyped-def]
    """Add n lanes to a flat array, ``step`` apart."""
    if step == 1:
        for s in range(n):
            out[at + s] += weight * value[s]
    else:
        for s in range(n):
            out[at + s * step] += weight * value[s]


@inner
def unused_joints(path, path_length, slot):  # type: ignore[no-untyped-def]
    """Number of joints at the start of each body's path of whose rows no entry is wanted."""
    n_bodies = path.shape[0]
    wanted = np.zeros(slot.shape[0], dtype=np.bool_)
    for row in range(slot.shape[0]):
        for column in range(slot.shape[1]):
            if slot[row, column] >= 0:
                wanted[row] = True
                break
    skipped = np.zeros(n_bodies, dtype=np.int64)
    for i in range(n_bodies):
        while skipped[i] < path_length[i] and not wanted[path[i, skipped[i]]]:
            skipped[i] += 1
    return skipped


@jit
def fill_regressor(  # type: ignore[no-untyped-def]
    parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path, path_length, gravity,
    first_column, term_column, term_value, term_start, term_row, term_weight,
    q, v, a, slot, slot_stride, sample_stride, out,
):
    """Regressor of every sample into the flat array ``out`` (zero on entry).

    The entry of torque row r and column c of sample s is added at
    ``slot[r, c] * slot_stride + s * sample_stride``; a negative slot is left out.
    term_value : (n_terms, n_samples) factor of each term's parameter.
    """
    n_bodies = parent.shape[0]
    pose = np.empty((12, LANES))
    kin = np.empty((10, LANES))
    value = np.empty(LANES)
    moving = np.empty((n_bodies, 2 + path.shape[1], 6, LANES))
    skipped = unused_joints(path, path_length, slot)
    for begin in range(0, q.shape[0], LANES):
        n = min(LANES, q.shape[0] - begin)
        at = begin * sample_stride
        for i in range(n_bodies):
            advance(
                i, parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path_length,
                gravity, q, v, a, begin, n, pose, moving, kin, skipped[i],
            )
            for k in range(skipped[i], path_length[i]):
                joint = moving[i, 2 + k]
                for c in range(10):
                    where = slot[path[i, k], first_column[i] + c]
                    if where >= 0:
                        entry(c, joint, kin, n, value)
                        add(value, 1.0, n, out, where * slot_stride + at, sample_stride)
        for k in range(term_column.shape[0]):
            for s in range(n):
                value[s] = term_value[k, begin + s]
            for e in range(term_start[k], term_start[k + 1]):
                where = slot[term_row[e], term_column[k]]
                if where >= 0:
                    add(
                        value, term_weight[e], n, out, where * slot_stride + at, sample_stride
                    )


@jit
def fill_torque(  # type: ignore[no-untyped-def]
    parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path, path_length, gravity,
    phi, q, v, a, tau,
):
    """Rigid-body torque of every sample into tau (n_samples, nv), phi (n_bodies, 10).

    force = m l + α×h + ω×(ω×h), moment about the origin = h×l + I α + ω×(I ω)
    """
    n_bodies = parent.shape[0]
    pose = np.empty((12, LANES))
    kin = np.empty((10, LANES))
    wrench = np.empty((6, LANES))
    moving = np.empty((n_bodies, 2 + path.shape[1], 6, LANES))
    tau[:] = 0.0
    for begin in range(0, q.shape[0], LANES):
        n = min(LANES, q.shape[0] - begin)
        for i in range(n_bodies):
            advance(
                i, parent, kind, coordinate, scale, rest_R, rest_p, screw, centre, path_length,
                gravity, q, v, a, begin, n, pose, moving, kin, NO_JOINTS,
            )
            m, h0, h1, h2 = phi[i, 0], phi[i, 1], phi[i, 2], phi[i, 3]
            xx, xy, yy = phi[i, 4], phi[i, 5], phi[i, 6]
            xz, yz, zz = phi[i, 7], phi[i, 8], phi[i, 9]
            for s in range(n):
                l0, l1, l2 = kin[0, s], kin[1, s], kin[2, s]
                w0, w1, w2 = kin[3, s], kin[4, s], kin[5, s]
                b0, b1, b2 = kin[6, s], kin[7, s], kin[8, s]
                d0, d1, d2 = w1 * h2 - w2 * h1, w2 * h0 - w0 * h2, w0 * h1 - w1 * h0
                k0 = xx * w0 + xy * w1 + xz * w2
                k1 = xy * w0 + yy * w1 + yz * w2
                k2 = xz * w0 + yz * w1 + zz * w2
                wrench[0, s] = m * l0 + b1 * h2 - b2 * h1 + w1 * d2 - w2 * d1
                wrench[1, s] = m * l1 + b2 * h0 - b0 * h2 + w2 * d0 - w0 * d2
                wrench[2, s] = m * l2 + b0 * h1 - b1 * h0 + w0 * d1 - w1 * d0
                wrench[3, s] = (
                    h1 * l2 - h2 * l1 + xx * b0 + xy * b1 + xz * b2 + w1 * k2 - w2 * k1
                )
                wrench[4, s] = (
                    h2 * l0 - h0 * l2 + xy * b0 + yy * b1 + yz * b2 + w2 * k0 - w0 * k2
                )
                wrench[5, s] = (
                    h0 * l1 - h1 * l0 + xz * b0 + yz * b1 + zz * b2 + w0 * k1 - w1 * k0
                )
            for k in range(path_length[i]):
                joint = moving[i, 2 + k]
                row = path[i, k]
                for s in range(n):
                    tau[begin + s, row] += (
                        joint[0, s] * wrench[0, s]
                        + joint[1, s] * wrench[1, s]
                        + joint[2, s] * wrench[2, s]
                        + joint[3, s] * wrench[3, s]
                        + joint[4, s] * wrench[4, s]
                        + joint[5, s] * wrench[5, s]
                    )
