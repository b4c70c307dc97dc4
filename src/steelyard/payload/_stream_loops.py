"""Compiled loops of a payload stream. Imported on first use: Numba takes a while to load.

A triangular factor S (n, n) stands for a least-squares problem: its first ten columns are the
body, then the bias of each channel, the last column is the right-hand side, so that

    |y - A x|² = |S [x; -1]|²      for all x = (body, bias),

up to signs of rows. With the body's columns first, rows 10 and below, without the last, are what
the data say of the bias alone, the body being free; the last diagonal entry is the norm of the
residual. New rows are rotated into the factor by Householder reflections.

No loop over samples allocates. Arguments that recur:

    rows (n_channels, n)  scratch: the weighted rows of a sample
    work (n,)             scratch
    counts (4,)           samples used in this block; samples left out since the beginning; samples
                          beyond the gate in a row; glitches, samples that were left out by the gate
    gate (n, n)           what a sample may be; see `is_glitch`
    tree, numbers, state  of a robot; see `steelyard.payload._stream_kinematics`
    kin, own (9,)         scratch: proper acceleration, ω and α of a body and of a frame
"""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import jit
from steelyard.payload._stream_kinematics import (
    add_carried,
    move,
    own_motion,
    subtract_bodies,
    to_frame,
)

CALLED = "1573282dee05"
"""Of the file that is called from here, so that Numba's cache on disk follows its changes."""
N_BODY = 10
TOO_OLD = -1
LARGEST = 1e9
"""SI units: what is larger is no measurement, as in `steelyard.signals.prepared_frame`."""
LONGEST_GLITCH = 3
"""Samples in a row that a glitch may have."""


@jit
def fold(S, B, n_rows, triangular, work):  # type: ignore[no-untyped-def]
    """S becomes the factor of [S; B]; the first ``n_rows`` rows of B are overwritten.

    triangular : whether B is upper triangular.
    """
    n = S.shape[0]
    for j in range(n):
        k = min(n_rows, j + 1) if triangular else n_rows
        below = 0.0
        for i in range(k):
            below += B[i, j] * B[i, j]
        if below == 0.0:
            continue
        corner = S[j, j]
        alpha = np.sqrt(corner * corner + below)
        if corner > 0.0:
            alpha = -alpha
        first = corner - alpha
        share = -first / alpha
        S[j, j] = alpha
        for c in range(j + 1, n):
            work[c] = S[j, c]
        for i in range(k):
            B[i, j] /= first
            factor = B[i, j]
            for c in range(j + 1, n):
                work[c] += factor * B[i, c]
        for c in range(j + 1, n):
            work[c] *= share
            S[j, c] -= work[c]
        for i in range(k):
            factor = B[i, j]
            for c in range(j + 1, n):
                B[i, c] -= factor * work[c]


@jit
def forget(S, keep_body, keep_bias):  # type: ignore[no-untyped-def]
    """Widen what S says of the body, given the bias, and what it says of the bias.

    keep_body, keep_bias : factors of the rows, at most 1; equal ones are exponential weights. The
    residual is forgotten with the body.
    """
    n = S.shape[0]
    for i in range(n):
        keep = keep_bias if N_BODY <= i < n - 1 else keep_body
        for c in range(i, n):
            S[i, c] *= keep


