"""The compiled loop of the virtual robot. Imported on first use only, like `_loops`.

Between two ticks of the controller the drive torque is constant, and

    (M(q) + Ia) a + b(q, v) + fo + V v + sum_k d_k p_k law_k(d_k·v) + springs(q) = tau

is integrated by the midpoint rule; M is computed from torques of unit accelerations. A law that
jumps at zero speed is smoothed by tanh(d_k·v / slow). Friction is integrated implicitly: smooth
friction by the trapezoidal rule, friction that jumps by the backward Euler rule, which is exact
where the tanh is saturated and does not chatter where a joint sticks. The step is thus of second
order wherever no joint reverses, and stable however steep the tanh is. Friction that builds up over
a travel has a state z_k instead of the tanh, see `steelyard.signals.term_speeds`; the load of
friction that depends on it is the torque that the links needed in the step before.

Arguments that recur:

    phi     (n_bodies, 10) parameters of the bodies; "believed" are those of the controller's model
    work    terms of the joints: Ia (nv, nv), V (nv, nv) of friction that is linear in the speed,
            fo (nv,); then of all other friction the directions d (n, nv), parameters p (n,),
            whether it jumps at zero speed (n,), and its law: cubic pieces (n, n_knots - 1, 4)
            between the knots (n_knots,), see `steelyard.simulation._friction_curves`; their travels
            (n,) or 0, their states z (n,), which the loop changes, whether they depend on the load
            (n,), and their parameters times the load (n,), which it changes too; of springs the
            directions (m, nv), parameters (m,) and laws (m,): 0 for x, 1 for sin x, 2 for cos x
    control kind, Kp (nv,), Kd (nv,), believed phi and believed Ia
    target  q, v and a (nv,) of the reference at a tick
    lanes   (nv + 2, nv) states whose torques one kernel call computes; see `assemble_stage`

Numba's cache does not notice changes of functions in other files: after editing `_loops`, touch
this file.
"""

from __future__ import annotations

import numpy as np

from steelyard.conic.jit import jit
from steelyard.model._loops import fill_torque

COMPUTED_TORQUE, PD, FREE = 0, 1, 2
DONE, NOT_FINITE, LEFT_REFERENCE, NOT_POSITIVE, NOT_SOLVED = 0, 1, 2, 3, 4

NEWTON_STEPS = 100
SINGULAR = 1e-13  # pivot of M, relative to its diagonal, that counts as zero


@jit
def factor(A, L):  # type: ignore[no-untyped-def]
    """Cholesky factor of A into L; returns the row where A is not positive definite, else -1."""
    n = A.shape[0]
    for j in range(n):
        pivot = A[j, j]
        for k in range(j):
            pivot -= L[j, k] * L[j, k]
        if not pivot > SINGULAR * abs(A[j, j]):
            return j
        root = np.sqrt(pivot)
        L[j, j] = root
        for i in range(j + 1, n):
            rest = A[i, j]
            for k in range(j):
                rest -= L[i, k] * L[j, k]
            L[i, j] = rest / root
    return -1


@jit
def substitute(L, x):  # type: ignore[no-untyped-def]
    """Solve L Lᵀ x = x in place."""
    n = x.shape[0]
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@jit
def law(work, k, x):  # type: ignore[no-untyped-def]
    """Speed of friction term k at joint speeds x (nv,), and value and slope of its cubic."""
    directions, pieces, knots = work[3], work[6], work[7]
    along = 0.0
    for i in range(x.shape[0]):
        along += directions[k, i] * x[i]
    low, high = 0, knots.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if along < knots[middle]:
            high = middle
        else:
            low = middle
    u = along - knots[low]
    c1, c2, c3 = pieces[k, low, 1], pieces[k, low, 2], pieces[k, low, 3]
    value = pieces[k, low, 0] + u * (c1 + u * (c2 + u * c3))
    return along, value, c1 + u * (2.0 * c2 + u * 3.0 * c3)


