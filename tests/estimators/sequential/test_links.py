"""Coordinates of links, and objectives in them, under conditions that fix some parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from linkwise_problems import random_tree
from prior_problems import scattered

from steelyard.estimators.entropic import usual_term_weight
from steelyard.estimators.sequential.links import PriorPull
from steelyard.estimators.sequential.refined import refine
from steelyard.knowledge.constraints import Constraints

GAMMA = 10.0


def known(rng: np.random.Generator, names: tuple[str, ...], theta: np.ndarray) -> Constraints:
    """A mass, a first moment and a friction that are known, of random links, near the truth."""
    at = {name: float(value) for name, value in zip(names, theta, strict=True)}
    bodies = [name for name in names if name.endswith(".m")]
    mass = str(rng.choice(bodies))
    other = str(rng.choice(bodies)).removesuffix(".m")
    friction = str(rng.choice([name for name in names if name.endswith(".fv")]))
    value = round(1.2 * at[mass], 3)
    return Constraints(
        mass={mass.removesuffix(".m"): (value, value)},
        fixed={f"{other}.mx": round(at[f"{other}.mx"], 3), friction: round(at[friction], 3)},
    )


@pytest.mark.parametrize("seed", range(12))
def test_known_parameters_leave_the_objective_what_it_is(seed):
    """Of any parameters that meet the equations, coordinates are found again; the sequential fit
    has the objective of the simultaneous one, which was infinite by rounding in a fixed row.
    """
    rng = np.random.default_rng([seed, 9])
    tree = random_tree(seed, int(rng.integers(1, 6)), noise=0.1)
    tree = replace(tree, constraints=known(rng, tree.model.column_names, tree.truth))
    prior = scattered(tree.model, tree.truth, rng, 0.2)
    pull = PriorPull(prior, GAMMA, usual_term_weight(GAMMA), tree.weak.scale)
    for links in (tree.links(), tree.links(pull)):
        for link in links:
            u = link.start + 0.1 * rng.normal(size=link.size)
            assert np.allclose(link.coordinates(link.theta(u)), u, rtol=0.0, atol=1e-10)
    found = refine(tree.R, tree.z, tree.K, tree.links(pull))
    together = tree.together(prior)
    best = found.stage_of(together.solve(tree.R @ tree.K, tree.z, GAMMA).theta)
    # counted without the links' coordinates
    theta = found.theta
    residual = tree.z - tree.R @ (tree.K @ theta)
    counted = 0.5 * residual @ residual + 0.5 * GAMMA * np.nansum(together.divergence(theta))
    scaled = np.linalg.lstsq(together.turn, theta - together.origin, rcond=None)[0]
    rows, targets = together.pulls(GAMMA)
    counted += 0.5 * np.sum((rows @ scaled - targets) ** 2)
    reached = found.stage_of(theta)
    assert reached.value == pytest.approx(counted, rel=1e-6)
    assert reached.value <= (1.0 + 1e-3) * best.value
    assert best.lower_bound <= best.value * (1.0 + 1e-9)