@jit
def fill_body_rows(kin, rows):  # type: ignore[no-untyped-def]
    """Wrench at the origin by the ten parameters: force rows, then torque rows.

    f = m l + α×h + ω×(ω×h),    t = h×l + I α + ω×(I ω);    kin : l, ω, α (9,)
    """
    for i in range(6):
        for c in range(N_BODY):
            rows[i, c] = 0.0
    for x in range(3):
        y, z = (x + 1) % 3, (x + 2) % 3
        wx, wy, wz = kin[3 + x], kin[3 + y], kin[3 + z]
        rows[x, 0] = kin[x]
        rows[x, 1 + x] = -wy * wy - wz * wz
        rows[x, 1 + y] = wx * wy - kin[6 + z]
        rows[x, 1 + z] = wx * wz + kin[6 + y]
        # (h×l)_x = h_y l_z - h_z l_y
        rows[3 + x, 1 + y] = kin[z]
        rows[3 + x, 1 + z] = -kin[y]
    w0, w1, w2 = kin[3], kin[4], kin[5]
    b0, b1, b2 = kin[6], kin[7], kin[8]
    # columns xx, xy, yy, xz, yz, zz
    rows[3, 4], rows[3, 5], rows[3, 6] = b0, b1 - w0 * w2, -w1 * w2
    rows[3, 7], rows[3, 8], rows[3, 9] = b2 + w0 * w1, w1 * w1 - w2 * w2, w1 * w2
    rows[4, 4], rows[4, 5], rows[4, 6] = w0 * w2, b0 + w1 * w2, b1
    rows[4, 7], rows[4, 8], rows[4, 9] = w2 * w2 - w0 * w0, b2 - w0 * w1, -w0 * w2
    rows[5, 4], rows[5, 5], rows[5, 6] = -w0 * w1, w0 * w0 - w1 * w1, w0 * w1
    rows[5, 7], rows[5, 8], rows[5, 9] = b0 - w1 * w2, b1 + w0 * w2, b2


@jit
def add_bias_and_weigh(rows, measured, weight):  # type: ignore[no-untyped-def]
    """Complete the rows of a sample by the bias and the measured channels, and weigh them."""
    n = rows.shape[1]
    for i in range(rows.shape[0]):
        for c in range(N_BODY, n - 1):
            rows[i, c] = 0.0
        rows[i, N_BODY + i] = 1.0
        rows[i, n - 1] = measured[i]
        for c in range(n):
            rows[i, c] *= weight[i]


@jit
def all_measured(values):  # type: ignore[no-untyped-def]
    """Whether a row (n,) has neither NaN nor infinity nor a value that no sensor shows."""
    good = True
    for value in values:
        good = good and abs(value) <= LARGEST
    return good


@jit
def is_glitch(rows, gate, counts, work):  # type: ignore[no-untyped-def]
    """Whether a sample is left out, since it is beyond the gate, as at most two before it are.

    gate : its last row holds body and bias as far as they are known, and -1, all divided by the
    largest innovation; above it is the triangular factor of their information. All zero: no gate.
    What is beyond the gate more than `LONGEST_GLITCH` times in a row is a change, and no glitch.
    """
    n = rows.shape[1]
    beyond = False
    for i in range(rows.shape[0]):
        rest = 0.0
        for c in range(n):
            rest += rows[i, c] * gate[n - 1, c]
        if abs(rest) <= 1.0:
            continue
        # body and bias are not known exactly: the innovation's variance is 1 + |R⁻ᵀ row|²
        variance = 1.0
        for c in range(n - 1):
            entry = rows[i, c]
            for k in range(c):
                entry -= gate[k, c] * work[k]
            work[c] = entry / gate[c, c]
            variance += work[c] * work[c]
        if rest * rest > variance:
            beyond = True
            break
    if not beyond:
        counts[2] = 0
        return False
    counts[2] += 1
    if counts[2] > LONGEST_GLITCH:
        return False
    counts[1] += 1
    counts[3] += 1
    return True


@jit
def set_gate(S, weak, largest, gate, copy, work):  # type: ignore[no-untyped-def]
    """What a next sample may be, from what S says: gate (n, n), see `is_glitch`.

    weak : (n - 1,) inverse standard deviations of a prior around zero, body and bias. largest :
    innovation of a channel beyond which a sample is a glitch, in units of its noise, if body and
    bias are known exactly. copy : (n, n) scratch.
    """
    n = S.shape[0]
    gate[:] = S
    copy[:] = 0.0
    for c in range(n - 1):
        copy[c, c] = weak[c]
    fold(gate, copy, n, True, work)
    for r in range(n - 2, -1, -1):
        rest = gate[r, n - 1]
        for c in range(r + 1, n - 1):
            rest -= gate[r, c] * work[c]
        work[r] = rest / gate[r, r]
    for c in range(n - 1):
        gate[n - 1, c] = work[c] / largest
    gate[n - 1, n - 1] = -1.0 / largest


