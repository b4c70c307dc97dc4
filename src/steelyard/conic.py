"""The one place where a conic solver is called.

    minimise ½ |F theta - g|² + ½ sum_i w_i (theta_i - p_i)² + cᵀ theta
    subject to   A_k theta + b_k in cone k

A `ConicSolution` keeps its problem and recomputes residuals and gap outside the solver: with
duals y_k in the dual cones, optimality means

    Fᵀ(F theta - g) + w (theta - p) + c = sum_k A_kᵀ y_k,      sum_k y_k · (A_k theta + b_k) = 0.

The residual r = F theta - g is a variable of its own, so that no Gram matrix is formed: squaring
the condition number would cost half of the digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.cones import Block, matrix_of, triangle_index
from steelyard.errors import EstimationError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConicProblem:
    """See the module's equation.

    F : (n_rows, n) and g : (n_rows,) of the quadratic part; no rows for a linear objective.
    c : (n,) linear part. pull, towards : (n,) weights w and centre p of a pull to known values.
    scale : (n,) typical size of each variable; the solver sees theta / scale.
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


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """A solver's answer, with its own account of how good it is.

    status : "solved", "infeasible" (then ``duals`` prove it), "unbounded" or "failed".
    duals : one array per block; for psd blocks the entries of a symmetric matrix Z, so that
        the pairing with the block's entries is the trace of the product.
    """

    problem: ConicProblem
    status: str
    theta: Array
    duals: tuple[Array, ...]
    iterations: int
    said: str

    @cached_property
    def worst_margin(self) -> float:
        """Smallest margin of all blocks at theta; negative where a condition fails."""
        return min((b.margin(self.theta) for b in self.problem.blocks), default=float("inf"))

    @cached_property
    def stationarity(self) -> float:
        """Largest entry of the gradient that the duals do not balance, in scaled units."""
        problem = self.problem
        gradient = problem.gradient(self.theta)
        for block, dual in zip(problem.blocks, self.duals, strict=True):
            gradient[list(block.columns)] -= adjoint(block, dual)
        return float(np.max(np.abs(gradient * problem.scale), initial=0.0))

    @cached_property
    def value(self) -> float:
        """The objective at theta."""
        return self.problem.objective(self.theta)

    @cached_property
    def gap(self) -> float:
        """Complementarity: sum of the pairings of duals and block values."""
        return float(
            sum(
                pairing(block, dual, block.entries(self.theta))
                for block, dual in zip(self.problem.blocks, self.duals, strict=True)
            )
        )


def pairing(block: Block, dual: Array, entries: Array) -> float:
    """Inner product of a dual and a block's value."""
    if block.kind == "psd":
        return float(np.sum(matrix_of(dual) * matrix_of(entries)))
    return float(dual @ entries)


def adjoint(block: Block, dual: Array) -> Array:
    """A*(dual) (n_columns,): what the dual pairs with each column."""
    if block.kind == "psd":
        weights = np.array([1.0 if i == j else 2.0 for i, j in triangle_index(block.size)])
        return np.asarray(block.A.T @ (weights * dual))
    return np.asarray(block.A.T @ dual)


def solve(
    problem: ConicProblem, *, accuracy: float = 1e-9, max_iterations: int = 200
) -> ConicSolution:
    """Solve with Clarabel; never raises for infeasibility, which is an answer.

    An answer that the solver itself doubts is asked for again at lower accuracy, and the better
    one, by residuals recomputed here, is kept.
    """
    best = _attempt(problem, accuracy, max_iterations)
    for coarser in (1e-8, 1e-6):
        if best.said in ("Solved", "PrimalInfeasible", "DualInfeasible") or coarser <= accuracy:
            break
        if best.status == "solved" and best.gap <= 1e-7 * (1.0 + abs(best.value)):
            break
        again = _attempt(problem, coarser, max_iterations)
        if _standing(again) < _standing(best):
            best = again
    return best


