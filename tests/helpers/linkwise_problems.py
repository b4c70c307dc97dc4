"""Random trees with data, as triangular factors, and their simultaneous optimum by Clarabel."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from steelyard.conic.problem import ConicProblem, conic_problem
from steelyard.conic.solver import solve
from steelyard.estimators.entropic import PriorProblem, prior_problem
from steelyard.estimators.sequential.links import (
    Link,
    PriorPull,
    WeakPull,
    layout_of,
    links_of,
)
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import Prior
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.typical_sizes import (
    known_parameters,
    parameter_scale,
    placing_weights,
    typical_parameters,
)
from steelyard.testing.random_robots import random_robot

Array = np.ndarray
PULL = 1e-2


@dataclass(frozen=True, eq=False)
class Tree:
    """A model with its factor R, z in units of the noise, and the truth."""

    model: Model
    base: BaseMap
    R: Array
    z: Array
    truth: Array
    constraints: Constraints = field(default_factory=Constraints)

    @property
    def K(self) -> Array:
        """The base map's matrix."""
        return self.base.K

    @property
    def given(self):
        """The conditions, the default ones if no others are stated."""
        return blocks(self.model, self.constraints)

    @property
    def weak(self) -> WeakPull:
        """The weak pull to the values of the file."""
        scale = parameter_scale(self.model)
        weights = PULL * placing_weights(self.model) / scale**2
        return WeakPull(weights, known_parameters(self.model), scale)

    def links(self, pull: WeakPull | PriorPull | None = None) -> tuple[Link, ...]:
        """The links, with the weak pull if no other is given."""
        layout = layout_of(self.model, self.base)
        return links_of(layout, typical_parameters(self.model), self.given, pull or self.weak)

    def together(self, prior: Prior) -> PriorProblem:
        """The simultaneous fit with a prior."""
        return prior_problem(
            self.model.first_column_of_body,
            self.weak.scale,
            typical_parameters(self.model),
            self.given,
            prior.theta,
            prior.trust,
        )

    @cached_property
    def problem(self) -> ConicProblem:
        """The simultaneous fit."""
        weak = self.weak
        return conic_problem(
            len(weak.scale),
            self.given,
            weak.scale,
            F=self.R @ self.K,
            g=self.z,
            pull=weak.weights,
            towards=weak.towards,
        )

    @cached_property
    def optimum(self) -> float:
        """Its objective by Clarabel."""
        return solve(self.problem).value


def random_tree(
    seed: int,
    n_links: int,
    *,
    chain: bool = False,
    noise: float = 0.1,
    n_samples: int | None = None,
    prismatic: float = 0.2,
    mimic: float = 0.0,
    friction: float = 1.0,
) -> Tree:
    """A tree with friction up to this size, random states and this share of noise on each torque.

    noise 0 means exact torques, in units of a thousandth of their size.
    """
    rng = np.random.default_rng([seed, n_links, 4711])
    robot = random_robot(rng, n_links, chain=chain, prismatic=prismatic, fixed=0.0, mimic=mimic)
    model = Model(robot)
    base = base_map(model)
    theta = model.prior_theta()
    terms = [column.kind != "rigid_body" for column in model.columns]
    theta[terms] = friction * rng.uniform(0.2, 1.0, size=sum(terms))
    n_samples = n_samples or 8 * len(model.columns) // n_links
    W = torque_regressor(model, *random_states(rng, model.robot, n_samples))
    tau = W @ theta
    size = (noise or 1e-3) * np.sqrt(np.mean(tau**2, axis=0))
    if noise:
        tau = tau + size * rng.normal(size=tau.shape)
    rows = W[..., list(base.independent)] / size[:, None]
    whole = np.column_stack([rows.reshape(-1, base.rank), (tau / size).reshape(-1)])
    R = np.linalg.qr(whole, mode="r")
    n = base.rank
    return Tree(model, base, np.ascontiguousarray(R[:n, :n]), R[:n, n].copy(), theta)
