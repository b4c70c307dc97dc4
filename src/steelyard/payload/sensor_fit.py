"""A body, the bias and the rotation of its sensor, fitted to the factors of wrench equations."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.estimators.cluster import MIN_BLOCKS, left_out_covariance
from steelyard.estimators.least_squares import triangular_fit
from steelyard.payload.one_body import LENGTH, OneBodyFit, body_scale, fit_body
from steelyard.payload.payload_estimate import PayloadSolver
from steelyard.payload.sensor_factors import SensorFactors
from steelyard.regression.regression import triangle
from steelyard.robot.inertia import skew

Array = NDArray[np.float64]

OPEN = 0.5
"""Directions whose standard deviation is above this share of a typical body are not determined."""
LEAST_MASS = 0.02
"""Mass (kg) of the smallest body that typical sizes are taken from."""
NEGLIGIBLE_TURN = 1e-9
"""Steps (rad) of the sensor's rotation at which Gauss-Newton has converged."""
MOST_TURNS = 30
EXACT = 1e-9
"""Least noise, as a share of the wrench without bias: of simulated data without noise."""
EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class SensorFit:
    """The body and what was estimated with it.

    R : (11, 10) and z : (11,), of the body alone in units of the noise, bias and rotation
        eliminated, without the directions that are not determined.
    undetermined : (10, k) those directions, in units of the parameters; k may be 0.
    noise : (2,) of force (N) and torque (N m).
    bias : (6,) N and N m in the sensor's axes. R_frame_sensor : (3, 3).
    covariance : (n_nuisance + 10, ...) of bias (in the axes of the frame), of the rotation (about
        the axes of the frame) and phi. freedom : degrees of freedom of its t quantiles.
    nuisance_open : (n_nuisance, k) by how much bias and rotation change with each of the
        undetermined directions.
    blocks_used : whether it is from the time blocks. residual : (2,) rms of force and torque.
    relative_error : weighted norm of the residual over that of the wrench without bias; free_error
        : the same of unconstrained least squares, ``body.free``.
    """

    body: OneBodyFit
    R: Array
    z: Array
    undetermined: Array
    noise: Array
    bias: Array
    R_frame_sensor: Array
    covariance: Array
    freedom: int
    nuisance_open: Array
    blocks_used: bool
    why_no_blocks: str
    residual: Array
    relative_error: float
    free_error: float
    inflation: float


def fit_on_sensor(
    factors: SensorFactors,
    solver: PayloadSolver = "sdp",
    *,
    ignored: Array | None = None,
    budget_s: float | None = None,
) -> SensorFit:
    """Weighted least squares of a physical body, bias and rotation.

    ignored : (10, k) directions of the parameters to leave out, as not determined. budget_s : time
        (s) after which steps on the manifold end.
    """
    deadline = None if budget_s is None else perf_counter() + budget_s
    left_out = np.zeros((10, 0)) if ignored is None else ignored
    R_frame_sensor = np.eye(3)
    noise = group_noise(factors, R_frame_sensor)
    if factors.rotation:
        for _ in range(MOST_TURNS):
            rows = _plain_rows(factors, noise, R_frame_sensor)
            turn = triangular_fit(triangle(rows)).beta[_turn_columns(factors)]
            R_frame_sensor = rotation_of(turn) @ R_frame_sensor
            noise = group_noise(factors, R_frame_sensor)
            if np.linalg.norm(turn) < NEGLIGIBLE_TURN:
                break
        else:
            raise _not_converged(turn)
    for _ in range(MOST_TURNS):
        system = _system(factors, noise, R_frame_sensor, left_out)
        body = fit_body(system.R, system.z, solver, deadline=deadline)
        nuisance = system.nuisance(body.phi)
        if not factors.rotation:
            break
        # where the body is at the edge of the physical set, the best rotation changes a little
        turn = nuisance[_turn_columns(factors)]
        if np.linalg.norm(turn) < NEGLIGIBLE_TURN:
            break
        R_frame_sensor = rotation_of(turn) @ R_frame_sensor
    else:
        raise _not_converged(turn)
    covariance, freedom, reason, inflation = _covariance(factors, system)
    bias = nuisance[:6].reshape(2, 3) if factors.bias else np.zeros((2, 3))
    k = factors.force.shape[1]
    n = factors.n_rows / 2
    parts = _squares_of(system, nuisance, body.phi, k)
    of_free = _squares_of(system, system.nuisance(body.free), body.free, k)
    loaded = system.rows[..., -1]
    if factors.bias:
        loaded = loaded - system.rows[..., :6] @ nuisance[:6]
    size = max(float(np.sum(loaded**2)), 1e-300)
    return SensorFit(
        body=body,
        R=system.R,
        z=system.z,
        undetermined=system.undetermined,
        noise=noise,
        bias=(bias @ R_frame_sensor).reshape(-1),
        R_frame_sensor=R_frame_sensor,
        covariance=covariance,
        freedom=freedom,
        nuisance_open=system.nuisance_slopes(system.undetermined),
        blocks_used=not reason,
        why_no_blocks=reason,
        residual=np.sqrt(parts / n) * noise,
        relative_error=float(np.sqrt(parts.sum() / size)),
        free_error=float(np.sqrt(of_free.sum() / size)),
        inflation=inflation,
    )


