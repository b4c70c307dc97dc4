"""Leads: from rest into a state of motion, each joint in its shortest time within limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.motions.joint_moves import JointMove, waiting_first
from steelyard.excitation.motions.polynomial import PolynomialTrajectory, quintic_coefficients
from steelyard.excitation.motions.rest_poses import ALLOWED, at_rest, inside
from steelyard.excitation.motions.shortest_move import (
    LimitUse,
    shortest_moves,
    tried_durations,
    used_shares,
)

Array = NDArray[np.float64]

AT_REST = 1e-9
"""Speeds and accelerations below this share of their limits are rest."""
POSES = 12
"""Poses of rest that are tried per joint, besides the gentlest, in both directions alike."""
POSE_DURATIONS = 60


def lead_in(
    state: Array, rest: Array | None, limits: MotionLimits
) -> PolynomialTrajectory | LimitUse | None:
    """From rest at a pose (n_joints,) rad or m into a state (3, n_joints); None if it is rest
    already, or the limit that no lead keeps.

    Joints end together and begin when they must. Without a pose, each joint rests where its lead
    is shortest. A joint that cannot go into its state by one polynomial goes to such a rest first.
    """
    effort = np.maximum(np.abs(state[1]) / limits.velocity, np.abs(state[2]) / limits.acceleration)
    if rest is None and float(effort.max()) < AT_REST:
        return None
    direct = None if rest is None else shortest_moves(at_rest(rest), state, limits)
    if rest is not None and direct is not None and np.isfinite(direct.durations_s).all():
        moves = joint_moves(direct.durations_s, at_rest(rest), state)
        return waiting_first(limits.joints, [[move] for move in moves], rest)
    between = _best_rests(state, limits)
    last = shortest_moves(at_rest(between), state, limits)
    needed = np.ones(len(between), bool) if direct is None else np.isinf(direct.durations_s)
    lacking = [
        use
        for use, needs, duration in zip(last.uses, needed, last.durations_s, strict=True)
        if needs and np.isinf(duration)
    ]
    if lacking:
        return max(lacking, key=lambda use: use.share)
    second = joint_moves(last.durations_s, at_rest(between), state)
    if rest is None or direct is None:
        return waiting_first(limits.joints, [[move] for move in second], between)
    over = shortest_moves(at_rest(rest), at_rest(between), limits)
    first = joint_moves(over.durations_s, at_rest(rest), at_rest(between))
    alone = joint_moves(direct.durations_s, at_rest(rest), state)
    chosen = [
        [one, two] if needs else [only]
        for one, two, only, needs in zip(first, second, alone, needed, strict=True)
    ]
    return waiting_first(limits.joints, chosen, rest)


def joint_moves(durations_s: Array, start: Array, end: Array) -> list[JointMove]:
    """The polynomials of fifth degree of single joints between two states (3, n_joints), each in
    its own time (n_joints,) s; those of an infinite time are not to be used.
    """
    finite = np.where(np.isfinite(durations_s), durations_s, 1.0)
    rows = quintic_coefficients(finite[None], start, end)[0]
    return [JointMove(float(h), row) for h, row in zip(durations_s, rows, strict=True)]


def _best_rests(state: Array, limits: MotionLimits) -> Array:
    """Poses of rest (n_joints,), rad or m, from which each joint is soonest in its state."""
    n_joints = len(limits.joints)
    durations = tried_durations(at_rest(state[0]), state, limits, POSE_DURATIONS)
    spread = np.linspace(-1.0, 1.0, POSES)[:, None] * limits.half_range + limits.middle
    gentle = state[0] - 0.5 * state[1] * durations + state[2] * durations**2 / 12.0
    poses = np.concatenate(
        [gentle[:, None], np.broadcast_to(spread, (POSE_DURATIONS, POSES, n_joints))], axis=1
    )
    rows = inside(poses, limits).reshape(-1, n_joints)
    repeated = np.repeat(durations, POSES + 1, axis=0)
    shares = used_shares(repeated, at_rest(rows), state, limits).max(axis=2)
    # the first feasible duration, there the pose with most left; otherwise the least excess
    shares = shares.reshape(POSE_DURATIONS, POSES + 1, n_joints)
    least = shares.min(axis=1)
    feasible = least <= ALLOWED
    row = np.where(feasible.any(axis=0), feasible.argmax(axis=0), least.argmin(axis=0))
    joint = np.arange(n_joints)
    pose = shares[row, :, joint].argmin(axis=1)
    return np.asarray(rows.reshape(POSE_DURATIONS, POSES + 1, n_joints)[row, pose, joint])
