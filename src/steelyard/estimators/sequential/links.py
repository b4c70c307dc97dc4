"""The constrained fit as a chain of links: what each link adds to the problem.

    minimise ½ |z - R K theta|² + sum_i local_i(theta_i)   subject to conditions on each theta_i

theta_i are the ten parameters of body i and the terms of its joint. In every link's own
coordinates, theta_i = origin_i + turn_i u_i, its equations hold by construction and

    local_i(u) = ½ |pull_i u - wish_i|² + slope_i · u - sum_k floor_k log det S_k(u),

the weak pull to known values, or the divergence from a prior. Columns are in the order of the
model, parents before children, so that R K is block upper triangular: the base parameters of link i
are affected by link i and the links that it carries, and rows of R by what comes after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.conic.interior_conditions import MatrixCondition
from steelyard.errors import EstimationError, listed
from steelyard.estimators.entropic import PriorProblem, prior_problem
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Model

if TYPE_CHECKING:
    from steelyard.knowledge.prior import Prior

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Link:
    """One link with its joint's terms; see the module's equation.

    name : of the body. columns : its slice of theta. rows : its slice of the base parameters.
    parent : index, -1 for none. children : indices. tied : links elsewhere in the tree with which
    it shares a joint coordinate or the terms of a coupling.
    origin : (n_columns,), turn : (n_columns, n_u). conditions : on u.
    pull : (n_pulls, n_u), wish : (n_pulls,), slope : (n_u,). start : (n_u,) well inside.
    constant : of the link's part of the objective, so that a divergence is zero at its prior.
    """

    name: str
    columns: slice
    rows: slice
    parent: int
    children: tuple[int, ...]
    origin: Array
    turn: Array
    conditions: tuple[MatrixCondition, ...]
    pull: Array
    wish: Array
    slope: Array
    start: Array
    constant: float = 0.0
    tied: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.start)

    def theta(self, u: Array) -> Array:
        """Standard parameters (n_columns,) of the link."""
        return np.asarray(self.origin + self.turn @ u)

    def coordinates(self, theta: Array) -> Array:
        """u (n_u,) of standard parameters (n_columns,) that meet the link's equations."""
        scale = np.linalg.norm(self.turn, axis=1)
        scale = np.where(scale > 0.0, scale, 1.0)
        away = (theta - self.origin) / scale
        return np.asarray(np.linalg.lstsq(self.turn / scale[:, None], away, rcond=None)[0])

    def value(self, u: Array) -> float:
        """The link's own part of the objective; infinite outside a logarithm's domain."""
        away = self.pull @ u - self.wish
        total = self.constant + 0.5 * float(away @ away) + float(self.slope @ u)
        for condition in self.conditions:
            if condition.floor > 0.0:
                sign, logdet = np.linalg.slogdet(matrix_at(condition, u))
                total -= condition.floor * float(logdet) if sign > 0 else -np.inf
        return total


@dataclass(frozen=True, eq=False)
class WeakPull:
    """A pull to known values that is too weak to change what the data determine.

    weights : (n_columns,) one over the square of the parameter's unit. towards : (n_columns,).
    scale : (n_columns,) typical sizes.
    """

    weights: Array
    towards: Array
    scale: Array


@dataclass(frozen=True, eq=False)
class PriorPull:
    """Gamma times the entropic divergence from a prior, as in `steelyard.estimators.entropic`.

    scale : (n_columns,) typical sizes. terms : weight with which terms are drawn to zero.
    """

    prior: Prior
    gamma: float
    terms: float
    scale: Array


@dataclass(frozen=True, eq=False)
class LinkLayout:
    """Where each link's columns and base parameters are.

    names : of the bodies. first : (n_links + 1,) where each link's columns start, and their end.
    rows : (n_links + 1,) the same for the base parameters. parent : (n_links,) -1 for none.
    tied : of each link, those that mimic joints or couplings join with it.
    """

    names: tuple[str, ...]
    first: NDArray[np.int64]
    rows: NDArray[np.int64]
    parent: NDArray[np.int64]
    tied: tuple[tuple[int, ...], ...]


def layout_of(model: Model, base: BaseMap) -> LinkLayout:
    """The layout of a model; terms of couplings belong to the last link."""
    first = np.array((*model.first_column_of_body, len(model.columns)))
    owner = np.searchsorted(first, np.array(base.independent), side="right") - 1
    if np.any(np.diff(owner) < 0):
        raise EstimationError(
            "the base parameters are not in the order of the links: compress with a base map in "
            "the model's own order"
        )
    names = tuple(body.name for body in model.mechanism.bodies)
    rows = np.searchsorted(owner, np.arange(len(names) + 1))
    return LinkLayout(names, first, rows, model.mechanism.parent, _ties(model))


