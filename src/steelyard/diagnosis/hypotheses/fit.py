"""How well a reading of a log agrees with the robot file: fit and distance from the file in one.

A reading says which column of the log is which signal: with which sign, of which joint, how late.
The right reading is explained by parameters near those of the file, with friction that takes
energy. A wrong one leaves torque unexplained, or needs parameters far from the file:

    tau_i = W_i theta + noise,  theta = theta_file + D x,  x ~ N(0, 1)
    score = N sum_i log e_i² + |x|² + N sum_i (negative friction)_i

e_i is the unexplained share of torque i, N the number of independent values that a log counts as.
D is generous: a file may be off by a third. Smaller scores are better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from steelyard.diagnosis.hypotheses.samples import Samples, regressor, term_columns
from steelyard.model.model import Model
from steelyard.robot.inertia import to_com

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
IntArray = NDArray[np.int64]

INDEPENDENT = 100.0
"""Independent values (N) that each torque counts as, however long the log is."""
NO_TORQUE = 1e-11
"""Size (N m or N) of a torque that is not used."""
LEAST_ERROR = 0.004
"""Unexplained share of a torque below which no reading is better than another."""
FIRST_ERROR = 0.1
"""Unexplained share with which the weights of a fit start."""
MASS_OFF, CENTRE_OFF_M, INERTIA_OFF = 0.25, 0.03, 0.35
"""Typical error of a file: shares of mass and inertia, and distance of a centre of mass (m)."""
TERM_SHARE, OFFSET_SHARE = 0.5, 0.1
"""Typical size of terms: share of the torque (rms) that they explain."""
DOUBTED_ERROR, DOUBTED_AWAY, DOUBTED_NEGATIVE = 0.012, 7.0, 0.03
"""A log is doubted beyond this lasting error of a joint, distance from the file for each joint, or
share of negative friction."""
NEGATIVE_SHARE = 0.04
"""Share of a torque that friction with the wrong sign has to have in order to count fully."""


def file_spread(model: Model, theta: Array) -> Array:
    """Typical errors (n_columns,) of the file's bodies; 1 for terms."""
    spread = np.ones(len(model.columns))
    first = np.array(model.first_column_of_body)
    bodies = theta[first[:, None] + np.arange(10)]
    least = 0.02 * float(np.abs(bodies[:, 0]).mean())
    for k, body in zip(first, bodies, strict=True):
        mass = max(float(body[0]), least)
        centre, size2 = np.zeros(3), 0.05**2
        if body[0] > 0.0:
            _, centre, inertia = (np.asarray(one)[0] for one in to_com(body[None]))
            size2 += max(0.0, 0.5 * float(np.trace(inertia)) / mass)
        arm2 = float(centre @ centre)
        spread[k] = MASS_OFF * mass
        spread[k + 1 : k + 4] = mass * (MASS_OFF * np.sqrt(arm2) + CENTRE_OFF_M)
        spread[k + 4 : k + 10] = mass * INERTIA_OFF * (size2 + arm2 + CENTRE_OFF_M**2)
    return spread


@dataclass(frozen=True, eq=False)
class Moments:
    """Products of the regressor with itself and with every torque, of one motion.

    G : (n_joints, p, p), rows of joint i. C : (n_joints, n_joints, p), rows of joint i with torque
    k. S : (n_joints, n_joints) squares of torque k where joint i moves. counts : (n_joints,).
    speed, acceleration : (n_joints,) rms. theta, spread : of the file.
    """

    model: Model
    G: Array
    C: Array
    S: Array
    counts: Array
    speed: Array
    acceleration: Array
    theta: Array
    spread: Array
    terms: IntArray


def moments(
    samples: Samples,
    W: Array | None = None,
    extra: Array | None = None,
    extra_spread: Array | None = None,
) -> Moments:
    """The moments of these samples.

    extra : (n, n_joints, k) columns beside the model's, whose parameters are near zero, within
    ``extra_spread`` (k,).
    """
    if W is None:
        W = regressor(samples)
    model, tau = samples.model, samples.tau
    n_joints = tau.shape[1]
    theta = model.prior_theta()
    spread = file_spread(model, theta)
    if extra is not None and extra_spread is not None:
        W = np.concatenate([W, extra * samples.moving[:, :, None]], axis=2)
        theta = np.append(theta, np.zeros(len(extra_spread)))
        spread = np.append(spread, extra_spread)
    G = np.zeros((n_joints, len(theta), len(theta)))
    C = np.zeros((n_joints, n_joints, len(theta)))
    for i in range(n_joints):
        # links before a joint, and other joints' terms, have columns of zeros
        used = np.flatnonzero(np.any(W[:, i], axis=0))
        rows = W[:, i][:, used]
        G[i][np.ix_(used, used)] = rows.T @ rows
        C[i][:, used] = tau.T @ rows
    return Moments(
        model=model,
        G=G,
        C=C,
        S=samples.moving.T.astype(float) @ tau**2,
        counts=np.maximum(samples.moving.sum(axis=0), 1).astype(float),
        speed=_rms(samples.v),
        acceleration=_rms(samples.a),
        theta=theta,
        spread=spread,
        terms=term_columns(model),
    )


def _rms(table: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(table**2, axis=0)) + 1e-12)