@jit
def built_up(work, k, along, span, slow):  # type: ignore[no-untyped-def]
    """Share of its full value that friction k has after a step at this speed, and its slope."""
    travel, state = work[8][k], work[9][k]
    if travel == 0.0:
        saturation = np.tanh(along / slow)
        return saturation, (1.0 - saturation * saturation) / slow
    way = 1.0 if along >= 0.0 else -1.0
    left = np.exp(-abs(along) * span / travel)
    return way + (state - way) * left, (1.0 - way * state) * left * span / travel


@jit
def keep_states(work, v, h, slow):  # type: ignore[no-untyped-def]
    """The states of friction over a travel after a step h that ends at joint speeds v (nv,)."""
    for k in range(work[8].shape[0]):
        if work[8][k] > 0.0:
            along = 0.0
            for i in range(v.shape[0]):
                along += work[3][k, i] * v[i]
            work[9][k] = built_up(work, k, along, h, slow)[0]


@jit
def load_friction(work, lanes_tau, a):  # type: ignore[no-untyped-def]
    """Parameters of all friction, those that depend on the load times it.

    lanes_tau : see `assemble_stage`. a : (nv,) acceleration of the step before.
    """
    directions, parameters, loaded, now = work[3], work[4], work[10], work[11]
    n = a.shape[0]
    for k in range(parameters.shape[0]):
        now[k] = parameters[k]
        if loaded[k]:
            load, square = 0.0, 0.0
            for i in range(n):
                link = lanes_tau[n + 1, i]
                for j in range(n):
                    link += (lanes_tau[j, i] - lanes_tau[n, i]) * a[j]
                load += directions[k, i] * link
                square += directions[k, i] * directions[k, i]
            now[k] = parameters[k] * abs(load) / square


@jit
def residual_and_jacobian(A, rhs, work, half, span, slow, x, H, g):  # type: ignore[no-untyped-def]
    """Residual g = A x - rhs + impulse of friction at speed x, and its Jacobian H.

    Smooth friction acts at this speed for ``half`` a step, and rhs contains the other half;
    friction that jumps at zero speed acts for the whole span.
    """
    directions, parameters, jumps = work[3], work[11], work[5]
    n = x.shape[0]
    for i in range(n):
        g[i] = -rhs[i]
        for j in range(n):
            g[i] += A[i, j] * x[j]
            H[i, j] = A[i, j]
    for k in range(parameters.shape[0]):
        along, value, rise = law(work, k, x)
        saturation, slope = 1.0, 0.0
        if jumps[k]:
            saturation, slope = built_up(work, k, along, span, slow)
        time = span if jumps[k] else half
        impulse = time * parameters[k] * value
        steep = impulse * slope
        steep += time * parameters[k] * rise * saturation
        for i in range(n):
            g[i] += directions[k, i] * impulse * saturation
            for j in range(n):
                H[i, j] += directions[k, i] * directions[k, j] * steep


@jit
def speed_after(  # type: ignore[no-untyped-def]
    A, rhs, work, half, span, slow, x, H, L, g, step
):
    """Solve A x + impulse of friction at speed x = rhs from the guess x, in place.

    This is the minimum of a convex function; a Newton step is halved while the directional
    derivative at its end is positive and more than a tenth of the initial descent.
    """
    n = x.shape[0]
    residual_and_jacobian(A, rhs, work, half, span, slow, x, H, g)
    for _ in range(NEWTON_STEPS):
        if factor(H, L) >= 0:
            return NOT_SOLVED
        for i in range(n):
            step[i] = -g[i]
        substitute(L, step)
        before = 0.0
        for i in range(n):
            before += g[i] * step[i]
        for _ in range(60):
            for i in range(n):
                x[i] += step[i]
            residual_and_jacobian(A, rhs, work, half, span, slow, x, H, g)
            after = 0.0
            for i in range(n):
                after += g[i] * step[i]
            if not after > -0.1 * before:
                break
            before *= 0.5
            for i in range(n):
                x[i] -= step[i]
                step[i] *= 0.5
        small = True
        for i in range(n):
            # quadratic convergence: the next step would be far below rounding
            if not abs(step[i]) <= 1e-7 * slow + 1e-12 * abs(x[i]):
                small = False
        if small or work[4].shape[0] == 0:
            return DONE
    return NOT_SOLVED


