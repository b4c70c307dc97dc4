"""Least squares under conic conditions, and solutions that recompute their own residuals.

    minimise ½ |F theta - g|² + ½ sum_i w_i (theta_i - p_i)² + cᵀ theta
    subject to   A_k theta + b_k in cone k

A `ConicSolution` keeps its problem and recomputes residuals and gap outside the solver: with
duals y_k in the dual cones, optimality means

    Fᵀ(F theta - g) + w (theta - p) + c = sum_k A_kᵀ y_k,      sum_k y_k · (A_k theta + b_k) = 0.

The solver gets one of two forms (`steelyard.conic._forms`). An answer of the faster one is used
only if the residuals recomputed here show that it is accurate enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block, off_diagonal_weights

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConicProblem:
    """See the module's equation.

    F : (n_rows, n) and g : (n_rows,) of the quadratic part; no rows for a linear objective.
    c : (n,) linear part. pull, towards : (n,) weights w and centre p of the pull (ridge term).
    scale : (n,) typical size of each variable; the solver gets theta / scale.
    """

    F: Array
    g: Array
    c: Array
    blocks: tuple[Block, ...]
    scale: Array
    pull: Array
    towards: Array

    def objective(self, theta: Array) -> float:
        """The value that is minimised."""
        residual = self.F @ theta - self.g
        away = theta - self.towards
        return float(0.5 * (residual @ residual + self.pull @ away**2) + self.c @ theta)

    def gradient(self, theta: Array) -> Array:
        """Its gradient (n,)."""
        smooth = self.F.T @ (self.F @ theta - self.g) + self.pull * (theta - self.towards)
        return np.asarray(smooth + self.c)

    @cached_property
    def least_pull(self) -> float:
        """Smallest weight of the pull in scaled units: the objective's least curvature."""
        return float(np.min(self.pull * self.scale**2, initial=np.inf))


Status = Literal["solved", "infeasible", "unbounded", "stalled", "failed"]


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """A solver's answer, with residuals and duality gap recomputed from the problem.

    status : "solved", "stalled" (tolerance not reached, often good enough), "infeasible" (then
        ``duals`` prove it), "unbounded" or "failed".
    duals : one array per block; for psd blocks the entries of a symmetric matrix Z, so that
        the inner product with the block's entries is the trace of the product.
    form : of Clarabel's input, "residual" or "centred" (`steelyard.conic._forms`), or "interior"
        if the interior-point method solved it.
    said : the solver's own status text, for messages. certain : False for its "Almost" statuses.
    attempts : how often the solver was called.
    """

    problem: ConicProblem
    status: Status
    theta: Array
    duals: tuple[Array, ...]
    iterations: int
    said: str
    form: str = "residual"
    attempts: int = 1
    certain: bool = True

    @cached_property
    def worst_margin(self) -> float:
        """Smallest margin of all blocks at theta; negative where a condition fails."""
        return min((b.margin(self.theta) for b in self.problem.blocks), default=float("inf"))

    @cached_property
    def imbalance(self) -> Array:
        """The gradient minus sum_k A_kᵀ y_k (n,), in scaled units; zero at the optimum."""
        problem = self.problem
        gradient = problem.gradient(self.theta)
        for block, dual in zip(problem.blocks, self.duals, strict=True):
            gradient[list(block.columns)] -= adjoint(block, dual)
        return np.asarray(gradient * problem.scale)

    @cached_property
    def stationarity(self) -> float:
        """Largest absolute entry of the imbalance."""
        return float(np.max(np.abs(self.imbalance), initial=0.0))

    @cached_property
    def imbalance_cost(self) -> float:
        """Upper bound of what the imbalance costs in the objective.

        If the objective has curvature of at least w in every scaled direction, a point with duals
        is at most gap + |imbalance|² / 2 w above the optimum; infinite without a pull.
        """
        floor = self.problem.least_pull
        return float(self.imbalance @ self.imbalance / (2.0 * floor)) if floor > 0 else np.inf

    @cached_property
    def value(self) -> float:
        """The objective at theta."""
        return self.problem.objective(self.theta)

    @cached_property
    def gap(self) -> float:
        """Complementarity: sum of the inner products of duals and block values."""
        return float(
            sum(
                pairing(block, dual, block.entries(self.theta))
                for block, dual in zip(self.problem.blocks, self.duals, strict=True)
            )
        )


def pairing(block: Block, dual: Array, entries: Array) -> float:
    """Inner product of a dual and a block's value."""
    if block.kind == "psd":
        return float((off_diagonal_weights(block.size) * dual) @ entries)
    return float(dual @ entries)


def adjoint(block: Block, dual: Array) -> Array:
    """A*(dual) (n_columns,): the inner product of the dual with each column."""
    if block.kind == "psd":
        return np.asarray(block.A.T @ (off_diagonal_weights(block.size) * dual))
    return np.asarray(block.A.T @ dual)


def conic_problem(
    n: int,
    blocks: Sequence[Block],
    scale: Array,
    *,
    F: Array | None = None,
    g: Array | None = None,
    c: Array | None = None,
    pull: Array | None = None,
    towards: Array | None = None,
) -> ConicProblem:
    """A problem in n variables, with zeros for the parts that are not given."""
    return ConicProblem(
        F=np.zeros((0, n)) if F is None else F,
        g=np.zeros(0) if g is None else g,
        c=np.zeros(n) if c is None else c,
        blocks=tuple(blocks),
        scale=scale,
        pull=np.zeros(n) if pull is None else pull,
        towards=np.zeros(n) if towards is None else towards,
    )
