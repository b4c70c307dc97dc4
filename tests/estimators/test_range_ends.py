"""Ends of feasible ranges: two solvers agree, and which results of theirs are taken."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from experiments import chain_experiment

from steelyard.errors import EstimationError
from steelyard.estimators import _ranges
from steelyard.estimators._ranges import (
    ACCURACY,
    Quantities,
    RangeEnds,
    feasible_ranges,
    fit_ball,
)
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.estimate import Spread
from steelyard.estimators.feasible import fit_feasible
from steelyard.knowledge.constraints import Constraints, MassSum
from steelyard.model.model import Model
from steelyard.regression.compress import compress


def nothing(_: int) -> None:
    """No progress is shown."""


@cache
def world() -> tuple[Model, ConstrainedFit, RangeEnds]:
    """Two joints whose masses have limits and a known sum."""
    one = chain_experiment(3, n_joints=2, n_samples=2000)
    noise = 0.3 * np.random.default_rng(3).normal(size=one.tau.shape)
    regression = compress(one.model, one.motion, one.measured(noise))
    names = tuple(body.name for body in one.model.mechanism.bodies)
    masses = one.theta[list(one.model.first_column_of_body)]
    known = Constraints(
        mass={names[0]: (0.3 * masses[0], None)},
        mass_sums=(MassSum(names, (masses.sum(), masses.sum())),),
    )
    fit = fit_feasible(one.model, regression, known, prior=one.model.prior_theta())
    spreads = [Spread("classical", np.eye(len(fit.beta)), 10)]
    ends = RangeEnds(fit.blocks, fit_ball(fit, spreads), fit.problem.scale, fit.theta)
    return one.model, fit, ends


def test_both_solvers_find_the_same_ends():
    """Of parameters and of centres of mass, of the first body and another, with an equation."""
    model, _, ends = world()
    assert any(block.band for block in ends.blocks)
    for first in model.first_column_of_body:
        for column, mass in ((first, -1), (first + 1, -1), (first + 1, first), (first + 3, first)):
            size = ends._sizes(mass)[column]
            found = []
            for sign in (1.0, -1.0):
                (end,) = ends.end(np.array([column, mass, sign]))
                compiled = ends._compiled(column, mass, sign)
                assert compiled == end
                other = ends._by_clarabel(column, mass, sign)
                assert end == pytest.approx(other, rel=1e-4, abs=1e-4 * size)
                found.append(end)
            assert found[0] < found[1]


def test_sizes_and_conditions_of_coordinates_are_those_of_quotients():
    """theta / m and 1 / m of any parameters inside all conditions meet them, too."""
    model, fit, ends = world()
    n = len(fit.theta)
    for mass in model.first_column_of_body:
        sizes = ends._sizes(mass)
        assert sizes == pytest.approx([*(ends.scale / ends.scale[mass]), 1.0 / ends.scale[mass]])
        blocks, ball = ends._conditions(mass)
        y = np.append(fit.theta, 1.0) / fit.theta[mass]
        assert ball.margin(y) > 0.0
        kinds = [block.kind for block in blocks]
        assert kinds.count("zero") == 1 + sum(block.band for block in ends.blocks)
        for block in blocks:
            value = block.A @ y[list(block.columns)] + block.b
            if block.kind == "zero":
                # the middle of a band is met up to the width of the band
                assert np.max(np.abs(value)) < 1e-6
            else:
                assert block.margin(y) > -1e-9
        # not met where 1 / m is negative, or where the mass itself is not one
        assert min(block.margin(-y) for block in blocks) < 0.0
        assert min(block.margin(2.0 * y) for block in blocks) < 0.0
    blocks, ball = ends._conditions(-1)
    assert (blocks, ball) == (ends.blocks, ends.ball)
    assert ends._sizes(-1) is ends.scale
    assert "Lock" not in repr(ends)
    assert "_ready" not in repr(ends)
    assert len(y) == n + 1


@pytest.mark.parametrize(
    ("mass", "taken"), [(-1, ("solved", "stalled")), (0, ("solved",)), (10, ("solved",))]
)
def test_which_ends_of_the_other_solver_are_taken(mass, taken, monkeypatch):
    """A solver that stalled is close enough for a parameter, not for a quotient; of a solver that
    failed there is no end.
    """
    _, fit, ends = world()
    n = len(fit.theta) + (mass >= 0)
    for status in ("solved", "stalled", "infeasible", "failed"):
        answer = SimpleNamespace(theta=np.arange(float(n)), status=status)
        asked = []

        def solve(problem, *, accuracy, answer=answer, asked=asked):
            asked.append(accuracy)
            return answer

        monkeypatch.setattr(_ranges, "solve", solve)
        found = ends._by_clarabel(2, mass, -1.0)
        assert np.isnan(found) if status not in taken else found == 2.0
        assert asked == [1e-7]


def test_the_other_solver_is_asked_where_the_compiled_one_is_not_accurate(monkeypatch):
    """Up to fifty times the accuracy that was asked for its end is taken; not beyond, nor where it
    gives up.
    """
    _, fit, ends = world()
    monkeypatch.setattr(RangeEnds, "_by_clarabel", lambda *_: -7.0)
    for worst, expected in ((49.0, 3.0), (51.0, -7.0), (None, -7.0)):

        def lowest(c, accuracy, steps, worst=worst):
            assert (accuracy, steps) == (ACCURACY, 40)
            assert np.flatnonzero(c).tolist() == [5]
            assert c[5] == pytest.approx(-1.0 / fit.problem.scale[5])
            if worst is None:
                raise EstimationError("no step")
            return SimpleNamespace(x=np.full(len(c), 3.0), worst=worst * ACCURACY)

        ready = SimpleNamespace(lowest=lowest, theta=lambda x: x)
        fresh = replace(ends, _ready={-1: ready})
        assert fresh.end(np.array([5.0, -1.0, -1.0])) == pytest.approx([expected])


def test_large_problems_go_to_the_sparse_solver(monkeypatch):
    """With one column more than is allowed nothing is compiled; of quotients 1 / m counts."""
    model, fit, ends = world()
    n, mass = len(fit.theta), model.first_column_of_body[0]
    assert _ranges.MOST_COLUMNS == 450
    for most, of_theta, of_quotients in (
        (n - 1, False, False),
        (n, True, False),
        (n + 1, True, True),
    ):
        monkeypatch.setattr(_ranges, "MOST_COLUMNS", most)
        assert (ends._prepared(-1) is not None) == of_theta
        assert (ends._prepared(mass) is not None) == of_quotients
    monkeypatch.setattr(_ranges, "MOST_COLUMNS", 0)
    monkeypatch.setattr(RangeEnds, "_by_clarabel", lambda *_: 0.25)
    assert replace(ends, _ready={}).end(np.array([5.0, -1.0, 1.0])) == pytest.approx([0.25])


@pytest.mark.parametrize("mass", [100.0, 0.01, -0.01])
def test_a_centre_of_mass_needs_a_mass_that_cannot_vanish(mass, monkeypatch):
    """Not where the smallest mass is a millionth of the estimate or less; where the mass is known
    without a range, always.
    """
    model, fit, _ = world()
    first, other = model.first_column_of_body
    theta = fit.theta.copy()
    theta[[first, other]] = mass
    fit = replace(fit, theta=theta)
    wanted = Quantities((first, first + 1), (first, other))

    def ends(lowest: float):
        counts: list[int] = []

        def end(self, task):
            column, divided, sign = (int(value) for value in task)
            assert column in (
                (first, first + 1) if divided < 0 else range(divided + 1, divided + 4)
            )
            return np.array([lowest if (column, sign) == (first, 1) else 1000.0 * sign + column])

        monkeypatch.setattr(RangeEnds, "end", end)
        spreads = [Spread("classical", np.eye(len(fit.beta)), 10)]
        found = feasible_ranges(fit, spreads, wanted, counts.append, 1)
        return found, counts

    for share, there in ((0.5, False), (2.0, True)):
        lowest = share * 1e-6 * abs(mass)
        found, counts = ends(lowest)
        assert found.parameters[first, 0] == lowest
        assert found.parameters[first, 1] == first - 1000.0
        assert found.parameters[first + 1].tolist() == [first + 1001.0, first - 999.0]
        assert np.isnan(np.delete(found.parameters, (first, first + 1), axis=0)).all()
        assert np.isfinite(found.com[0]).all() == np.isfinite(found.com[0]).any() == there
        assert found.com[1].tolist() == [
            [1000.0 + other + i, other + i - 1000.0] for i in (1, 2, 3)
        ]
        # each problem is counted once, and those that are not needed at the end
        assert counts[-1] == wanted.n_problems == 16
        solved = 4 + (12 if there else 6)
        assert max(counts[:-1]) == solved
        assert counts == sorted(counts)
