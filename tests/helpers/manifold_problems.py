"""Random least-squares problems over physical bodies, and their optimum by the conic solver."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from random_problems import random_problem

from steelyard.conic.problem import conic_problem
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.estimators.constrained import fit_problem, weighted_system
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.physical_blocks import full_consistency
from steelyard.model.typical_sizes import known_parameters, parameter_scale, placing_weights
from steelyard.robot.inertia import from_com, pseudo_inertia, skew
from steelyard.testing.random_robots import random_body, random_rotation


@dataclass(frozen=True)
class BodyProblem:
    """Minimise |g - F theta|² over physical bodies at ``first`` and other columns >= ``lower``."""

    F: np.ndarray
    g: np.ndarray
    first: tuple[int, ...]
    lower: np.ndarray
    scale: np.ndarray
    kind: str

    def objective(self, theta: np.ndarray) -> float:
        """|g - F theta|²."""
        return float(np.sum((self.g - self.F @ theta) ** 2))

    def on_boundary(self, theta: np.ndarray) -> bool:
        """Whether a body is flat, a rod, a point or massless, to 1e-9 of its size."""
        return any(
            np.linalg.eigvalsh(J)[0] <= 1e-9 * np.trace(J)
            for J in (pseudo_inertia(theta[b : b + 10]) for b in self.first)
        )

    def by_cones(self, accuracy: float = 1e-11) -> tuple[float, np.ndarray]:
        """Objective and parameters of the optimum by semidefinite programming."""
        from steelyard.conic.blocks import linear_block

        given = [full_consistency(None, begin) for begin in self.first]
        for j in np.flatnonzero(np.isfinite(self.lower)):
            given.append(linear_block(None, [int(j)], [[1.0]], [-self.lower[j]]))
        size = float(np.linalg.norm(self.g)) or 1.0
        found = solve(
            conic_problem(len(self.scale), given, self.scale, F=self.F / size, g=self.g / size),
            accuracy=accuracy,
        )
        return self.objective(found.theta), found.theta


def wrench_rows(acceleration: np.ndarray, omega: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Rows (6 n, 10) of force and torque on one body: f = m a + (S(alpha) + S(omega)²) h, ..."""
    n = len(acceleration)
    rows = np.zeros((n, 6, 10))
    turn = skew(alpha) + skew(omega) @ skew(omega)
    rows[:, :3, 0] = acceleration
    rows[:, :3, 1:4] = turn
    rows[:, 3:, 1:4] = -skew(acceleration)
    for k in range(6):
        unit = np.zeros(10)
        unit[4 + k] = 1.0
        inertia = unit[[4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(3, 3)
        momentum = omega @ inertia
        rows[:, 3:, 4 + k] = alpha @ inertia + np.cross(omega, momentum)
    return rows.reshape(-1, 10)


def boundary_body(rng: np.random.Generator) -> np.ndarray:
    """A plate, a rod or a point mass (10,)."""
    L = rng.uniform(1e-3, 1e-1, size=3) * 10.0 ** rng.uniform(-3, 1)
    L[: int(rng.integers(1, 4))] = 0.0
    Q = random_rotation(rng)
    inertia = Q @ np.diag(L.sum() - L) @ Q.T
    return from_com(10.0 ** rng.uniform(-2, 1.5), rng.normal(scale=0.2, size=3), inertia)


def single_body(seed: int) -> BodyProblem:
    """One body on a force/torque sensor: fast, slow or static motion, with and without bias.

    A third has its optimum on the boundary, a tenth has no mass.
    """
    rng = np.random.default_rng([seed, 12])
    n = int(rng.integers(20, 200))
    speed = 10.0 ** rng.uniform(-2.0, 1.0)
    directions = rng.normal(size=(n, 3))
    acceleration = 9.81 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    acceleration += speed * rng.normal(size=(n, 3))
    rows = wrench_rows(
        acceleration, speed * rng.normal(size=(n, 3)), speed**2 * rng.normal(size=(n, 3))
    )
    draw = rng.random()
    if draw < 0.1:
        kind, phi, noise = "massless", np.zeros(10), 10.0 ** rng.uniform(-3, 0)
    elif draw < 0.45:
        kind, phi, noise = "boundary", boundary_body(rng), 10.0 ** rng.uniform(-4, 0)
    else:
        kind, phi = "interior", random_body(rng, mass_kg=(0.01, 100.0), size_m=0.2)
        noise = 10.0 ** rng.uniform(-5, -2)
    if kind == "interior" and rng.random() < 0.1:
        kind = "repeated"
        phi = from_com(1.0, rng.normal(scale=0.1, size=3), 0.02 * np.eye(3))
    lower = np.full(10, -np.inf)
    scale = np.array([1.0] + [0.1] * 3 + [0.01] * 6) * max(phi[0], 0.1)
    torque_size = np.tile([1.0, 1.0, 1.0, 0.05, 0.05, 0.05], n)
    weight = 1.0 / torque_size
    g = rows @ phi + noise * torque_size * rng.normal(size=6 * n)
    if rng.random() < 0.3:
        bias = np.tile(np.eye(6), (n, 1))
        g = g + bias @ rng.normal(size=6)
        rows = np.hstack([rows, bias])
        lower, scale = np.full(16, -np.inf), np.concatenate([scale, np.ones(6)])
    return BodyProblem(rows * weight[:, None], g * weight, (0,), lower, scale, kind)


def robot_bodies(seed: int) -> BodyProblem:
    """A robot of two to seven links with its joint terms, pulled to its known parameters."""
    one = random_problem(seed)
    model, regression = one.model, one.regression
    system = weighted_system(model, regression)
    scale = parameter_scale(model)
    problem = fit_problem(
        system.factor,
        system.sigma,
        regression.base.K,
        blocks(model, replace(Constraints(), second_moment=None)),
        scale,
        1e-2 * placing_weights(model),
        known_parameters(model),
    )
    root = np.sqrt(problem.pull)
    F = np.vstack([problem.F, np.diag(root)])
    g = np.concatenate([problem.g, root * problem.towards])
    lower = np.full(len(scale), -np.inf)
    for i, column in enumerate(model.columns):
        if column.term_kind is not None and not column.term_kind.may_be_negative:
            lower[i] = 0.0
    return BodyProblem(F, g, tuple(model.first_column_of_body), lower, scale, one.kind)


def settles_physical(problem: BodyProblem, theta: np.ndarray) -> bool:
    """Whether an iterate, rounded inward to decimals, is physical in exact arithmetic."""
    from steelyard.conic.settle import failing, settle

    blocks = [full_consistency(None, begin) for begin in problem.first]
    try:
        settled = settle(theta, blocks, problem.scale)
    except EstimationError:
        return False
    return not failing(blocks, settled.theta) and settled.moved < 1e-6