def _ties(model: Model) -> tuple[tuple[int, ...], ...]:
    """Links that one row of torques joins though none carries the other: they share a coordinate
    (mimic joints), or a coupling drives both.
    """
    mechanism = model.mechanism
    last = len(mechanism.bodies) - 1
    of_joint = {body.joint: k for k, body in enumerate(mechanism.bodies)}
    together = [np.flatnonzero(mechanism.coordinate == row) for row in range(mechanism.nv)]
    for term in model.terms:
        if len(term.direction) > 1:  # its columns are those of the last link
            together.append(np.array([*(of_joint[joint] for joint, _ in term.direction), last]))
    tied: list[set[int]] = [set() for _ in mechanism.bodies]
    for members in together:
        for k in members:
            tied[int(k)].update(int(other) for other in members if other != k)
    return tuple(tuple(sorted(others)) for others in tied)


def links_of(
    layout: LinkLayout, typical: Array, given: Sequence[Block], pull: WeakPull | PriorPull
) -> tuple[Link, ...]:
    """The links, parents before children, with their conditions.

    typical : (n_columns,) parameters of typical bodies. Conditions that join several links are
    refused.
    """
    shares = _shared_out(layout, given)
    out = []
    for i, name in enumerate(layout.names):
        own = slice(int(layout.first[i]), int(layout.first[i + 1]))
        local = [
            replace(block, columns=tuple(column - own.start for column in block.columns))
            for block in shares[i]
        ]
        problem, rows, wish, slope, conditions = _local(i, own, local, pull, typical)
        out.append(
            Link(
                name=name,
                columns=own,
                rows=slice(int(layout.rows[i]), int(layout.rows[i + 1])),
                parent=int(layout.parent[i]),
                children=tuple(int(k) for k in np.flatnonzero(layout.parent == i)),
                origin=problem.origin,
                turn=problem.turn,
                conditions=conditions,
                pull=rows,
                wish=wish,
                slope=slope,
                start=problem.start,
                constant=sum(one.floor * float(np.trace(one.b) - len(one.b)) for one in conditions),
                tied=layout.tied[i],
            )
        )
    return tuple(out)


def _local(
    i: int, own: slice, given: list[Block], pull: WeakPull | PriorPull, typical: Array
) -> tuple[PriorProblem, Array, Array, Array, tuple[MatrixCondition, ...]]:
    """Coordinates of one link, and the rows, targets, slope and conditions in them."""
    scale = pull.scale[own]
    if isinstance(pull, WeakPull):
        problem = prior_problem((0,), scale, typical[own], given, typical[own], np.zeros(1))
        root = np.sqrt(pull.weights[own])
        rows = root[:, None] * problem.turn
        wish = root * (pull.towards[own] - problem.origin)
        conditions = (*problem.bodies, *problem.ordinary)
        return problem, rows, wish, np.zeros(len(problem.start)), conditions
    trust = pull.prior.trust[i : i + 1]
    problem = prior_problem((0,), scale, typical[own], given, pull.prior.theta[own], trust)
    rows, wish = problem.pulls(pull.gamma, pull.terms)
    slope = np.zeros(len(problem.start))
    weight = 0.5 * pull.gamma * float(trust[0])
    bodies = []
    for body in problem.bodies:
        np.add.at(slope, list(body.columns), weight * np.trace(body.A, axis1=1, axis2=2))
        bodies.append(replace(body, floor=weight))
    return problem, rows, wish, slope, (*bodies, *problem.ordinary)


def _shared_out(layout: LinkLayout, given: Sequence[Block]) -> list[list[Block]]:
    """The conditions of each link; refuses one that joins several."""
    out: list[list[Block]] = [[] for _ in layout.names]
    for block in given:
        owners = np.unique(np.searchsorted(layout.first, block.columns, side="right") - 1)
        if len(owners) > 1:
            names = listed(layout.names[k] for k in owners)
            raise EstimationError(
                f"the condition that {block.words} joins the links {names}, but this method fits "
                "one link after the other: leave it out, or use the method 'feasible' or 'entropic'"
            )
        out[int(owners[0])].append(block)
    return out


def matrix_at(condition: MatrixCondition, u: Array) -> Array:
    """S = A u + b (d, d)."""
    return np.asarray(np.tensordot(u[list(condition.columns)], condition.A, 1) + condition.b)


def on_condition(condition: MatrixCondition, Z: Array) -> Array:
    """A*(Z) (n_columns,): the inner product of Z with each of the condition's matrices."""
    return np.asarray(np.einsum("pij,ij->p", condition.A, Z))


def moved(conditions: Sequence[MatrixCondition], by: int) -> list[MatrixCondition]:
    """The conditions on variables that start at ``by``."""
    return [
        MatrixCondition(tuple(column + by for column in one.columns), one.A, one.b, one.floor)
        for one in conditions
    ]
