"""The weight of a prior, against cross-validation written out for a problem with a closed form.

The problem is ridge regression: n parameters drawn to the prior with weight gamma, two of them,
the "terms", to zero with a weight of their own. Where the rule alone is at stake, scores are given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from steelyard.errors import EstimationError
from steelyard.estimators.drawn_fits import DrawnFactors
from steelyard.estimators.entropic import LEAST_PULL, usual_term_weight
from steelyard.estimators.prior_weight import (
    FILE,
    GRID,
    LARGEST,
    NO_PULL,
    QUICK_SEARCH,
    STEPS,
    USUAL_SEARCH,
    GammaChoice,
    GammaSearch,
    Rival,
    as_good_as_the_best,
    groups_of,
    l_curve,
    leave_blocks_out,
    left_out_scores,
    parts_of,
    search_for,
    usual_gamma,
)
from steelyard.regression.regression import triangle

N, N_TERMS, N_BLOCKS = 6, 2, 12
PARTS = np.split(np.arange(N_BLOCKS), 4)
FINE = (NO_PULL, 0.1, 1.0, 10.0, 100.0, 1000.0, FILE)
SEARCH = GammaSearch((0.1, 10.0, 1000.0), (0.1, 1.0, 10.0), FINE, 4)


def rounded(value: float) -> float:
    """To three digits, as weights are."""
    return float(f"{value:.3g}")


def cost(score: float, gamma: float, terms: float, dependence: float) -> float:
    """log error² plus 0.06 (ln² + ln²) of how far weights are from the usual ones, each at most
    that of a factor of 100. The usual ones: bodies 20 % off, and six independent residuals.
    """
    away = [np.log(gamma * 0.2**2 / dependence), np.log(terms / rounded(6.0 * dependence))]
    return float(np.log(score) + 0.06 * sum(min(one**2, np.log(100.0) ** 2) for one in away))


@dataclass(frozen=True)
class Ridge:
    """Blocks of rows [W y] with noise of one sigma, and a prior that is ``off`` by so much."""

    rows: np.ndarray
    counts: np.ndarray
    prior: np.ndarray
    sigma: float = 0.5

    def fit(self, gamma: float, terms: float, weights: np.ndarray) -> np.ndarray:
        """argmin of the squares plus gamma |b - prior|² + terms |b of terms|²."""
        W, y = self.rows[..., :-1] / self.sigma, self.rows[..., -1] / self.sigma
        pull = np.array([gamma] * (N - N_TERMS) + [terms] * N_TERMS)
        H = np.einsum("b,bri,brj->ij", weights, W, W) + np.diag(pull)
        return np.linalg.solve(H, np.einsum("b,bri,br->i", weights, W, y) + pull * self.prior)

    def fits(self, tasks: np.ndarray) -> np.ndarray:
        """The fits of all tasks."""
        return np.array([self.fit(task[0], task[1], task[2:]) for task in tasks])

    def choose(self, dependence: float = 1.0, fits: Callable | None = None) -> GammaChoice:
        """What `leave_blocks_out` chooses."""
        return leave_blocks_out(
            self.rows, self.counts, self.sigma, PARTS, fits or self.fits, dependence, SEARCH
        )

    def predicted(self, gamma: float, terms: float) -> float:
        """Mean squared error of the blocks of each part under the fit to the other parts, of
        which the geometric mean is taken.
        """
        errors = []
        for part in PARTS:
            others = np.setdiff1d(np.arange(N_BLOCKS), part)
            weights = np.zeros(N_BLOCKS)
            weights[others] = 1.0
            beta = self.fit(gamma, terms, weights)
            away = self.rows[part][..., :-1] @ beta - self.rows[part][..., -1]
            errors.append(np.mean(away**2) / self.sigma**2)
        return float(np.exp(np.mean(np.log(errors))))


def ridge(seed: int, off: float, rows_each: int = 3, terms: float = 0.0) -> Ridge:
    """Blocks with few rows each, so that a fit to some of them is uncertain."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=N)
    truth[-N_TERMS:] = terms
    W = rng.normal(size=(N_BLOCKS, rows_each, N))
    noise = 0.5 * rng.normal(size=(N_BLOCKS, rows_each))
    prior = np.append(truth[:-N_TERMS] + off, np.zeros(N_TERMS))
    rows = np.concatenate([W, (W @ truth + noise)[..., None]], axis=2)
    return Ridge(rows, np.full(N_BLOCKS, float(rows_each)), prior)


