"""The physical body and the bias that a triangular factor says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.conic.problem import conic_problem
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.knowledge.physical_blocks import full_consistency
from steelyard.robot.inertia import from_com, margin, to_com
from steelyard.robot.principal_body import PrincipalBody, principal_body

Array = NDArray[np.float64]
N_BODY = 10
LARGE = np.array([50.0] + 3 * [20.0] + 6 * [10.0])
"""kg, kg m, kg m²: how large a payload may be. As standard deviations of a prior around zero they
keep what the motion says nothing about finite, and move nothing that it determines.
"""
LARGE_BIAS = 1e4
"""The same for the bias, in units of the noise of one sample."""
LEAST_MASS = 1e-3
LENGTH = 0.1
"""Sizes (kg, m) that scale the problem for the solver."""
WATER = 1000.0
"""kg/m³."""
ACCURACY = 1e-9


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

    sigma : (n_channels,) noise of one sample.
    """
    n = len(S)
    n_bias = n - 1 - N_BODY
    order = [*range(N_BODY, n - 1), *range(N_BODY), n - 1]
    prior = np.zeros((n_bias, n))
    prior[np.arange(n_bias), np.arange(n_bias)] = 1.0 / (LARGE_BIAS * sigma)
    factor = np.linalg.qr(np.concatenate([S[:, order], prior]), mode="r")
    R, z = factor[n_bias:-1, n_bias:-1], factor[n_bias:-1, -1]
    whole = np.linalg.qr(np.concatenate([R, np.diag(1.0 / LARGE)]), mode="r")
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


def physical_fit(fit: FreeFit) -> PrincipalBody:
    """The physical body with the smallest sum of squares.

    Where the motion says nothing, the body is near a sphere of water with the mass and the centre
    of mass that fit.
    """
    mass = max(float(fit.phi[0]), LEAST_MASS)
    sphere = _sphere_of_water(mass, fit.phi[1:4] / mass)
    F = np.concatenate([fit.R, np.diag(1.0 / LARGE)])
    g = np.concatenate([fit.z, sphere / LARGE])
    triangle = np.linalg.qr(np.column_stack([F, g]), mode="r")
    R, z = triangle[:N_BODY, :N_BODY], triangle[:N_BODY, N_BODY]
    free = np.linalg.solve(R, z)
    if margin(free) >= 0.0:
        return principal_body(free, "payload")
    size = float(np.linalg.norm(z))
    scale = mass * np.array([1.0] + 3 * [LENGTH] + 6 * [LENGTH**2])
    problem = conic_problem(N_BODY, (_physical(),), scale, F=R / size, g=z / size)
    solution = solve(problem, accuracy=ACCURACY)
    if solution.status not in ("solved", "stalled"):
        raise EstimationError(
            f"no physical payload was found (solver status: {solution.said}); check the units of "
            "the samples"
        )
    return _nearest(solution.theta)


def com_sigma(phi: Array, covariance: Array) -> Array:
    """Standard deviations (3,) of the centre of mass h / m, m; infinite without mass."""
    if not phi[0] > 0.0:
        return np.full(3, np.inf)
    slope = np.zeros((3, N_BODY))
    slope[:, 0] = -phi[1:4] / phi[0] ** 2
    slope[:, 1:4] = np.eye(3) / phi[0]
    return np.sqrt(np.einsum("ij,jk,ik->i", slope, covariance, slope))


def _nearest(phi: Array) -> PrincipalBody:
    """A solver's body (10,), whose smallest second moment may be negative by rounding."""
    mass = float(phi[0])
    if mass <= 0.0:
        return PrincipalBody(0.0, np.zeros(3), np.eye(3), np.zeros(3))
    _, com, inertia = to_com(phi)
    L, Q = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
    if np.linalg.det(Q) < 0.0:
        Q[:, 0] = -Q[:, 0]
    return PrincipalBody(mass, com, Q, np.maximum(L, 0.0))


def _sphere_of_water(mass: float, com: Array) -> Array:
    radius = (3.0 * mass / (4.0 * np.pi * WATER)) ** (1.0 / 3.0)
    return from_com(mass, com, 0.4 * mass * radius**2 * np.eye(3))


@cache
def _physical() -> Block:
    return full_consistency(None, 0)