def _squares_of(system: _System, nuisance: Array, phi: Array, n_force: int) -> Array:
    """Squared residuals (2,) of force and torque, in units of their noise."""
    away = system.rows[..., -1] - system.rows[..., :-1] @ np.concatenate([nuisance, phi])
    return np.array([np.sum(away[:, :n_force] ** 2), np.sum(away[:, n_force:] ** 2)])


def group_noise(factors: SensorFactors, R_frame_sensor: Array) -> Array:
    """Standard deviation (2,) of force (N) and torque (N m), each from its own least squares."""
    rows = factors.rows(np.ones(2), R_frame_sensor)
    k = factors.force.shape[1]
    n = 3 * int(factors.n_samples.sum())
    sigma, loaded = np.empty(2), np.empty(2)
    for g, part in enumerate((rows[:, :k], rows[:, k:])):
        fit = triangular_fit(triangle(part.reshape(-1, part.shape[2])))
        freedom = n - fit.rank
        if freedom <= 0:
            raise EstimationError(
                f"{n // 3} samples of the wrench are too few for {fit.rank} unknowns; record more"
            )
        sigma[g] = np.sqrt(fit.residual_square / freedom)
        by_bias = part[..., :6] @ fit.beta[:6] if factors.bias else 0.0
        without_bias = float(np.linalg.norm(part[..., -1] - by_bias))
        rounding = EPSILON * float(np.linalg.norm(part[..., -1]))
        loaded[g] = max(without_bias, rounding / EXACT) / np.sqrt(n)
    # without noise the weights would be infinite; a body may have no torque at all
    floor = EXACT * np.array([loaded[0], max(loaded[1], LENGTH * loaded[0])])
    return np.asarray(np.maximum(np.maximum(sigma, floor), np.finfo(float).tiny))


@dataclass(frozen=True, eq=False)
class _System:
    """The weighted equations about one rotation of the sensor.

    rows : (n_blocks, n_rows, n + 1). factor : (n + 1, n + 1) of all of them.
    basis : (10, rank) of the directions that the data determine.
    """

    rows: Array
    factor: Array
    n_nuisance: int
    R: Array
    z: Array
    basis: Array
    undetermined: Array

    def nuisance(self, phi: Array) -> Array:
        """Bias and rotation (n_nuisance,) that fit best with a body."""
        p = self.n_nuisance
        right = self.factor[:p, -1] - self.factor[:p, p:-1] @ phi
        return np.asarray(np.linalg.lstsq(self.factor[:p, :p], right, rcond=1e-12)[0], dtype=float)

    def nuisance_slopes(self, directions: Array) -> Array:
        """Change (n_nuisance, k) of bias and rotation with directions (10, k) of phi."""
        p = self.n_nuisance
        right = -self.factor[:p, p:-1] @ directions
        return np.asarray(np.linalg.lstsq(self.factor[:p, :p], right, rcond=1e-12)[0], dtype=float)


