"""Sequential fits against the simultaneous optimum of Clarabel and of the entropic fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from linkwise_problems import Tree, random_tree
from prior_problems import scattered

from steelyard.errors import EstimationError
from steelyard.estimators.entropic import usual_term_weight
from steelyard.estimators.sequential.inward import LinkwiseFit, fit_inward
from steelyard.estimators.sequential.links import PriorPull
from steelyard.estimators.sequential.lower_bound import LowerBound
from steelyard.estimators.sequential.refined import ENOUGH, refine, still_to_gain
from steelyard.estimators.sequential.sweeps import Sweeper, whole_fit
from steelyard.estimators.sequential.window import (
    LAG,
    MOST_LINKS,
    NEIGHBOURHOOD,
    cover,
    window,
)

GAMMA = 5.0


def refined(tree: Tree, **options):
    return refine(tree.R, tree.z, tree.K, tree.links(), **options)


@pytest.mark.parametrize("tens", range(11))
def test_refined_trees_reach_the_optimum_of_clarabel_and_the_gap_is_true(tens):
    """Ten random trees of each: within the proven gap of the optimum, and that within 0.1 %."""
    for seed in range(10 * tens, 10 * tens + 10):
        rng = np.random.default_rng(seed)
        tree = random_tree(seed, int(rng.integers(1, 6)), noise=10.0 ** rng.uniform(-3.0, 0.0))
        found = refined(tree)
        above = tree.problem.objective(found.theta) - tree.optimum
        last = found.stages[-1]
        rounding = 1e-6 * max(tree.optimum, 1.0)
        assert above <= ENOUGH * max(tree.optimum, 1.0) + rounding
        assert last.relative_gap <= ENOUGH
        # of every stage, not only of the last
        for stage in found.stages:
            assert stage.lower_bound <= tree.optimum + rounding
        assert last.value == pytest.approx(tree.problem.objective(found.theta), rel=1e-9)


@pytest.mark.parametrize("n_links", [2, 4, 6, 16, 20])
def test_mimic_joints_between_branches(n_links):
    """Branches that only a mimic joint joins are fitted together: the optimum is reached."""
    for seed in range(6):
        tree = random_tree(
            seed,
            n_links,
            noise=0.02,
            prismatic=0.5,
            mimic=0.5,
            n_samples=200 if n_links < 9 else 60,
        )
        found = refined(tree)
        above = tree.problem.objective(found.theta) - tree.optimum
        rounding = 1e-6 * max(tree.optimum, 1.0)
        assert found.stages[-1].relative_gap <= ENOUGH
        assert found.stages[-1].lower_bound <= tree.optimum + rounding
        assert above <= ENOUGH * max(tree.optimum, 1.0) + rounding


def test_tied_links_are_in_one_group_and_one_step():
    """Links that share a coordinate, wherever they are; up to 14 links are one group anyway."""
    for seed in range(5):
        links = random_tree(seed, 25, n_samples=20, mimic=0.3).links()
        groups = cover(links)
        assert any(link.tied for link in links)
        for k, link in enumerate(links):
            assert k not in link.tied
            for other in link.tied:
                assert k in links[other].tied
                assert any({k, other} <= set(group) for group in groups) or len(link.tied) > 6
            later = [other for other in link.tied if other > k][: MOST_LINKS - 1]
            assert set(later) <= set(window(links, k))
        assert max(len(group) for group in groups) <= NEIGHBOURHOOD
        few = random_tree(seed, 14, n_samples=20).links()
        assert cover(few) == [list(range(14))]


def test_a_long_chain():
    """Of 100 links, the pass is no more than half above the optimum, and few sweeps reach it."""
    tree = random_tree(905, 100, chain=True, noise=0.1, n_samples=40, prismatic=0.0)
    found = refined(tree)
    pass_alone, last = found.stages[0], found.stages[-1]
    assert last.relative_gap <= ENOUGH
    assert pass_alone.value <= 1.5 * last.lower_bound
    assert found.n_sweeps <= 12


def test_what_sweeps_will_still_gain():
    """The rest of a geometric series: 1 + 0.5 + 0.25 + ... after the first two of its terms."""
    assert still_to_gain([10.0, 9.0, 8.5]) == pytest.approx(0.5 / 8.5)
    assert still_to_gain([10.0, 9.0]) == pytest.approx(0.5 / 9.0)
    assert still_to_gain([10.0, 9.5, 9.0]) == pytest.approx(0.5 / 9.0)
    assert still_to_gain([10.0, 9.5, 9.5]) == 0.0


def test_sweeps_never_make_the_fit_worse():
    """Values fall and bounds rise, sweep by sweep."""
    found = refined(random_tree(3, 22, chain=True, noise=0.3, n_samples=60), sweeps=4)
    values = [stage.value for stage in found.stages]
    bounds = [stage.lower_bound for stage in found.stages]
    assert found.n_sweeps == 4
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)
    assert values[0] > values[-1] + 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_without_noise_one_pass_finds_the_true_base_parameters(seed):
    """Where no condition binds, back-substitution is exact: no sweep is needed."""
    tree = random_tree(seed, 5, noise=0.0)
    fit = fit_inward(tree.R, tree.z, tree.K, tree.links())
    beta, truth = tree.K @ fit.theta(tree.links()), tree.K @ tree.truth
    misfit = np.linalg.norm(tree.R @ (beta - truth)) / np.linalg.norm(tree.z)
    assert misfit < 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_with_a_prior_it_is_the_entropic_fit(seed):
    """The divergence from a prior is treated exactly, and its gap is sharp."""
    tree = random_tree(seed, 6, noise=0.3)
    rng = np.random.default_rng(seed)
    prior = scattered(tree.model, tree.truth, rng, 0.3)
    pull = PriorPull(prior, GAMMA, usual_term_weight(GAMMA), tree.weak.scale)
    found = refine(tree.R, tree.z, tree.K, tree.links(pull), sweeps=8)
    together = tree.together(prior)
    best = together.solve(tree.R @ tree.K, tree.z, GAMMA).theta
    u = [link.coordinates(best[link.columns]) for link in found.whole.links]
    optimum = found.whole.value(u)
    last = found.stages[-1]
    assert abs(last.value - optimum) < 1e-6 * optimum
    assert last.lower_bound <= optimum * (1.0 + 1e-9)
    assert last.gap < 1e-6 * optimum
    assert np.allclose(found.theta / tree.weak.scale, best / tree.weak.scale, atol=1e-4)
    # its value is the divergence plus the residuals, as the entropic fit counts them
    residual = tree.z - tree.R @ (tree.K @ best)
    divergence = np.nansum(together.divergence(best))
    counted = 0.5 * residual @ residual + 0.5 * GAMMA * divergence
    rows, targets = together.pulls(GAMMA)
    coordinates = np.linalg.lstsq(together.turn, best - together.origin, rcond=None)[0]
    counted += 0.5 * np.sum((rows @ coordinates - targets) ** 2)
    assert optimum == pytest.approx(counted, rel=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_the_gap_with_a_strong_prior_and_no_friction(seed):
    """Friction is at its bound there, nearly without a force: the gap stays what it truly is."""
    rng = np.random.default_rng([seed, 3])
    tree = random_tree(
        seed, int(rng.integers(2, 9)), noise=1e-3, n_samples=300, prismatic=0.0, friction=0.0
    )
    gamma = float(rng.choice([100.0, 1e4]))
    prior = replace(scattered(tree.model, tree.truth, rng, 0.1), theta=0.5 * tree.truth)
    found = refine(
        tree.R,
        tree.z,
        tree.K,
        tree.links(PriorPull(prior, gamma, usual_term_weight(gamma), tree.weak.scale)),
    )
    together = tree.together(prior)
    best = found.stage_of(together.solve(tree.R @ tree.K, tree.z, gamma).theta)
    rounding = 1e-7 * max(best.value, 1.0)
    assert best.lower_bound <= best.value + rounding
    above = found.stages[-1].value - best.value
    assert found.stages[-1].gap <= above + 1e-4 * max(best.value, 1.0) + rounding
    assert found.n_sweeps <= 2


def test_the_work_of_a_step_does_not_grow_with_the_chain():
    """Rows and variables of the largest step are those of LAG + 1 links, for 8 as for 24 links."""
    sizes = []
    for n in (8, 24):
        tree = random_tree(1, n, chain=True, prismatic=0.0, n_samples=60)
        fit = fit_inward(tree.R, tree.z, tree.K, tree.links())
        assert len(fit.step_sizes) == n
        sizes.append(np.max(fit.step_sizes, axis=0).tolist())
    assert sizes[0] == sizes[1]
    assert sizes[0][1] == 14 * (LAG + 1)


def test_windows_of_hubs_are_bounded():
    """A hub with many arms is fitted with the first of them only; a sweep repairs the rest."""
    tree = random_tree(2, 12)
    links = tree.links()
    assert all(len(window(links, k)) <= MOST_LINKS for k in range(len(links)))
    assert window(links, 0, lag=0) == [0]
    inner = window(links, 0, most=100)
    assert inner[0] == 0
    assert len(set(inner)) == len(inner)


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_sweeps_cover_the_tree_and_overlap(seed):
    """Every link is in a group, groups are connected and bounded, neighbours share links."""
    tree = random_tree(seed, 25, n_samples=20, chain=seed == 0)
    links = tree.links()
    groups = cover(links)
    assert {k for group in groups for k in group} == set(range(25))
    assert max(len(group) for group in groups) <= NEIGHBOURHOOD
    for group in groups:
        tops = [k for k in group if links[k].parent not in group]
        siblings = {links[k].parent for k in tops}
        assert len(siblings) == 1  # one top, or the children of the ground
    assert sum(len(group) for group in groups) > 25 + len(groups)


def test_nothing_is_proven_from_duals_that_are_missing():
    """Zero duals give a true but weak bound, never one above the optimum."""
    tree = random_tree(5, 4, noise=0.5)
    links = tree.links()
    whole = whole_fit(tree.R, tree.z, tree.K, links)
    nothing = LinkwiseFit(
        tuple(link.start for link in links),
        tuple(tuple(np.zeros_like(one.b) for one in link.conditions) for link in links),
    )
    assert LowerBound(whole).of(nothing) <= tree.optimum + 1e-6


def test_a_sweep_begins_where_it_is_told():
    """Refining any feasible start reaches the same optimum."""
    tree = random_tree(7, 4, noise=0.3)
    links = tree.links()
    start = LinkwiseFit(
        tuple(link.start for link in links),
        tuple(tuple(np.zeros_like(one.b) for one in link.conditions) for link in links),
    )
    found = refine(tree.R, tree.z, tree.K, links, begin=start)
    assert found.stages[-1].value <= (1.0 + 2.0 * ENOUGH) * max(tree.optimum, 1.0)
    again = Sweeper(found.whole).sweep(found.fit, outward=False)
    assert found.whole.value(again.u) <= found.stages[-1].value + 1e-12


@pytest.mark.parametrize("sweeps", [-1, 10_001])
def test_a_wrong_number_of_sweeps_is_refused(sweeps):
    """It is named with what is allowed."""
    with pytest.raises(EstimationError, match="it must be 0 to 10000"):
        refined(random_tree(0, 1), sweeps=sweeps)