@jit
def copy(source, target):  # type: ignore[no-untyped-def]
    """Copy (n,) by a loop, since slice assignments take seconds to compile."""
    for i in range(target.shape[0]):
        target[i] = source[i]


@jit
def state_for_controller(control, target, q, v, row_q, row_v, row_a):  # type: ignore[no-untyped-def]
    """The state (1, nv) whose torque the controller needs; at rest if only gravity is needed."""
    kind, stiffness, damping, _, _ = control
    q_ref, v_ref, a_ref = target
    for i in range(q.shape[0]):
        row_q[0, i] = q[i]
        if kind == COMPUTED_TORQUE:
            correction = stiffness[i] * (q_ref[i] - q[i]) + damping[i] * (v_ref[i] - v[i])
            row_v[0, i] = v[i]
            row_a[0, i] = a_ref[i] + correction


@jit
def controller_torque(control, target, q, v, row_a, row_tau, tau):  # type: ignore[no-untyped-def]
    """Drive torque (nv,) of the controller, from the model torque of `state_for_controller`."""
    kind, stiffness, damping, _, believed_Ia = control
    q_ref, v_ref, _ = target
    for i in range(tau.shape[0]):
        tau[i] = 0.0 if kind == FREE else row_tau[0, i]
        if kind == PD:
            tau[i] += stiffness[i] * (q_ref[i] - q[i]) + damping[i] * (v_ref[i] - v[i])
        elif kind == COMPUTED_TORQUE:
            for k in range(tau.shape[0]):
                tau[i] += believed_Ia[i, k] * row_a[0, k]


@jit
def assemble_stage(work, h, stage, lanes_tau, tau, q, v, M, A, rhs):  # type: ignore[no-untyped-def]
    """M, and A and rhs of the equation A v_new + friction = rhs of a stage, from the lanes.

    Lane k is at rest with acceleration e_k, lane nv at rest without acceleration, and lane nv + 1
    at the velocity of the robot.
    """
    Ia, V, offset = work[0], work[1], work[2]
    n = v.shape[0]
    span = 0.5 * h if stage == 0 else h
    for i in range(n):
        rhs[i] = span * (tau[i] - lanes_tau[n + 1, i] - offset[i])
        for k in range(n):
            M[i, k] = lanes_tau[k, i] - lanes_tau[n, i] + Ia[i, k]
            A[i, k] = M[i, k] + 0.5 * h * V[i, k]
            drag = 0.0 if stage == 0 else 0.5 * h * V[i, k]
            rhs[i] += (M[i, k] - drag) * v[k]
    for k in range(work[4].shape[0] if stage == 1 else 0):
        if not work[5][k]:
            _, value, _ = law(work, k, v)
            for i in range(n):
                rhs[i] -= 0.5 * h * work[4][k] * value * work[3][k, i]
    for k in range(work[13].shape[0]):
        along = 0.0
        for i in range(n):
            along += work[12][k, i] * q[i]
        pull = along
        if work[14][k] == 1:
            pull = np.sin(along)
        elif work[14][k] == 2:
            pull = np.cos(along)
        for i in range(n):
            rhs[i] -= span * work[13][k] * pull * work[12][k, i]


