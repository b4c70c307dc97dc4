"""Constrained least squares with a prior whose metric is independent of link frames and units.

    minimise |z - R K theta|² + gamma sum_k D(J_k || J0_k)   subject to the constraints

with residuals in units of their noise, and for the body k with pseudo-inertia J_k and prior J0_k

    entropic   D = tr(J0⁻¹ J) - log det(J0⁻¹ J) - 4          (log-det Bregman divergence)
    pullback   D = ½ tr(J0⁻¹ (J - J0) J0⁻¹ (J - J0))         (its second-order part at J0)

Friction, drive inertia and offsets are pulled to zero with a weight of their own, times the square
in the sizes that the data show. Both divergences are
independent of the body's frame and of units. The entropic one goes to infinity at the boundary, so
that its bodies are strictly physical.

Method: primal-dual interior point on the compressed factors (`steelyard.conic.interior_point`).
Each body is written in coordinates in which its prior is the unit matrix; the log-determinant then
sets a target for the product of S = J0^-½ J J0^-½ and its dual, so that it is treated exactly, not
approximated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.conic.interior_conditions import MatrixCondition, turned
from steelyard.conic.interior_form import inequalities, without_equations
from steelyard.conic.interior_point import Prepared, prepare
from steelyard.conic.interior_solution import InteriorSolution
from steelyard.errors import EstimationError
from steelyard.robot.inertia import from_pseudo_inertia, pseudo_inertia

Array = NDArray[np.float64]
Metric = Literal["entropic", "pullback"]
METRICS = get_args(Metric)

PULL = 1e-2
"""Weight, per typical size, with which bodies without a prior are drawn to typical ones."""
SPREAD = 0.2
"""Usual relative error of the inertials in a robot file."""
TERM_WEIGHT = 6.0
"""Weight with which friction, drive inertia and offsets are usually pulled to zero, over that of
one independent residual."""
LEAST_PULL = 1e-6
"""Smallest weight of that, which makes terms unique that the data do not determine."""
ROUNDING = 1e-14
"""Entries of the coordinates that are smaller than this share of their row are zero."""

_BASIS = np.zeros((10, 4, 4))
"""Orthonormal basis of the symmetric 4×4 matrices."""
for _k, (_i, _j) in enumerate((i, j) for j in range(4) for i in range(j + 1)):
    _BASIS[_k, _i, _j] = _BASIS[_k, _j, _i] = 1.0 if _i == _j else np.sqrt(0.5)
_UNIT = np.array([np.trace(E) for E in _BASIS])


@dataclass(frozen=True, eq=False)
class Placed:
    """The optimum for one gamma. theta : (n_columns,)."""

    theta: Array
    solution: InteriorSolution


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals g - F u in units of their noise, with gram = FᵀF."""

    F: Array
    g: Array
    gram: Array


