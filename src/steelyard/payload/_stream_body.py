"""The physical body and the bias that a triangular factor says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError
from steelyard.robot.inertia import from_com, margin, pseudo_inertia
from steelyard.robot.principal_body import PrincipalBody, principal_body

Array = NDArray[np.float64]
N_BODY = 10
LARGE = np.array([50.0] + 3 * [20.0] + 6 * [10.0])
"""kg, kg m, kg m²: how large a payload may be. As standard deviations of a prior around zero they
keep what the motion says nothing about finite, and move nothing that it determines.
"""
LARGE_BIAS = 1e4
"""The same for the bias, in units of the noise of one sample."""
LEAST_MASS = 1e-2
FAR = 0.5
"""Mass (kg) and distance (m) that limit the sphere that stands for what is not determined."""
LENGTH = 0.1
"""Sizes (kg, m) that scale the problem for the solver."""
SIZE = np.array([1.0] + 3 * [LENGTH] + 6 * [LENGTH**2])
WATER = 1000.0
"""kg/m³."""
END = 1e-7
"""Last weight of the barrier, in units of the variance of one sample's noise."""


@dataclass(frozen=True, eq=False)
class FreeFit:
    """The least-squares fit without conditions.

    phi : (10,) with covariance (10, 10) in units of one sample's noise.
    R, z : triangular factor (10, 10), (10,) of the body alone, the bias being free.
    R_bias, R_bias_body, z_bias : rows that give the bias for a body.
    """

    phi: Array
    covariance: Array
    R: Array
    z: Array
    R_bias: Array
    R_bias_body: Array
    z_bias: Array

    def bias_with(self, phi: Array) -> Array:
        """The bias (n_channels,) that fits best if the body is ``phi``."""
        return np.asarray(np.linalg.solve(self.R_bias, self.z_bias - self.R_bias_body @ phi))


def free_fit(S: Array, sigma: Array) -> FreeFit:
    """Solve the factor S (n, n) of body, bias and right-hand side, with weak priors.

    S : its rows divided by their noise, beyond the stated one, sigma (n_channels,).
    """
    n = len(S)
    n_bias = n - 1 - N_BODY
    order = [*range(N_BODY, n - 1), *range(N_BODY), n - 1]
    prior = np.zeros((n_bias, n))
    prior[np.arange(n_bias), np.arange(n_bias)] = 1.0 / (LARGE_BIAS * sigma)
    factor = _triangle(np.concatenate([S[:, order], prior]))
    R, z = factor[n_bias:-1, n_bias:-1], factor[n_bias:-1, -1]
    whole = _triangle(np.concatenate([R, np.diag(1.0 / LARGE)]))
    inverse = np.linalg.inv(whole)
    covariance = inverse @ inverse.T
    return FreeFit(
        phi=covariance @ (R.T @ z),
        covariance=covariance,
        R=R,
        z=z,
        R_bias=factor[:n_bias, :n_bias],
        R_bias_body=factor[:n_bias, n_bias:-1],
        z_bias=factor[:n_bias, -1],
    )


def mass_change(before: Array, after: Array, sigma: Array) -> tuple[float, float, float]:
    """Mass before, mass after and the standard deviation of their difference, kg.

    before, after : factors (n, n) of two bodies with one bias, their rows divided by their noise;
    sigma and weak priors as in `free_fit`. At rest, where a weight may be bias, neither mass is
    determined, but their difference is.
    """
    n = len(before)
    bias, body = slice(N_BODY, n - 1), slice(0, N_BODY)
    n_bias = n - 1 - N_BODY
    rows = np.zeros((2 * n, n + N_BODY))
    for half, S, at in ((0, before, n_bias), (n, after, n_bias + N_BODY)):
        rows[half : half + n, :n_bias] = S[:, bias]
        rows[half : half + n, at : at + N_BODY] = S[:, body]
        rows[half : half + n, -1] = S[:, -1]
    prior = np.diag(np.concatenate([1.0 / (LARGE_BIAS * sigma), 1.0 / LARGE, 1.0 / LARGE, [0.0]]))
    factor = _triangle(np.concatenate([rows, prior]))[:-1]
    x = np.linalg.solve(factor[:, :-1], factor[:, -1])
    old, new = n_bias, n_bias + N_BODY
    difference = np.zeros(len(x))
    difference[[old, new]] = -1.0, 1.0
    spread = np.linalg.solve(factor[:, :-1].T, difference)
    return float(x[old]), float(x[new]), float(np.linalg.norm(spread))


