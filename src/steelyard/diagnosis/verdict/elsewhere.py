"""The error to expect on other motions, which left-out parts of a short log do not show.

Parts of one motion resemble each other: a fit to the rest of a log predicts a left-out part well
even where it is wrong about every other posture. What the logs determine is therefore compared with
what torques of other motions depend on:

    z = F beta + e             the weighted logs; e has variance d, the dependence of residuals
    beta = K (theta0 + B x)    x: bodies of the file, stretched, sheared, shifted and made heavier
                               by shares of standard deviation r; friction and drive inertia that
                               take `SHARE_OF_TERMS` of the torque

r, how wrong the file is, is the value under which the logs are most likely, near `USUAL_ERROR`.
Given the logs, beta has mean b and covariance S. With rows W of torques of other motions, the error
of an estimate beta^ to be expected there is

    trace(W S Wᵀ) + |W (beta^ - b)|²,    as a share of |W b|²:

what the logs leave open, and what an estimate got wrong in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.constrained import System, weighted_system
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.typical_sizes import known_parameters, typical_mass_and_length
from steelyard.regression.regression import Regression
from steelyard.robot.inertia import from_pseudo_inertia, pseudo_inertia
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]

FEWEST_STATES, N_TORQUES = 40, 2100
"""States of other motions: at least so many, and so many torques, which is 300 of seven joints."""
USUAL_ERROR, SPREAD, LARGEST_ERROR = 0.2, 1.0, 1.0
"""How wrong a file's bodies usually are, as a share, its spread (of the logarithm), and at most."""
SHARE_OF_TERMS = 0.3
"""Share of a joint's torque that friction or drive inertia takes, where the logs do not tell."""
STOOD_STILL = 0.02
"""A joint whose positions differ by less (rad or m) is not expected to move elsewhere either."""
FREE_TURN, FREE_SLIDE = np.pi, 0.25
"""Positions (± rad, ± m) of joints without limits."""
THIN = 0.1
"""Least radius of gyration of a body, in typical distances between joints: a file that states point
masses says nothing about inertia."""


@dataclass(frozen=True, eq=False)
class MotionSizes:
    """Where and how fast joints moved.

    lower, upper : (nq,) positions, rad or m. speed, acceleration : (nv,) root mean squares.
    n : number of samples.
    """

    lower: Array
    upper: Array
    speed: Array
    acceleration: Array
    n: int


def motion_sizes(motion: Motion) -> MotionSizes:
    """Of one recording; accelerations are those of the velocities."""
    step = np.diff(motion.time)
    near = (step > 0.0) & (step < 2.0 * np.median(step)) if len(step) else step > 0.0
    change = np.diff(motion.v, axis=0)[near] / step[near, None]
    return MotionSizes(
        motion.q.min(axis=0),
        motion.q.max(axis=0),
        _rms(motion.v),
        _rms(change) if len(change) else np.zeros(motion.v.shape[1]),
        len(motion.time),
    )


def over_runs(sizes: Sequence[MotionSizes]) -> MotionSizes | None:
    """Of several recordings together; None of none."""
    if not sizes:
        return None
    counts = [one.n for one in sizes]
    return MotionSizes(
        np.min([one.lower for one in sizes], axis=0),
        np.max([one.upper for one in sizes], axis=0),
        np.sqrt(np.average([one.speed**2 for one in sizes], axis=0, weights=counts)),
        np.sqrt(np.average([one.acceleration**2 for one in sizes], axis=0, weights=counts)),
        sum(counts),
    )


def expected_elsewhere(
    model: Model, regression: Regression, beta: Array, sizes: MotionSizes, growth: float
) -> float:
    """The error of beta (n_base,) to be expected on other motions, as a share of their torque.

    growth : squared error of left-out parts over that of the fit; NaN where it is not known. NaN
    for robots with a floating base, whose other motions are not those of an arm.

    Other motions go through all positions within the limits, as fast as the logs did; joints that
    stood still stay where they were.
    """
    if model.robot.floating_base:
        return float("nan")
    system = weighted_system(model, regression)
    R, z = system.factor[:-1, :-1] / system.sigma, system.factor[:-1, -1] / system.sigma
    K, known = regression.base.K, known_parameters(model)
    rows = torque_regressor(model, *_states(model.robot, sizes))
    bodies = K @ _deformations(model, known)
    terms = K @ _terms(model, regression, rows, known)
    root = np.sqrt(_variance(system, growth))
    # in units of the residuals, with the terms taken up into the noise
    left = (z - R @ (K @ known)) / root
    FB, FC = R @ bodies / root, R @ terms / root
    L = np.linalg.cholesky(np.eye(len(left)) + FC @ FC.T)
    U, s, _ = np.linalg.svd(np.linalg.solve(L, FB), full_matrices=False)
    error = _file_error(s, U.T @ np.linalg.solve(L, left)) if model.prior_theta().any() else 1.0
    B = np.hstack([error * bodies, terms])
    F = R @ B / root
    # (1 + FᵀF)⁻¹ is the covariance of x given the logs, and the mean is that times Fᵀ left
    G = np.linalg.cholesky(np.eye(B.shape[1]) + F.T @ F)
    half = np.linalg.solve(G, B.T).T
    mean = K @ known + half @ np.linalg.solve(G, F.T @ left)
    measured = np.ones(model.nv, dtype=bool)  # or rows are no torques of joints
    if regression.equation.of_joints:
        measured = regression.counts.sum(axis=0) > 0
    W = rows[:, measured][:, :, list(regression.base.independent)].reshape(-1, len(beta))
    torque = float(np.sum((W @ mean) ** 2))
    missed = float(np.sum((W @ half) ** 2) + np.sum((W @ (beta - mean)) ** 2))
    return float(np.sqrt(missed / torque)) if torque > 0.0 else float("nan")


