"""Rounds of the search: which descents go on, and what is reported."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from steelyard.excitation.design_settings import DesignSettings
from steelyard.excitation.design_task import DesignTask
from steelyard.excitation.fourier_design import search_problem
from steelyard.excitation.limits import MotionLimits
from steelyard.excitation.search import search as module
from steelyard.excitation.search.fourier_basis import FourierBasis
from steelyard.excitation.search.search import Descent, SearchProblem, Stage, search
from steelyard.model.model import Model
from steelyard.testing.random_robots import random_robot


@pytest.fixture(scope="module")
def problem() -> SearchProblem:
    model = Model(random_robot(np.random.default_rng(2), 2, chain=True, prismatic=0.0))
    one = np.ones(model.nv)
    limits = MotionLimits(
        model.channels, -one, 1.5 * one, one, 3.0 * one, np.inf * one, np.inf * one
    )
    task = DesignTask(model, limits, DesignSettings(period_s=8.0, harmonics=2))
    return search_problem(task, FourierBasis(limits, 8.0, 2), (limits.middle,))


def test_the_best_descents_come_first_and_the_others_wait(problem, monkeypatch):
    """A stage descends as many motions as it says, those that come first, and sorts them."""
    values = {0: 3.0, 1: 1.0, 2: 2.0, 3: 0.5, 4: 0.1}

    def descend(_problem, descent, _stage, _deadline):
        return replace(descent, value=values[int(descent.x[0])])

    monkeypatch.setattr(module, "_descend", descend)
    start = [Descent(np.array([float(k)]), np.eye(1)) for k in range(5)]
    stage = Stage(3, False, 1e-3, 20, 5)
    with ThreadPoolExecutor(2) as pool:
        after = module._best_descended(problem, start, stage, module.Deadline(np.inf), pool)
    assert [int(descent.x[0]) for descent in after] == [1, 2, 0, 3, 4]


def test_later_rounds_never_lose_and_the_report_ends_with_the_result(problem):
    """Three rounds are at least as good as one with the same seed, and as what was reported."""
    reported = []
    one, three = (
        search(problem, seed=1, budget_s=1e6, rounds=n, threads=1, progress=reported.append)
        for n in (1, 3)
    )
    assert three.value <= one.value
    own = reported[-3 * (len(module.STAGES) + 1) :]
    assert [now.round for now in own[:: len(module.STAGES) + 1]] == [1, 2, 3]
    assert own[-1].value == three.value
    assert own[len(module.STAGES)].value == one.value
    ends = [now.value for now in own[len(module.STAGES) :: len(module.STAGES) + 1]]
    assert ends == sorted(ends, reverse=True)
    assert three.evaluations > one.evaluations
    assert problem.basis.slack(three.x).min() > 0.0


def test_starts_of_later_rounds_have_the_stated_distances(problem):
    """Near the best motion where a distance is stated, elsewhere random as in the first round."""
    best = module._random(problem, np.random.default_rng(8)) * 0.3
    starts = module._starts(problem, 4, 1, best)
    assert len(starts) == module.STAGES[0].motions
    for k, x in enumerate(starts):
        distance = module.DISTANCES[k % len(module.DISTANCES)]
        if distance is None:
            expected = module._random(problem, np.random.default_rng((4, 1, k)))
            np.testing.assert_array_equal(x, expected)
        elif distance <= 0.1:
            # so near that the limits do not matter
            moved = np.random.default_rng((4, 1, k)).normal(size=best.shape)
            size = np.linalg.norm(x - best) / np.linalg.norm(moved)
            assert size <= distance * (1.0 + 1e-12)
            assert size > 0.3 * distance