@jit
def absorb_frame_samples(  # type: ignore[no-untyped-def]
    time, motion, wrench, begin, clock, counts, gate, weight, S, rows, work, kin
):
    """Wrenches in a frame whose motion is given; see `absorb_torque_samples`.

    motion : (n_samples, 9) proper acceleration, angular velocity, angular acceleration.
    """
    for s in range(begin, time.shape[0]):
        if not time[s] > clock[0]:
            return s, TOO_OLD
        if time[s] >= clock[1]:
            return s, 0
        clock[0] = time[s]
        if not (all_measured(motion[s]) and all_measured(wrench[s])):
            counts[1] += 1
            continue
        for k in range(9):
            kin[k] = motion[s, k]
        fill_body_rows(kin, rows)
        add_bias_and_weigh(rows, wrench[s], weight)
        if is_glitch(rows, gate, counts, work):
            continue
        fold(S, rows, 6, False, work)
        counts[0] += 1
    return time.shape[0], 0


@jit
def absorb_sensor_samples(  # type: ignore[no-untyped-def]
    time, q, v, a, wrench, begin, clock, counts, gate, weight, S, rows, work,
    tree, numbers, gravity, body, T_body_frame, state, kin, own,
):  # fmt: skip
    """Wrenches in a frame that is fixed to a robot's body; see `absorb_torque_samples`."""
    for s in range(begin, time.shape[0]):
        if not time[s] > clock[0]:
            return s, TOO_OLD
        if time[s] >= clock[1]:
            return s, 0
        clock[0] = time[s]
        if not (all_measured(q[s]) and all_measured(v[s]) and all_measured(a[s])) or not (
            all_measured(wrench[s])
        ):
            counts[1] += 1
            continue
        move(tree, numbers, gravity, q[s], v[s], a[s], state, work)
        own_motion(state, body, kin)
        to_frame(T_body_frame, kin, own)
        fill_body_rows(own, rows)
        add_bias_and_weigh(rows, wrench[s], weight)
        if is_glitch(rows, gate, counts, work):
            continue
        fold(S, rows, 6, False, work)
        counts[0] += 1
    return time.shape[0], 0


@jit
def absorb_torque_samples(  # type: ignore[no-untyped-def]
    time, q, v, a, tau, begin, clock, counts, gate, weight, S, rows, work,
    tree, numbers, gravity, body, T_body_frame, state, kin, own, wrench, rest, dead_band,
    term_entries, term_weight, term_numbers, knots, values,
):  # fmt: skip
    """Joint torques minus those of a known arm, until a sample starts a new block.

    time : (n_samples,) s; begin : the first sample to take. clock : time of the last sample, end
    of the block. body : index of the one that carries the payload, which is described in a frame
    with pose T_body_frame (4, 4). dead_band : (nv,) speeds below which a joint's torque is left
    out. wrench (6, 10), rest (nv,) : scratch.

    Returns the index of the first sample that was not taken, and 0, or TOO_OLD if its time is not
    after that of the sample before it.
    """
    nv = tau.shape[1]
    for s in range(begin, time.shape[0]):
        if not time[s] > clock[0]:
            return s, TOO_OLD
        if time[s] >= clock[1]:
            return s, 0
        clock[0] = time[s]
        if not (all_measured(q[s]) and all_measured(v[s]) and all_measured(a[s])) or not (
            all_measured(tau[s])
        ):
            counts[1] += 1
            continue
        for row in range(nv):
            rest[row] = tau[s, row]
            for c in range(N_BODY):
                rows[row, c] = 0.0
        move(tree, numbers, gravity, q[s], v[s], a[s], state, work)
        subtract_bodies(tree, numbers, state, kin, rest)
        subtract_terms(term_entries, term_weight, term_numbers, knots, values, v[s], a[s], rest)
        own_motion(state, body, kin)
        to_frame(T_body_frame, kin, own)
        fill_body_rows(own, wrench)
        add_carried(tree, numbers, state, body, T_body_frame, wrench, rows)
        add_bias_and_weigh(rows, rest, weight)
        for row in range(nv):
            if abs(v[s, row]) < dead_band[row]:
                for c in range(rows.shape[1]):
                    rows[row, c] = 0.0
        if is_glitch(rows, gate, counts, work):
            continue
        fold(S, rows, nv, False, work)
        counts[0] += 1
    return time.shape[0], 0