@dataclass(frozen=True, eq=False)
class PriorProblem:
    """Everything about the fit that is independent of data and gamma.

    theta = origin + turn u: the equations are met by construction, and each body's prior is the
    unit matrix. bodies : the bodies as conditions on u, with their trust (0: no prior).
    ordinary : all other conditions. anchor : (n_pulled, n_u) rows and wish : (n_pulled,) their
    targets, to which terms and bodies without a prior are drawn, in typical sizes.
    of_terms : (n_pulled,) which rows are terms. start : (n_u,) the prior, or the closest values
    that meet the equations.
    """

    origin: Array
    turn: Array
    bodies: tuple[MatrixCondition, ...]
    trust: Array
    factors: Array
    first: tuple[int, ...]
    ordinary: tuple[MatrixCondition, ...]
    anchor: Array
    wish: Array
    of_terms: NDArray[np.bool_]
    start: Array

    def pulls(self, gamma: float, terms: float | None = None) -> tuple[Array, Array]:
        """Rows (n_pulled, n_u) and targets (n_pulled,) that draw terms to zero, and bodies without
        a prior to typical ones.

        terms : weight of the terms; None for the usual share of gamma.
        """
        weight = usual_term_weight(gamma) if terms is None else max(terms, LEAST_PULL)
        root = np.sqrt(np.where(self.of_terms, weight, PULL))
        return root[:, None] * self.anchor, root * self.wish

    def solve(
        self,
        F: Array,
        g: Array,
        gamma: float,
        metric: Metric = "entropic",
        terms: float | None = None,
    ) -> Placed:
        """The optimum for residuals g - F theta in units of their noise."""
        if metric not in METRICS:
            raise EstimationError(f"there is no metric '{metric}'; there are {', '.join(METRICS)}")
        if not (np.isfinite(gamma) and gamma >= 0.0):
            raise EstimationError(f"gamma is {gamma:g}; it must be a number that is not negative")
        return self.solve_data(self.data(F, g), gamma, metric, terms)

    def data(self, F: Array, g: Array) -> Residuals:
        """Residuals g - F theta as residuals in u, for many solves."""
        rows = F @ self.turn
        return Residuals(rows, g - F @ self.origin, rows.T @ rows)

    def solve_data(
        self,
        data: Residuals,
        gamma: float,
        metric: Metric = "entropic",
        terms: float | None = None,
        near: Placed | None = None,
    ) -> Placed:
        """The optimum for residuals that are written in u. near : that for similar ones."""
        anchor, wish = self.pulls(gamma, terms)
        rows, targets = [data.F, anchor], [data.g, wish]
        gram = data.gram + anchor.T @ anchor
        c, floors = np.zeros(self.turn.shape[1]), np.zeros(len(self.bodies) + len(self.ordinary))
        for k, trust in enumerate(self.trust):
            weight = 0.5 * gamma * trust
            if weight <= 0.0:
                continue
            if metric == "entropic":
                body = self.bodies[k]
                np.add.at(c, list(body.columns), weight * np.trace(body.A, axis1=1, axis2=2))
                floors[k] = weight
                continue
            row, away = self._away(k, weight)
            rows.append(row)
            gram += row.T @ row
            targets.append(away)
        found = self.ready.minimise(
            np.vstack(rows),
            np.concatenate(targets),
            c,
            self.start,
            gram=gram,
            floors=floors,
            near=None if near is None else near.solution,
        )
        return Placed(self.origin + self.turn @ found.x, found)

    def _away(self, k: int, weight: float) -> tuple[Array, Array]:
        """Rows (10, n_u) and targets (10,) whose squares are ``weight`` |S - 1|² of body k."""
        body = self.bodies[k]
        row = np.zeros((10, self.turn.shape[1]))
        row[:, list(body.columns)] = np.sqrt(weight) * np.einsum("eij,pij->ep", _BASIS, body.A)
        return row, np.sqrt(weight) * np.einsum("eij,ij->e", _BASIS, np.eye(4) - body.b)

    def without_conditions(self, data: Residuals, gamma: float, terms: float) -> Array:
        """The optimum theta (n_columns,) of the pullback, without conditions but for equations."""
        anchor, wish = self.pulls(gamma, terms)
        pulls = [(data.F, data.g), (anchor, wish)]
        pulls += [self._away(k, 0.5 * gamma * t) for k, t in enumerate(self.trust) if t > 0.0]
        rows = np.vstack([rows for rows, _ in pulls])
        size = np.linalg.norm(rows, axis=0)
        size[size == 0.0] = 1.0
        u = np.linalg.lstsq(rows / size, np.concatenate([one for _, one in pulls]))[0] / size
        return np.asarray(self.origin + self.turn @ u)

    @cached_property
    def ready(self) -> Prepared:
        """The conditions, for many solves."""
        return prepare((*self.bodies, *self.ordinary), self.turn.shape[1])

    def curvature(
        self,
        theta: Array,
        gamma: float,
        metric: Metric = "entropic",
        terms: float | None = None,
    ) -> Array:
        """Precision (n_u, n_u) that the prior adds to the data's FᵀF.

        Half the second derivative, with respect to u, of gamma D and the rows of `pulls`.
        """
        anchor, _ = self.pulls(gamma, terms)
        H = anchor.T @ anchor
        for k, body in enumerate(self.bodies):
            if self.trust[k] > 0.0:
                H[np.ix_(body.columns, body.columns)] += self.body_curvature(
                    k, theta, gamma, metric
                )
        return H

    def body_curvature(self, k: int, theta: Array, gamma: float, metric: Metric) -> Array:
        """The part of `curvature` of body k, on its own columns of u."""
        A = self.bodies[k].A
        if metric == "entropic":
            A = np.linalg.inv(self.relative(k, theta)) @ A
        return np.asarray(0.5 * gamma * self.trust[k] * np.einsum("pij,qji->pq", A, A))

    def relative(self, k: int, theta: Array) -> Array:
        """S = J0^-½ J J0^-½ (4, 4) of body k: the unit matrix at its prior."""
        inverse = np.linalg.inv(self.factors[k])
        own = slice(self.first[k], self.first[k] + 10)
        return np.asarray(inverse @ pseudo_inertia(theta[own]) @ inverse.T)

    def divergence(self, theta: Array, metric: Metric = "entropic") -> Array:
        """D (n_bodies,) of every body, in the order of the model; NaN without a prior."""
        out = np.full(len(self.first), np.nan)
        for k in range(len(self.first)):
            if self.trust[k] > 0.0:
                S = self.relative(k, theta)
                if metric == "pullback":
                    out[k] = 0.5 * np.sum((S - np.eye(4)) ** 2)
                else:
                    sign, logdet = np.linalg.slogdet(S)
                    out[k] = np.trace(S) - logdet - 4.0 if sign > 0 else np.inf
        return out