def _system(factors: SensorFactors, noise: Array, R_frame_sensor: Array, ignored: Array) -> _System:
    rows = factors.rows(1.0 / noise, R_frame_sensor)
    factor = triangle(rows.reshape(-1, rows.shape[2]))
    p = factors.n_nuisance
    R, z = factor[p:, p:-1], factor[p:, -1]
    if ignored.shape[1]:
        basis = np.linalg.qr(ignored)[0]
        R = R - (R @ basis) @ basis.T
    unit = body_scale(1.0)
    mass = float((np.linalg.lstsq(R * unit, z, rcond=1e-9)[0] * unit)[0])
    scale = body_scale(max(abs(mass), LEAST_MASS))
    U, s, Vt = np.linalg.svd(R * scale)
    known = s > 1.0 / OPEN
    cut = (U[:, :10][:, known] * s[known]) @ Vt[known] / scale
    return _System(rows, factor, p, cut, z, (Vt[known] * scale).T, (Vt[~known] * scale).T)


def _covariance(factors: SensorFactors, system: _System) -> tuple[Array, int, str, float]:
    """Covariance of bias, rotation and phi; degrees of freedom; why it is not from the blocks;
    median ratio of its variances to those for independent residuals.
    """
    p, rank = system.n_nuisance, system.basis.shape[1]
    T = np.zeros((p + 10, p + rank))
    T[:p, :p] = np.eye(p)
    T[p:, p:] = system.basis
    reduced = np.concatenate([system.rows[..., :-1] @ T, system.rows[..., -1:]], axis=2)
    fit = triangular_fit(triangle(reduced.reshape(-1, reduced.shape[2])))
    freedom = max(factors.n_rows - fit.rank, 1)
    classical = fit.residual_square / freedom * (T @ fit.inverse) @ (T @ fit.inverse).T
    n_blocks = len(reduced)
    if n_blocks < MIN_BLOCKS:
        return classical, freedom, f"{n_blocks} time blocks are fewer than {MIN_BLOCKS}", 1.0
    covariance, failed = left_out_covariance(reduced, fit.beta, fit.inverse)
    if covariance is None:
        reason = f"without time block {failed} of {n_blocks} some parameters cannot be estimated"
        return classical, freedom, reason, 1.0
    covariance = T @ covariance @ T.T
    before, after = np.diag(classical), np.diag(covariance)
    ratio = after[before > 0.0] / before[before > 0.0]
    return covariance, n_blocks - 1, "", max(1.0, float(np.median(ratio)))


def _plain_rows(factors: SensorFactors, noise: Array, R_frame_sensor: Array) -> Array:
    rows = factors.rows(1.0 / noise, R_frame_sensor)
    return rows.reshape(-1, rows.shape[2])


def _turn_columns(factors: SensorFactors) -> slice:
    return slice(6 * factors.bias, factors.n_nuisance)


def _not_converged(turn: Array) -> EstimationError:
    return EstimationError(
        f"the rotation of the sensor did not converge (last step {np.linalg.norm(turn):.2g} rad); "
        "the sensor needs at least three distinct orientations, and a frame that is nearly right"
    )


def rotation_of(vector: Array) -> Array:
    """exp(S(r)) (3, 3) of a rotation vector (3,), rad."""
    angle = float(np.linalg.norm(vector))
    S = skew(vector)
    if angle < 1e-8:
        return np.asarray(np.eye(3) + S + 0.5 * S @ S)
    return np.asarray(
        np.eye(3) + np.sin(angle) / angle * S + (1.0 - np.cos(angle)) / angle**2 * S @ S
    )


def rotation_vector(R: Array) -> Array:
    """The rotation vector (3,) rad of a rotation matrix (3, 3)."""
    axis = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = float(np.linalg.norm(axis)), 0.5 * (float(np.trace(R)) - 1.0)
    angle = float(np.arctan2(sine, cosine))
    if sine > 1e-7:
        return np.asarray(axis * (angle / sine))
    if cosine > 0.0:
        return axis
    # half a turn: the axis is the eigenvector of R for 1
    values, vectors = np.linalg.eigh(0.5 * (R + R.T))
    return np.asarray(angle * vectors[:, int(np.argmax(values))])