def weak_prior(sigma: Array) -> Array:
    """Inverse standard deviations (10 + n_channels,) of the weak priors of body and bias."""
    return 1.0 / np.concatenate([LARGE, LARGE_BIAS * sigma])


def physical_fit(fit: FreeFit) -> PrincipalBody:
    """The physical body with the smallest sum of squares.

    Where the motion says nothing, the body is near a sphere of water with the mass and the centre
    of mass that fit.
    """
    mass = max(float(fit.phi[0]), LEAST_MASS)
    sphere = _sphere_of_water(mass, np.clip(fit.phi[1:4] / mass, -FAR, FAR))
    F = np.concatenate([fit.R, np.diag(1.0 / LARGE)])
    g = np.concatenate([fit.z, sphere / LARGE])
    triangle = _triangle(np.column_stack([F, g]))
    R, z = triangle[:N_BODY, :N_BODY], triangle[:N_BODY, N_BODY]
    free = np.asarray(np.linalg.solve(R, z), dtype=float)
    if margin(free) >= 0.0:
        return principal_body(free, "payload")
    return _at_boundary(R, z, free, sphere)


def _at_boundary(R: Array, z: Array, free: Array, start: Array) -> PrincipalBody:
    """The fit where least squares, ``free``, is not physical; start : strictly physical."""
    from steelyard.payload._barrier_fit import barrier_fit

    scale = start[0] * SIZE
    scaled, x = np.ascontiguousarray(R * scale), np.ascontiguousarray(start / scale)
    excess = float(np.sum((R @ (start - free)) ** 2))
    # of one layout, so that nothing is compiled again
    right = np.ascontiguousarray(z)
    if not barrier_fit(scaled, right, _basis(), x, max(0.1 * excess, END), END):
        raise EstimationError(
            "no physical payload was found; check the units of the samples and the sign of the "
            "wrench or torques"
        )
    return principal_body(x * scale, "payload")


def compile_fit() -> None:
    """Have the barrier method compiled, so that no later fit waits for it."""
    ball = _sphere_of_water(1.0, np.zeros(3))
    _at_boundary(np.eye(N_BODY), ball, ball, ball)


def com_sigma(phi: Array, covariance: Array) -> Array:
    """Standard deviations (3,) of the centre of mass h / m, m; infinite without mass."""
    if not phi[0] > 0.0:
        return np.full(3, np.inf)
    slope = np.zeros((3, N_BODY))
    slope[:, 0] = -phi[1:4] / phi[0] ** 2
    slope[:, 1:4] = np.eye(3) / phi[0]
    return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", slope, covariance, slope)))


def _sphere_of_water(mass: float, com: Array) -> Array:
    radius = (3.0 * mass / (4.0 * np.pi * WATER)) ** (1.0 / 3.0)
    return from_com(mass, com, 0.4 * mass * radius**2 * np.eye(3))


@cache
def _basis() -> Array:
    """Pseudo-inertia (10, 4, 4) of each unit vector, in units of a body of 1 kg and `SIZE`."""
    size = np.array([LENGTH, LENGTH, LENGTH, 1.0])
    return np.ascontiguousarray(pseudo_inertia(np.diag(SIZE)) / np.outer(size, size))


def _triangle(A: Array) -> Array:
    """The triangular factor of A."""
    return np.asarray(np.linalg.qr(A, mode="r"))
