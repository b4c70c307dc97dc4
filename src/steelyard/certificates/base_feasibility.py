"""Feasibility test (BPFT) and correction (BPFC) of base parameters: Sousa and Cortesão (2014).

`base_feasibility` looks for standard parameters theta with K theta = beta that meet every
condition (eq 51). Its verdict is *feasible* with an exact witness, *infeasible* with exact duals,
or *undecided*: the set of feasible base parameters is a projection and need not be closed, so no
tolerance can decide about a point on its boundary. `correct_base` finds the closest feasible base
parameters (eqs 52-56).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.certificates.infeasibility import Infeasibility, prove_infeasible
from steelyard.conic import exact
from steelyard.conic.blocks import Block, linear_block, triangle_index
from steelyard.conic.common_slack import common_slack
from steelyard.conic.problem import conic_problem
from steelyard.conic.settle import Settled, settle
from steelyard.conic.solver import solve
from steelyard.errors import EstimationError
from steelyard.model.base_map import BaseMap

Array = NDArray[np.float64]
FeasibilityVerdict = Literal["feasible", "infeasible", "undecided"]


@dataclass(frozen=True, eq=False)
class BaseFeasibility:
    """The answer of `base_feasibility`.

    margin : largest slack, in units of typical parameters, that all conditions can have at
        once; negative if they cannot all hold.
    witness : exact standard parameters with K theta = beta, one Fraction per column.
    proof : exact duals, which prove that there are no such parameters.
    """

    verdict: FeasibilityVerdict
    margin: float
    witness: tuple[Fraction, ...] | None = None
    proof: Infeasibility | None = None


@dataclass(frozen=True, eq=False)
class Correction:
    """The answer of `correct_base`.

    beta : (n_base,) closest feasible base parameters, exactly K theta of ``theta``.
    distance : |beta - given|, Euclidean or in the metric of the given covariance.
    """

    beta: Array
    theta: Array
    distance: float
    settled: Settled


def base_feasibility(
    base: BaseMap,
    beta: Array,
    blocks: Sequence[Block],
    scale: Array,
    *,
    near: Array | None = None,
) -> BaseFeasibility:
    """Whether any standard parameters with these base parameters meet all conditions.

    near : (n_columns,) standard parameters that might be a witness, such as those from which beta
        was computed. On the boundary, where constrained estimates lie, a search finds none: its
        margin is zero up to the solver's accuracy, but the parameters themselves are exact.
    """
    beta = np.asarray(beta, dtype=float)
    if beta.shape != (base.rank,):
        raise EstimationError(
            f"there are {base.rank} base parameters, but {beta.size} values were given"
        )
    if near is not None:
        witness = exact_witness(base, beta, np.asarray(near, dtype=float), blocks)
        if witness is not None:
            return BaseFeasibility(
                "feasible", max(_margin_if_found(base.K, beta, blocks, scale), 0.0), witness=witness
            )
    theta, margin = widest_margin(base.K, beta, blocks, scale)
    if margin > 0.0:
        witness = exact_witness(base, beta, theta, blocks)
        if witness is not None:
            return BaseFeasibility("feasible", margin, witness=witness)
    proof = prove_infeasible(base, beta, blocks, scale)
    if proof is not None:
        return BaseFeasibility("infeasible", margin, proof=proof)
    witness = exact_witness(base, beta, theta, blocks)
    if witness is not None:
        return BaseFeasibility("feasible", margin, witness=witness)
    return BaseFeasibility("undecided", margin)


def widest_margin(
    K: Array, beta: Array, blocks: Sequence[Block], scale: Array
) -> tuple[Array, float]:
    """theta with K theta = beta and the largest common slack t <= 1 in all blocks, and t."""
    n = len(scale)
    size = np.maximum(np.max(np.abs(K * scale), axis=1), 1e-300)
    equations = Block("zero", tuple(range(n)), K / size[:, None], -beta / size)
    # the pull keeps undetermined directions finite
    found = common_slack(blocks, scale, largest=1.0, equations=equations, pull=1e-9)
    if found.status == "infeasible":  # the equations contradict beta, whatever the slack
        return np.zeros(n), -1.0
    if not found.found:
        raise EstimationError(
            f"the solver failed in the feasibility test ({found.said}); check the units of the "
            "base parameters"
        )
    return found.theta, found.amount


def _margin_if_found(K: Array, beta: Array, blocks: Sequence[Block], scale: Array) -> float:
    """The widest margin, or zero where the solver fails: a witness needs none."""
    try:
        return widest_margin(K, beta, blocks, scale)[1]
    except EstimationError:
        return 0.0


def exact_witness(
    base: BaseMap, beta: Array, theta: Array, blocks: Sequence[Block]
) -> tuple[Fraction, ...] | None:
    """theta changed to satisfy K theta = beta exactly; None if a block then fails.

    The dependent parameters are rounded to twelve digits, or kept if these are too few (masses of
    tonnes, which feasible parameters may need, leave little of small ones); the base columns
    follow from delta_b = beta - K_d delta_d (eq 49), in rationals.
    """
    for digits in (12, 17):
        values = [Fraction(float(f"{x:.{digits}g}")) for x in theta]
        if _completed(base, beta, values, blocks):
            return tuple(values)
    return None


def _completed(base: BaseMap, beta: Array, values: list[Fraction], blocks: Sequence[Block]) -> bool:
    """Put base columns into ``values`` such that K theta = beta; whether all blocks then hold."""
    independent = set(base.independent)
    for row, own in enumerate(base.independent):
        total = Fraction(float(beta[row]))
        for column in np.flatnonzero(base.K[row]):
            if column != own and column not in independent:
                total -= Fraction(float(base.K[row, column])) * values[column]
        values[own] = total
    for block in blocks:
        x = [values[i] for i in block.columns]
        if not exact.in_cone(block.kind, exact.affine(block.A.tolist(), block.b.tolist(), x)):
            return False
    return True


def correct_base(
    base: BaseMap,
    beta: Array,
    blocks: Sequence[Block],
    scale: Array,
    *,
    covariance: Array | None = None,
    towards: Array | None = None,
    pull: float = 0.0,
) -> Correction:
    """The feasible base parameters closest to ``beta``.

    covariance : (n_base, n_base) defines the metric of the distance. If None, it is Euclidean as
        in the paper (section 4.5), and depends on the choice of base columns.
    towards : values for the parameters that beta does not determine.
    """
    beta = np.asarray(beta, dtype=float)
    root = np.eye(base.rank)
    if covariance is not None:
        root = np.linalg.inv(np.linalg.cholesky(covariance))
    found: Settled | None = None
    distance, said = np.inf, ""
    for bound in BOUNDS:
        free = masses_without_effect(base, blocks) if bound is None else set()
        bounded = [without_mass(block) if k in free else block for k, block in enumerate(blocks)]
        bounded += [] if bound is None else _bounds(blocks, scale, bound)
        problem = conic_problem(
            len(scale),
            bounded,
            scale,
            F=root @ base.K,
            g=root @ beta,
            pull=pull / scale**2,
            towards=np.zeros(len(scale)) if towards is None else towards,
        )
        solution = solve(problem, accuracy=1e-12)
        if solution.status not in ("solved", "stalled"):
            said = solution.said
            continue
        theta = solution.theta.copy()
        for k in free:
            mass = blocks[k].columns[0]
            theta[mass] = max(theta[mass], LARGE * scale[mass])
        settled = settle(theta, blocks, scale)
        own = float(np.linalg.norm(root @ (base.K @ settled.theta - beta)))
        if found is None or own < distance:
            found, distance = settled, own
        if pull > 0.0:  # the pull bounds all parameters
            break
    if found is None:
        raise EstimationError(f"the solver found no correction ({said})")
    return Correction(base.K @ found.theta, found.theta, distance, found)


BOUNDS = (None, 1e2, 1e3, 1e4, 1e5, 1e6)
"""Largest bodies, in typical sizes, among which the closest parameters are looked for, besides all:
where these need infinite bodies, a solver stops early, and the largest bounded ones are closer.
None of these bounds is a condition: the closest of all solutions counts.
"""


def _bounds(blocks: Sequence[Block], scale: Array, bound: float) -> list[Block]:
    """Mass and half the trace of the inertia of every body together at most so large."""
    weights = np.array([1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.5, 0.0, 0.0, 0.5])
    return [
        linear_block(None, block.columns, -(weights / scale[list(block.columns)])[None], [bound])
        for block in blocks
        if block.kind == "psd" and len(block.columns) == 10
    ]


LARGE = 1e6


def masses_without_effect(base: BaseMap, blocks: Sequence[Block]) -> set[int]:
    """Consistency blocks of bodies whose mass has no effect on torques and no bound.

    Such a mass may grow without limit, and the closest feasible point may be its limit at infinite
    mass, since the set of feasible base parameters is not closed.
    """
    users: dict[int, list[int]] = {}
    for k, block in enumerate(blocks):
        for column in block.columns:
            users.setdefault(column, []).append(k)
    return {
        k
        for k, block in enumerate(blocks)
        if block.kind == "psd"
        and len(block.columns) == 10
        and base.columns[block.columns[0]].symbol == "m"
        and not base.K[:, block.columns[0]].any()
        and users[block.columns[0]] == [k]
    }


def without_mass(block: Block) -> Block:
    """The consistency block in the limit of infinite mass: its leading 3×3 part."""
    keep = [at for at, (_, j) in enumerate(triangle_index(block.size)) if j < 3]
    return Block("psd", block.columns, block.A[keep], block.b[keep], block.statement)