def usual_gamma(dependence: float) -> float:
    """The weight that inertials with errors of `SPREAD` deserve.

    dependence : how many residuals count as one independent residual.
    """
    return dependence / SPREAD**2


def usual_term_weight(gamma: float) -> float:
    """Weight of the terms beside a gamma that is given: small beside a small one, and never so
    large that a trusted file presses friction to zero.
    """
    return max(TERM_WEIGHT * min(gamma * SPREAD**2, 1.0), LEAST_PULL)


def prior_problem(
    first: Sequence[int],
    scale: Array,
    typical: Array,
    given: Sequence[Block],
    prior: Array,
    trust: Array,
) -> PriorProblem:
    """Write the fit in coordinates in which every body's prior is the unit matrix.

    first : where each body's ten columns start. scale : (n_columns,) typical sizes.
    typical : (n_columns,) parameters for bodies that have no prior. given : the constraints.
    prior : (n_columns,) parameters; only bodies with trust > 0 are used, and they must be strictly
    physical. trust : (n_bodies,) multiples of gamma.
    """
    T, centre = np.diag(scale), np.zeros(len(scale))
    own = np.asarray(first, dtype=np.int64)[:, None] + np.arange(10)
    known = np.asarray(trust)[:, None] > 0.0
    factors = _factors(np.where(known, prior[own], typical[own]))
    L = factors[:, None]
    T[own[:, :, None], own[:, None, :]] = turned(from_pseudo_inertia(L @ _BASIS @ turned(L)))
    centre[own] = _UNIT
    y, N = without_equations(T, given)
    origin, turn = T @ y, T @ N
    # relative to what the row was without equations: that of a fixed parameter is all rounding
    turn[np.abs(turn) < ROUNDING * np.max(np.abs(T), axis=1, keepdims=True)] = 0.0
    anchored = np.ones(len(scale), dtype=bool)
    anchored[own[known[:, 0]]] = False
    bodies = _bodies(own, y, N)
    # bodies whose parameters are all fixed have no variables
    keep = [k for k, body in enumerate(bodies) if body.columns]
    terms = np.ones(len(scale), dtype=bool)
    terms[own] = False
    anchor, wish = N[anchored], (centre - y)[anchored]
    kept = np.any(anchor != 0.0, axis=1)
    starts = {first[k] for k in keep}
    rest = [block for block in given if not _implied(block, starts)]
    return PriorProblem(
        origin=origin,
        turn=turn,
        bodies=tuple(bodies[k] for k in keep),
        trust=np.array(trust, dtype=float)[keep],
        factors=factors[keep],
        first=tuple(first[k] for k in keep),
        ordinary=tuple(inequalities(rest, origin, turn)),
        anchor=anchor[kept],
        wish=wish[kept],
        of_terms=terms[anchored][kept],
        start=N.T @ (centre - y),
    )


def _factors(bodies: Array) -> Array:
    """Cholesky factors (n_bodies, 4, 4) of the pseudo-inertias of bodies (n_bodies, 10)."""
    J = pseudo_inertia(bodies)
    try:
        return np.asarray(np.linalg.cholesky(J), dtype=float)
    except np.linalg.LinAlgError:
        k = int(np.argmin(np.linalg.eigvalsh(J)[:, 0]))
        raise EstimationError(
            f"the prior of body {k + 1} is not strictly physical; repair it first"
        ) from None


def _bodies(own: NDArray[np.int64], y: Array, N: Array) -> list[MatrixCondition]:
    """J0^-½ J J0^-½ of every body as a condition on u: its ten rows of N, in `_BASIS`."""
    out = []
    for rows in own:
        columns = np.flatnonzero(np.any(N[rows] != 0.0, axis=0))
        A = np.tensordot(N[rows][:, columns].T, _BASIS, 1)
        out.append(MatrixCondition(tuple(columns.tolist()), A, np.tensordot(y[rows], _BASIS, 1)))
    return out


def _implied(block: Block, starts: set[int]) -> bool:
    """Whether a block only states that a body of the problem is physical, which `bodies` does.

    starts : the first columns of the bodies of the problem.
    """
    return (
        block.kind == "psd"
        and block.size == 4
        and not block.b.any()
        and block.columns[0] in starts
        and block.columns == tuple(range(block.columns[0], block.columns[0] + 10))
    )