@jit
def rollout(  # type: ignore[no-untyped-def]
    geometry, phi, work, slow, control, reference, leash, period, substeps, every, out
):
    """Follow the reference (q, v, a: (n_ticks, nv) each) and record every ``every``-th tick.

    period : time between ticks (s), integrated in ``substeps`` steps.
    leash : (nv,) largest distance from the reference.
    out : q, v and tau (n_samples, nv); torque jumps at a tick, and the mean of both is recorded.

    Returns a status, and the tick and the joint (row) that it refers to; where M is not positive
    definite, the position is stored in the first row of q.
    """
    q_ref, v_ref, a_ref = reference
    q_out, v_out, tau_out = out
    n = q_ref.shape[1]
    h = period / substeps
    # few allocations, since each increases compile time
    vectors, squares = np.zeros((11, n)), np.zeros((4, n, n))
    rows, lanes = np.zeros((4, 1, n)), np.zeros((4, n + 2, n))
    q, v, q_mid, v_mid, v_new = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    tau, tau_before, rhs, g, step = vectors[5], vectors[6], vectors[7], vectors[8], vectors[9]
    a_before = vectors[10]
    M, A, H, L = squares[0], squares[1], squares[2], squares[3]
    row_q, row_v, row_a, row_tau = rows[0], rows[1], rows[2], rows[3]
    lanes_q, lanes_v, lanes_a, lanes_tau = lanes[0], lanes[1], lanes[2], lanes[3]
    copy(q_ref[0], q)
    copy(v_ref[0], v)
    for i in range(n):
        lanes_a[i, i] = 1.0
    for tick in range(q_ref.shape[0]):
        for i in range(n):
            if not (np.isfinite(q[i]) and np.isfinite(v[i])):
                return NOT_FINITE, tick, i
            if abs(q[i] - q_ref[tick, i]) > leash[i]:
                return LEFT_REFERENCE, tick, i
        target = (q_ref[tick], v_ref[tick], a_ref[tick])
        # the controller, then two stages per step: one loop, since each place that calls
        # fill_torque takes seconds to compile
        for phase in range(1 + 2 * substeps):
            stage = (phase + 1) % 2
            if phase == 0:
                state_for_controller(control, target, q, v, row_q, row_v, row_a)
            else:
                for lane in range(n + 2):
                    copy(q if stage == 0 else q_mid, lanes_q[lane])
                copy(v if stage == 0 else v_mid, lanes_v[n + 1])
            state = (
                (row_q, row_v, row_a, row_tau)
                if phase == 0
                else (lanes_q, lanes_v, lanes_a, lanes_tau)
            )
            parameters = control[3] if phase == 0 else phi
            fill_torque(*(geometry + (parameters,) + state))  # noqa: RUF005 (compiled)
            if phase == 0:
                controller_torque(control, target, q, v, row_a, row_tau, tau)
                if tick % every == 0:
                    copy(q, q_out[tick // every])
                    copy(v, v_out[tick // every])
                    for i in range(n):
                        before = tau[i] if tick == 0 else tau_before[i]
                        tau_out[tick // every, i] = 0.5 * (before + tau[i])
                copy(tau, tau_before)
                if tick + 1 == q_ref.shape[0]:
                    break
                continue
            load_friction(work, lanes_tau, a_before)
            assemble_stage(work, h, stage, lanes_tau, tau, lanes_q[0], v, M, A, rhs)
            bad = factor(M, L)
            if bad >= 0:
                finite = np.isfinite(M[bad, bad])
                copy(lanes_q[0], q_out[0])
                return (NOT_POSITIVE if finite else NOT_FINITE), tick, bad
            copy(v, v_new)
            span = 0.5 * h if stage == 0 else h
            if speed_after(A, rhs, work, 0.5 * h, span, slow, v_new, H, L, g, step) != DONE:
                for i in range(n):
                    if not np.isfinite(rhs[i]):
                        return NOT_FINITE, tick, i
                return NOT_SOLVED, tick, 0
            if stage == 1:
                keep_states(work, v_new, h, slow)
            for i in range(n):
                if stage == 0:
                    q_mid[i] = q[i] + 0.5 * h * v[i]
                    v_mid[i] = v_new[i]
                else:
                    q[i] += 0.5 * h * (v[i] + v_new[i])
                    a_before[i] = (v_new[i] - v[i]) / h
                    v[i] = v_new[i]
    return DONE, 0, 0
