"""Least squares of one physical body from a triangular factor.

    minimise |z - R phi|²   subject to   the pseudo-inertia of phi is positive semidefinite

The problem is convex: where unconstrained least squares is physical, it is the optimum. Otherwise
the semidefinite programme is solved, or the same problem on the manifold of physical bodies
(Traversaro et al. 2016), whose result is compared with it. In directions that the data do not
determine at all, the result is the body nearest to a sphere of water with the mass and the centre
of mass that fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.conic.problem import conic_problem
from steelyard.conic.settle import holds_exactly, rounded, settle
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.estimators.manifold.fit import Stopped, fit_on_manifold
from steelyard.knowledge.physical_blocks import full_consistency
from steelyard.payload.payload_estimate import PayloadSolver
from steelyard.regression.regression import triangle
from steelyard.robot.inertia import from_com
from steelyard.robot.principal_body import PrincipalBody, principal_body

Array = NDArray[np.float64]

LENGTH = 0.1
"""Typical length (m) that scales first moments and inertias for the solver."""
WATER = 1000.0
"""Density (kg/m³) of the sphere that stands for what the data do not determine."""
NO_INFORMATION = 1e-9
"""Directions whose singular value is below this share of the largest are not determined."""
PULL = 1e-6
"""Weight of the sphere in those directions, as a share of the largest singular value."""
SMALLEST_MASS = 1e-9
"""Mass (kg) of the sphere towards which a body without mass is moved."""
FIRST_SHARE = 1e-13
"""Smallest share of the way to the sphere that is tried to make the digits physical."""
LEAST_BUDGET_S = 1e-9
"""Time (s) that steps on the manifold have after their budget is over: that of the start."""
REACHED = 1e-6
"""Largest relative excess of the sum of squares at which the optimum counts as reached."""


@dataclass(frozen=True, eq=False)
class OneBodyFit:
    """A physical body that fits.

    phi : (10,), physical in exact arithmetic. body : the same by its principal axes.
    objective : |z - R phi|². optimum : the smallest that a physical body has, by the semidefinite
    programme. excess : objective / optimum - 1. optimum_reached : whether it is at most 1e-6.
    free : (10,) the unconstrained least squares. at_boundary : whether it is not physical, so that
    the body is at the edge of the physical set. stopped, iterations : of the steps on the
    manifold; None and 0 for the semidefinite programme.
    """

    phi: Array
    body: PrincipalBody
    objective: float
    optimum: float
    excess: float
    optimum_reached: bool
    free: Array
    at_boundary: bool
    stopped: Stopped | None = None
    iterations: int = 0


def fit_body(
    R: Array, z: Array, solver: PayloadSolver = "sdp", *, deadline: float | None = None
) -> OneBodyFit:
    """The physical body phi (10,) with the smallest |z - R phi|².

    R : (k, 10), z : (k,), of rows that are divided by their noise. solver : "sdp", or "manifold".
    deadline : of the clock `perf_counter`, at which the steps on the manifold end; the body is
        physical then, too. The semidefinite programme that it is compared with takes its own time.
    """
    R, z = np.asarray(R, dtype=float), np.asarray(z, dtype=float)
    if R.ndim != 2 or R.shape[1] != 10 or z.shape != R.shape[:1]:
        raise EstimationError(f"R {R.shape} and z {z.shape} must be (k, 10) and (k,)")
    if not (np.isfinite(R).all() and np.isfinite(z).all()):
        raise EstimationError("the factor of the payload has numbers that are not finite")
    if solver not in ("sdp", "manifold"):
        raise EstimationError(f"there is no solver '{solver}'; there are 'sdp' and 'manifold'")
    F, g, scale, free = _with_sphere(R, z)
    digits = rounded(free)
    at_boundary = not holds_exactly(physical_block(), digits)
    best = _by_sdp(F, g, scale) if at_boundary else digits
    optimum = _squares(R, z, best)
    stopped, iterations = None, 0
    if solver == "manifold":
        left = None if deadline is None else max(deadline - perf_counter(), LEAST_BUDGET_S)
        ran = fit_on_manifold(F, g, (0,), budget_s=left)
        best, stopped, iterations = ran.theta, ran.stopped, ran.iterations
    phi = settled_body(best)
    objective = _squares(R, z, phi)
    # the rounding of z limits what a relative difference can say
    floor = 1e-14 * float(z @ z) + np.finfo(float).tiny
    excess = max(objective - optimum, 0.0) / max(optimum, floor)
    return OneBodyFit(
        phi=phi,
        body=principal_body(phi, "payload"),
        objective=objective,
        optimum=optimum,
        excess=excess,
        optimum_reached=excess <= REACHED,
        free=free,
        at_boundary=at_boundary,
        stopped=stopped,
        iterations=iterations,
    )


def settled_body(phi: Array) -> Array:
    """Digits (10,) of a physical body next to phi (10,), which may be outside by rounding.

    As `steelyard.conic.settle`, towards a sphere of the same mass and centre of mass.
    """
    digits = rounded(phi)
    if holds_exactly(physical_block(), digits):
        return digits
    mass = max(float(phi[0]), SMALLEST_MASS)
    sphere = sphere_of_water(mass, phi[1:4] / mass)
    share = FIRST_SHARE
    while share <= 1.0:
        digits = rounded((1.0 - share) * phi + share * sphere)
        if holds_exactly(physical_block(), digits):
            return digits
        share *= 8.0
    return settle(sphere, (physical_block(),), body_scale(mass)).theta


@cache
def physical_block() -> Block:
    """The condition on the ten parameters of one body."""
    return full_consistency(None, 0)


def sphere_of_water(mass: float, com: Array) -> Array:
    """phi (10,) of a sphere of water of this mass (kg) about a point (3,) m."""
    radius = (3.0 * mass / (4.0 * np.pi * WATER)) ** (1.0 / 3.0)
    return from_com(mass, com, 0.4 * mass * radius**2 * np.eye(3))


def body_scale(mass: float) -> Array:
    """Typical size (10,) of the parameters of a body of this mass (kg)."""
    return mass * np.array([1.0] + 3 * [LENGTH] + 6 * [LENGTH**2])


def _with_sphere(R: Array, z: Array) -> tuple[Array, Array, Array, Array]:
    """Rows and right side, with rows for what is not determined; sizes; least squares (10,)."""
    unit = body_scale(1.0)
    U, s, Vt = np.linalg.svd(R * unit, full_matrices=False)
    rank = int(np.count_nonzero(s > NO_INFORMATION * s[0])) if s[0] > 0.0 else 0
    free = unit * (Vt[:rank].T @ ((U[:, :rank].T @ z) / s[:rank]))
    scale = body_scale(max(abs(float(free[0])), 1e-3))
    if rank == 10:
        return R, z, scale, free
    whole = np.linalg.svd(R * unit)[2]
    null = whole[rank:]
    mass = float(free[0]) if free[0] > 0.0 else 1.0
    target = sphere_of_water(mass, free[1:4] / mass) / unit
    free = free + unit * (null.T @ (null @ target))
    weight = PULL * (float(s[0]) if s[0] > 0.0 else 1.0)
    rows = weight * null / unit
    return np.vstack([R, rows]), np.concatenate([z, weight * (null @ target)]), scale, free


def _by_sdp(F: Array, g: Array, scale: Array) -> Array:
    """The optimum (10,) by the conic solver."""
    factor = triangle(np.column_stack([F, g]))
    size = max(float(np.linalg.norm(factor[:, -1])), np.finfo(float).tiny)
    # the last entry of the factor is the part of g that no body explains
    rows, right = factor[:10, :10] / size, factor[:10, 10] / size
    solution = solve(conic_problem(10, (physical_block(),), scale, F=rows, g=right), accuracy=1e-11)
    if solution.status not in ("solved", "stalled"):
        raise EstimationError(
            f"no physical body was found (solver status: {solution.said}); check the units of the "
            "wrench and of the motion"
        )
    return solution.theta


def _squares(R: Array, z: Array, phi: Array) -> float:
    residual = z - R @ phi
    return float(residual @ residual)