def chosen_by(
    score: Callable[[float, float], float],
    dependence: float = 1.0,
    search: GammaSearch = USUAL_SEARCH,
) -> GammaChoice:
    """What is chosen if fits with (gamma, terms) have this score, of at least one.

    Residuals are one, and one more value that is beta: the score is 1 + beta².
    """
    rows = np.tile(np.eye(2), (N_BLOCKS, 1, 1))

    def fits(tasks):
        return np.array([[np.sqrt(score(task[0], task[1]) - 1.0)] for task in tasks])

    return leave_blocks_out(rows, np.ones(N_BLOCKS), 1.0, PARTS, fits, dependence, search)


@pytest.mark.parametrize("off", [0.0, 0.1, 3.0])
def test_every_weight_is_scored_on_blocks_that_its_fit_has_not_seen(off):
    """The scores of all trials are those of cross-validation written out."""
    problem = ridge(1, off)
    found = problem.choose(2.0)
    assert [trial.gamma for trial in found.trials] == list(SEARCH.fine)
    assert len(found.term_trials) >= 4
    for trial in (*found.trials, *found.term_trials):
        assert trial.score == pytest.approx(problem.predicted(trial.gamma, trial.terms), rel=1e-9)
        # with the blocks it was fitted to, no fit is judged as badly as a new one would be
        seen = problem.fit(trial.gamma, trial.terms, np.ones(N_BLOCKS))
        away = (problem.rows[..., :-1] @ seen - problem.rows[..., -1]) / problem.sigma
        own = [np.mean(away[part] ** 2) for part in PARTS]
        assert trial.score >= np.exp(np.mean(np.log(own))) * (1.0 - 1e-12)
    assert found.score == pytest.approx(problem.predicted(found.gamma, found.terms), rel=1e-9)
    assert found.rule == "leave-blocks-out"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("off", "terms", "dependence"), [(0.0, 0.0, 1.0), (0.5, 3.0, 2.0)])
def test_the_weights_minimise_their_cost_one_after_the_other(seed, off, terms, dependence):
    """Gamma on a coarse grid beside usual terms, the terms beside it, gamma again, and then the
    two simple fits: with scores and costs written out.
    """
    problem = ridge(seed, off, terms=terms)
    found = problem.choose(dependence)
    first = rounded(6.0 * dependence)
    coarse = {gamma: problem.predicted(gamma, first) for gamma in SEARCH.coarse}
    d = max(dependence, min(coarse.values()))
    centre = min(coarse, key=lambda gamma: cost(coarse[gamma], gamma, first, d))
    assert {trial.gamma for trial in found.term_trials} == {centre}
    tried = [trial.terms for trial in found.term_trials]
    assert tried[:4] == [LEAST_PULL, *(rounded(s * rounded(6.0 * d)) for s in SEARCH.steps)]

    def costs(gamma: float, terms: float) -> float:
        return cost(problem.predicted(gamma, terms), gamma, terms, d)

    of_terms = min(tried, key=lambda one: costs(centre, one))
    assert {trial.terms for trial in found.trials} == {of_terms}
    gamma = min(SEARCH.fine, key=lambda one: costs(one, of_terms))
    expected = min([(gamma, of_terms), (NO_PULL, LEAST_PULL)], key=lambda pair: costs(*pair))
    if problem.predicted(FILE, LEAST_PULL) < problem.predicted(gamma, of_terms):
        expected = (FILE, LEAST_PULL)
    assert (found.gamma, found.terms) == expected


def test_a_right_prior_gets_a_large_weight_and_a_wrong_one_a_small():
    """Over ten data sets each: the truth as prior at least about the usual weight, one that is far
    off less, and never more than about the usual one.
    """
    for seed in range(10):
        right, wrong = ridge(seed, 0.0).choose().gamma, ridge(seed, 3.0).choose().gamma
        assert right >= 10.0 > 0.5 * wrong
        assert wrong < right
        assert ridge(seed, 0.5, terms=30.0).choose().terms < ridge(seed, 0.5).choose().terms