def _standing(solution: ConicSolution) -> tuple[int, float]:
    """For comparing answers: solved before stalled before the rest, then by what is unbalanced."""
    order = {"solved": 0, "infeasible": 1, "unbounded": 1, "stalled": 2}
    doubt = 1 if solution.said.startswith("Almost") else 0
    rank = 2 * order.get(solution.status, 3) + doubt
    return rank, solution.stationarity if solution.status in ("solved", "stalled") else 0.0


def _attempt(problem: ConicProblem, accuracy: float, max_iterations: int) -> ConicSolution:
    """One call of the solver, with an objective of moderate size."""
    import clarabel
    from scipy import sparse

    n, n_rows = len(problem.c), len(problem.g)
    scale = problem.scale
    size = max(1.0, float(np.max(np.abs(problem.g), initial=0.0)) / 100.0)
    P = sparse.block_diag(
        [sparse.diags(problem.pull * scale**2 / size**2), sparse.identity(n_rows)], format="csc"
    )
    linear = (problem.c - problem.pull * problem.towards) * scale / size**2
    q = np.concatenate([linear, np.zeros(n_rows)])
    # one list of entries for the whole matrix: many small sparse matrices cost more than solving
    i, j = np.nonzero(problem.F)
    rows, columns = [i, np.arange(n_rows)], [j, n + np.arange(n_rows)]
    values = [(problem.F * (scale / size))[i, j], np.full(n_rows, -1.0)]
    rhs = [problem.g / size]
    cones: list[Any] = [clarabel.ZeroConeT(n_rows)] if n_rows else []
    at = n_rows
    order = sorted(range(len(problem.blocks)), key=lambda k: _RANK[problem.blocks[k].kind])
    for k in order:
        block = problem.blocks[k]
        where = np.array(block.columns, dtype=np.int64)
        weight = _svec_weights(block)
        local = -(weight[:, None] * block.A * scale[where])
        i, j = np.nonzero(local)
        rows.append(at + i)
        columns.append(where[j])
        values.append(local[i, j])
        rhs.append(weight * block.b)
        cones.append(_cone(clarabel, block))
        at += len(weight)
    entries = (np.concatenate(rows), np.concatenate(columns))
    A = sparse.csc_matrix((np.concatenate(values), entries), shape=(at, n + n_rows))
    b = np.concatenate(rhs)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iterations
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    settings.direct_solve_method = "faer" if n + n_rows > 1000 else "qdldl"
    try:
        answer = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    except BaseException as failure:  # Clarabel panics in Rust, which is no Exception
        if isinstance(failure, KeyboardInterrupt | SystemExit):
            raise
        raise EstimationError(f"the conic solver refused the problem ({failure})") from None
    said = str(answer.status)
    theta = np.array(answer.x)[:n] * scale
    z = np.array(answer.z) * size**2
    at = n_rows
    found: dict[int, Array] = {}
    for k in order:
        block = problem.blocks[k]
        found[k] = z[at : at + len(block.b)] / _svec_weights(block)
        at += len(block.b)
    duals = tuple(found[k] for k in range(len(problem.blocks)))
    status = _STATUS.get(said, "failed")
    return ConicSolution(problem, status, theta, duals, answer.iterations, said)


_RANK = {"zero": 0, "nonnegative": 1, "second_order": 2, "psd": 3}
_STATUS = {
    "Solved": "solved",
    "AlmostSolved": "solved",
    "PrimalInfeasible": "infeasible",
    "AlmostPrimalInfeasible": "infeasible",
    "DualInfeasible": "unbounded",
    "AlmostDualInfeasible": "unbounded",
    "InsufficientProgress": "stalled",
    "MaxIterations": "stalled",
}


def _svec_weights(block: Block) -> Array:
    """Off-diagonal entries of psd blocks are scaled by sqrt 2 for the solver."""
    if block.kind != "psd":
        return np.ones(len(block.b))
    return np.array([1.0 if i == j else np.sqrt(2.0) for i, j in triangle_index(block.size)])


def _cone(clarabel: Any, block: Block) -> Any:
    kinds = {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "second_order": clarabel.SecondOrderConeT,
        "psd": clarabel.PSDTriangleConeT,
    }
    return kinds[block.kind](block.size)


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
