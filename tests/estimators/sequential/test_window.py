"""The problem of one step where the interior-point method does not converge."""

from __future__ import annotations

import numpy as np
import pytest
from linkwise_problems import random_tree
from prior_problems import scattered

from steelyard.conic import either_solver
from steelyard.errors import EstimationError
from steelyard.estimators.entropic import usual_term_weight
from steelyard.estimators.sequential.fit import solver_of
from steelyard.estimators.sequential.links import PriorPull
from steelyard.estimators.sequential.refined import ENOUGH, refine


@pytest.fixture
def failing(monkeypatch):
    """An interior-point method that never converges."""

    def minimise(*_):
        raise EstimationError("the interior-point method did not converge")

    monkeypatch.setattr(either_solver, "minimise", minimise)


@pytest.mark.parametrize("seed", range(4))
def test_clarabel_solves_the_steps_and_the_fit_says_so(seed, failing):
    """Values and duals of Clarabel serve as well: the same optimum, with a proven gap."""
    tree = random_tree(seed, 4, noise=0.1)
    found = refine(tree.R, tree.z, tree.K, tree.links())
    assert found.fit.n_clarabel >= 4
    assert solver_of(found.fit) == "linkwise-clarabel"
    rounding = 1e-6 * max(tree.optimum, 1.0)
    above = tree.problem.objective(found.theta) - tree.optimum
    assert above <= ENOUGH * max(tree.optimum, 1.0) + rounding
    assert found.stages[-1].relative_gap <= ENOUGH
    assert found.stages[-1].lower_bound <= tree.optimum + rounding


def test_without_trouble_clarabel_is_not_asked():
    """The name of the solver says so."""
    tree = random_tree(0, 3, noise=0.1)
    assert solver_of(refine(tree.R, tree.z, tree.K, tree.links()).fit) == "linkwise"


@pytest.mark.parametrize(
    ("factor", "words"), [(1e4, "times the size of what"), (1.0, "'feasible'")]
)
def test_with_logarithms_the_error_says_what_may_be_wrong(factor, words, failing):
    """There is no second solver; torques of another size than the file's bodies are named."""
    tree = random_tree(1, 3, noise=0.1)
    prior = scattered(tree.model, tree.truth, np.random.default_rng(1), 0.1)
    links = tree.links(PriorPull(prior, 5.0, usual_term_weight(5.0), tree.weak.scale))
    with pytest.raises(EstimationError, match=words) as trouble:
        refine(tree.R, factor * tree.z, tree.K, links)
    assert "the fit of 'link_" in str(trouble.value)
    assert ("Are torques in N m" in str(trouble.value)) == (factor > 1.0)