@pytest.mark.parametrize("dependence", [1.0, 4.0, 30.0, 1000.0])
def test_where_nothing_predicts_better_weights_are_usual(dependence):
    """Bodies that are wrong by 20 %, and terms of six independent residuals."""
    found = chosen_by(lambda gamma, terms: 1.0, dependence)
    assert usual_gamma(dependence) == pytest.approx(dependence / 0.04)
    assert found.gamma == min(GRID, key=lambda one: abs(np.log(one * 0.04 / dependence)))
    assert found.terms == rounded(6.0 * dependence)
    assert usual_term_weight(usual_gamma(dependence)) == pytest.approx(6.0)
    assert usual_term_weight(usual_gamma(0.1)) == pytest.approx(0.6)
    assert found.score == 1.0
    assert found.rivals == (Rival("no pull", 1.0, 1.0), Rival("file", 1.0, 1.0))


BOUND = np.log(100.0) ** 2
"""ln² of a factor of 100, beyond which all weights are equally far from the usual ones."""


@pytest.mark.parametrize("better", [31.6, 100.0, 1.0, 0.1, 1e5])
@pytest.mark.parametrize("margin", [0.99, 1.01])
def test_another_gamma_is_chosen_where_it_predicts_clearly_better(better, margin):
    """The log of the error² has to fall by 0.06 ln² of the factor between them, or by that of a
    factor of 100 where it is larger. Usual for a dependence of 10 is 250, beside it 316.
    """
    needed = 0.06 * (min(np.log(better * 0.004) ** 2, BOUND) - np.log(316.0 * 0.004) ** 2)
    others = np.exp(margin * needed)
    found = chosen_by(lambda gamma, _: 1.0 if gamma == better else others, 10.0)
    assert found.gamma == (better if margin > 1.0 else 316.0)
    assert found.terms == 60.0


@pytest.mark.parametrize("step", [1e-2, 0.1, 10.0**-0.5, 10.0**0.5, 10.0])
@pytest.mark.parametrize("margin", [0.99, 1.01])
def test_other_weights_of_terms_are_chosen_where_they_predict_clearly_better(step, margin):
    """By the same rule; usual for a dependence of 10 is 60."""
    better = rounded(60.0 * step)
    others = np.exp(margin * 0.06 * np.log(better / 60.0) ** 2)
    found = chosen_by(lambda _, terms: 1.0 if terms == better else others, 10.0)
    assert found.terms == (better if margin > 1.0 else 60.0)
    assert found.gamma == 316.0


@pytest.mark.parametrize(
    ("gamma", "name", "margin"),
    [(NO_PULL, "no pull", 0.99), (NO_PULL, "no pull", 1.01), (FILE, "file", 1.01)],
)
def test_a_simpler_fit_is_chosen_where_it_predicts_better(gamma, name, margin):
    """The bodies of the prior with free terms, the simplest fit, by any margin. No pull at all only
    clearly: both weights are far from the usual ones, which counts as two factors of 100. Where it
    loses, the choice says by how much.
    """
    needed = 0.06 * (2.0 * BOUND - np.log(3160.0 * 0.0004) ** 2) if name == "no pull" else 1e-6
    others = np.exp(margin * needed)

    def score(one, terms):
        return 1.0 if (one, terms) == (gamma, LEAST_PULL) else others

    found = chosen_by(score, 100.0)
    ratios = {rival.name: rival.ratio for rival in found.rivals}
    if margin > 1.0:
        assert (found.gamma, found.terms, found.score) == (gamma, LEAST_PULL, 1.0)
        (other,) = {"no pull", "file"} - {name}
        assert ratios == {other: pytest.approx(np.sqrt(others))}
    else:
        assert (found.gamma, found.terms) == (3160.0, 600.0)
        assert found.score == pytest.approx(others)
        assert ratios.keys() == {"no pull", "file"}
        assert ratios[name] == pytest.approx(np.sqrt(1.0 / others))