def _variance(system: System, growth: float) -> float:
    """Variance of residuals in units of their noise: as many as count as one independent one, and
    what left-out parts show beyond that.
    """
    if np.isfinite(growth):
        return system.dependence * max(1.0, growth)
    # too short to tell: each time block counts as one torque of each channel
    blocks = max(len(system.regression.keys) * len(system.regression.groups), 1)
    return max(system.dependence, system.regression.n_rows / blocks)


def _states(robot: Robot, sizes: MotionSizes) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations (n, nv) of other motions."""
    rng = np.random.default_rng(0)
    lower, upper = sizes.lower.copy(), sizes.upper.copy()
    for k, name in enumerate(robot.joint_names):
        if upper[k] - lower[k] < STOOD_STILL:
            continue
        joint = robot.joint(name)
        free = FREE_SLIDE if joint.kind == "prismatic" else FREE_TURN
        first, last = joint.limits.lower, joint.limits.upper
        if first is None or last is None or not last - first <= 2.0 * np.pi:
            middle = 0.5 * (lower[k] + upper[k])
            first, last = middle - free, middle + free
        lower[k], upper[k] = min(lower[k], first), max(upper[k], last)
    n = max(FEWEST_STATES, N_TORQUES // len(sizes.speed))
    q = rng.uniform(lower, upper, size=(n, len(lower)))
    v, a = rng.normal(size=(2, n, len(sizes.speed)))
    return q, v * sizes.speed, a * sizes.acceleration


def _deformations(model: Model, theta: Array) -> Array:
    """Changes (n_columns, n) of the bodies of theta by shares of one: J -> J + T J + J Tᵀ.

    T stretches, shears and shifts a body about its centre of mass, by its size; and its mass.
    """
    _, length = typical_mass_and_length(model)
    columns = []
    for first in model.first_column_of_body:
        J = pseudo_inertia(theta[first : first + 10])
        mass, com = J[3, 3], J[:3, 3] / J[3, 3]
        spread = J[:3, :3] - mass * np.outer(com, com)
        radius = np.sqrt(max(float(np.trace(spread)) / mass, (THIN * length) ** 2))
        if radius <= THIN * length:
            J[:3, :3] += mass * radius**2 / 3.0 * np.eye(3)
        changes = [J]
        for i, j in np.ndindex(3, 4):
            T = np.zeros((4, 4))
            T[i, j] = radius
            if j < 3:
                T[i, j], T[i, 3] = 1.0, -com[j]
            changes.append(T @ J + J @ T.T)
        for change in changes:
            column = np.zeros(len(theta))
            column[first : first + 10] = from_pseudo_inertia(change)
            columns.append(column)
    return np.array(columns).T


def _terms(model: Model, regression: Regression, rows: Array, known: Array) -> Array:
    """Sizes (n_columns, n_terms) of terms that take `SHARE_OF_TERMS` of their joints' torque.

    rows : (n_states, nv, n_columns) of other motions.
    """
    size = _rms(rows @ known)
    if regression.equation.of_joints:
        counts = regression.counts.sum(axis=0)
        for k, (factor, n) in enumerate(zip(regression.group_factors, counts, strict=True)):
            size[k] = np.linalg.norm(factor[:, -1]) / np.sqrt(n) if n else size[k]
    change = np.zeros((len(known), len(known)))
    terms = [k for k, column in enumerate(model.columns) if column.term_kind is not None]
    for k in terms:
        kind, own = model.columns[k].term_kind, _rms(rows[:, :, k])
        if kind is not None and own.any():
            unit = np.linalg.norm(size[own > 0.0]) / np.linalg.norm(own)
            change[k, k] = SHARE_OF_TERMS * kind.relative_size * unit
    return change[:, terms]


def _file_error(s: Array, left: Array) -> float:
    """The error r of the file's bodies under which ``left`` (n,), of variance 1 + r² s², and its
    usual size, are most likely.
    """
    errors = np.geomspace(1e-3, LARGEST_ERROR, 60)
    variance = 1.0 + errors[:, None] ** 2 * s**2
    unlikely = np.sum(np.log(variance) + left**2 / variance, axis=1)
    unlikely += (np.log(errors / USUAL_ERROR) / SPREAD) ** 2
    return float(errors[np.argmin(unlikely)])


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))