@jit
def subtract_terms(entries, weight, numbers, knots, values, v, a, rest):  # type: ignore[no-untyped-def]
    """Subtract drive inertia, friction and offsets.

    entries : (n_entries, 2) term and row of each entry of the terms' directions, by terms; weight
    (n_entries,). numbers : (n_terms, 4) factors of acceleration, speed and one, and whether the
    term has a friction curve, which is interpolated between knots and values (n_terms, n_knots).
    """
    n_entries = entries.shape[0]
    begin = 0
    while begin < n_entries:
        k = entries[begin, 0]
        speed, rate = 0.0, 0.0
        end = begin
        while end < n_entries and entries[end, 0] == k:
            speed += weight[end] * v[entries[end, 1]]
            rate += weight[end] * a[entries[end, 1]]
            end += 1
        along = numbers[k, 0] * rate + numbers[k, 1] * speed + numbers[k, 2]
        if numbers[k, 3] != 0.0:
            along += interpolated(knots[k], values[k], speed)
        for e in range(begin, end):
            rest[entries[e, 1]] -= weight[e] * along
        begin = end


@jit
def interpolated(knots, values, x):  # type: ignore[no-untyped-def]
    """Straight lines between the knots (n,), constant beyond them."""
    low, high = 0, knots.shape[0] - 1
    if x <= knots[low]:
        return values[low]
    if x >= knots[high]:
        return values[high]
    while high - low > 1:
        middle = (low + high) // 2
        if knots[middle] <= x:
            low = middle
        else:
            high = middle
    share = (x - knots[low]) / (knots[high] - knots[low])
    return values[low] + share * (values[high] - values[low])


@jit
def change_statistics(  # type: ignore[no-untyped-def]
    reference, ring, newest, windows, window, together, copy, work, out
):
    """How much better two bodies explain reference and recent blocks than one body does, out (n,).

    The drop of the sum of squares when the body of the last ``windows[k]`` blocks may be another
    one than that of the reference, the bias being the same: chi-square with up to ten degrees of
    freedom if nothing changed and the noise is white with a standard deviation of one.
    ring : (n_ring, n, n), all filled, the newest block at index ``newest``.
    window, together, copy : (n, n) scratch.
    """
    window[:] = 0.0
    n_ring, n = ring.shape[0], ring.shape[1]
    done = 0
    for k in range(windows.shape[0]):
        while done < windows[k]:
            copy[:] = ring[(newest - done) % n_ring]
            fold(window, copy, n, True, work)
            done += 1
        out[k] = gain_of_two_bodies(reference, window, together, copy, work)


@jit
def gain_of_two_bodies(reference, window, together, copy, work):  # type: ignore[no-untyped-def]
    """The drop of the sum of squares if ``window`` has a body of its own."""
    n = reference.shape[0]
    squares = 0.0
    for own in range(2):
        together[:] = reference
        if own:
            together[:N_BODY] = 0.0
        copy[:] = window
        fold(together, copy, n, True, work)
        rho = together[n - 1, n - 1]
        squares = rho * rho if own == 0 else squares - rho * rho
    return squares