def test_the_chosen_fit_is_no_rival_of_itself():
    """No pull on bodies and terms, found by the two searches one after the other."""
    found = chosen_by(lambda gamma, terms: 1.0 + 9e3 * (gamma > 1.0) + 9.0 * (terms > 1e-3), 20.0)
    assert (found.gamma, found.terms) == (NO_PULL, LEAST_PULL)
    assert [rival.name for rival in found.rivals] == ["file"]


@pytest.mark.parametrize("least", [5.0, 50.0])
def test_errors_of_the_model_count_as_noise(least):
    """Where even the best fit leaves more than the noise, weights are usual for that much."""
    found = chosen_by(lambda gamma, _: least if gamma < 5.0 else 1.01 * least, 2.0)
    assert found.terms == rounded(6.0 * least)
    assert found.gamma == min(GRID, key=lambda one: abs(np.log(one * 0.04 / least)))


@pytest.mark.parametrize("wanted", [6e4, 1e6, 4e6])
def test_the_grid_of_terms_grows_until_the_best_is_inside(wanted):
    """By half decades, from the largest weight that is usually tried; the log of the score is a
    parabola around the wanted weight.
    """
    found = chosen_by(lambda _, terms: 1.0 + np.log(terms / wanted) ** 2, 400.0)
    tried = [trial.terms for trial in found.term_trials]
    usual = [rounded(2400.0 * step) for step in STEPS]
    assert tried[: 1 + len(usual)] == [LEAST_PULL, *usual]
    assert np.diff(np.log10(tried[1:])) == pytest.approx(0.5, abs=0.01)
    assert abs(np.log10(found.terms / wanted)) < 0.27
    assert found.terms < tried[-1]
    assert (len(tried) > 1 + len(usual)) == (wanted >= 1e6)


def test_the_grid_of_terms_does_not_grow_for_ever():
    """Up to 1e8 where more always predicts better."""
    found = chosen_by(lambda _, terms: 1.0 + 1e-4 * (9.0 - np.log10(terms)) ** 8, 1.0)
    tried = [trial.terms for trial in found.term_trials]
    assert LARGEST / 10.0 < tried[-1] <= LARGEST
    assert found.terms == tried[-1]


def test_a_part_in_which_fits_extrapolate_does_not_decide_alone():
    """A weight that is 30 times better in one of four parts and twice as bad in the others loses,
    although its mean error is smaller.
    """
    rows = np.tile(np.eye(2), (N_BLOCKS, 1, 1))

    def fits(tasks):
        far = tasks[:, 2] == 0.0  # the first part is left out
        strong = tasks[:, 0] > 3e3
        score = np.where(far, np.where(strong, 100.0, 3000.0), np.where(strong, 40.0, 10.0))
        return np.sqrt(score - 1.0)[:, None]

    found = leave_blocks_out(rows, np.ones(N_BLOCKS), 1.0, PARTS, fits, 40.0)
    assert found.gamma < 3e3
    assert found.score == pytest.approx((3000.0 * 10.0**3) ** 0.25)


def test_weights_whose_fits_failed_are_not_chosen():
    """NaN for one gamma leaves the others; NaN for all is an error; a rival that fails is none."""
    problem = ridge(5, 0.0)
    best = problem.choose().gamma

    def failing(tasks: np.ndarray) -> np.ndarray:
        out = problem.fits(tasks)
        out[(tasks[:, 0] == best) | (tasks[:, 0] == FILE)] = np.nan
        return out

    found = problem.choose(fits=failing)
    assert found.gamma not in (best, FILE)
    assert np.isfinite(found.score)
    for trial in found.trials:
        assert np.isnan(trial.score) == (trial.gamma in (best, FILE))
        assert not (np.isnan(trial.score) and trial.as_good)
    assert [rival.name for rival in found.rivals] == ["no pull"]
    with pytest.raises(EstimationError, match="all fits to parts of the time blocks failed"):
        problem.choose(fits=lambda tasks: np.full((len(tasks), N), np.nan))


def circling(angles: np.ndarray, rng: np.random.Generator) -> DrawnFactors:
    """Blocks with two columns and a torque, of which the first has the share cos² of its motion."""
    rows = rng.normal(size=(len(angles), 400, 3))
    rows[..., 0] *= np.cos(angles)[:, None]
    rows[..., 1] *= np.sin(angles)[:, None]
    small = np.array([triangle(one) for one in rows])
    return DrawnFactors(small, triangle(small.reshape(-1, 3)))