@dataclass(frozen=True, eq=False)
class Fit:
    """The best parameters of one reading.

    score : see the module. error : (n_joints,) unexplained share of each torque. away : |x|², the
    distance from the file. negative : (n_joints,) share of friction with the wrong sign.
    friction, inertia : (n_joints,) shares of the torque that friction and drive inertia are.
    size : (n_joints,) rms torque.
    weights : (n_joints,) of the rows. theta : (p,). H : (p, p) of the scaled problem, spread D.
    """

    score: float
    error: Array
    away: float
    negative: Array
    friction: Array
    inertia: Array
    size: Array
    weights: Array
    theta: Array
    H: Array
    spread: Array

    @property
    def mean_error(self) -> float:
        """The unexplained share of all torques, every joint counted alike."""
        return float(np.exp(np.mean(np.log(np.maximum(self.error[self.used], 1e-9)))))

    @property
    def used(self) -> Mask:
        """Which joints (n_joints,) have a torque that is used; all if none has."""
        used = self.size > NO_TORQUE
        return used if used.any() else ~used


def solver_of(H: Array) -> Callable[[Array], Array]:
    """Solves H x = b for a matrix (n, n) that is positive definite but for rounding."""
    factor, failed = dpotrf(H, clean=False)
    if failed:
        inverse = np.linalg.pinv(H, hermitian=True)
        return lambda b: np.asarray(inverse @ b)
    return lambda b: np.asarray(dpotrs(factor, b)[0])


def fitted(
    given: Moments,
    C: Array,
    S: Array,
    theta_file: Array | None = None,
    steps: int = 3,
) -> Fit:
    """The fit to torques with these products C (n_joints, p) and squares S (n_joints,)."""
    theta0 = given.theta if theta_file is None else theta_file
    n_joints = len(S)
    size = np.sqrt(S / given.counts) + 1e-12
    D = given.spread.copy()
    terms = given.terms
    D[terms[:, 0]] = TERM_SHARE * size / given.acceleration
    D[terms[:, 1]] = TERM_SHARE * size / given.speed
    D[terms[:, 2]] = TERM_SHARE * size
    D[terms[:, 3]] = OFFSET_SHARE * size
    right = C - given.G @ theta0
    error = np.full(n_joints, FIRST_ERROR)
    for _ in range(steps):
        weights = np.sqrt(INDEPENDENT / given.counts) / (size * np.maximum(error, LEAST_ERROR))
        H = np.tensordot(weights**2, given.G, axes=1) * D[:, None] * D
        H[np.diag_indices(len(D))] += 1.0
        x = solver_of(H)(D * (weights**2 @ right))
        theta = theta0 + D * x
        squares = S - 2.0 * C @ theta + (given.G @ theta) @ theta
        error = np.sqrt(np.maximum(squares, 0.0) / given.counts) / size
    viscous = theta[terms[:, 1]] * given.speed / size
    coulomb = theta[terms[:, 2]] / size
    friction = viscous + coulomb
    inertia = theta[terms[:, 0]] * given.acceleration / size
    negative = np.maximum(0.0, -friction)
    score = (
        INDEPENDENT * float(np.sum(np.log(np.maximum(error, LEAST_ERROR) ** 2)))
        + float(x @ x)
        + INDEPENDENT * float(np.sum(np.minimum(1.0, (negative / NEGATIVE_SHARE) ** 2)))
    )
    return Fit(score, error, float(x @ x), negative, friction, inertia, size, weights, theta, H, D)


def lasting_errors(samples: Samples, W: Array, fit: Fit) -> Array:
    """Unexplained share of each torque (n_joints,) that lasts longer than its noise: the root of
    the products of residuals ``lag_s`` apart. Noise alone gives about zero.
    """
    residual = samples.tau * samples.moving - W @ fit.theta
    step = float(np.median(np.diff(samples.time)))
    apart = min(max(1, round(samples.lag_s / step)), len(residual) - 1)
    both = samples.moving[apart:] & samples.moving[:-apart]
    products = np.sum(residual[apart:] * residual[:-apart] * both, axis=0)
    return np.asarray(
        np.sqrt(np.maximum(products, 0.0) / np.maximum(both.sum(axis=0), 1)) / fit.size
    )


def fit_of(given: Moments, order: IntArray | None = None, gain: Array | None = None) -> Fit:
    """The fit in which joint i has the torque of column ``order[i]``, times ``gain[i]``."""
    n_joints = len(given.counts)
    rows = np.arange(n_joints)
    order = rows if order is None else order
    gain = np.ones(n_joints) if gain is None else gain
    return fitted(given, gain[:, None] * given.C[rows, order], gain**2 * given.S[rows, order])


def doubted(samples: Samples, W: Array, fit: Fit) -> bool:
    """Whether a fit leaves doubts: torques that are unexplained beyond their noise, or unlikely
    parameters.
    """
    return bool(
        lasting_errors(samples, W, fit).max() > DOUBTED_ERROR
        or far_from_file(fit)
        or fit.negative.max() > DOUBTED_NEGATIVE
    )


def far_from_file(fit: Fit) -> bool:
    """Whether a fit needs parameters that are unlikely even for a poor file."""
    return fit.away > DOUBTED_AWAY * len(fit.error)