@pytest.mark.parametrize("seed", range(4))
def test_half_of_the_groups_are_regions_of_the_motion(seed):
    """Four stretches of neighbours, and four sets of blocks whose motion is alike, whatever the
    order in which they were recorded, the units of the columns, and how much moves in each.
    """
    rng = np.random.default_rng(seed)
    angles = rng.permutation(np.repeat([0.1, 0.5, 0.9, 1.4], 6))
    factors = circling(angles, rng)
    groups = groups_of(factors, np.full(24, 5.0), 8)
    assert len(groups) == 8
    for group, part in zip(groups[:4], np.split(np.arange(24), 4), strict=True):
        assert group.tolist() == part.tolist()
    regions = [set(group.tolist()) for group in groups[4:]]
    for angle in set(angles.tolist()):
        assert set(np.flatnonzero(angles == angle).tolist()) in regions
    size = rng.uniform(0.2, 5.0, size=(24, 1, 1)) * np.array([1e-6, 1e3, 7.0])
    other = DrawnFactors(factors.small * size, triangle((factors.small * size).reshape(-1, 3)))
    again = groups_of(other, np.full(24, 5.0), 8)
    assert {frozenset(group.tolist()) for group in again[4:]} == {frozenset(r) for r in regions}


def test_regions_have_about_as_many_values_and_few_blocks_have_none():
    """Every value is in one stretch and one region; below eight blocks or groups all groups are
    stretches.
    """
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 40, size=30).astype(float)
    groups = groups_of(circling(rng.uniform(0.0, 1.5, size=30), rng), counts, 8)
    for half in (groups[:4], groups[4:]):
        assert sorted(np.concatenate(half).tolist()) == list(range(30))
        assert np.ptp([counts[group].sum() for group in half]) <= 2.0 * counts.max()
    few = circling(rng.uniform(0.0, 1.5, size=7), rng)
    for n_groups in (8, 4):
        found = groups_of(few, np.ones(7), n_groups)
        assert [g.tolist() for g in found] == [
            g.tolist() for g in parts_of(np.ones(7), most=n_groups)
        ]
    many = circling(rng.uniform(0.0, 1.5, size=30), rng)
    assert len(groups_of(many, np.ones(30), 4)) == 4
    with pytest.raises(EstimationError, match="give gamma"):
        groups_of(few, np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]), 8)


def test_as_good_is_one_standard_error_or_a_share_of_the_best():
    """By hand: differences of the groups from the best row, their mean and standard error."""
    best = np.array([1.0, 2.0, 3.0])
    even, uneven = np.full(3, 0.25), np.array([0.5, 0.0, 0.0])
    scores = np.array([best, best, best + even, best + uneven, best + 1.0, [np.nan, 1.0, 1.0]])
    good, errors = as_good_as_the_best(scores, 0.15)
    # the standard error of 0.5, 0, 0 is its mean, 1/6; that of equal differences is zero
    assert errors[:5] == pytest.approx([0.0, 0.0, 0.0, 1.0 / 6.0, 0.0], abs=1e-15)
    assert good.tolist() == [True, True, True, True, False, False]
    # 0.25 is more than 10 % of 2
    good, _ = as_good_as_the_best(scores, 0.1)
    assert good.tolist() == [True, True, False, True, False, False]
    uneven *= np.array([1.0, 0.9, 0.9])
    scores[3] = best + uneven + 0.05
    good, _ = as_good_as_the_best(scores, 0.1)
    assert not good[3]


def test_scores_are_mean_squares_in_units_of_the_noise():
    """Two groups, by hand."""
    rows = np.array([[[1.0, 1.0]], [[2.0, 1.0]], [[1.0, 3.0]]])
    groups = [np.array([0, 1]), np.array([2])]
    betas = np.array([[2.0], [1.0]])
    found = left_out_scores(rows, np.array([4.0, 6.0, 5.0]), 2.0, groups, betas)
    assert found == pytest.approx([(1.0 + 9.0) / (4.0 * 10.0), 4.0 / (4.0 * 5.0)])


@pytest.mark.parametrize(
    ("counts", "most", "parts"),
    [
        ([1] * 6, 3, [[0, 1], [2, 3], [4, 5]]),
        ([1] * 4, 8, [[0], [1], [2], [3]]),
        # as many values each, not as many blocks
        ([4, 1, 1, 1, 1, 4], 3, [[0], [1, 2, 3, 4], [5]]),
        # a block without values joins its neighbours
        ([2, 0, 2, 2], 3, [[0], [1, 2], [3]]),
        ([0, 2, 2, 2, 0], 3, [[0, 1], [2], [3, 4]]),
        # a part that would have nothing but such a block is none
        ([5, 0, 5, 1], 3, [[0], [2, 3]]),
    ],
)
def test_parts_are_neighbours_with_about_as_many_values(counts, most, parts):
    """Every block with values is in one part, and no part is without."""
    found = parts_of(np.array(counts, dtype=float), most=most)
    assert [part.tolist() for part in found] == parts


def test_too_few_blocks_are_refused():
    """Three blocks with values are enough, two are not; the advice is that of the caller."""
    assert len(parts_of(np.array([1.0, 1.0, 1.0]))) == 3
    with pytest.raises(EstimationError, match=r"^2 time blocks .* too few .*: record for longer$"):
        parts_of(np.array([1.0, 0.0, 1.0]))
    with pytest.raises(EstimationError, match=r": wait$"):
        parts_of(np.array([1.0, 1.0]), "wait")


def test_the_l_curve_turns_at_its_corner():
    """Divergence falls below the corner, misfit grows above it."""
    for corner in (3, 6, 9):
        k = np.arange(len(GRID))
        misfit = 100.0 * 10.0 ** np.maximum(0.0, 0.5 * (k - corner))
        divergence = 10.0 ** (-1.0 * np.minimum(k, corner))
        found = l_curve(misfit, divergence, 2.5)
        assert (found.gamma, found.rule) == (GRID[corner], "l-curve")
        assert found.terms == 2.5
        # curvature of a right angle between chords of length 1 and ½: 2 sin / chord
        turn = max(found.trials, key=lambda trial: trial.score)
        assert turn.gamma == GRID[corner]
        assert turn.score == pytest.approx(2.0 / np.hypot(1.0, 0.5))
        assert sum(abs(trial.score) > 1e-9 for trial in found.trials) == 1


def test_an_l_curve_without_a_corner_gives_the_largest_gamma_that_costs_nothing():
    """A misfit that grows by 1 % a step: the last within 2 % of the smallest."""
    k = np.arange(len(GRID))
    found = l_curve(1.01**k, 10.0 ** (-0.5 * k), 1.0)
    assert found.gamma == GRID[1]
    flat = l_curve(np.ones(len(GRID)), np.ones(len(GRID)), 1.0)
    assert flat.gamma == GRID[-1]
    # zero misfit and zero divergence are no error
    assert l_curve(np.zeros(len(GRID)), np.zeros(len(GRID)), 1.0).gamma == GRID[-1]


def test_large_robots_get_the_quick_search():
    """About half of the fits to each part, and half of the parts, above 240 parameters."""
    assert search_for(240) is USUAL_SEARCH
    assert search_for(241) is QUICK_SEARCH
    assert (USUAL_SEARCH.n_fits, QUICK_SEARCH.n_fits) == (8 * (7 + 9 + 15), 4 * (4 + 5 + 9))
    assert (GRID[0], GRID[-1], len(GRID)) == (0.1, 1e5, 13)


def test_weights_are_half_a_decade_apart():
    """Of bodies and of terms; coarse searches take every second or fourth of them; no pull and the
    file are always among them.
    """
    assert np.geomspace(0.1, 1e5, 13) == pytest.approx(GRID, rel=0.01)
    assert np.geomspace(0.01, 100.0, 9) == pytest.approx(STEPS)
    assert GammaSearch(GRID[::2], STEPS, (NO_PULL, *GRID, FILE), 8) == USUAL_SEARCH
    assert GammaSearch(GRID[::4], STEPS[::2], (NO_PULL, *GRID[::2], FILE), 4) == QUICK_SEARCH
